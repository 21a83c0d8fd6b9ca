// Post-training quantisation, the plan: which values of a float graph become 8 bit, and how.
#pragma once
#include <map>
#include <set>

#include "compiler/ir/graph.h"
#include "compiler/quantize/calibrate.h"

namespace dlc::quantize {

// What an operator is to the quantiser.
enum class Role {
  host,        // stays float
  weighted,    // Conv, Gemm, ... with constant weights: input, weights, bias and result are quantised
  arithmetic,  // every float input and the result are quantised, each with its own scale
  average,     // average pools: as arithmetic, also behind the last weighted operator
  function,    // part of a function of one tensor (post_training_functions.h): rounded before and behind all of it
  movement,    // the result has the input's scale: MaxPool, Reshape, Transpose, Relu on its own, ...
};
// By itself: Role::function is for the plan to find.
Role role_of(const ir::Graph& graph, ir::NodeId node);

// Scale and zero point of an int8 tensor that holds [range.low, range.high]. An empty or vanishing range gets
// scale 1.
ir::Quantization activation_quantization(const Range& range);

struct Plan {
  std::set<ir::NodeId> nodes;                      // computed in 8 bits (activations merged into them too)
  std::map<ir::ValueId, ir::Quantization> values;  // 8-bit activations; constants of arithmetic operators too
};

// Throws std::logic_error where a value that is to be quantised has no range.
Plan make_plan(const ir::Graph& graph, const Calibration& calibration);

// The value of a planned node that is rounded: its result, or that of the activation merged into it.
ir::ValueId rounded_output(const ir::Graph& graph, const Plan& plan, ir::NodeId node);

}  // namespace dlc::quantize
