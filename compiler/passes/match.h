// Small questions that pattern-matching passes ask of a graph.
#pragma once
#include <cmath>
#include <optional>
#include <string_view>

#include "compiler/ir/graph.h"

namespace dlc::passes {

// An operator of ONNX's own domain.
inline bool is_onnx(const ir::Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

// The node that makes a value, where it is this operator of ONNX's own domain; else invalid.
inline ir::NodeId made_by(const ir::Graph& graph, ir::ValueId v, std::string_view op) {
  const ir::NodeId n = graph.producer(v);
  return n.valid() && is_onnx(graph.node(n), op) ? n : ir::NodeId{};
}

// The one value that a float32 constant holds in every element.
inline std::optional<float> uniform_constant(const ir::Graph& graph, ir::ValueId v) {
  if (!v.valid()) return std::nullopt;
  const ir::Value& value = graph.value(v);
  if (!value.is_constant() || value.type != ir::ElementType::float32 || value.elements() == 0) return std::nullopt;
  const auto c = value.constant<float>();
  for (float x : c)
    if (x != c[0]) return std::nullopt;
  return c[0];
}

inline bool is_about(std::optional<float> value, double expected) {
  return value && std::abs(static_cast<double>(*value) - expected) <= 1e-4 * std::abs(expected);
}

// A binary node as (variable operand, uniform constant); commutative operators in either order.
struct WithConstant {
  ir::ValueId variable;
  float constant = 0;
};
inline std::optional<WithConstant> with_constant(const ir::Graph& graph, ir::NodeId id) {
  if (!id.valid()) return std::nullopt;
  const ir::Node& n = graph.node(id);
  if (n.inputs.size() != 2) return std::nullopt;
  const auto right = uniform_constant(graph, n.inputs[1]);
  if (right && !graph.value(n.inputs[0]).is_constant()) return WithConstant{n.inputs[0], *right};
  if (!is_onnx(n, "Add") && !is_onnx(n, "Mul")) return std::nullopt;
  const auto left = uniform_constant(graph, n.inputs[0]);
  if (left && !graph.value(n.inputs[1]).is_constant()) return WithConstant{n.inputs[1], *left};
  return std::nullopt;
}

}  // namespace dlc::passes
