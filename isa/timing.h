// The executable rows of the timing contract (isa/README.md §4). SystemC model and the compiler's cost
// model call these; the boundary tests in tests/timing prove each against the RTL.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "isa/hwconfig.h"

namespace dlc::timing {

// Constants that the RTL's pipeline depths fix. Units: cycles (or entries).
inline constexpr int64_t kMatrixFill = 0;  // extra cycles between a preload's last read and the first step
inline constexpr int64_t kBroadcastFill =
    1;  // broadcast, without preload: after S + 1, tile loops to step loops
inline constexpr int64_t kMatrixDrain = 3;   // retire after the last step, beyond matrix_path()
inline constexpr int64_t kVectorDepth = 14;  // retire after the last step
inline constexpr int64_t kStoreLatency = 2;  // last scratchpad read of a burst to AW/W
inline constexpr int64_t kStoreRetire = 1;   // last B response to retire
inline constexpr int64_t kLoadRetire = 1;    // last R beat to retire
inline constexpr int64_t kEndLatency = 2;    // last retire or fetch to done
inline constexpr int kLoadInflight = 8;      // LOAD instructions started and not retired
inline constexpr int kStoreInflight = 8;
inline constexpr int kFetchBuffers = 4;  // FETCH bursts requested and not consumed

// Registers on the way from a step's operands to the last column's sum: along the systolic array's diagonal,
// or the levels of an adder tree (the first of which multiplies, too).
inline int64_t matrix_path(const HwConfig& hw) {
  if (hw.dataflow == Dataflow::weight_stationary) return hw.rows + hw.cols;
  return std::bit_width(static_cast<unsigned>(hw.rows)) - 1;
}

inline int64_t matrix_fill(const HwConfig& hw) {
  return hw.dataflow == Dataflow::weight_stationary ? kMatrixFill : kBroadcastFill;
}

struct MatrixTimes {
  int64_t first_step = 0;  // t_0
  int64_t front_free = 0;  // t_{n-1}: earliest start of the next instruction
  int64_t end = 0;         // E: first cycle after the last step
  int64_t retire = 0;
};

// start: S; previous_end: E of the previous MATRIX instruction (0 if none).
inline MatrixTimes matrix_times(const HwConfig& hw, int64_t start, int64_t previous_end, int64_t tiles,
                                int64_t steps_per_tile) {
  const bool systolic = hw.dataflow == Dataflow::weight_stationary;
  const int64_t preload = systolic ? hw.tile_words() : 0;
  const int64_t period = std::max(steps_per_tile, preload);
  MatrixTimes t;
  t.first_step = std::max(start + 1 + preload + matrix_fill(hw), previous_end);
  t.front_free = t.first_step + (tiles - 1) * period;
  t.end = t.front_free + steps_per_tile;
  t.retire = t.end - 1 + matrix_path(hw) + kMatrixDrain;
  return t;
}

struct VectorTimes {
  int64_t front_free = 0;  // S + N
  int64_t retire = 0;
};
inline VectorTimes vector_times(int64_t start, int64_t steps) {
  return {start + steps, start + steps + kVectorDepth};
}

}  // namespace dlc::timing
