// Rewrites that move or remove operators; those that change weights are in post_training_affine.cpp.
#include "compiler/quantize/post_training_prepare.h"

#include <algorithm>

#include "compiler/backends/reference/reference.h"
#include "compiler/passes/passes.h"
#include "compiler/quantize/post_training.h"
#include "compiler/quantize/post_training_plan.h"

namespace dlc::quantize {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

namespace {

// Whether Relu and Clip commute with the operator: it only moves values or takes a maximum.
bool commutes_with_clamp(const Node& node) {
  for (const char* op :
       {"MaxPool", "GlobalMaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze"}) {
    if (node.op == op) return node.domain.empty() && node.outputs.size() == 1;
  }
  return false;
}

// u -> mover -> v -> activation -> w becomes u -> activation -> mover -> w.
void exchange(Graph& graph, NodeId mover, NodeId activation) {
  const ValueId u = graph.node(mover).inputs[0], v = graph.node(mover).outputs[0];
  const ValueId w = graph.node(activation).outputs[0];
  ir::Value clamped = graph.value(u);
  clamped.name += graph.node(activation).op == "Relu" ? "_relu" : "_clip";
  graph.set_outputs(activation, {graph.add_value(std::move(clamped))});
  graph.set_outputs(mover, {w});
  graph.set_input(activation, 0, u);
  graph.set_input(mover, 0, graph.node(activation).outputs[0]);
  graph.erase_value(v);
}

}  // namespace

void fold_stored_weights(Graph& graph) {
  for (NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    if (node.op != "DequantizeLinear" || !node.domain.empty()) continue;
    std::vector<ir::Tensor> tensors;
    for (ValueId v : node.inputs) {
      if (graph.value(v).is_constant()) tensors.push_back(reference::constant_tensor(graph.value(v)));
    }
    if (tensors.size() < node.inputs.size()) continue;
    std::vector<const ir::Tensor*> inputs;
    for (const ir::Tensor& t : tensors) inputs.push_back(&t);
    std::vector<ir::Tensor> results = reference::evaluate_node(graph, id, inputs);
    graph.erase(id);
    graph.value(node.outputs[0]).data = std::make_shared<const ir::Bytes>(std::move(results[0].bytes));
  }
}

void merge_pads(Graph& graph) {
  for (NodeId id : graph.topological_order()) {
    const Node pad = graph.node(id);
    if (pad.op != "Pad" || !pad.domain.empty() || pad.attribute<float>("value") != 0.0f) continue;
    const auto pads = pad.attribute<std::vector<int64_t>>("pads");
    if (pads.size() != 8 || pads[0] || pads[1] || pads[4] || pads[5] ||
        *std::min_element(pads.begin(), pads.end()) < 0) {
      continue;
    }
    const std::vector<ir::Use> uses = graph.consumers(pad.outputs[0]);
    const bool convolutions =
        !graph.is_output(pad.outputs[0]) && std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
          return graph.node(use.node).op == "Conv" && graph.node(use.node).domain.empty() && use.input == 0;
        });
    if (!convolutions) continue;
    for (const ir::Use& use : uses) {
      Node& conv = graph.node(use.node);
      auto own = conv.attribute<std::vector<int64_t>>("pads", {0, 0, 0, 0});
      const int64_t extra[] = {pads[2], pads[3], pads[6], pads[7]};
      for (size_t i = 0; i < 4; ++i) own[i] += extra[i];
      conv.attributes["pads"] = own;
      conv.onnx_nodes.insert(conv.onnx_nodes.begin(), pad.onnx_nodes.begin(), pad.onnx_nodes.end());
      graph.set_input(use.node, 0, pad.inputs[0]);
    }
    graph.erase(id);
    graph.erase_value(pad.outputs[0]);
  }
}

void hoist_activations(Graph& graph) {
  for (bool changed = true; changed;) {
    changed = false;
    for (NodeId id : graph.topological_order()) {
      const Node& node = graph.node(id);
      if ((node.op != "Relu" && node.op != "Clip") || !node.domain.empty()) continue;
      const NodeId mover = graph.producer(node.inputs[0]);
      if (!mover.valid() || !commutes_with_clamp(graph.node(mover))) continue;
      const ValueId source = graph.node(mover).inputs[0];
      const NodeId layer = graph.producer(source);
      // Only towards a layer, and only where nobody else reads what lies between.
      if (!layer.valid() || role_of(graph, layer) == Role::host) continue;
      if (!graph.single_use(node.inputs[0]) || !graph.single_use(source)) continue;
      exchange(graph, mover, id);
      changed = true;
    }
  }
}

void prepare_for_quantization(Graph& graph) {
  passes::PassContext context;
  fold_stored_weights(graph);
  passes::clean_up(graph, context);
  normalise_products(graph);
  merge_pads(graph);
  merge_affine(graph);
  hoist_activations(graph);
  passes::remove_dead_code(graph, context);
  ir::verify(graph);
}

}  // namespace dlc::quantize
