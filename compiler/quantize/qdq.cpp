#include "compiler/quantize/qdq.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dlc::quantize {

using ir::ElementType;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Value;
using ir::ValueId;

namespace {

int32_t integer_at(const Value& v, size_t i) {
  switch (v.type) {
    case ElementType::int8:
      return v.constant<int8_t>()[i];
    case ElementType::uint8:
      return v.constant<uint8_t>()[i];
    case ElementType::int16:
      return v.constant<int16_t>()[i];
    case ElementType::uint16:
      return v.constant<uint16_t>()[i];
    default:
      return v.constant<int32_t>()[i];
  }
}

bool onnx_op(const Node& n, std::string_view op) { return n.op == op && n.domain.empty(); }

// Narrows [low, high] by a Relu or Clip in front of the quantisation, which is monotone: clamping the real
// value and quantising equals quantising and clamping to the quantised limits.
struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  void apply(double l, double h) {
    low = std::clamp(low, l, std::max(l, h));
    high = std::clamp(high, l, std::max(l, h));
  }
};

int32_t quantise_limit(double real, double scale, int32_t zero, int32_t lowest, int32_t highest) {
  const float v =
      std::nearbyint(static_cast<float>(real) / static_cast<float>(scale)) + static_cast<float>(zero);
  return static_cast<int32_t>(std::clamp(v, static_cast<float>(lowest), static_cast<float>(highest)));
}

}  // namespace

std::optional<ir::Quantization> parameters(const Graph& graph, const Node& node) {
  const Value& scale = graph.value(node.inputs[1]);
  const Value* zero =
      node.inputs.size() > 2 && node.inputs[2].valid() ? &graph.value(node.inputs[2]) : nullptr;
  if (!scale.is_constant() || (zero && !zero->is_constant())) return std::nullopt;
  ir::Quantization q;
  q.axis = static_cast<int>(node.attribute<int64_t>("axis", 0));
  const auto scales = scale.constant<float>();
  q.scale.assign(scales.begin(), scales.end());
  for (size_t i = 0; i < q.scale.size(); ++i) q.zero.push_back(zero ? integer_at(*zero, i) : 0);
  return q;
}

std::optional<Dequantised> dequantised(const Graph& graph, ValueId value) {
  const NodeId id = graph.producer(value);
  if (!id.valid() || !onnx_op(graph.node(id), "DequantizeLinear")) return std::nullopt;
  const Node& node = graph.node(id);
  const Value& stored = graph.value(node.inputs[0]);
  const auto q = parameters(graph, node);
  if (!q || q->per_axis() || !is_8bit(stored.type)) return std::nullopt;
  return Dequantised{node.inputs[0], id, q->scale[0], q->zero[0], stored.type};
}

std::optional<Requantised> requantised(const Graph& graph, ValueId value) {
  const auto use = graph.single_use(value);
  return use && use->input == 0 ? requantised_from(graph, use->node) : std::nullopt;
}

std::optional<Requantised> requantised_from(const Graph& graph, NodeId id) {
  Limits limits;
  Requantised r;
  for (;;) {
    const Node& node = graph.node(id);
    r.nodes.push_back(id);
    if (onnx_op(node, "Relu")) {
      limits.apply(0, std::numeric_limits<double>::infinity());
    } else if (onnx_op(node, "Clip")) {
      limits.apply(node.attribute<float>("min", -std::numeric_limits<float>::infinity()),
                   node.attribute<float>("max", std::numeric_limits<float>::infinity()));
    } else if (onnx_op(node, "QuantizeLinear")) {
      r.quantize = id;
      break;
    } else {
      return std::nullopt;
    }
    const auto use = graph.single_use(node.outputs[0]);
    if (!use || use->input != 0) return std::nullopt;
    id = use->node;
  }
  const Node& node = graph.node(r.quantize);
  r.stored = node.outputs[0];
  r.type = graph.value(r.stored).type;
  const auto q = parameters(graph, node);
  if (!q || q->per_axis() || !is_8bit(r.type)) return std::nullopt;
  r.scale = q->scale[0];
  r.zero = q->zero[0];
  const int32_t lowest = r.type == ElementType::int8 ? -128 : 0;
  r.low = quantise_limit(limits.low, r.scale, r.zero, lowest, lowest + 255);
  r.high = quantise_limit(limits.high, r.scale, r.zero, lowest, lowest + 255);
  return r;
}

std::optional<std::vector<double>> constant_reals(const Graph& graph, ValueId value) {
  const Value& v = graph.value(value);
  if (v.is_constant() && v.type == ElementType::float32) {
    const auto s = v.constant<float>();
    return std::vector<double>(s.begin(), s.end());
  }
  const NodeId id = graph.producer(value);
  if (!id.valid() || !onnx_op(graph.node(id), "DequantizeLinear")) return std::nullopt;
  const Value& stored = graph.value(graph.node(id).inputs[0]);
  const auto q = parameters(graph, graph.node(id));
  if (!q || !stored.is_constant()) return std::nullopt;
  if (q->per_axis() && stored.shape.size() != 1) return std::nullopt;
  std::vector<double> reals;
  for (size_t i = 0; i < static_cast<size_t>(stored.elements()); ++i) {
    const size_t c = q->per_axis() ? i : 0;
    reals.push_back((static_cast<double>(integer_at(stored, i)) - q->zero[c]) * q->scale[c]);
  }
  return reals;
}

std::optional<Weight> quantised_weight(const Graph& graph, ValueId value, size_t channel_axis,
                                       std::string& reason) {
  const NodeId id = graph.producer(value);
  if (!id.valid() || !onnx_op(graph.node(id), "DequantizeLinear")) {
    reason = "the weight is not quantised";
    return std::nullopt;
  }
  const Node& node = graph.node(id);
  const Value& stored = graph.value(node.inputs[0]);
  const auto q = parameters(graph, node);
  if (!q || !stored.is_constant() || !is_8bit(stored.type)) {
    reason = "the weight is not an 8-bit constant";
    return std::nullopt;
  }
  if (q->per_axis() && static_cast<size_t>(q->axis) != channel_axis) {
    reason = "the weight's scales run along axis " + std::to_string(q->axis) + ", not the output channels";
    return std::nullopt;
  }
  if (std::adjacent_find(q->zero.begin(), q->zero.end(), std::not_equal_to<>()) != q->zero.end()) {
    reason = "the weight's zero points differ between channels";
    return std::nullopt;
  }
  return Weight{node.inputs[0], id, {q->scale.begin(), q->scale.end()}, q->zero[0]};
}

std::vector<std::string> onnx_names(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<std::string> names;
  for (NodeId n : nodes) {
    for (const std::string& name : graph.node(n).onnx_nodes) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace dlc::quantize
