// Transpositions sink towards the outputs through operators that do not mind the order of dimensions, until
// they meet their inverse or a place where they are needed.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "compiler/backends/reference/reference.h"
#include "compiler/passes/passes.h"

namespace dlc::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using Ints = std::vector<int64_t>;

bool onnx_op(const Node& node, std::initializer_list<const char*> ops) {
  return node.domain.empty() && node.outputs.size() == 1 &&
         std::any_of(ops.begin(), ops.end(), [&](const char* op) { return node.op == op; });
}

// The transposition that makes `value`; invalid when there is none.
NodeId transposition(const Graph& graph, ValueId value) {
  const NodeId id = value.valid() ? graph.producer(value) : NodeId{};
  return id.valid() && onnx_op(graph.node(id), {"Transpose"}) ? id : NodeId{};
}

Ints permutation(const Node& transpose) { return transpose.attribute<Ints>("perm"); }

Ints inverse(const Ints& perm) {
  Ints result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

ir::Shape permuted(const ir::Shape& shape, const Ints& perm) {
  ir::Shape result;
  for (int64_t p : perm) result.push_back(shape[static_cast<size_t>(p)]);
  return result;
}

// A constant with its dimensions permuted, leading ones added up to the permutation's rank.
ValueId permuted_constant(Graph& graph, ValueId id, const Ints& perm) {
  const ir::Value v = graph.value(id);
  ir::Tensor x = reference::constant_tensor(v);
  x.shape.insert(x.shape.begin(), perm.size() - x.shape.size(), 1);
  Graph scratch;
  ir::Value in, out;
  in.name = "x";
  out.name = "y";
  in.type = out.type = v.type;
  in.shape = x.shape;
  out.shape = permuted(x.shape, perm);
  Node node;
  node.name = node.op = "Transpose";
  node.attributes["perm"] = perm;
  node.inputs = {scratch.add_value(in)};
  node.outputs = {scratch.add_value(out)};
  const NodeId n = scratch.add_node(std::move(node));
  const ValueId made = graph.add_constant(graph.unique_value_name(v.name + ".transposed"),
                                          reference::evaluate_node(scratch, n, {&x})[0]);
  graph.value(made).quantization = v.quantization;
  return made;
}

// Whether a constant operand, or one that is dequantised from a constant with one scale, can be permuted.
bool permutable_constant(const Graph& graph, ValueId value, size_t rank) {
  if (graph.value(value).shape.size() > rank) return false;
  if (graph.value(value).is_constant()) return true;
  const NodeId p = graph.producer(value);
  return p.valid() && onnx_op(graph.node(p), {"DequantizeLinear"}) &&
         graph.value(graph.node(p).inputs[0]).is_constant() && !graph.node(p).attributes.contains("axis");
}

ValueId permute_operand(Graph& graph, ValueId value, const Ints& perm) {
  if (graph.value(value).elements() == 1 && graph.value(value).shape.size() < perm.size()) return value;
  if (graph.value(value).is_constant()) return permuted_constant(graph, value, perm);
  Node dequantise = graph.node(graph.producer(value));
  ir::Value result = graph.value(value);
  dequantise.inputs[0] = permuted_constant(graph, dequantise.inputs[0], perm);
  dequantise.name = graph.unique_node_name(dequantise.name + ".transposed");
  result.name = graph.unique_value_name(result.name + ".transposed");
  result.shape = graph.value(dequantise.inputs[0]).shape;
  const ValueId made = graph.add_value(std::move(result));
  dequantise.outputs = {made};
  graph.add_node(std::move(dequantise));
  return made;
}

// Attributes that name dimensions, as they are in front of the transposition.
void permute_attributes(Node& node, const Ints& perm) {
  if (node.attributes.contains("axis")) {
    node.attributes["axis"] = perm[static_cast<size_t>(node.attribute<int64_t>("axis"))];
  }
  if (node.attributes.contains("axes")) {
    Ints axes = node.attribute<Ints>("axes");
    for (int64_t& a : axes) a = perm[static_cast<size_t>(a)];
    std::sort(axes.begin(), axes.end());
    node.attributes["axes"] = axes;
  }
  for (const char* name : {"pads", "starts", "steps"}) {  // one (pads: two) for each dimension
    if (!node.attributes.contains(name)) continue;
    const Ints old = node.attribute<Ints>(name);
    Ints moved = old;
    for (size_t i = 0; i < old.size(); ++i) {
      moved[i / perm.size() * perm.size() + static_cast<size_t>(perm[i % perm.size()])] = old[i];
    }
    node.attributes[name] = moved;
  }
}

// Operators whose result does not depend on the order of dimensions.
bool order_blind(const Node& node) {
  static constexpr std::string_view kOps[] = {
      "Relu", "LeakyRelu", "Clip", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Elu", "Gelu", "Softplus",
      "Exp", "Log", "Sqrt", "Neg", "Abs", "Erf", "Cast", "Identity", "QuantizeLinear", "DequantizeLinear",
      "Pad", "Slice", "Add", "Sub", "Mul", "Div", "Max", "Min", "Concat",
      // where they keep their rank
      "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"};
  return node.domain.empty() && node.outputs.size() == 1 &&
         std::find(std::begin(kOps), std::end(kOps), node.op) != std::end(kOps);
}

// How many inputs of the operator are tensors in the order of its output (the rest are parameters).
size_t data_inputs(const Node& node) {
  return onnx_op(node, {"Add", "Sub", "Mul", "Div", "Max", "Min", "Concat"}) ? node.inputs.size() : 1;
}

// The permutation that all operands of `node` have in common, where the node can be moved in front of it.
std::optional<Ints> common_permutation(const Graph& graph, const Node& node) {
  std::optional<Ints> perm;
  const size_t count = data_inputs(node);
  for (size_t i = 0; i < count; ++i) {
    const NodeId t = transposition(graph, node.inputs[i]);
    if (!t.valid()) continue;
    const Ints own = permutation(graph.node(t));
    if (perm && *perm != own) return std::nullopt;
    perm = own;
  }
  if (!perm || graph.value(node.outputs[0]).shape.size() != perm->size()) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    if (transposition(graph, node.inputs[i]).valid()) continue;
    if (!permutable_constant(graph, node.inputs[i], perm->size())) return std::nullopt;
    const bool full = graph.value(node.inputs[i]).shape.size() == perm->size();
    if (node.op == "Concat" && !full) return std::nullopt;
  }
  return perm;
}

// op(Transpose(x), ...) -> Transpose(op(x, ...)); the result keeps its name.
bool sink_below(Graph& graph, NodeId id) {
  const auto perm = common_permutation(graph, graph.node(id));
  if (!perm) return false;
  const Ints back = inverse(*perm);
  const Node& node = graph.node(id);
  Node transpose = graph.node(transposition(graph, [&] {
    for (ValueId v : node.inputs) {
      if (transposition(graph, v).valid()) return v;
    }
    return ValueId{};
  }()));
  const size_t count = data_inputs(node);
  for (size_t i = 0; i < count; ++i) {
    const ValueId operand = graph.node(id).inputs[i];
    const NodeId t = transposition(graph, operand);
    graph.set_input(id, i, t.valid() ? graph.node(t).inputs[0] : permute_operand(graph, operand, back));
  }
  permute_attributes(graph.node(id), *perm);
  const ValueId result = graph.node(id).outputs[0];
  ir::Value inner = graph.value(result);
  inner.shape = permuted(inner.shape, back);
  if (inner.quantization && inner.quantization->per_axis()) {
    inner.quantization->axis = static_cast<int>((*perm)[static_cast<size_t>(inner.quantization->axis)]);
  }
  inner.name = graph.unique_value_name(inner.name + ".untransposed");
  const ValueId between = graph.add_value(std::move(inner));
  graph.set_outputs(id, {between});
  transpose.name = graph.unique_node_name(transpose.name + ".below." + graph.node(id).name);
  transpose.inputs = {between};
  transpose.outputs = {result};
  graph.add_node(std::move(transpose));
  return true;
}

// Transpose(Transpose(x)) -> Transpose(x), or x.
bool merge(Graph& graph, NodeId id) {
  const NodeId first = transposition(graph, graph.node(id).inputs[0]);
  if (!first.valid()) return false;
  const Ints p = permutation(graph.node(first)), q = permutation(graph.node(id));
  Ints both;
  for (int64_t i : q) both.push_back(p[static_cast<size_t>(i)]);
  const ValueId x = graph.node(first).inputs[0];
  if (std::is_sorted(both.begin(), both.end()) && bypass(graph, id, x)) return true;
  auto& names = graph.node(id).onnx_nodes;
  const auto& more = graph.node(first).onnx_nodes;
  names.insert(names.begin(), more.begin(), more.end());
  graph.node(id).attributes["perm"] = both;
  graph.set_input(id, 0, x);
  return true;
}

// Transpose of a constant, or of one dequantised: the constant is transposed.
bool fold(Graph& graph, NodeId id) {
  const ValueId x = graph.node(id).inputs[0];
  const Ints perm = permutation(graph.node(id));
  if (graph.value(x).is_constant()) {
    return !graph.is_output(graph.node(id).outputs[0]) &&
           bypass(graph, id, permuted_constant(graph, x, perm));
  }
  const NodeId p = graph.producer(x);
  if (!p.valid() || !onnx_op(graph.node(p), {"DequantizeLinear"})) return false;
  Node dequantise = graph.node(p);
  if (!graph.value(dequantise.inputs[0]).is_constant()) return false;
  dequantise.inputs[0] = permuted_constant(graph, dequantise.inputs[0], perm);
  permute_attributes(dequantise, inverse(perm));
  if (auto& q = graph.value(dequantise.inputs[0]).quantization; q && q->per_axis()) {
    q->axis = static_cast<int>(inverse(perm)[static_cast<size_t>(q->axis)]);
  }
  dequantise.name = graph.unique_node_name(dequantise.name + ".transposed");
  dequantise.outputs = graph.node(id).outputs;
  graph.erase(id);
  graph.add_node(std::move(dequantise));
  return true;
}

// Transpositions of one value by the same permutation are one.
void share(Graph& graph) {
  std::map<std::pair<ValueId, Ints>, ValueId> seen;
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (!onnx_op(node, {"Transpose"})) continue;
    const auto [at, fresh] = seen.try_emplace({node.inputs[0], permutation(node)}, node.outputs[0]);
    if (!fresh) bypass(graph, id, at->second);
  }
}

}  // namespace

void move_transposes(Graph& graph, PassContext& context) {
  // Every step moves a transposition towards the outputs or removes one: the loop ends.
  for (bool changed = true; changed;) {
    changed = false;
    for (NodeId id : graph.topological_order()) {
      if (!graph.alive(id.index)) continue;
      const Node& node = graph.node(id);
      if (onnx_op(node, {"Transpose"})) {
        changed |= fold(graph, id) || merge(graph, id);
      } else if (order_blind(node)) {
        changed |= sink_below(graph, id);
      }
    }
  }
  share(graph);
  remove_dead_code(graph, context);
}

}  // namespace dlc::passes
