#include <algorithm>

#include "compiler/passes/passes.h"

namespace dlc::passes {

void remove_dead_code(ir::Graph& graph, PassContext&) {
  std::vector<ir::NodeId> order = graph.topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const auto& outputs = graph.node(*it).outputs;
    const bool used = std::any_of(outputs.begin(), outputs.end(), [&](ir::ValueId v) {
      return v.valid() && (graph.is_output(v) || !graph.consumers(v).empty());
    });
    if (!used) graph.erase(*it);
  }
  for (ir::ValueId v : graph.values()) {
    if (!graph.producer(v).valid() && !graph.is_input(v) && !graph.is_output(v) &&
        graph.consumers(v).empty()) {
      graph.erase_value(v);
    }
  }
}

}  // namespace dlc::passes
