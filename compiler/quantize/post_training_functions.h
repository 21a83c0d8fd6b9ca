// Post-training quantisation: which operators of a float network together compute a function of one tensor,
// element by element (hard-swish in parts, x * Sigmoid(x), a lone Gelu). Nothing between them is rounded;
// quantised, each becomes one look-up (lower_function.cpp).
#pragma once
#include <map>
#include <set>

#include "compiler/ir/graph.h"

namespace dlc::quantize {

struct ElementFunctions {
  std::set<ir::NodeId> nodes;                 // that belong to a function
  std::set<ir::ValueId> inside;               // results that only nodes of the same function read
  std::map<ir::ValueId, ir::ValueId> source;  // result of a function -> the tensor that it is a function of
};

// Clamps behind a layer belong to the layer; single additions and products with a constant are no functions.
ElementFunctions find_functions(const ir::Graph& graph);

}  // namespace dlc::quantize
