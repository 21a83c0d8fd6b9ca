// Helpers of the lowerings that insert tensors: operands repeated along channels, tensors changed in scale.
#pragma once
#include <functional>

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

// A tensor with the type and quantisation of `out`, named after it.
ir::Value stored_like(const LoweringContext& c, const Requantised& out, const char* suffix, ir::Shape shape);

// A node of domain dlc with this new result, standing for the ONNX nodes of `like`.
ir::ValueId add_node(const LoweringContext& c, const std::string& op, ir::Payload payload,
                     std::vector<ir::ValueId> inputs, ir::Value result, ir::NodeId like);

// A DequantizeLinear of `stored` whose result is the first output of `old`, a node that is gone; like `like`, with
// the quantisation of `stored`.
void add_dequantise(const LoweringContext& c, ir::ValueId stored, const ir::Node& old, ir::NodeId like);

// The tensor that `value` is the dequantisation of, or which it is itself (QOperator models move stored tensors;
// `node` is invalid then).
std::optional<Dequantised> moved_operand(const ir::Graph& graph, ir::ValueId value);

// moved_operand of node `id`'s first input, which must be of rank 4.
std::optional<Dequantised> map_operand(const LoweringContext& c, ir::NodeId id);

// Interleaving of phases (i, j), row by row, of sh x sw cells.
ir::QPlace interleaving(int64_t sh, int64_t sw);

// Replaces operator `id` on the dequantised tensor `x`: its output number i becomes the dequantisation of what
// make(i, value) computes; `value` is the stored result's description. An operator on stored tensors (x.node
// invalid) is replaced in place.
void move_stored(const LoweringContext& c, ir::NodeId id, const Dequantised& x,
                 const std::function<ir::ValueId(size_t, ir::Value)>& make);

}  // namespace dlc::quantize
