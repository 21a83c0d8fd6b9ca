// Which operators are functions of one tensor, element by element, and which of them need a look-up table.
#pragma once
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace dlc::quantize {

// By name, for tables of operators.
bool is_elementwise_operator(std::string_view op);

// An operator that maps each element by itself, given that all but one operand are scalar constants.
bool is_elementwise(const ir::Node& node);

// Relu and the like: what the operator in front of them does for nothing.
bool is_clamp(const ir::Node& node);

// A constant of one element: float32, or dequantised.
bool is_scalar_constant(const ir::Graph& graph, ir::ValueId value);

// Whether the function that these nodes compute together needs a table. VECTOR does clamps, positive scalings
// and single combinations with a quantised operand without one, on every machine.
bool needs_table(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

}  // namespace dlc::quantize
