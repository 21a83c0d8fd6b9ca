#include "compiler/quantize/quantize_qdq.h"

#include <iterator>
#include <string_view>

#include "compiler/quantize/lowering.h"

namespace dlc::quantize {
namespace {

struct LoweringRow {
  std::string_view op;
  bool (*lower)(const LoweringContext&, ir::NodeId);
};

constexpr LoweringRow kLowerings[] = {
    {"Add", lower_add},
    {"AveragePool", lower_average_pool},
    {"Clip", lower_requantise},
    {"Concat", lower_movement},
    {"Conv", lower_conv},
    {"Flatten", lower_movement},
    {"Gemm", lower_matrix},
    {"GlobalAveragePool", lower_average_pool},
    {"GlobalMaxPool", lower_movement},
    {"MatMul", lower_matrix},
    {"MaxPool", lower_movement},
    {"QuantizeLinear", lower_requantise},
    {"Relu", lower_requantise},
    {"Reshape", lower_movement},
    {"Squeeze", lower_movement},
    {"Sub", lower_add},
    {"Transpose", lower_movement},
    {"Unsqueeze", lower_movement},
};

// Graph inputs and constants that are dequantised learn their quantisation.
void annotate(ir::Graph& graph) {
  for (ir::NodeId n : graph.nodes()) {
    if (!graph.node(n).is("DequantizeLinear")) continue;
    ir::Value& stored = graph.value(graph.node(n).inputs[0]);
    if (!stored.quantization) stored.quantization = parameters(graph, graph.node(n));
  }
}

}  // namespace

void quantize_qdq(ir::Graph& graph, passes::PassContext& passes) {
  annotate(graph);
  std::set<ir::ValueId> unnamed;
  const LoweringContext context{graph, passes, unnamed};
  for (ir::NodeId id : graph.topological_order()) {
    if (!graph.alive(id.index)) continue;  // part of a pattern that was replaced
    const ir::Node& node = graph.node(id);
    if (!node.domain.empty()) continue;
    for (const LoweringRow& row : kLowerings) {
      if (row.op == node.op) {
        row.lower(context, id);
        break;
      }
    }
  }
}

}  // namespace dlc::quantize
