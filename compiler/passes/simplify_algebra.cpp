#include <algorithm>
#include <limits>

#include "compiler/passes/match.h"
#include "compiler/passes/passes.h"

namespace dlc::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool keeps_shape(const Graph& graph, const Node& n, ValueId x) {
  return graph.value(x).shape == graph.value(n.outputs[0]).shape && graph.value(x).type == graph.value(n.outputs[0]).type;
}

// x + 0, x - 0, x * 1, x / 1, x ^ 1: the operand; else invalid.
ValueId neutral_operand(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  const bool sum = is_onnx(n, "Add") || is_onnx(n, "Sub");
  if (!sum && !is_onnx(n, "Mul") && !is_onnx(n, "Div") && !is_onnx(n, "Pow")) return {};
  const auto c = with_constant(graph, id);
  return c && c->constant == (sum ? 0.0f : 1.0f) && keeps_shape(graph, n, c->variable) ? c->variable : ValueId{};
}

// f(f(x)) = x: the inner operand; else invalid.
ValueId involution_operand(const Graph& graph, const Node& n) {
  for (const char* op : {"Neg", "Not", "BitwiseNot"}) {
    if (!is_onnx(n, op)) continue;
    const NodeId inner = made_by(graph, n.inputs[0], op);
    return inner.valid() ? graph.node(inner).inputs[0] : ValueId{};
  }
  return {};
}

// f(f(x)) = f(x), or f(x, x) = x: the operand; else invalid.
ValueId idempotent_operand(const Graph& graph, const Node& n) {
  for (const char* op : {"Relu", "Abs", "Ceil", "Floor", "Round", "Sign"})
    if (is_onnx(n, op) && made_by(graph, n.inputs[0], op).valid()) return n.inputs[0];
  // Relu, Abs of what is never negative.
  for (const char* op : {"Relu", "Sigmoid", "Softmax", "Exp", "HardSigmoid"})
    if ((is_onnx(n, "Relu") || is_onnx(n, "Abs")) && made_by(graph, n.inputs[0], op).valid()) return n.inputs[0];
  for (const char* op : {"Max", "Min", "And", "Or"})
    if (is_onnx(n, op) && n.inputs.size() == 2 && n.inputs[0] == n.inputs[1]) return n.inputs[0];
  return {};
}

// Concat, Max, Min, Sum, Mean of one; Pad by nothing; Expand and Tile to the same shape.
ValueId trivial_operand(const Graph& graph, const Node& n) {
  if (n.inputs.empty() || !n.inputs[0].valid() || !keeps_shape(graph, n, n.inputs[0])) return {};
  for (const char* op : {"Concat", "Max", "Min", "Sum", "Mean"})
    if (is_onnx(n, op)) return n.inputs.size() == 1 ? n.inputs[0] : ValueId{};
  if (is_onnx(n, "Expand") || is_onnx(n, "Tile")) return n.inputs[0];
  if (is_onnx(n, "Pad")) {
    const auto pads = n.attribute<std::vector<int64_t>>("pads");
    return !pads.empty() && std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; }) ? n.inputs[0] : ValueId{};
  }
  return {};
}

// (x op c1) op c2 with op + or *, scalars: one operation with the constants joined. Not where the result in
// between is used elsewhere.
bool join_constants(Graph& graph, NodeId id) {
  const std::string op = graph.node(id).op;
  if (!is_onnx(graph.node(id), "Add") && !is_onnx(graph.node(id), "Mul")) return false;
  const auto outer = with_constant(graph, id);
  if (!outer || !graph.single_use(outer->variable)) return false;
  const NodeId inner_id = made_by(graph, outer->variable, op);
  const auto inner = with_constant(graph, inner_id);
  if (!inner) return false;
  const Node n = graph.node(id);
  // The joined constant has one element: only where neither constant widens the result.
  if (!keeps_shape(graph, n, outer->variable) || !keeps_shape(graph, graph.node(inner_id), inner->variable)) return false;
  const float joined = op == "Add" ? inner->constant + outer->constant : inner->constant * outer->constant;
  ir::Tensor c(ir::ElementType::float32, {});
  c.data<float>()[0] = joined;
  graph.set_input(id, 0, inner->variable);
  graph.set_input(id, 1, graph.add_constant(n.name + ".joined", c));
  std::vector<std::string>& names = graph.node(id).onnx_nodes;
  const std::vector<std::string> before = graph.node(inner_id).onnx_nodes;
  names.insert(names.begin(), before.begin(), before.end());
  const ValueId between = graph.node(inner_id).outputs[0];
  graph.erase(inner_id);
  graph.erase_value(between);
  return true;
}

bool is_view(const Node& n) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
    if (is_onnx(n, op)) return true;
  return false;
}

// A view of a view reads the first one's operand, as a Reshape to its own shape.
bool join_views(Graph& graph, NodeId id) {
  if (!is_view(graph.node(id))) return false;
  const NodeId inner = graph.producer(graph.node(id).inputs[0]);
  if (!inner.valid() || !is_view(graph.node(inner))) return false;
  const ValueId x = graph.node(inner).inputs[0], between = graph.node(id).inputs[0];
  const ir::Shape shape = graph.value(graph.node(id).outputs[0]).shape;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return false;  // 0 means something else to Reshape
  Node& n = graph.node(id);
  n.op = "Reshape";
  n.attributes.clear();
  graph.set_input(id, 0, x);  // its only input: the shape is the output's (canonical form)
  if (graph.consumers(between).empty() && !graph.is_output(between)) {
    const std::vector<std::string> before = graph.node(inner).onnx_nodes;
    std::vector<std::string>& names = graph.node(id).onnx_nodes;
    names.insert(names.begin(), before.begin(), before.end());
    graph.erase(inner);
    graph.erase_value(between);
  }
  return true;
}

bool simplify(Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  if (n.outputs.size() != 1 || n.inputs.empty() || !n.inputs[0].valid()) return false;
  for (ValueId x : {neutral_operand(graph, id), involution_operand(graph, n), idempotent_operand(graph, n),
                    trivial_operand(graph, n)}) {
    if (x.valid()) return bypass(graph, id, x);
  }
  return join_constants(graph, id) || join_views(graph, id);
}

}  // namespace

void simplify_algebra(Graph& graph, PassContext&) {
  for (NodeId id : graph.topological_order()) {
    if (graph.alive(id.index)) simplify(graph, id);
  }
}

}  // namespace dlc::passes
