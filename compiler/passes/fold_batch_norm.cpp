#include <cmath>

#include "compiler/passes/passes.h"

namespace dlc::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;

bool constant_from(const Graph& graph, const Node& node, size_t first) {
  for (size_t i = first; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid() || !graph.value(node.inputs[i]).is_constant()) return false;
  }
  return true;
}

void fold(Graph& graph, NodeId conv_id, NodeId norm_id) {
  const Node norm = graph.node(norm_id);
  const Node conv = graph.node(conv_id);
  const float epsilon = norm.attribute<float>("epsilon", 1e-5f);
  const auto parameter = [&](size_t i) { return graph.value(norm.inputs[i]).constant<float>(); };
  const ir::Value& w = graph.value(conv.inputs[1]);
  const int64_t channels = w.shape[0];
  ir::Tensor weight(ir::ElementType::float32, w.shape), bias(ir::ElementType::float32, {channels});
  const int64_t per_channel = w.elements() / channels;
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    const double s = parameter(1)[c] / std::sqrt(static_cast<double>(parameter(4)[c]) + epsilon);
    const double b = conv.inputs.size() > 2 ? graph.value(conv.inputs[2]).constant<float>()[c] : 0.0f;
    bias.data<float>()[c] = static_cast<float>((b - parameter(3)[c]) * s + parameter(2)[c]);
    for (size_t i = c * static_cast<size_t>(per_channel); i < (c + 1) * static_cast<size_t>(per_channel);
         ++i) {
      weight.data<float>()[i] = static_cast<float>(w.constant<float>()[i] * s);
    }
  }
  const std::string stem = conv.name;
  graph.set_input(conv_id, 1, graph.add_constant(stem + ".folded_weight", weight));
  graph.set_input(conv_id, 2, graph.add_constant(stem + ".folded_bias", bias));
  graph.erase(norm_id);
  graph.set_outputs(conv_id, norm.outputs);
  graph.erase_value(conv.outputs[0]);
  Node& fused = graph.node(conv_id);
  fused.onnx_nodes.insert(fused.onnx_nodes.end(), norm.onnx_nodes.begin(), norm.onnx_nodes.end());
}

}  // namespace

void fold_batch_norm(Graph& graph, PassContext&) {
  for (NodeId id : graph.topological_order()) {
    if (!graph.alive(id.index)) continue;
    const Node& conv = graph.node(id);
    if (!conv.is("Conv") || !constant_from(graph, conv, 1)) continue;
    const auto use = graph.single_use(conv.outputs[0]);
    if (!use || use->input != 0) continue;
    const Node& norm = graph.node(use->node);
    if (norm.is("BatchNormalization") && constant_from(graph, norm, 1)) fold(graph, id, use->node);
  }
}

}  // namespace dlc::passes
