#include "compiler/quantize/post_training.h"

#include <algorithm>
#include <cmath>

#include "compiler/quantize/post_training_plan.h"
#include "compiler/quantize/post_training_weights.h"

namespace dlc::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Tensor;
using ir::ValueId;

constexpr int kFirstPerAxisOpset = 13;  // of QuantizeLinear and DequantizeLinear

class Inserter {
 public:
  Inserter(Graph& graph, Plan plan) : graph_(graph), plan_(std::move(plan)) {
    for (NodeId n : graph.nodes())
      opset_ = std::max(opset_, graph.node(n).domain.empty() ? graph.node(n).opset : 0);
  }

  void run() {
    find_requantised_parts();
    // Weights first: their scales follow from the values that the nodes read now.
    for (NodeId n : graph_.topological_order()) {
      if (plan_.nodes.contains(n) && role_of(graph_, n) == Role::weighted) insert_weights(n);
    }
    for (const auto& [v, quantization] : plan_.values) {
      if (graph_.value(v).is_constant())
        insert_operand(v, quantization);
      else
        insert_activation(v, quantization);
    }
    for (const Requantised& r : requantised_) insert_requantisation(r);
  }

 private:
  // A part of a concatenation that has another scale than the whole.
  struct Requantised {
    NodeId node;
    size_t slot = 0;
    ir::Quantization quantization;
  };

  void find_requantised_parts() {
    for (NodeId n : graph_.topological_order()) {
      const Node& node = graph_.node(n);
      if (node.op != "Concat" || !plan_.nodes.contains(n)) continue;
      const ir::Quantization& whole = plan_.values.at(rounded_output(graph_, plan_, n));
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!(plan_.values.at(node.inputs[i]) == whole)) requantised_.push_back({n, i, whole});
      }
    }
  }

  // The part, already dequantised, is rounded to the concatenation's scale.
  void insert_requantisation(const Requantised& r) {
    const ValueId part = graph_.node(r.node).inputs[r.slot];
    const std::string name =
        graph_.unique_value_name(graph_.node(r.node).name + "_part" + std::to_string(r.slot));
    graph_.set_input(r.node, r.slot, add_pair(part, name, r.quantization).second);
  }

  ValueId add_scale(const std::string& name, const ir::Quantization& q) {
    Tensor t(ir::ElementType::float32,
             q.per_axis() ? ir::Shape{static_cast<int64_t>(q.scale.size())} : ir::Shape{});
    std::copy(q.scale.begin(), q.scale.end(), t.data<float>().begin());
    return graph_.add_constant(name, t);
  }

  ValueId add_zero(const std::string& name, const ir::Quantization& q) {
    Tensor t(ir::ElementType::int8,
             q.per_axis() ? ir::Shape{static_cast<int64_t>(q.zero.size())} : ir::Shape{});
    for (size_t i = 0; i < q.zero.size(); ++i) t.data<int8_t>()[i] = static_cast<int8_t>(q.zero[i]);
    return graph_.add_constant(name, t);
  }

  // A QuantizeLinear or DequantizeLinear node; returns its result.
  ValueId add_node(const char* op, ir::Value output, std::vector<ValueId> inputs, const ir::Quantization& q) {
    Node node;
    node.op = op;
    node.name = output.name.substr(0, output.name.rfind('_')) + "_" + op;  // T_q, T_dq -> T
    node.opset = opset_;
    node.file = graph_.file;
    if (q.per_axis()) node.attributes["axis"] = int64_t{q.axis};
    node.inputs = std::move(inputs);
    const ValueId out = graph_.add_value(std::move(output));
    node.outputs = {out};
    graph_.add_node(std::move(node));
    return out;
  }

  ir::Value value_like(ValueId v, const std::string& name, ir::ElementType type) const {
    ir::Value value;
    value.name = name;
    value.type = type;
    value.shape = graph_.value(v).shape;
    return value;
  }

  // A constant stored as integers, followed by its DequantizeLinear.
  ValueId add_quantized_constant(const std::string& name, const Tensor& integers, const ir::Quantization& q,
                                 bool with_zero) {
    const ValueId stored = graph_.add_constant(name + "_q", integers);
    graph_.value(stored).quantization = q;
    std::vector<ValueId> inputs{stored, add_scale(name + "_s", q)};
    if (with_zero) inputs.push_back(add_zero(name + "_z", q));
    return add_node("DequantizeLinear", value_like(stored, name + "_dq", ir::ElementType::float32), inputs,
                    q);
  }

  void replace_constant(NodeId n, size_t slot, ValueId replacement) {
    const ValueId old = graph_.node(n).inputs[slot];
    graph_.set_input(n, slot, replacement);
    if (graph_.consumers(old).empty() && !graph_.is_output(old)) graph_.erase_value(old);
  }

  void insert_weights(NodeId n) {
    const Node node = graph_.node(n);
    const ir::Value& weight = graph_.value(node.inputs[1]);
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
    const bool transposed = node.op == "ConvTranspose";
    const int64_t groups = node.attribute<int64_t>("group", 1);
    const bool depthwise = transposed && weight.shape[0] == groups && weight.shape[1] == 1;
    const size_t axis = (transposed && !depthwise) || node.op == "MatMul" ? 1 : 0;
    // Groups of a transposed convolution share the entries of the weight's channel axis.
    const bool per_channel = weight.shape[axis] > 1 && !(transposed && groups > 1 && !depthwise);
    const std::string weight_name = weight.name;
    const QuantizedWeights q =
        quantize_weights(weight, axis, has_bias ? &graph_.value(node.inputs[2]) : nullptr,
                         plan_.values.at(node.inputs[0]).scale[0],
                         plan_.values.at(rounded_output(graph_, plan_, n)).scale[0], per_channel);
    replace_constant(n, 1, add_quantized_constant(weight_name, q.weight, q.scale, true));
    if (!has_bias) return;
    const std::string bias_name = graph_.value(node.inputs[2]).name;
    replace_constant(n, 2, add_quantized_constant(bias_name, q.bias, q.bias_scale, false));
  }

  void redirect(const std::vector<ir::Use>& uses, ValueId to) {
    for (const ir::Use& use : uses) {
      if (plan_.nodes.contains(use.node)) graph_.set_input(use.node, use.input, to);
    }
  }

  // A constant operand of an addition and the like.
  void insert_operand(ValueId v, const ir::Quantization& q) {
    const ir::Value value = graph_.value(v);
    Tensor integers(ir::ElementType::int8, value.shape);
    for (size_t i = 0; i < integers.data<int8_t>().size(); ++i) {
      const double x =
          std::nearbyint(value.constant<float>()[i] / static_cast<double>(q.scale[0])) + q.zero[0];
      integers.data<int8_t>()[i] = static_cast<int8_t>(std::clamp(x, -128.0, 127.0));
    }
    redirect(graph_.consumers(v), add_quantized_constant(value.name, integers, q, true));
    if (graph_.consumers(v).empty() && !graph_.is_output(v)) graph_.erase_value(v);
  }

  // QuantizeLinear and DequantizeLinear behind `v`: the integers and the dequantised value.
  std::pair<ValueId, ValueId> add_pair(ValueId v, const std::string& name, const ir::Quantization& q) {
    const ValueId scale = add_scale(name + "_s", q), zero = add_zero(name + "_z", q);
    ir::Value stored = value_like(v, name + "_q", ir::ElementType::int8);
    stored.quantization = q;
    const ValueId integers = add_node("QuantizeLinear", std::move(stored), {v, scale, zero}, q);
    return {integers, add_node("DequantizeLinear", value_like(v, name + "_dq", ir::ElementType::float32),
                               {integers, scale, zero}, q)};
  }

  void insert_activation(ValueId v, const ir::Quantization& q) {
    const std::string name = graph_.value(v).name;
    const std::vector<ir::Use> uses = graph_.consumers(v);
    const auto [integers, result] = add_pair(v, name, q);
    if (graph_.is_input(v)) return redirect(uses, result);  // operators on the host read it as it is
    const bool output = graph_.is_output(v);
    graph_.replace_all_uses(v, result);
    graph_.set_input(graph_.producer(integers), 0, v);
    if (!output) return;
    graph_.swap_names(v, result);
    graph_.rename(v, graph_.unique_value_name(name + "_float"));
  }

  Graph& graph_;
  Plan plan_;
  std::vector<Requantised> requantised_;
  int opset_ = kFirstPerAxisOpset;
};

}  // namespace

bool needs_quantization(const Graph& graph) {
  bool has_layers = false;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const bool on_constant = node.op == "DequantizeLinear" && graph.value(node.inputs[0]).is_constant();
    const bool quantized = node.op == "QuantizeLinear" || (node.op == "DequantizeLinear" && !on_constant) ||
                           node.op.starts_with("QLinear") || node.op.ends_with("Integer") ||
                           node.domain == ir::kDlcDomain;
    if (quantized) return false;
    has_layers |= node.op == "Conv" || node.op == "ConvTranspose" || node.op == "Gemm" || node.op == "MatMul";
  }
  return has_layers;
}

void quantize_post_training(Graph& graph, const Calibration& calibration) {
  Inserter(graph, make_plan(graph, calibration)).run();
  ir::verify(graph);
}

Calibration quantize_graph(Graph& graph, const std::vector<reference::TensorMap>& rows,
                           const PostTrainingOptions& options) {
  prepare_for_quantization(graph);
  Calibration calibration = calibrate(graph, rows, options.calibration);
  quantize_post_training(graph, calibration);
  return calibration;
}

}  // namespace dlc::quantize
