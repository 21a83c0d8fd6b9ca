#include "compiler/passes/passes.h"

namespace dlc::passes {

using ir::Graph;
using ir::Node;
using ir::NodeId;

// The mean over both spatial dimensions of a float feature map.
static bool is_spatial_mean(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.op != "ReduceMean") return false;
  const ir::Value& x = graph.value(node.inputs[0]);
  return x.type == ir::ElementType::float32 && x.shape.size() == 4 &&
         node.attribute<std::vector<int64_t>>("axes") == std::vector<int64_t>{2, 3};
}

void mean_to_pool(Graph& graph, PassContext&) {
  for (NodeId id : graph.topological_order()) {
    if (!is_spatial_mean(graph, graph.node(id))) continue;
    const bool keeps = graph.node(id).attribute<int64_t>("keepdims", 1) != 0;
    const ir::ValueId result = graph.node(id).outputs[0];
    graph.node(id).op = "GlobalAveragePool";
    graph.node(id).attributes.clear();
    if (keeps) continue;
    ir::Value map = graph.value(result);
    map.shape = {map.shape[0], map.shape[1], 1, 1};
    map.name = graph.unique_value_name(map.name + ".map");
    const ir::ValueId pooled = graph.add_value(std::move(map));
    Node reshape = graph.node(id);
    reshape.op = "Reshape";
    reshape.name = graph.unique_node_name(reshape.name + ".reshape");
    reshape.inputs = {pooled};
    reshape.outputs = {result};
    graph.set_outputs(id, {pooled});
    graph.add_node(std::move(reshape));
  }
}

}  // namespace dlc::passes
