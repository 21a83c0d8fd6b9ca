// First layers with few channels: neighbouring pixels side by side in the lanes of a word.
//
// MATRIX multiplies words of `rows` bytes; an image with 3 channels fills 3 of them. Where the host hands an image to a
// convolution, this rewrite lets it lay fy x fx pixels into one word (space to depth) and makes the convolution one
// over words:
//
//   x (N,C,H,W) -> pack_pixels(fy, fx) -> (N, fy*fx*C, ceil(H/fy), ceil(W/fx)),
//   channel (iy*fx + ix)*C + c of word (h, w) = pixel (h*fy + iy, w*fx + ix), channel c; beyond the image x_zero
//
// Along one axis with kernel K, stride s, padding p and f pixels a word, f a divisor or a multiple of s: P = max(1, f/s)
// phases of outputs, o = q*P + phase. Phase `i` starts at pixel q*P*s + i*s - p = word q*(P*s/f) + floor((i*s - p)/f),
// pixel r = (i*s - p) mod f of it, and touches floor((r + K - 1)/f) + 1 words instead of K. Each phase is a convolution
// of its own (weights between the real taps are w_zero), and a qplace puts the phases together. Every byte of the
// result is what it was.
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "isa/hwconfig.h"

namespace dlc::accel {

// Rewrites every convolution for which the modelled cycles of `hw` fall. Returns one line for each, for --verbose.
std::vector<std::string> pack_pixels(ir::Graph& graph, const HwConfig& hw);

}  // namespace dlc::accel
