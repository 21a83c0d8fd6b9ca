#include "compiler/quantize/quantize_qdq.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "compiler/quantize/elementwise.h"
#include "compiler/quantize/lowering.h"
#include "compiler/quantize/machine_ranks.h"

namespace dlc::quantize {
namespace {

struct LoweringRow {
  std::string_view op;
  bool (*lower)(const LoweringContext&, ir::NodeId);
  const char* becomes;  // the integer operator; "view": no work; nullptr: the host moves stored bytes
  const char* limits;
};

constexpr LoweringRow kLowerings[] = {
    {"Add", lower_add, "qadd", "rank 2 to 4; operands repeated along any dimension"},
    {"AveragePool", lower_average_pool, "qpool", "one divisor for each number of elements in the map"},
    {"Clip", lower_requantise, "fused, qadd", ""},
    {"Concat", lower_concat, "qplace", "rank 2 or 4, any axis"},
    {"Conv", lower_conv, "qconv", "constant weights, one zero point; sums within 32 bits"},
    {"ConvTranspose", lower_conv_transpose, "qconv, qplace", "as Conv; a convolution for each phase of the strides"},
    {"DepthToSpace", lower_depth_to_space, "qtake, qplace", ""},
    {"Div", lower_multiply, "qadd", "by a positive scalar constant"},
    {"Flatten", lower_movement, "view", "in front of a fully connected layer"},
    {"Gather", lower_gather, "qtake", "channels by constant indices"},
    {"Gemm", lower_matrix, "qconv", "constant B, alpha > 0; transA: transposed on the host"},
    {"GlobalAveragePool", lower_average_pool, "qpool", ""},
    {"GlobalMaxPool", lower_movement, "qpool", ""},
    {"MatMul", lower_matrix, "qconv", "constant matrix B; more than two dimensions: rows, formed on the host"},
    {"Max", lower_select, "qbinary", "rank 2 to 4; operands repeated along any dimension"},
    {"MaxPool", lower_movement, "qpool", ""},
    {"Min", lower_select, "qbinary", "rank 2 to 4; operands repeated along any dimension"},
    {"Mul", lower_multiply, "qbinary, qadd", "rank 2 to 4; operands repeated along any dimension"},
    {"PRelu", lower_prelu, "qadd, qconv", "constant slopes: one (a look-up), or one for each channel"},
    {"QuantizeLinear", lower_requantise, "fused, qadd", "to 8 bits"},
    {"Relu", lower_requantise, "fused, qadd", ""},
    {"Reshape", lower_movement, "view", "channel shuffles, and where only dimensions of 1 change; else the host"},
    {"Resize", lower_resize, "qplace, qconv",
     "nearest: integer factors; linear: ratios with at most 256 phases and weights of 8 bits"},
    {"Slice", lower_slice, "qtake", "rank 2 or 4, any axes and positive steps; images without steps"},
    {"SpaceToDepth", lower_space_to_depth, "qtake, qplace", ""},
    {"Split", lower_split, "qtake", "rank 2 or 4, any axis"},
    {"Squeeze", lower_movement, "view", ""},
    {"Sub", lower_add, "qadd", "rank 2 to 4; operands repeated along any dimension"},
    {"Transpose", lower_movement, nullptr, "stored bytes, on the host; channel shuffles on the machine"},
    {"Unsqueeze", lower_movement, "view", ""},
    {"Upsample", lower_resize, "qplace, qconv", "as Resize"},
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

MachineOperator machine_operator(std::string_view op) {
  for (const LoweringRow& row : kLowerings)
    if (row.op == op) return {row.becomes ? row.becomes : "", row.limits};
  if (is_elementwise_operator(op)) return {"qlut", "a function of one tensor, with scalar constants"};
  return {};
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
