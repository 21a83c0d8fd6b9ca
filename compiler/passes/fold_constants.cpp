#include <algorithm>

#include "compiler/backends/reference/reference.h"
#include "compiler/passes/passes.h"

namespace dlc::passes {
namespace {

constexpr size_t kLargestConstant = size_t{64} << 20;  // bytes

bool foldable(const ir::Graph& graph, const ir::Node& node, bool dequantise) {
  if ((node.is("DequantizeLinear") && !dequantise) || node.inputs.empty() || node.outputs.size() != 1) return false;
  if (!reference::can_evaluate(node) || graph.value(node.outputs[0]).byte_size() > kLargestConstant)
    return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ir::ValueId v) { return !v.valid() || graph.value(v).is_constant(); });
}

void fold(ir::Graph& graph, bool dequantise) {
  for (ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!foldable(graph, node, dequantise)) continue;
    std::vector<ir::Tensor> tensors;
    for (ir::ValueId v : node.inputs) {
      tensors.push_back(v.valid() ? reference::constant_tensor(graph.value(v)) : ir::Tensor());
    }
    std::vector<const ir::Tensor*> inputs;
    for (size_t i = 0; i < tensors.size(); ++i)
      inputs.push_back(node.inputs[i].valid() ? &tensors[i] : nullptr);
    std::vector<ir::Tensor> results = reference::evaluate_node(graph, id, inputs);
    const ir::ValueId out = node.outputs[0];
    graph.erase(id);
    graph.value(out).data = std::make_shared<const ir::Bytes>(std::move(results[0].bytes));
  }
}

}  // namespace

void fold_constants(ir::Graph& graph, PassContext&) { fold(graph, false); }
void fold_all_constants(ir::Graph& graph) { fold(graph, true); }

}  // namespace dlc::passes
