// What the lowerings of Conv, ConvTranspose, Gemm and MatMul share: a sum of products of a quantised
// activation with constant weights, a bias, and the rescale to the result's quantisation.
//
//   y = clamp(round((sum (x - xz)(w - wz) + bias) * sx * sw[c] / sy) + yz)
//
// which is the float pattern's value, computed exactly and rounded once.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "compiler/quantize/lowering.h"

namespace dlc::quantize {

struct Product {
  ir::NodeId node;  // Conv, ConvTranspose, Gemm or MatMul
  Dequantised x;
  Weight w;                  // scale: one, or one per output channel
  ir::Tensor weight;         // (OC, IC/groups, KH, KW), stored values
  ir::QConv conv;            // window and groups filled in
  ir::ValueId result;        // float result, behind the bias addition if there is one
  std::vector<double> bias;  // real; empty: none
  double alpha = 1;
  std::vector<ir::NodeId> shared;  // dequantisations of operands
  std::vector<ir::NodeId> chain;   // the product, the bias addition
};

// The product's input `slot` as its bias, if it has one; false (with a note) where it is not constant.
bool read_bias(const LoweringContext& c, Product& p, size_t slot);

// A following Add of a constant per output channel (`channel_dims` dimensions behind the channel) as the
// bias.
void match_bias_add(const ir::Graph& graph, Product& p, int64_t channels, size_t channel_dims);

// Fills in zero points and rescale (bias and factor of every channel) of `p.conv`. The result's quantisation,
// and p.chain completed; nothing (with a note) when the result is not quantised, sums or a bias exceed 32
// bits.
std::optional<Requantised> finish_product(const LoweringContext& c, Product& p);

// Two integers of an attribute.
std::array<int64_t, 2> pair_attribute(const ir::Node& node, const std::string& key);

}  // namespace dlc::quantize
