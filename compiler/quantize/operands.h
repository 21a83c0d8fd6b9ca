// Helpers of the lowerings that insert tensors: operands repeated along channels, tensors changed in scale.
#pragma once
#include "compiler/quantize/lowering.h"

namespace dlc::quantize {

// `stored`, or it repeated along the channels of `shape` (a constant becomes a new one, of its rank too; any
// other tensor goes through a qtake of its only channel), because the machine repeats images, rows and columns
// only. Precondition: it broadcasts to `shape`, in rank too unless it is constant.
ir::ValueId repeat_channels(const LoweringContext& c, ir::ValueId stored, const ir::Shape& shape);

// The sum of a and b in the quantisation and clamp of `out`.
ir::LinearCombine combine_for(const Dequantised& a, const Dequantised& b, const Requantised& out);

// x changed to the quantisation, type and clamp of `out`: itself, or a qadd with itself whose second factor is
// 0, standing for the ONNX nodes of `like`.
ir::ValueId requantise(const LoweringContext& c, const Dequantised& x, const Requantised& out, ir::NodeId like);

// A node of domain dlc with this new result, standing for the ONNX nodes of `like`.
ir::ValueId add_node(const LoweringContext& c, const std::string& op, ir::Payload payload,
                     std::vector<ir::ValueId> inputs, ir::Value result, ir::NodeId like);

}  // namespace dlc::quantize
