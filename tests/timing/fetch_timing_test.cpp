// Boundaries of the FETCH, queue and read-channel rows of the timing contract (isa/README.md §4).
#include <algorithm>

#include "tests/timing/machine.h"

namespace dlc::timing_test {
namespace {

constexpr Waits kAfterLoad = {1, 0, 0, 0};

TEST_CASE("the first instruction starts when its last unit has been fetched, consumed and queued") {
  HwConfig hw = machine();
  for (const int latency : {1, 30}) {
    hw.memory_latency = latency;
    const RunResult r = run(hw, {load(0, 8)});
    // Requested in 0, accepted in 2; 4 units = 8 beats; consumed the cycle after; visible the cycle after
    // that.
    CHECK(r.times[0].start == 2 + latency + 7 + 1 + 1);
    CHECK(r.engines[4].busy == 4);
    CHECK(r.engines[4].wait_memory == 2 + latency + 7 + 1 - 3);
  }
}

TEST_CASE("a unit cannot be consumed in the cycle of its last byte, and one is consumed a cycle") {
  // edge-16: a unit is a beat, so LOAD's 4 units are consumed in 4 cycles and VECTOR's 6 in the next 6.
  const HwConfig hw = machine("edge-16");
  const RunResult r = run(hw, {load(0, 16), vector(1)});
  CHECK(r.times[0].start == 2 + hw.memory_latency + 3 + 1 + 1);
  CHECK(r.times[1].start == r.times[0].start + 6);
}

TEST_CASE("FETCH pushes into a full queue's freed slot in the cycle after the start that frees it") {
  const HwConfig hw = machine();
  REQUIRE(hw.queue_depth == 4);
  // Five MATRIX instructions wait for the LOAD; the fifth finds the queue full and keeps FETCH from the
  // VECTOR.
  std::vector<isa::Instruction> program = {load(0, 4096)};
  for (int i = 0; i < 5; ++i) program.push_back(matrix(1, 40, kAfterLoad));
  program.push_back(vector(1));
  const RunResult r = run(hw, program);
  // Start in S frees the slot, the fifth is pushed in S+1, the VECTOR's 6 units follow in S+2 .. S+7.
  CHECK(r.times[6].start == r.times[1].start + 1 + 6 + 1);
  CHECK(r.engines[4].wait_dependency > 0);
}

TEST_CASE("FETCH does not wait for a queue with one free slot") {
  std::vector<isa::Instruction> program = {load(0, 4096)};
  for (int i = 0; i < 4; ++i) program.push_back(matrix(1, 40, kAfterLoad));
  program.push_back(vector(1));
  const RunResult r = run(machine(), program);
  CHECK(r.times[5].start < r.times[1].start);
  CHECK(r.engines[4].wait_dependency == 0);
}

TEST_CASE("FETCH has at most kFetchBuffers bursts requested and not consumed") {
  // 48 VECTOR instructions of 6 units are 36 bursts of 8; with a long latency FETCH needs a round trip for
  // every four bursts.
  HwConfig hw = machine();
  hw.memory_latency = 500;
  const std::vector<isa::Instruction> program(48, vector(1));
  const RunResult r = run(hw, program);
  // Burst 4k is requested the cycle after burst 4(k-1) is consumed: its 16 beats, the last unit a cycle
  // later.
  const int64_t round_trip = 2 + 500 + 15 + 1 + 1;
  CHECK(r.times[47].start >= 8 * round_trip);
  CHECK(r.times[47].start < 8 * round_trip + 500 + 100);
}

TEST_CASE("padding behind the program is fetched in whole bursts but not consumed") {
  const HwConfig hw = machine();
  const RunResult one = run(hw, {load(0, 8), load(0, 8)});  // exactly 8 units
  CHECK(one.dram_read_bytes == 16 + hw.fetch_burst_bytes());
  const RunResult two = run(hw, {load(0, 8), load(0, 8), load(0, 8)});
  CHECK(two.dram_read_bytes == 24 + 2 * hw.fetch_burst_bytes());
  CHECK(two.engines[4].busy == 12);
}

TEST_CASE("padding that still arrives when the program ends counts as read") {
  HwConfig hw = machine();
  hw.bandwidth_num = 1;  // 8 cycles a beat: the burst's last unit arrives long after the VECTOR's retire
  const RunResult r = run(hw, {vector(1)});
  CHECK(r.total_cycles < 2 + hw.memory_latency + 16 * 8);
  CHECK(r.dram_read_bytes == hw.fetch_burst_bytes());
}

TEST_CASE("of FETCH and LOAD requests visible in the same cycle FETCH's is taken first") {
  // FETCH stands still at a full VECTOR queue, with one burst (the tenth) left to request; instruction 4's
  // start sets it free, and `n` sweeps that start over the request of a single-beat LOAD (3). Behind FETCH's
  // burst the LOAD takes up to a burst longer; the whole of it only if FETCH wins when both are requested in
  // one cycle.
  const HwConfig hw = machine();
  const int64_t undisturbed = 1 + 2 + hw.memory_latency + timing::kLoadRetire;
  const int64_t burst = hw.fetch_burst_bytes() / hw.bus_bytes;
  int64_t longest = 0, shortest = INT64_MAX;
  for (uint32_t n = 1; n <= 100; ++n) {
    std::vector<isa::Instruction> program = {load(0, 4096), load(0, 8 * 64, 1, 0, {1, 0, 0, 0}),
                                             vector(n, {1, 0, 0, 0}), load(0, 8, 1, 0, {2, 0, 0, 0}),
                                             vector(1, {0, 0, 1, 0})};
    for (int i = 0; i < 4; ++i) program.push_back(vector(1));
    for (int i = 0; i < 4; ++i) program.push_back(matrix(1, 1));
    program.push_back(vector(1));
    const RunResult r = run(hw, program, n % 10 == 0);
    CHECK(r.dram_read_bytes == 4096 + 8 * 64 + 8 + 10 * hw.fetch_burst_bytes());
    const int64_t duration = r.times[3].retire - r.times[3].start;
    longest = std::max(longest, duration);
    shortest = std::min(shortest, duration);
  }
  CHECK(shortest == undisturbed);
  CHECK(longest == undisturbed + burst);
}

}  // namespace
}  // namespace dlc::timing_test
