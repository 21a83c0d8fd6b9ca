#include "compiler/quantize/quantize_qdq.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "compiler/quantize/lowering.h"
#include "compiler/quantize/machine_ranks.h"

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
    {"ConvTranspose", lower_conv_transpose, "qconv, qplace"},
    {"DepthToSpace", lower_depth_to_space, "qtake, qplace"},
    {"Div", lower_multiply, "qadd"},
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
    {"PRelu", lower_prelu, "qadd, qconv"},
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

bool moves_data(const ir::Node& n) {
  constexpr std::string_view kMovements[] = {"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  return std::find(std::begin(kMovements), std::end(kMovements), n.op) != std::end(kMovements);
}

// Layers on more than 8 bits are well-formed, so no lowering says anything about them.
void note_wide_layers(const LoweringContext& c) {
  for (ir::NodeId id : c.graph.nodes()) {
    const ir::Node& n = c.graph.node(id);
    if (!n.domain.empty() || (n.op != "Conv" && n.op != "Gemm" && n.op != "MatMul")) continue;
    ir::NodeId producer = c.graph.producer(n.inputs[0]);
    while (producer.valid() && moves_data(c.graph.node(producer)))
      producer = c.graph.producer(c.graph.node(producer).inputs[0]);
    if (!producer.valid() || !c.graph.node(producer).is("DequantizeLinear")) continue;
    const ir::ElementType stored = c.graph.value(c.graph.node(producer).inputs[0]).type;
    if (!is_8bit(stored))
      c.note(id, "its input is " + std::string(ir::element_name(stored)) + ", the machine computes with 8 bits");
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
  fold_ranks(context);
  note_wide_layers(context);
}

}  // namespace dlc::quantize
