#include "simulator/memory/memory_model.h"

#include <catch2/catch.hpp>

namespace dlc {
namespace {

TEST_CASE("a read's first beat comes a latency after its acceptance, then a beat a cycle at full bandwidth") {
  MemoryModel memory(30, 8, 8, 1);
  const BurstTimes burst = memory.accept(100, 4);
  CHECK(burst.beat(0) == 130);
  CHECK(burst.beat(3) == 133);
  CHECK(burst.last_beat() == 133);
}

TEST_CASE("a write's response comes when its last byte has been served") {
  MemoryModel memory(30, 8, 8, 1);
  CHECK(memory.accept(100, 4).response() == 134);
}

TEST_CASE("bursts are served in acceptance order without gaps while the memory is busy") {
  MemoryModel memory(30, 8, 8, 1);
  CHECK(memory.accept(0, 16).last_beat() == 45);
  CHECK(memory.accept(1, 16).beat(0) == 46);  // not 31: the memory is busy
  CHECK(memory.accept(50, 1).beat(0) == 80);  // idle since 62
}

TEST_CASE("reads and writes share one bandwidth") {
  MemoryModel memory(10, 8, 8, 1);
  CHECK(memory.accept(0, 8).response() == 18);  // a write
  CHECK(memory.accept(0, 2).beat(0) == 18);     // a read behind it
}

TEST_CASE("a fractional bandwidth is exact and rounds only the cycle of each beat, upwards") {
  MemoryModel memory(10, 16, 32, 3);  // 10 2/3 bytes a cycle: a beat takes 1 1/2 cycles
  const BurstTimes a = memory.accept(0, 3);
  CHECK(a.beat(0) == 10);
  CHECK(a.beat(1) == 12);  // 11.5
  CHECK(a.beat(2) == 13);
  const BurstTimes b = memory.accept(0, 2);
  CHECK(b.beat(0) == 15);  // 14.5: no cycle is lost between bursts
  CHECK(b.beat(1) == 16);
}

TEST_CASE("a thousand beats at 16/3 bytes a cycle take three times as many cycles over three") {
  MemoryModel memory(1, 16, 16, 3);
  BurstTimes last;
  for (int i = 0; i < 1000; ++i) last = memory.accept(0, 1);
  CHECK(last.response() == 1 + 3000);
}

TEST_CASE("a bandwidth beyond the bus is the bus width") {
  MemoryModel memory(5, 8, 64, 1);
  CHECK(memory.accept(0, 4).last_beat() == 8);
}

TEST_CASE("beats_before counts the beats of earlier cycles") {
  MemoryModel memory(10, 16, 32, 3);
  const BurstTimes a = memory.accept(0, 3);  // 10, 12, 13
  for (int64_t cycle = 0; cycle < 20; ++cycle) {
    int64_t expected = 0;
    for (int i = 0; i < 3; ++i) expected += a.beat(i) < cycle;
    CHECK(a.beats_before(cycle) == expected);
  }
}

TEST_CASE("a latency below one cycle or no bandwidth is refused") {
  CHECK_THROWS_AS(MemoryModel(0, 8, 8, 1), UserError);
  CHECK_THROWS_AS(MemoryModel(1, 8, 0, 1), UserError);
}

TEST_CASE("the per-cycle port gives the same beats and responses as the closed form") {
  MemoryModel memory(7, 16, 48, 5), again(7, 16, 48, 5);
  MemoryPort port(again);
  std::vector<BurstTimes> reads, writes;
  std::vector<std::pair<int64_t, uint64_t>> beats, responses;
  for (int64_t cycle = 0; cycle < 400; ++cycle) {
    if (const auto beat = port.pop_read_beat(cycle)) beats.emplace_back(cycle, beat->tag * 100 + beat->index);
    if (const auto tag = port.pop_write_response(cycle)) responses.emplace_back(cycle, *tag);
    if (cycle % 7 == 3 && cycle < 140) {
      reads.push_back(memory.accept(cycle, 1 + static_cast<int>(cycle % 5)));
      port.accept_read(cycle, reads.size() - 1, 0, reads.back().beats());
    }
    if (cycle % 5 == 3 && cycle < 140) {
      writes.push_back(memory.accept(cycle, 1 + static_cast<int>(cycle % 3)));
      port.accept_write(cycle, writes.size() - 1, writes.back().beats());
    }
  }
  CHECK(port.idle());
  std::vector<std::pair<int64_t, uint64_t>> expected_beats, expected_responses;
  for (size_t i = 0; i < reads.size(); ++i) {
    for (int b = 0; b < reads[i].beats(); ++b) expected_beats.emplace_back(reads[i].beat(b), i * 100 + b);
  }
  for (size_t i = 0; i < writes.size(); ++i) expected_responses.emplace_back(writes[i].response(), i);
  CHECK(beats == expected_beats);
  CHECK(responses == expected_responses);
}

}  // namespace
}  // namespace dlc
