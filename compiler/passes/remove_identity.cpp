#include <algorithm>
#include <string_view>

#include "compiler/passes/passes.h"

namespace dlc::passes {
namespace {

bool changes_nothing(const ir::Graph& graph, const ir::Node& node) {
  const ir::Value& x = graph.value(node.inputs[0]);
  const ir::Value& y = graph.value(node.outputs[0]);
  if (x.type != y.type || x.shape != y.shape) return false;
  for (std::string_view op :
       {"Identity", "Dropout", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast", "reshape"}) {
    if (node.op == op) return true;
  }
  if (node.is("Transpose")) {
    const auto perm = node.attribute<std::vector<int64_t>>("perm");
    return std::is_sorted(perm.begin(), perm.end());
  }
  return false;
}

}  // namespace

bool bypass(ir::Graph& graph, ir::NodeId id, ir::ValueId replacement) {
  const ir::ValueId out = graph.node(id).outputs[0];
  if (graph.is_output(out)) {
    if (!graph.producer(replacement).valid() || graph.is_output(replacement)) return false;
    graph.swap_names(out, replacement);
  }
  graph.erase(id);
  graph.replace_all_uses(out, replacement);
  graph.erase_value(out);
  return true;
}

void remove_identity(ir::Graph& graph, PassContext&) {
  for (ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!node.inputs.empty() && node.inputs[0].valid() && node.outputs.size() == 1 &&
        changes_nothing(graph, node)) {
      bypass(graph, id, node.inputs[0]);
    }
  }
}

}  // namespace dlc::passes
