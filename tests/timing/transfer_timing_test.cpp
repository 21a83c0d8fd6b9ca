// Boundaries of the LOAD, STORE and memory rows of the timing contract (isa/README.md §4).
#include <algorithm>

#include "simulator/memory/memory_model.h"
#include "tests/timing/machine.h"

namespace dlc::timing_test {
namespace {

constexpr Waits kAfterLoad = {1, 0, 0, 0};
// LOAD's path to the memory: generated in g, taken in g + 1, accepted in g + 2.
constexpr int64_t kRequestPath = 2;

// A first LOAD that keeps everything else waiting until FETCH is done. One instruction more for LOAD itself.
isa::Load long_load() { return load(0, 4096); }

TEST_CASE("a single-beat LOAD retires after request path, latency and kLoadRetire") {
  const HwConfig hw = machine();
  const RunResult r = run(hw, {long_load(), load(0, 8, 1, 0, kAfterLoad)});
  const int64_t beat = r.times[1].start + 1 + kRequestPath + hw.memory_latency;
  CHECK(r.times[1].retire == beat + timing::kLoadRetire);
}

TEST_CASE("a LOAD streams a beat a cycle over its bursts once the first has arrived") {
  const HwConfig hw = machine();
  const int64_t beats = 8 * 16;  // as many bursts as may be in flight
  const RunResult r = run(hw, {long_load(), load(0, 8 * beats, 1, 0, kAfterLoad)});
  const int64_t first = r.times[1].start + 1 + kRequestPath + hw.memory_latency;
  CHECK(r.times[1].retire == first + beats - 1 + timing::kLoadRetire);
}

TEST_CASE("a fractional bandwidth delays each beat by its exact time, rounded up") {
  HwConfig hw = machine();
  hw.bandwidth_num = 16;
  hw.bandwidth_den = 3;  // 1 1/2 cycles a beat
  for (const int64_t beats : {1, 2, 3, 16}) {
    const RunResult r = run(hw, {load(0, 4096), load(0, 8 * beats, 1, 0, kAfterLoad)});
    const int64_t service = r.times[1].start + 1 + kRequestPath + hw.memory_latency;
    CHECK(r.times[1].retire == service + (3 * (beats - 1) + 1) / 2 + timing::kLoadRetire);
  }
}

// The number of bursts of a LOAD shows in the next one's start: the issue unit generates one a cycle.
int64_t bursts_of(const isa::Load& transfer) {
  isa::Load measured = transfer;
  measured.wait = kAfterLoad;
  const RunResult r = run(machine(), {long_load(), measured, load(0, 8)});
  return r.times[2].start - r.times[1].start;
}

TEST_CASE("LOAD splits a row at max_burst beats") {
  CHECK(bursts_of(load(0, 8 * 16)) == 1);
  CHECK(bursts_of(load(0, 8 * 17)) == 2);
  CHECK(bursts_of(load(0, 8 * 32)) == 2);
}

TEST_CASE("LOAD counts a burst's beats from the bus-aligned address") {
  CHECK(bursts_of(load(4, 8 * 16 - 4)) == 1);
  CHECK(bursts_of(load(4, 8 * 16)) == 2);
}

TEST_CASE("LOAD splits a row at a 4 KiB boundary") {
  CHECK(bursts_of(load(4096 - 64, 64)) == 1);
  CHECK(bursts_of(load(4096 - 64, 72)) == 2);
  CHECK(bursts_of(load(8192 - 8, 128)) == 2);
}

TEST_CASE("every row is a burst of its own") { CHECK(bursts_of(load(0, 8, 5, 8)) == 5); }

TEST_CASE("LOAD generates no burst while max_outstanding are in flight") {
  const HwConfig hw = machine();
  const auto limit = static_cast<uint32_t>(hw.max_outstanding);
  const RunResult within = run(hw, {long_load(), load(0, 8, limit, 8, kAfterLoad), load(0, 8)});
  CHECK(within.times[2].start == within.times[1].start + limit);
  const RunResult beyond = run(hw, {long_load(), load(0, 8, limit + 1, 8, kAfterLoad), load(0, 8)});
  // The first beat frees a place: seen in the next cycle, in which the last burst is generated.
  const int64_t first_beat = beyond.times[1].start + 1 + kRequestPath + hw.memory_latency;
  CHECK(beyond.times[2].start == first_beat + 1);
}

TEST_CASE("LOAD starts no instruction while kLoadInflight are not retired") {
  HwConfig hw = machine();
  hw.max_outstanding = 64;
  hw.queue_depth = 64;
  hw.memory_latency = 200;
  std::vector<isa::Instruction> program = {long_load(), load(0, 8, 1, 0, kAfterLoad)};
  for (int i = 1; i <= timing::kLoadInflight; ++i) program.push_back(load(0, 8));
  const RunResult r = run(hw, program, false);
  for (int i = 1; i < timing::kLoadInflight; ++i) CHECK(r.times[1 + i].start == r.times[1].start + i);
  CHECK(r.times[1 + timing::kLoadInflight].start == r.times[1].retire + 1);
}

TEST_CASE("LOAD's beats are busy, the rest of its active cycles wait_memory") {
  const RunResult r = run(machine(), {load(0, 8 * 20)});
  CHECK(r.engines[0].busy == 20);
  CHECK(r.engines[0].wait_memory == r.times[0].retire - r.times[0].start + 1 - 20);
  CHECK(r.engines[0].wait_dependency == 0);
}

TEST_CASE("DRAM traffic is whole beats, FETCH's bursts included") {
  const HwConfig hw = machine();
  const RunResult r = run(hw, {load(4, 8), store(0x90004, 8, 1, 0, kAfterLoad)});
  CHECK(r.dram_read_bytes == 16 + hw.fetch_burst_bytes());
  CHECK(r.dram_write_bytes == 16);
}

// --- STORE ---

// The STORE rows of the contract as a recurrence over burst lengths; gives the retire cycle of the last
// burst.
int64_t expected_store_retire(const HwConfig& hw, int64_t start, const std::vector<int64_t>& beats) {
  MemoryModel memory(hw);
  std::vector<int64_t> read(beats.size()), sent(beats.size()), response(beats.size());
  for (size_t k = 0; k < beats.size(); ++k) {
    read[k] = k == 0 ? start + 1 : read[k - 1] + beats[k - 1];
    if (k >= 2) read[k] = std::max(read[k], sent[k - 2] + beats[k - 2]);
    sent[k] = read[k] + beats[k] + timing::kStoreLatency;
    if (k >= 1) sent[k] = std::max(sent[k], sent[k - 1] + beats[k - 1]);
    const auto limit = static_cast<size_t>(hw.max_outstanding);
    if (k >= limit) sent[k] = std::max(sent[k], response[k - limit] + 1);
    response[k] = memory.accept(sent[k] + beats[k] - 1, static_cast<int>(beats[k])).response();
  }
  return response.back() + timing::kStoreRetire;
}

TEST_CASE("a one-burst STORE retires after its reads, its beats and the memory's service") {
  const HwConfig hw = machine();
  for (const int64_t n : {1, 2, 16}) {
    const RunResult r = run(hw, {long_load(), store(0x90000, 8 * n, 1, 0, kAfterLoad)});
    const int64_t aw = r.times[1].start + 1 + n + timing::kStoreLatency;
    const int64_t response = aw + n - 1 + hw.memory_latency + n;
    CHECK(r.times[1].retire == response + timing::kStoreRetire);
    CHECK(r.engines[3].busy == n);
  }
}

TEST_CASE("STORE overlaps reading a burst with sending the one before, with two buffers") {
  const HwConfig hw = machine();
  for (const uint32_t bytes : {8u * 32, 8u * 48, 8u * 64}) {
    const RunResult r = run(hw, {long_load(), store(0x90000, bytes, 1, 0, kAfterLoad)});
    CHECK(r.times[1].retire ==
          expected_store_retire(hw, r.times[1].start, std::vector<int64_t>(bytes / 128, 16)));
  }
}

TEST_CASE("single-beat STORE bursts go out at the pace that two buffers allow") {
  const HwConfig hw = machine();
  const RunResult r = run(hw, {long_load(), store(0x90000, 8, 6, 64, kAfterLoad)});
  CHECK(r.times[1].retire == expected_store_retire(hw, r.times[1].start, std::vector<int64_t>(6, 1)));
}

TEST_CASE("STORE sends no burst while max_outstanding responses are missing") {
  HwConfig hw = machine();
  hw.memory_latency = 300;
  const RunResult r = run(hw, {long_load(), store(0x90000, 8, 9, 64, kAfterLoad)});
  CHECK(r.times[1].retire == expected_store_retire(hw, r.times[1].start, std::vector<int64_t>(9, 1)));
  // Two memory round trips: the ninth burst waits for the first response.
  CHECK(r.times[1].retire - r.times[1].start > 2 * 300);
}

TEST_CASE("the next STORE starts in the cycle of the last scratchpad read") {
  const RunResult r =
      run(machine(), {long_load(), store(0x90000, 8 * 10, 1, 0, kAfterLoad), store(0x91000, 8)});
  CHECK(r.times[2].start == r.times[1].start + 10);
}

TEST_CASE("a STORE's unaligned row counts beats from the bus-aligned address") {
  const HwConfig hw = machine();
  const RunResult r = run(hw, {long_load(), store(0x90004, 8 * 16, 1, 0, kAfterLoad)});
  CHECK(r.times[1].retire == expected_store_retire(hw, r.times[1].start, {16, 1}));
}

TEST_CASE("of a read and a write accepted in one cycle the read is served first") {
  HwConfig hw = machine();
  hw.bandwidth_num = 1;  // 8 cycles a beat: order shows
  // Sweeps a LOAD's acceptance over a STORE's, cycle by cycle, by the length of a VECTOR before the LOAD.
  int64_t write_first = 0, read_first = 0, ties = 0;
  for (uint32_t n = 1; n <= 30; ++n) {
    const RunResult r = run(hw, {load(0, 256), vector(n, kAfterLoad), vector(1, {0, 0, 1, 0}),
                                 store(0x90000, 128, 1, 0, kAfterLoad), load(0, 64, 1, 0, {1, 0, 1, 0})});
    const int64_t write = r.times[3].start + 1 + 16 + timing::kStoreLatency + 15;
    const int64_t read = r.times[4].start + 1 + kRequestPath;
    const int64_t alone = read + hw.memory_latency + 7 * 8 + timing::kLoadRetire;
    if (read <= write) {
      CHECK(r.times[4].retire == alone);
    } else {
      CHECK(r.times[4].retire == write + hw.memory_latency + 16 * 8 + 7 * 8 + timing::kLoadRetire);
    }
    ties += read == write;
    (read < write ? read_first : write_first) += read != write;
  }
  CHECK(ties == 1);
  CHECK(read_first > 0);
  CHECK(write_first > 0);
}

}  // namespace
}  // namespace dlc::timing_test
