// Integer operators of the Graph IR: what the quantisation pass makes of Q/DQ patterns, what the
// reference backend evaluates (with isa/numerics.h) and what the accelerator backend lowers. The integers
// here are exactly those that reach the machine: two evaluations of the same graph agree in every byte.
//
// All tensors are NCHW (or N,C), 8 bit (int8 or uint8) unless said otherwise.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/numerics.h"

namespace dlc::ir {

// clamp(round((x + bias) * multiplier / 2^shift) + zero, low, high): numerics::rescale.
// Vectors have one entry, or one per output channel.
struct Rescale {
  std::vector<int32_t> bias;
  std::vector<uint32_t> multiplier;
  std::vector<int> shift;
  int32_t zero = 0, low = -128, high = 127;
};

// numerics::combine_linear(a - a_zero, ..., b - b_zero, ...). `a` is the operator's own (already rescaled)
// result or its first input, `b` the other input.
struct LinearCombine {
  int32_t a_zero = 0, b_zero = 0;
  uint32_t a_multiplier = 0, b_multiplier = 0;
  bool b_negate = false;
  int shift = 0;
  int32_t zero = 0, low = -128, high = 127;
};

// qconv: inputs x, w [, residual]. w is (OC, IC/groups, KH, KW) int8/uint8 constant.
// acc = sum (x - x_zero) * (w - w_zero), padding contributes nothing; y = rescale(acc); with `residual`:
// y = combine(y, residual). Depthwise: groups == IC, OC == IC * multiplier.
// A negative pad leaves rows or columns out: the window begins inside the map, or stops before its end.
// Fully connected layers are 1x1 convolutions on H = W = 1 (or HxW valid convolutions after a flatten).
struct QConv {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<int64_t, 4> pad{0, 0, 0, 0};  // top, left, bottom, right
  int64_t groups = 1;
  int32_t x_zero = 0, w_zero = 0;
  Rescale rescale;
  std::optional<LinearCombine> residual;
};

// qadd: inputs a, b; dimensions of 1 are repeated (NumPy broadcasting; equal ranks).
struct QAdd {
  LinearCombine combine;
};

// qpool: window maximum, or average = rescale(sum(x - x_zero)) with a multiplier for each number of valid
// elements that occurs (divisor). Global pools are windows of the whole map.
struct QPool {
  enum class Kind { max, average } kind = Kind::max;
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<int64_t, 4> pad{0, 0, 0, 0};
  bool count_include_pad = false;
  int32_t x_zero = 0;
  // average: fixed-point factor for a window with d valid elements: factor[d] (index 0 unused), with the
  // scales x_scale / y_scale folded in. max: unused, values pass unchanged (same quantisation in and out),
  // then clamp.
  std::vector<numerics::FixedPoint> factor;
  int32_t zero = 0, low = -128, high = 127;
};

// qbinary: inputs a, b, broadcast as in qadd. multiply: numerics::combine_multiply(a - a_zero, b - b_zero);
// maximum, minimum: numerics::combine_select of the same differences, so both operands have one scale.
struct QBinary {
  enum class Kind { multiply, maximum, minimum } kind = Kind::multiply;
  int32_t a_zero = 0, b_zero = 0;
  uint32_t multiplier = 0;
  int shift = 0;
  int32_t zero = 0, low = -128, high = 127;
};

// qplace: the output is put together from its inputs, which cover it once: input i's element at (n,c,h,w) is
// the output's at offset[4i..4i+3] + (n,c,h,w) * step[4i..4i+3]. Concatenation along any axis (step 1), and
// interleaving of phases (transposed convolution, nearest resize, depth to space: steps in H and W). Rank 2
// tensors have H = W = 1. Types and quantisation are the same throughout.
struct QPlace {
  std::vector<int64_t> offset, step;
};

// qtake: the output's element at (n,c,h,w) is the input's at offset + (n,c,h,w) * step, channel c being
// channels[c] where `channels` is not empty (then offset and step of C are 0 and 1). Slices and channel
// permutations (channel shuffle).
struct QTake {
  std::array<int64_t, 4> offset{0, 0, 0, 0}, step{1, 1, 1, 1};
  std::vector<int64_t> channels;
  int64_t channel(int64_t c) const {
    return channels.empty() ? offset[1] + c * step[1] : channels[static_cast<size_t>(c)];
  }
};

// qlut: any function of one 8-bit tensor: y = table[x as uint8], byte by byte; input and output have one shape, either
// type. Only machines with vector.functions: [lut] have it.
struct QLut {
  std::array<uint8_t, 256> table{};
};

}  // namespace dlc::ir
