// Operators that raise the resolution, as convolutions of the input: every output position belongs to one
// phase (its remainder modulo the period), and the positions of a phase read a window that slides over the
// input.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/ir/quant_ops.h"
#include "compiler/quantize/lowering.h"

namespace dlc::quantize {

// Outputs first, first + period, ... of one axis: a window of `taps.size()` elements of the input.
struct AxisPhase {
  int64_t first = 0, count = 0;  // outputs
  int64_t start = 0;             // position in the input of the first tap of the first output; may be outside
  int64_t stride = 1, dilation = 1;
  std::vector<int64_t> taps;  // what each tap means to the operator (kernel index, weight); empty: no input
};

// The convolution's window over an input of height `in_h` and width `in_w`: kernel, stride, dilation and pads
// (negative where the window begins inside the map or does not reach its end). A phase without taps gets one
// that lies in the padding altogether: it contributes nothing.
void set_window(ir::QConv& conv, const AxisPhase& rows, const AxisPhase& columns, int64_t in_h, int64_t in_w);

// Adds input number `index` of `place`: the phase's results at their positions.
void place_phase(ir::QPlace& place, const AxisPhase& rows, const AxisPhase& columns, int64_t row_period,
                 int64_t column_period);

// Phases of a transposed convolution along one axis: output o gets input i through tap k where
// o = i * stride + k * dilation - pad. The taps are kernel indices in the order in which the window reads
// them.
std::vector<AxisPhase> transposed_phases(int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                                         int64_t pad);

}  // namespace dlc::quantize
