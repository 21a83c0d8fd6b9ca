#include "compiler/quantize/elementwise.h"

#include <algorithm>
#include <string_view>

#include "compiler/quantize/qdq.h"

namespace dlc::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr std::string_view kElementwise[] = {"Abs",
                                             "Add",
                                             "Ceil",
                                             "Celu",
                                             "Clip",
                                             "Cos",
                                             "Div",
                                             "Elu",
                                             "Erf",
                                             "Exp",
                                             "Floor",
                                             "Gelu",
                                             "HardSigmoid",
                                             "HardSwish",
                                             "Identity",
                                             "LeakyRelu",
                                             "Log",
                                             "Max",
                                             "Min",
                                             "Mish",
                                             "Mul",
                                             "Neg",
                                             "PRelu",
                                             "Pow",
                                             "Reciprocal",
                                             "Relu",
                                             "Round",
                                             "Selu",
                                             "Sigmoid",
                                             "Sign",
                                             "Sin",
                                             "Softplus",
                                             "Softsign",
                                             "Sqrt",
                                             "Sub",
                                             "Tanh",
                                             "ThresholdedRelu"};
constexpr std::string_view kClamps[] = {"Clip", "Identity", "Relu"};
constexpr std::string_view kCombinations[] = {"Add", "Max", "Min", "Mul", "Sub"};

template <size_t N>
bool is_one_of(const Node& n, const std::string_view (&ops)[N]) {
  return n.domain.empty() && std::find(std::begin(ops), std::end(ops), n.op) != std::end(ops);
}

bool is_positive_scaling(const Graph& graph, const Node& n) {
  if (n.op != "Mul" && n.op != "Div") return false;
  for (size_t slot = n.op == "Div" ? 1 : 0; slot < 2; ++slot)
    if (is_scalar_constant(graph, n.inputs[slot])) return (*constant_reals(graph, n.inputs[slot]))[0] > 0;
  return false;
}

// With a constant in float, which the operator's own lowering does not take.
bool has_float_scalar(const Graph& graph, const Node& n) {
  return std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
    return v.valid() && graph.value(v).is_constant() && graph.value(v).elements() == 1;
  });
}

}  // namespace

bool is_elementwise_operator(std::string_view op) {
  return std::find(std::begin(kElementwise), std::end(kElementwise), op) != std::end(kElementwise);
}
bool is_elementwise(const Node& node) { return is_one_of(node, kElementwise); }
bool is_clamp(const Node& node) { return is_one_of(node, kClamps); }

bool is_scalar_constant(const Graph& graph, ValueId v) {
  if (graph.value(v).elements() != 1) return false;
  const auto reals = constant_reals(graph, v);
  return reals && reals->size() == 1;
}

bool needs_table(const Graph& graph, const std::vector<NodeId>& nodes) {
  int combinations = 0;
  for (NodeId id : nodes) {
    const Node& n = graph.node(id);
    if (is_clamp(n) || !is_elementwise(n)) continue;
    const bool scaling = is_positive_scaling(graph, n);
    if (!scaling && (!is_one_of(n, kCombinations) || has_float_scalar(graph, n))) return true;
    ++combinations;
  }
  return combinations > 1;
}

}  // namespace dlc::quantize
