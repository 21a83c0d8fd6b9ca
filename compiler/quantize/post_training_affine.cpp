// Rewrites that change weights: products in normal form, per-channel scales and offsets merged into layers.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "compiler/quantize/post_training_functions.h"
#include "compiler/quantize/post_training_plan.h"
#include "compiler/quantize/post_training_prepare.h"

namespace dlc::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Tensor;
using ir::ValueId;

// y = scale[channel] * x + shift[channel]
struct Affine {
  ValueId x;
  std::vector<double> scale, shift;
};

std::span<const float> floats(const Graph& graph, ValueId v) { return graph.value(v).constant<float>(); }

bool float_constant(const Graph& graph, const Node& node, size_t slot) {
  if (slot >= node.inputs.size() || !node.inputs[slot].valid()) return false;
  const ir::Value& v = graph.value(node.inputs[slot]);
  return v.is_constant() && v.type == ir::ElementType::float32;
}

// A constant operand repeated to one entry per channel (dimension 1 of `shape`), where it broadcasts so.
std::optional<std::vector<double>> per_channel(const Graph& graph, ValueId v, const ir::Shape& shape) {
  const ir::Shape& own = graph.value(v).shape;
  const size_t rank = shape.size();
  if (rank < 2 || own.size() > rank) return std::nullopt;
  const auto channels = static_cast<size_t>(shape[1]);
  const auto data = floats(graph, v);
  if (data.size() == 1) return std::vector<double>(channels, data[0]);
  for (size_t i = 0; i < own.size(); ++i) {
    const bool is_channel = rank - own.size() + i == 1;
    if (own[i] != (is_channel ? shape[1] : 1)) return std::nullopt;
  }
  return std::vector<double>(data.begin(), data.end());
}

std::optional<Affine> batch_normalization(const Graph& graph, const Node& node) {
  for (size_t i = 1; i < 5; ++i) {
    if (!float_constant(graph, node, i)) return std::nullopt;
  }
  const auto gamma = floats(graph, node.inputs[1]), beta = floats(graph, node.inputs[2]);
  const auto mean = floats(graph, node.inputs[3]), variance = floats(graph, node.inputs[4]);
  const double epsilon = static_cast<double>(node.attribute<float>("epsilon", 1e-5f));
  Affine a{node.inputs[0], {}, {}};
  for (size_t c = 0; c < gamma.size(); ++c) {
    a.scale.push_back(gamma[c] / std::sqrt(variance[c] + epsilon));
    a.shift.push_back(beta[c] - mean[c] * a.scale.back());
  }
  return a;
}

std::optional<Affine> as_affine(const Graph& graph, const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "BatchNormalization") return batch_normalization(graph, node);
  const bool add = node.op == "Add", sub = node.op == "Sub", mul = node.op == "Mul", div = node.op == "Div";
  if (!(add || sub || mul || div)) return std::nullopt;
  const size_t slot = float_constant(graph, node, 1) ? 1 : 0;  // of the constant
  if (!float_constant(graph, node, slot) || (div && slot == 0)) return std::nullopt;
  const ValueId x = node.inputs[1 - slot];
  const ir::Shape& shape = graph.value(x).shape;
  if (graph.value(x).is_constant() || graph.value(node.outputs[0]).shape != shape) return std::nullopt;
  const auto constant = per_channel(graph, node.inputs[slot], shape);
  if (!constant) return std::nullopt;
  Affine a{x, std::vector<double>(constant->size(), 1.0), std::vector<double>(constant->size(), 0.0)};
  for (size_t c = 0; c < constant->size(); ++c) {
    const double k = (*constant)[c];
    if (add || sub) a.shift[c] = sub && slot == 1 ? -k : k;
    if (sub && slot == 0) a.scale[c] = -1;
    if (mul || div) a.scale[c] = div ? 1.0 / k : k;
    if (!std::isfinite(a.scale[c])) return std::nullopt;
  }
  return a;
}

// A new constant in a node's input; takes over the old one's name where nobody else reads that.
void set_constant(Graph& graph, NodeId id, size_t slot, const Tensor& tensor, const std::string& otherwise) {
  const Node& node = graph.node(id);
  const ValueId old = slot < node.inputs.size() ? node.inputs[slot] : ValueId{};
  std::string name = old.valid() ? graph.value(old).name : otherwise;
  while (graph.node(id).inputs.size() < slot) graph.set_input(id, graph.node(id).inputs.size(), ValueId{});
  graph.set_input(id, slot, ValueId{});
  if (old.valid() && graph.consumers(old).empty() && !graph.is_output(old)) graph.erase_value(old);
  graph.set_input(id, slot, graph.add_constant(name, tensor));
}

// Output channel of each element of a layer's weight: (OC, ...), or (IC, OC / groups, KH, KW) of a transposed
// convolution.
std::vector<size_t> output_channels(const Graph& graph, const Node& node, size_t channels) {
  const ir::Shape& shape = graph.value(node.inputs[1]).shape;
  const auto count = static_cast<size_t>(ir::element_count(shape));
  std::vector<size_t> channel(count);
  if (node.op != "ConvTranspose") {
    for (size_t i = 0; i < count; ++i) channel[i] = i / (count / channels);
    return channel;
  }
  const auto groups = static_cast<size_t>(node.attribute<int64_t>("group", 1));
  const auto in = static_cast<size_t>(shape[0]), out = static_cast<size_t>(shape[1]);
  const size_t taps = count / (in * out);
  for (size_t i = 0; i < count; ++i) channel[i] = i / (out * taps) / (in / groups) * out + i / taps % out;
  return channel;
}

// Multiplies output channel c of the weight by scale[c] and makes the bias bias * scale + shift.
void scale_rows(Graph& graph, NodeId id, const std::vector<double>& scale, const std::vector<double>& shift) {
  const Node node = graph.node(id);
  Tensor weight(ir::ElementType::float32, graph.value(node.inputs[1]).shape);
  const auto old = floats(graph, node.inputs[1]);
  const std::vector<size_t> channel = output_channels(graph, node, scale.size());
  for (size_t i = 0; i < old.size(); ++i)
    weight.data<float>()[i] = static_cast<float>(old[i] * scale[channel[i]]);
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  Tensor bias(ir::ElementType::float32, {static_cast<int64_t>(scale.size())});
  for (size_t c = 0; c < scale.size(); ++c) {
    const double b = has_bias ? static_cast<double>(floats(graph, node.inputs[2])[c]) : 0.0;
    bias.data<float>()[c] = static_cast<float>(b * scale[c] + shift[c]);
  }
  set_constant(graph, id, 1, weight, "");
  const bool any = std::any_of(shift.begin(), shift.end(), [](double s) { return s != 0; });
  if (has_bias || any) set_constant(graph, id, 2, bias, node.name + "_bias");
}

// The layer whose result only this node reads, if weights can be scaled there.
NodeId layer_before(const Graph& graph, ValueId x) {
  const NodeId layer = graph.producer(x);
  if (!layer.valid() || !graph.single_use(x) || role_of(graph, layer) != Role::weighted) return {};
  const Node& node = graph.node(layer);
  return node.op == "Conv" || node.op == "ConvTranspose" || node.op == "Gemm" ? layer : NodeId{};
}

// Whether a layer can be reached from here: only then is the value going to be 8 bit.
bool leads_to_layer(const Graph& graph, NodeId from) {
  std::set<NodeId> seen;
  std::vector<NodeId> stack{from};
  while (!stack.empty()) {
    const NodeId n = stack.back();
    stack.pop_back();
    for (ValueId out : graph.node(n).outputs) {
      if (!out.valid()) continue;
      for (const ir::Use& use : graph.consumers(out)) {
        const Role role = role_of(graph, use.node);
        if (role == Role::weighted || role == Role::average) return true;
        if (seen.insert(use.node).second) stack.push_back(use.node);
      }
    }
  }
  return false;
}

void make_depthwise(Graph& graph, NodeId id, const Affine& affine) {
  const Node old = graph.node(id);
  const auto channels = static_cast<int64_t>(affine.scale.size());
  Tensor weight(ir::ElementType::float32, {channels, 1, 1, 1}), bias(ir::ElementType::float32, {channels});
  std::copy(affine.scale.begin(), affine.scale.end(), weight.data<float>().begin());
  std::copy(affine.shift.begin(), affine.shift.end(), bias.data<float>().begin());
  Node conv;
  conv.name = old.name;
  conv.op = "Conv";
  conv.opset = old.opset;
  conv.file = old.file;
  conv.onnx_nodes = old.onnx_nodes;
  using Ints = std::vector<int64_t>;
  conv.attributes = {{"dilations", Ints{1, 1}},
                     {"group", channels},
                     {"kernel_shape", Ints{1, 1}},
                     {"pads", Ints{0, 0, 0, 0}},
                     {"strides", Ints{1, 1}}};
  conv.inputs = {affine.x, graph.add_constant(old.name + "_scale", weight),
                 graph.add_constant(old.name + "_shift", bias)};
  conv.outputs = old.outputs;
  graph.erase(id);
  graph.add_node(std::move(conv));
}

// ------------------------------------------------------------------------------------------ products

// Input C of a Gemm as one entry per output, multiplied by beta.
std::optional<Tensor> gemm_bias(const Graph& graph, const Node& node, int64_t outputs) {
  const ir::Value& c = graph.value(node.inputs[2]);
  if (!float_constant(graph, node, 2)) return std::nullopt;
  const bool row = c.elements() == outputs && (c.shape.empty() || c.shape.back() == outputs);
  if (c.elements() != 1 && !row) return std::nullopt;
  Tensor bias(ir::ElementType::float32, {outputs});
  const float beta = node.attribute<float>("beta", 1.0f);
  for (int64_t i = 0; i < outputs; ++i) {
    bias.data<float>()[static_cast<size_t>(i)] =
        beta * c.constant<float>()[c.elements() == 1 ? 0 : static_cast<size_t>(i)];
  }
  return bias;
}

void normalise_product(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const bool gemm = node.op == "Gemm";
  const ir::Value& w = graph.value(node.inputs[1]);
  if (!float_constant(graph, node, 1) || w.shape.size() != 2 || node.attribute<int64_t>("transA") != 0)
    return;
  if (graph.value(node.inputs[0]).shape.size() != 2 || graph.value(node.inputs[0]).is_constant()) return;
  const bool transposed = gemm && node.attribute<int64_t>("transB") != 0;
  const int64_t outputs = w.shape[transposed ? 0 : 1], inputs = w.shape[transposed ? 1 : 0];
  const bool has_bias = gemm && node.inputs.size() > 2 && node.inputs[2].valid();
  const auto bias = has_bias ? gemm_bias(graph, node, outputs) : std::nullopt;
  if (has_bias && !bias) return;
  const float alpha = gemm ? node.attribute<float>("alpha", 1.0f) : 1.0f;
  Tensor weight(ir::ElementType::float32, {outputs, inputs});
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      const auto from = static_cast<size_t>(transposed ? o * inputs + i : i * outputs + o);
      weight.data<float>()[static_cast<size_t>(o * inputs + i)] = alpha * w.constant<float>()[from];
    }
  }
  set_constant(graph, id, 1, weight, "");
  if (bias) set_constant(graph, id, 2, *bias, "");
  Node& changed = graph.node(id);
  changed.op = "Gemm";
  changed.attributes = {{"alpha", 1.0f}, {"beta", 1.0f}, {"transA", int64_t{0}}, {"transB", int64_t{1}}};
}

}  // namespace

void normalise_products(Graph& graph) {
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (node.domain.empty() && (node.op == "Gemm" || node.op == "MatMul")) normalise_product(graph, id);
  }
}

void merge_affine(Graph& graph) {
  const ElementFunctions functions = find_functions(graph);
  for (NodeId id : graph.topological_order()) {
    const auto affine = as_affine(graph, graph.node(id));
    if (!affine) continue;
    const Node node = graph.node(id);
    if (const NodeId layer = layer_before(graph, affine->x); layer.valid()) {
      scale_rows(graph, layer, affine->scale, affine->shift);
      Node& merged = graph.node(layer);
      merged.onnx_nodes.insert(merged.onnx_nodes.end(), node.onnx_nodes.begin(), node.onnx_nodes.end());
      graph.erase(id);
      graph.set_outputs(layer, node.outputs);
      graph.erase_value(affine->x);
    } else if (graph.value(affine->x).shape.size() == 4 && !functions.nodes.contains(id) &&
               leads_to_layer(graph, id)) {
      make_depthwise(graph, id, *affine);
    }
  }
}

}  // namespace dlc::quantize
