#include <utility>

#include "compiler/passes/passes.h"

namespace dlc::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// The qconv that makes operand `slot`, when the addition is all that reads it.
NodeId fusible_conv(const Graph& graph, const Node& add, size_t slot) {
  const NodeId id = graph.producer(add.inputs[slot]);
  if (!id.valid() || !graph.single_use(add.inputs[slot])) return {};
  const ir::Shape& shape = graph.value(add.outputs[0]).shape;  // a residual is not broadcast
  for (ValueId v : add.inputs)
    if (graph.value(v).shape != shape) return {};
  const auto* conv = std::get_if<ir::QConv>(&graph.node(id).payload);
  return conv && !conv->residual ? id : NodeId{};
}

void fuse(Graph& graph, NodeId conv_id, NodeId add_id, size_t slot) {
  const Node add = graph.node(add_id);
  ir::LinearCombine combine = std::get<ir::QAdd>(add.payload).combine;
  if (slot == 1) {
    std::swap(combine.a_zero, combine.b_zero);
    std::swap(combine.a_multiplier, combine.b_multiplier);
  }
  const ValueId between = add.inputs[slot];
  graph.erase(add_id);
  graph.set_outputs(conv_id, add.outputs);
  graph.erase_value(between);
  graph.set_input(conv_id, 2, add.inputs[1 - slot]);
  Node& conv = graph.node(conv_id);
  std::get<ir::QConv>(conv.payload).residual = combine;
  conv.onnx_nodes.insert(conv.onnx_nodes.end(), add.onnx_nodes.begin(), add.onnx_nodes.end());
}

}  // namespace

void fuse_residual(Graph& graph, PassContext&) {
  std::map<NodeId, size_t> position;
  const std::vector<NodeId> order = graph.topological_order();
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (NodeId id : order) {
    const auto* add = std::get_if<ir::QAdd>(&graph.node(id).payload);
    if (!add) continue;
    const NodeId a = fusible_conv(graph, graph.node(id), 0);
    // With the operands exchanged the difference would change its sign.
    const NodeId b = add->combine.b_negate ? NodeId{} : fusible_conv(graph, graph.node(id), 1);
    if (!a.valid() && !b.valid()) continue;
    // Of two, the later one: its residual is ready when it runs.
    const bool second = !a.valid() || (b.valid() && position.at(b) > position.at(a));
    fuse(graph, second ? b : a, id, second ? 1 : 0);
  }
}

}  // namespace dlc::passes
