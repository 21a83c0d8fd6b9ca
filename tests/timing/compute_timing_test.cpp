// Boundaries of the MATRIX, VECTOR, wait and end rows of the timing contract (isa/README.md §4).
// Every program begins with a LOAD long enough that FETCH has pushed all of the rest before it retires.
#include "tests/timing/machine.h"

namespace dlc::timing_test {
namespace {

constexpr Waits kAfterLoad = {1, 0, 0, 0};

isa::Load long_load() { return load(0, 4096); }

TEST_CASE("an instruction starts in the cycle after the retire that it waits for") {
  const RunResult r =
      run(machine(), {long_load(), matrix(1, 8, kAfterLoad), vector(8, {0, 1, 0, 0}),
                      store(0x90000, 64, 1, 0, {0, 0, 1, 0}), load(0, 64, 1, 0, {1, 0, 0, 1})});
  CHECK(r.times[1].start == r.times[0].retire + 1);
  CHECK(r.times[2].start == r.times[1].retire + 1);
  CHECK(r.times[3].start == r.times[2].retire + 1);
  CHECK(r.times[4].start == r.times[3].retire + 1);
}

TEST_CASE("an instruction that waits for several engines starts after the last of them") {
  const RunResult r = run(machine(), {long_load(), matrix(1, 200, kAfterLoad), vector(3, kAfterLoad),
                                      store(0x90000, 64, 1, 0, {1, 1, 1, 0})});
  CHECK(r.times[1].retire > r.times[2].retire);
  CHECK(r.times[3].start == r.times[1].retire + 1);
}

TEST_CASE("an instruction may wait for its own engine") {
  const RunResult r = run(machine(), {long_load(), vector(5, kAfterLoad), vector(5, {0, 0, 1, 0}),
                                      matrix(1, 5, kAfterLoad), matrix(1, 5, {0, 1, 0, 0})});
  CHECK(r.times[2].start == r.times[1].retire + 1);
  CHECK(r.times[4].start == r.times[3].retire + 1);
}

TEST_CASE("a VECTOR of N steps retires kVectorDepth behind its last step and frees the front N later") {
  for (const uint32_t n : {1u, 2u, 17u}) {
    const RunResult r = run(machine(), {long_load(), vector(n, kAfterLoad), vector(3)});
    CHECK(r.times[1].retire == r.times[1].start + n + timing::kVectorDepth);
    CHECK(r.times[2].start == r.times[1].start + n);
    CHECK(r.engines[2].busy == n + 3 + 1);  // without a gap between them
  }
}

TEST_CASE("a lone MATRIX tile retires after its preload, its steps and the array's diagonal") {
  const HwConfig hw = machine();
  for (const uint32_t steps : {1u, 4u, 33u}) {
    const RunResult r = run(hw, {long_load(), matrix(1, steps, kAfterLoad)});
    const int64_t first_step = r.times[1].start + 1 + hw.tile_words() + timing::kMatrixFill;
    CHECK(r.times[1].retire == first_step + steps - 1 + hw.rows + hw.cols + timing::kMatrixDrain);
    CHECK(r.engines[1].busy == first_step + steps - r.times[1].start);
  }
}

TEST_CASE("a MATRIX tile takes max(steps, preload) cycles") {
  const HwConfig hw = machine();
  const uint32_t preload = static_cast<uint32_t>(hw.tile_words());
  for (const uint32_t steps : {1u, preload - 1, preload, preload + 1, 3 * preload}) {
    const RunResult r = run(hw, {long_load(), matrix(5, steps, kAfterLoad)});
    const int64_t first_step = r.times[1].start + 1 + preload + timing::kMatrixFill;
    const int64_t last_step = first_step + 4 * std::max(steps, preload) + steps - 1;
    CHECK(r.times[1].retire == last_step + hw.rows + hw.cols + timing::kMatrixDrain);
  }
}

TEST_CASE("the next MATRIX starts when the last tile's first step does, not one cycle earlier") {
  const HwConfig hw = machine();
  for (const uint32_t tiles : {1u, 3u}) {
    const RunResult r = run(hw, {long_load(), matrix(tiles, 20, kAfterLoad), matrix(1, 20)});
    CHECK(r.times[2].start ==
          r.times[1].start + 1 + hw.tile_words() + timing::kMatrixFill + (tiles - 1) * 20);
  }
}

TEST_CASE(
    "back-to-back MATRIX instructions lose no cycle from preload + 1 steps on, and one with preload steps") {
  const HwConfig hw = machine();
  const uint32_t preload = static_cast<uint32_t>(hw.tile_words()) + timing::kMatrixFill;
  for (const uint32_t steps : {preload + 1, preload + 9}) {
    const RunResult r =
        run(hw, {long_load(), matrix(1, steps, kAfterLoad), matrix(1, steps), matrix(1, steps)});
    CHECK(r.times[2].retire == r.times[1].retire + steps);
    CHECK(r.times[3].retire == r.times[2].retire + steps);
  }
  const RunResult r = run(hw, {long_load(), matrix(1, preload, kAfterLoad), matrix(1, preload)});
  CHECK(r.times[2].retire == r.times[1].retire + preload + 1);
}

TEST_CASE("the preload reads preload_rows rows a cycle") {
  const HwConfig hw = machine("edge-16");
  REQUIRE(hw.preload_rows == 2);
  const RunResult r = run(hw, {long_load(), matrix(3, 1, kAfterLoad)});
  CHECK(r.times[1].retire ==
        r.times[1].start + 1 + timing::kMatrixFill + 3 * 8 + hw.rows + hw.cols + timing::kMatrixDrain);
}

TEST_CASE("rows and columns both lengthen the diagonal") {
  const HwConfig hw = machine("wide-8x32");
  const RunResult r = run(hw, {long_load(), matrix(1, 50, kAfterLoad)});
  CHECK(r.times[1].retire ==
        r.times[1].start + timing::kMatrixFill + hw.tile_words() + 50 + 40 + timing::kMatrixDrain);
}

TEST_CASE("a broadcast tile needs no preload: a step a cycle from tile to tile, even with one step a tile") {
  const HwConfig hw = machine("vta-16");
  for (const uint32_t steps : {1u, 2u, 7u}) {
    const RunResult r = run(hw, {long_load(), matrix(5, steps, kAfterLoad), matrix(1, steps)});
    const int64_t first_step = r.times[1].start + 1 + timing::kBroadcastFill;
    CHECK(r.times[1].retire == first_step + 5 * steps - 1 + 4 + timing::kMatrixDrain);  // log2(16) levels
    CHECK(r.times[2].start == first_step + 4 * steps);
    CHECK(r.engines[1].busy == r.times[2].retire - 4 - timing::kMatrixDrain + 1 - r.times[1].start);
  }
}

TEST_CASE(
    "back-to-back broadcast MATRIX instructions lose no cycle from two steps on, and one with one step") {
  const HwConfig hw = machine("vta-16");
  for (const uint32_t steps : {1u, 2u, 9u}) {
    const RunResult r =
        run(hw, {long_load(), matrix(1, steps, kAfterLoad), matrix(1, steps), matrix(1, steps)});
    const int64_t period = steps == 1 ? 2 : steps;
    CHECK(r.times[2].retire == r.times[1].retire + period);
    CHECK(r.times[3].retire == r.times[2].retire + period);
  }
}

TEST_CASE(
    "waiting for another engine counts as wait_dependency from the cycle in which the head is visible") {
  const RunResult r = run(machine(), {long_load(), vector(8, kAfterLoad)});
  // The first unit of LOAD's instruction is consumed in the cycle after its last byte; 4 + 6 units, 2 beats
  // each.
  const int64_t visible = r.times[0].start + 2 * 6;
  CHECK(r.engines[2].wait_dependency == r.times[1].start - visible);
  CHECK(r.engines[2].busy == 9);
}

TEST_CASE("the run is over kEndLatency after the last retire") {
  const RunResult r = run(machine(), {long_load(), vector(8, kAfterLoad), matrix(1, 100, kAfterLoad)});
  CHECK(r.total_cycles == r.times[2].retire + timing::kEndLatency);
}

TEST_CASE("loop counts use all of their 16 bits, the second time round, too") {
  constexpr uint32_t kMany = 32770;  // more than 15 bits
  isa::Vector twice = vector(kMany, kAfterLoad);
  twice.count[3] = 2;
  const RunResult r = run(machine(), {load(0, 8, kMany), matrix(1, kMany, kAfterLoad), twice});
  CHECK(r.engines[0].busy == kMany);
  CHECK(r.times[1].retire > r.times[1].start + kMany);
  CHECK(r.times[2].retire == r.times[2].start + 2 * kMany + timing::kVectorDepth);
}

}  // namespace
}  // namespace dlc::timing_test
