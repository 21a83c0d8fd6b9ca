// Functions that exporters write out in small operators, put together again: GELU, layer normalisation, softmax.
#include <algorithm>
#include <numbers>
#include <optional>

#include "compiler/passes/match.h"
#include "compiler/passes/passes.h"

namespace dlc::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr int kGeluOpset = 20, kLayerNormOpset = 17, kSoftmaxOpset = 13;

// `last` becomes the operator `op` of `inputs`; what it stood behind goes with remove-dead-code.
void become(Graph& graph, NodeId last, const std::string& op, int opset, const std::vector<ValueId>& inputs,
            std::map<std::string, ir::Attribute> attributes) {
  Node n;
  n.name = graph.unique_node_name(graph.node(last).name + "." + op);
  n.op = op;
  n.opset = opset;
  n.attributes = std::move(attributes);
  n.onnx_nodes = graph.node(last).onnx_nodes;
  n.file = graph.node(last).file;
  n.inputs = inputs;
  n.outputs = graph.node(last).outputs;
  graph.erase(last);
  graph.add_node(std::move(n));
}

// --- GELU: x * 0.5 * (1 + erf(x / sqrt 2)), or with tanh; the three factors in any order.

// A product of values nobody else reads, as its factors: uniform constants multiplied up, the others listed.
struct Product {
  double constant = 1;
  std::vector<ValueId> factors;
};

void add_factor(const Graph& graph, ValueId v, Product& product, ValueId stop) {
  const NodeId n = v == stop ? NodeId{} : made_by(graph, v, "Mul");
  if (const auto c = uniform_constant(graph, v)) {
    product.constant *= static_cast<double>(*c);
  } else if (n.valid() && graph.single_use(v)) {
    for (ValueId operand : graph.node(n).inputs) add_factor(graph, operand, product, stop);
  } else if (const NodeId d = made_by(graph, v, "Div"); d.valid() && graph.single_use(v) && with_constant(graph, d)) {
    product.constant /= static_cast<double>(with_constant(graph, d)->constant);
    add_factor(graph, with_constant(graph, d)->variable, product, stop);
  } else {
    product.factors.push_back(v);
  }
}

// The product x * 0.5 * gate on whose way up `gate` stands: its last node.
NodeId half_product(const Graph& graph, ValueId gate, ValueId x) {
  ValueId v = gate;
  for (int depth = 0; depth < 3; ++depth) {
    const auto use = graph.single_use(v);
    if (!use || !is_onnx(graph.node(use->node), "Mul")) return {};
    v = graph.node(use->node).outputs[0];
    Product p;
    for (ValueId operand : graph.node(use->node).inputs) add_factor(graph, operand, p, gate);
    std::vector<ValueId> expected{x, gate};
    std::sort(p.factors.begin(), p.factors.end());
    std::sort(expected.begin(), expected.end());
    if (p.factors == expected && std::abs(p.constant - 0.5) < 1e-4) return use->node;
  }
  return {};
}

// 1 + v, read by the rest of the product.
ValueId one_plus(const Graph& graph, ValueId v) {
  const auto use = graph.single_use(v);
  if (!use || !is_onnx(graph.node(use->node), "Add")) return {};
  const auto c = with_constant(graph, use->node);
  return c && c->variable == v && is_about(c->constant, 1) ? graph.node(use->node).outputs[0] : ValueId{};
}

// v = factor * x, as a product or a quotient: x.
ValueId scaled(const Graph& graph, ValueId v, double factor) {
  for (const bool divide : {false, true}) {
    const NodeId n = made_by(graph, v, divide ? "Div" : "Mul");
    const auto c = with_constant(graph, n);
    if (c && is_about(c->constant, divide ? 1 / factor : factor)) return c->variable;
  }
  return {};
}

bool is_cube(const Graph& graph, ValueId v, ValueId x) {
  if (const NodeId pow = made_by(graph, v, "Pow"); pow.valid()) {
    const auto c = with_constant(graph, pow);
    return c && c->variable == x && c->constant == 3.0f;
  }
  if (!made_by(graph, v, "Mul").valid()) return false;
  Product p;
  add_factor(graph, v, p, {});
  return p.constant == 1 && p.factors == std::vector<ValueId>{x, x, x};
}

// sqrt(2 / pi) * (x + 0.044715 * x^3): x.
ValueId tanh_argument(const Graph& graph, ValueId v) {
  const ValueId sum = scaled(graph, v, std::sqrt(2 / std::numbers::pi));
  const NodeId add = sum.valid() ? made_by(graph, sum, "Add") : NodeId{};
  if (!add.valid()) return {};
  const Node& n = graph.node(add);
  for (size_t i : {0, 1}) {
    const ValueId x = n.inputs[i], cube = scaled(graph, n.inputs[1 - i], 0.044715);
    if (cube.valid() && is_cube(graph, cube, x)) return x;
  }
  return {};
}

void recognize_gelu(Graph& graph, NodeId id) {
  const bool erf = is_onnx(graph.node(id), "Erf");
  if (!erf && !is_onnx(graph.node(id), "Tanh")) return;
  const ValueId argument = graph.node(id).inputs[0];
  const ValueId x = erf ? scaled(graph, argument, std::numbers::sqrt2 / 2) : tanh_argument(graph, argument);
  const ValueId gate = x.valid() ? one_plus(graph, graph.node(id).outputs[0]) : ValueId{};
  const NodeId last = gate.valid() ? half_product(graph, gate, x) : NodeId{};
  if (last.valid()) become(graph, last, "Gelu", kGeluOpset, {x}, {{"approximate", std::string(erf ? "none" : "tanh")}});
}

// --- Layer normalisation: d = x - mean(x), d / sqrt(mean(d^2) + epsilon) [* gamma [+ beta]].

// The axes of a ReduceXxx that keeps them; nothing where they aren't constant.
std::optional<std::vector<int64_t>> reduced_axes(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  if (n.attribute<int64_t>("keepdims", 1) == 0) return std::nullopt;
  std::vector<int64_t> axes = n.attribute<std::vector<int64_t>>("axes");
  if (n.inputs.size() > 1 && n.inputs[1].valid()) {
    const ir::Value& v = graph.value(n.inputs[1]);
    if (!v.is_constant() || v.type != ir::ElementType::int64) return std::nullopt;
    axes.assign(v.constant<int64_t>().begin(), v.constant<int64_t>().end());
  }
  const auto rank = static_cast<int64_t>(graph.value(n.inputs[0]).shape.size());
  for (int64_t& a : axes) a += a < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

// The first of the trailing axes that a reduction is over; nothing where there are others.
std::optional<int64_t> trailing_axis(const Graph& graph, NodeId id) {
  const auto axes = reduced_axes(graph, id);
  if (!axes || axes->empty()) return std::nullopt;
  const auto rank = static_cast<int64_t>(graph.value(graph.node(id).inputs[0]).shape.size());
  for (size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != rank - static_cast<int64_t>(axes->size() - i)) return std::nullopt;
  return axes->front();
}

struct Normalisation {
  ValueId x;
  int64_t axis = 0;
  float epsilon = 0;
};

// sqrt(mean((x - mean(x))^2) + epsilon) as the divisor of `d`.
std::optional<Normalisation> normalisation(const Graph& graph, ValueId d, ValueId divisor) {
  const NodeId sub = made_by(graph, d, "Sub"), root = made_by(graph, divisor, "Sqrt");
  if (!sub.valid() || !root.valid()) return std::nullopt;
  const NodeId mean = made_by(graph, graph.node(sub).inputs[1], "ReduceMean");
  const auto sum = with_constant(graph, made_by(graph, graph.node(root).inputs[0], "Add"));
  if (!mean.valid() || !sum) return std::nullopt;
  const NodeId variance = made_by(graph, sum->variable, "ReduceMean");
  if (!variance.valid() || graph.node(mean).inputs[0] != graph.node(sub).inputs[0]) return std::nullopt;
  const ValueId square = graph.node(variance).inputs[0];
  const NodeId pow = made_by(graph, square, "Pow"), mul = made_by(graph, square, "Mul");
  const auto power = with_constant(graph, pow);
  const bool squared = (power && power->variable == d && power->constant == 2.0f) ||
                       (mul.valid() && graph.node(mul).inputs == std::vector<ValueId>{d, d});
  const auto axis = trailing_axis(graph, mean);
  if (!squared || !axis || axis != trailing_axis(graph, variance)) return std::nullopt;
  return Normalisation{graph.node(sub).inputs[0], *axis, sum->constant};
}

// The constant operand of `op` behind v that has exactly the normalised shape, and the node.
struct Behind {
  NodeId node;
  ValueId constant;
};
std::optional<Behind> constant_behind(const Graph& graph, ValueId v, std::string_view op, const ir::Shape& shape) {
  const auto use = graph.single_use(v);
  if (!use || !is_onnx(graph.node(use->node), op)) return std::nullopt;
  const ValueId c = graph.node(use->node).inputs[1 - use->input];
  if (!graph.value(c).is_constant() || graph.value(c).shape != shape) return std::nullopt;
  return Behind{use->node, c};
}

void recognize_layer_norm(Graph& graph, NodeId id) {
  const Node& div = graph.node(id);
  if (!is_onnx(div, "Div")) return;
  const auto norm = normalisation(graph, div.inputs[0], div.inputs[1]);
  if (!norm || graph.value(norm->x).type != ir::ElementType::float32) return;
  const ir::Shape& whole = graph.value(norm->x).shape;
  const ir::Shape shape(whole.begin() + norm->axis, whole.end());
  NodeId last = id;
  std::vector<ValueId> inputs{norm->x};
  if (const auto gamma = constant_behind(graph, div.outputs[0], "Mul", shape)) {
    inputs.push_back(gamma->constant);
    last = gamma->node;
    if (const auto beta = constant_behind(graph, graph.node(last).outputs[0], "Add", shape)) {
      inputs.push_back(beta->constant);
      last = beta->node;
    }
  } else {
    ir::Tensor ones(ir::ElementType::float32, shape);
    std::fill(ones.data<float>().begin(), ones.data<float>().end(), 1.0f);
    inputs.push_back(graph.add_constant(graph.unique_value_name(div.name + ".ones"), ones));
  }
  become(graph, last, "LayerNormalization", kLayerNormOpset, inputs, {{"axis", norm->axis}, {"epsilon", norm->epsilon}});
}

// --- Softmax: e / sum(e) with e = exp(x - max(x)) or exp(x), over one axis.
void recognize_softmax(Graph& graph, NodeId id) {
  const Node& div = graph.node(id);
  if (!is_onnx(div, "Div")) return;
  const NodeId exp = made_by(graph, div.inputs[0], "Exp"), sum = made_by(graph, div.inputs[1], "ReduceSum");
  if (!exp.valid() || !sum.valid() || graph.node(sum).inputs[0] != div.inputs[0]) return;
  const auto axes = reduced_axes(graph, sum);
  if (!axes || axes->size() != 1) return;
  ValueId x = graph.node(exp).inputs[0];
  if (const NodeId sub = made_by(graph, x, "Sub"); sub.valid()) {
    const NodeId max = made_by(graph, graph.node(sub).inputs[1], "ReduceMax");
    const ValueId before = graph.node(sub).inputs[0];
    if (max.valid() && graph.node(max).inputs[0] == before && reduced_axes(graph, max) == axes) x = before;
  }
  if (graph.value(x).type != ir::ElementType::float32) return;
  become(graph, id, "Softmax", kSoftmaxOpset, {x}, {{"axis", axes->front()}});
}

}  // namespace

void recognize_functions(Graph& graph, PassContext& context) {
  for (auto* recognize : {recognize_gelu, recognize_layer_norm, recognize_softmax}) {
    for (NodeId id : graph.topological_order()) {
      if (graph.alive(id.index)) recognize(graph, id);
    }
  }
  remove_dead_code(graph, context);
}

}  // namespace dlc::passes
