#include "compiler/quantize/operands.h"

#include "compiler/quantize/fixed_point.h"

namespace dlc::quantize {
namespace {

// Shape `from`, with 1s in front up to the rank of `shape`, and the channels of `shape`.
ir::Shape with_channels(const ir::Shape& from, const ir::Shape& shape) {
  ir::Shape to(shape.size() - from.size(), 1);
  to.insert(to.end(), from.begin(), from.end());
  to[1] = shape[1];
  return to;
}

// A stored constant repeated to `shape` (NumPy broadcasting).
ir::ValueId expand_constant(ir::Graph& graph, ir::ValueId id, const ir::Shape& shape) {
  const ir::Value v = graph.value(id);
  ir::Tensor t(v.type, shape);
  for (size_t i = 0; i < t.bytes.size(); ++i) {
    size_t rest = i, from = 0, stride = 1;
    for (size_t d = 0; d < shape.size(); ++d) {  // from the last dimension
      const auto size = static_cast<size_t>(shape[shape.size() - 1 - d]);
      const size_t index = rest % size;
      rest /= size;
      if (d >= v.shape.size()) continue;
      const auto own = static_cast<size_t>(v.shape[v.shape.size() - 1 - d]);
      if (own != 1) from += index * stride;
      stride *= own;
    }
    t.bytes[i] = (*v.data)[from];
  }
  const ir::ValueId expanded = graph.add_constant(graph.unique_value_name(v.name + ".expanded"), t);
  graph.value(expanded).quantization = v.quantization;
  return expanded;
}

}  // namespace

ir::ValueId add_node(const LoweringContext& c, const std::string& op, ir::Payload payload,
                     std::vector<ir::ValueId> inputs, ir::Value result, ir::NodeId like) {
  ir::Node node;
  node.name = c.graph.unique_node_name(c.graph.node(like).name + "." + op);
  node.op = op;
  node.domain = ir::kDlcDomain;
  node.payload = std::move(payload);
  node.file = c.graph.node(like).file;
  node.onnx_nodes = c.graph.node(like).onnx_nodes;
  node.inputs = std::move(inputs);
  result.name = c.graph.unique_value_name(result.name);
  node.outputs = {c.graph.add_value(std::move(result))};
  const ir::ValueId y = node.outputs[0];
  c.graph.add_node(std::move(node));
  return y;
}

ir::ValueId repeat_channels(const LoweringContext& c, ir::ValueId stored, const ir::Shape& shape) {
  ir::Value v = c.graph.value(stored);
  const ir::Shape to = with_channels(v.shape, shape);
  if (to == v.shape) return stored;
  if (v.is_constant()) return expand_constant(c.graph, stored, to);
  ir::QTake take;
  take.channels.assign(static_cast<size_t>(shape[1]), 0);
  v.name += ".repeated";
  v.shape = to;
  return add_node(c, "qtake", take, {stored}, std::move(v), c.graph.producer(stored).valid()
                                                                 ? c.graph.producer(stored)
                                                                 : c.graph.consumers(stored)[0].node);
}

ir::Value stored_like(const LoweringContext& c, const Requantised& out, const char* suffix, ir::Shape shape) {
  ir::Value v;
  v.name = c.graph.value(out.stored).name + suffix;
  v.type = out.type;
  v.shape = std::move(shape);
  v.quantization = ir::Quantization{{static_cast<float>(out.scale)}, {out.zero}, 0};
  return v;
}

ir::LinearCombine combine_for(const Dequantised& a, const Dequantised& b, const Requantised& out) {
  ir::LinearCombine l;
  l.a_zero = a.zero;
  l.b_zero = b.zero;
  set_linear_factors(l, a.scale / out.scale, b.scale / out.scale);
  l.zero = out.zero;
  l.low = out.low;
  l.high = out.high;
  return l;
}

ir::ValueId requantise(const LoweringContext& c, const Dequantised& x, const Requantised& out,
                       ir::NodeId like) {
  const bool same = static_cast<float>(out.scale) == static_cast<float>(x.scale) && out.zero == x.zero &&
                    out.type == x.type && out.high - out.low == 255;
  if (same) return x.stored;
  ir::QAdd add{combine_for(x, x, out)};
  set_linear_factors(add.combine, x.scale / out.scale, 0);
  ir::Value v = stored_like(c, out, ".operand", c.graph.value(x.stored).shape);
  return add_node(c, "qadd", add, {x.stored, x.stored}, std::move(v), like);
}

void add_dequantise(const LoweringContext& c, ir::ValueId stored, const ir::Node& old, ir::NodeId like) {
  ir::Graph& graph = c.graph;
  const ir::Quantization q = *graph.value(stored).quantization;
  ir::Tensor scale(ir::ElementType::float32, {}), zero(graph.value(stored).type, {});
  scale.data<float>()[0] = q.scale[0];
  zero.bytes[0] = static_cast<uint8_t>(q.zero[0]);
  const std::string name = graph.value(stored).name;
  ir::Node dequantise = graph.node(like);
  dequantise.name = graph.unique_node_name(name + ".dequantise");
  dequantise.onnx_nodes = old.onnx_nodes;
  dequantise.inputs = {stored, graph.add_constant(graph.unique_value_name(name + ".scale"), scale),
                       graph.add_constant(graph.unique_value_name(name + ".zero"), zero)};
  dequantise.outputs = {old.outputs[0]};
  graph.add_node(std::move(dequantise));
}

std::optional<Dequantised> moved_operand(const ir::Graph& graph, ir::ValueId value) {
  const ir::Value& v = graph.value(value);
  if (!ir::is_8bit(v.type)) return dequantised(graph, value);
  if (v.is_constant()) return std::nullopt;
  Dequantised d;
  d.stored = value;
  d.type = v.type;
  if (v.quantization && !v.quantization->per_axis()) {
    d.scale = static_cast<double>(v.quantization->scale[0]);
    d.zero = v.quantization->zero[0];
  }
  return d;
}

std::optional<Dequantised> map_operand(const LoweringContext& c, ir::NodeId id) {
  const ir::ValueId x = c.graph.node(id).inputs[0];
  return c.graph.value(x).shape.size() == 4 ? moved_operand(c.graph, x) : std::nullopt;
}

ir::QPlace interleaving(int64_t sh, int64_t sw) {
  ir::QPlace q;
  for (int64_t i = 0; i < sh * sw; ++i) {
    q.offset.insert(q.offset.end(), {0, 0, i / sw, i % sw});
    q.step.insert(q.step.end(), {1, 1, sh, sw});
  }
  return q;
}

void move_stored(const LoweringContext& c, ir::NodeId id, const Dequantised& x,
                 const std::function<ir::ValueId(size_t, ir::Value)>& make) {
  ir::Graph& graph = c.graph;
  const ir::Node old = graph.node(id);
  std::vector<ir::ValueId> stored;
  for (size_t i = 0; i < old.outputs.size(); ++i) {
    if (!old.outputs[i].valid()) {
      stored.push_back({});
      continue;
    }
    ir::Value v;
    v.name = graph.value(old.outputs[i]).name + ".stored";  // until a QuantizeLinear names it
    v.type = x.type;
    v.shape = graph.value(old.outputs[i]).shape;
    v.quantization = ir::Quantization{{static_cast<float>(x.scale)}, {x.zero}, 0};
    stored.push_back(make(i, std::move(v)));
    c.unnamed.insert(stored.back());
  }
  graph.erase(id);
  for (size_t i = 0; i < stored.size(); ++i) {
    if (!stored[i].valid()) continue;
    if (!x.node.valid()) {
      c.unnamed.erase(stored[i]);
      graph.swap_names(stored[i], old.outputs[i]);
      graph.replace_all_uses(old.outputs[i], stored[i]);
      continue;
    }
    ir::Node dequantise = graph.node(x.node);
    dequantise.name = graph.unique_node_name(dequantise.name + ".behind." + old.name);
    dequantise.inputs[0] = stored[i];
    dequantise.outputs = {old.outputs[i]};
    graph.add_node(std::move(dequantise));
  }
}

}  // namespace dlc::quantize
