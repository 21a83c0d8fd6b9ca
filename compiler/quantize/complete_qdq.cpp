#include "compiler/quantize/complete_qdq.h"

#include <algorithm>

#include "compiler/quantize/post_training_plan.h"
#include "compiler/quantize/qdq.h"

namespace dlc::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Quantization;
using ir::ValueId;

bool onnx_op(const Node& n, std::string_view op) { return n.domain.empty() && n.op == op; }

bool has_quantised_operands(const Graph& graph, const Node& n) {
  const bool conv = onnx_op(n, "Conv"), gemm = onnx_op(n, "Gemm"), matmul = onnx_op(n, "MatMul");
  if (!conv && !gemm && !matmul) return false;
  if (graph.value(n.inputs[0]).shape.size() != (conv ? 4 : 2)) return false;
  std::string reason;
  const size_t channel_axis = conv || n.attribute<int64_t>("transB") != 0 ? 0 : 1;
  return dequantised(graph, n.inputs[0]) && quantised_weight(graph, n.inputs[1], channel_axis, reason);
}

// The layer's result behind a constant addition and its activations.
ValueId result_of(const Graph& graph, const Node& layer) {
  ValueId v = layer.outputs[0];
  bool bias = false;
  for (auto use = graph.single_use(v); use; use = graph.single_use(v)) {
    const Node& next = graph.node(use->node);
    const bool adds = !bias && onnx_op(next, "Add") && constant_reals(graph, next.inputs[1 - use->input]) &&
                      graph.value(next.outputs[0]).shape == graph.value(v).shape;
    if (!adds && !onnx_op(next, "Relu") && !(onnx_op(next, "Clip") && use->input == 0)) break;
    bias |= adds;
    v = next.outputs[0];
  }
  return v;
}

// A QuantizeLinear to 8 bits among the uses of `v`.
NodeId quantising_use(const Graph& graph, ValueId v) {
  for (const ir::Use& use : graph.consumers(v)) {
    const Node& n = graph.node(use.node);
    if (use.input != 0 || !onnx_op(n, "QuantizeLinear") || !is_8bit(graph.value(n.outputs[0]).type)) continue;
    const auto q = parameters(graph, n);
    if (q && !q->per_axis()) return use.node;
  }
  return {};
}

struct Unfinished {
  std::string layer;
  ValueId result;
};

std::vector<Unfinished> find_unfinished(const Graph& graph) {
  std::vector<Unfinished> found;
  for (NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    if (!has_quantised_operands(graph, n)) continue;
    const ValueId v = result_of(graph, n);
    if (requantised(graph, v)) continue;
    found.push_back({n.name, v});
  }
  return found;
}

class Completer {
 public:
  Completer(Graph& graph, const Calibration& calibration) : graph_(graph), calibration_(calibration) {}

  void complete(ValueId v) {
    const std::string name = graph_.value(v).name;
    NodeId quantise = quantising_use(graph_, v);
    const bool output = graph_.is_output(v);
    if (!quantise.valid()) quantise = add_quantise(v, name);
    const Node q = graph_.node(quantise);
    Node dequantise;
    dequantise.name = graph_.unique_node_name(name + "_DequantizeLinear");
    dequantise.op = "DequantizeLinear";
    dequantise.opset = q.opset;
    dequantise.file = q.file;
    dequantise.inputs = q.inputs;
    dequantise.inputs[0] = q.outputs[0];
    ir::Value result = graph_.value(v);
    result.name = graph_.unique_value_name(name + "_dq");
    const ValueId real = graph_.add_value(std::move(result));
    dequantise.outputs = {real};
    graph_.add_node(std::move(dequantise));
    graph_.replace_all_uses(v, real);
    graph_.set_input(quantise, 0, v);
    if (!output) return;
    graph_.swap_names(v, real);
    graph_.rename(v, graph_.unique_value_name(name + "_float"));
  }

 private:
  NodeId add_quantise(ValueId v, const std::string& name) {
    const Quantization q = activation_quantization(calibration_.ranges.at(name));
    const NodeId producer = graph_.producer(v);
    Node node;
    node.name = graph_.unique_node_name(name + "_QuantizeLinear");
    node.op = "QuantizeLinear";
    node.opset = graph_.node(producer).opset;
    node.file = graph_.node(producer).file;
    const ValueId scale = graph_.add_constant(graph_.unique_value_name(name + "_s"), ir::make_tensor<float>({}, {q.scale[0]}));
    const ValueId zero = graph_.add_constant(graph_.unique_value_name(name + "_z"),
                                             ir::make_tensor<int8_t>({}, {static_cast<int8_t>(q.zero[0])}));
    ir::Value stored = graph_.value(v);
    stored.name = graph_.unique_value_name(name + "_q");
    stored.type = ir::ElementType::int8;
    stored.quantization = q;
    node.inputs = {v, scale, zero};
    node.outputs = {graph_.add_value(std::move(stored))};
    return graph_.add_node(std::move(node));
  }

  Graph& graph_;
  const Calibration& calibration_;
};

}  // namespace

std::vector<std::string> unfinished_layers(const Graph& graph) {
  std::vector<std::string> names;
  for (const Unfinished& u : find_unfinished(graph)) names.push_back(u.layer);
  return names;
}

void complete_quantization(Graph& graph, const Calibration& calibration) {
  Completer completer(graph, calibration);
  for (const Unfinished& u : find_unfinished(graph)) completer.complete(u.result);
  ir::verify(graph);
}

}  // namespace dlc::quantize
