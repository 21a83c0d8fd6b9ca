#include "compiler/quantize/quantize_qdq.h"

#include <iterator>
#include <string_view>

#include "compiler/quantize/lowering.h"

namespace dlc::quantize {
namespace {

struct LoweringRow {
  std::string_view op;
  bool (*lower)(const LoweringContext&, ir::NodeId);
  const char* becomes;  // the integer operator; "view": no work; nullptr: the host moves stored bytes
};

constexpr LoweringRow kLowerings[] = {
    {"Add", lower_add, "qadd"},
    {"AveragePool", lower_average_pool, "qpool"},
    {"Clip", lower_requantise, "fused, qadd"},
    {"Concat", lower_concat, "qplace"},
    {"Conv", lower_conv, "qconv"},
    {"DepthToSpace", lower_depth_to_space, "qtake, qplace"},
    {"Flatten", lower_movement, "view"},
    {"Gather", lower_gather, "qtake"},
    {"Gemm", lower_matrix, "qconv"},
    {"GlobalAveragePool", lower_average_pool, "qpool"},
    {"GlobalMaxPool", lower_movement, "qpool"},
    {"MatMul", lower_matrix, "qconv"},
    {"Max", lower_select, "qbinary"},
    {"MaxPool", lower_movement, "qpool"},
    {"Min", lower_select, "qbinary"},
    {"Mul", lower_multiply, "qbinary"},
    {"QuantizeLinear", lower_requantise, "fused, qadd"},
    {"Relu", lower_requantise, "fused, qadd"},
    {"Reshape", lower_movement, "view"},
    {"Resize", lower_resize, "qplace"},
    {"Slice", lower_slice, "qtake"},
    {"SpaceToDepth", lower_space_to_depth, "qtake, qplace"},
    {"Split", lower_split, "qtake"},
    {"Squeeze", lower_movement, "view"},
    {"Sub", lower_add, "qadd"},
    {"Transpose", lower_movement, nullptr},
    {"Unsqueeze", lower_movement, "view"},
    {"Upsample", lower_resize, "qplace"},
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

const char* lowers_to(std::string_view op) {
  for (const LoweringRow& row : kLowerings)
    if (row.op == op) return row.becomes;
  return nullptr;
}

void quantize_qdq(ir::Graph& graph, passes::PassContext& passes) {
  annotate(graph);
  std::set<ir::ValueId> unnamed;
  const LoweringContext context{graph, passes, unnamed};
  lower_functions(context);
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
  match_channel_shuffles(context);
}

}  // namespace dlc::quantize
