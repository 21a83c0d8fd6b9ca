// Changes of scale, average pools and data movement on quantised tensors.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/quantize/fixed_point.h"
#include "compiler/quantize/lowering.h"
#include "compiler/quantize/operands.h"

namespace dlc::quantize {
namespace {

using ir::ElementType;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::QPool;
using ir::Value;
using ir::ValueId;

bool machine_rank(const ir::Shape& shape) { return shape.size() >= 2 && shape.size() <= 4; }

QPool window_of(const Node& node, const ir::Shape& x) {
  using Ints = std::vector<int64_t>;
  const Ints k = node.attribute<Ints>("kernel_shape", {x[2], x[3]});
  const Ints s = node.attribute<Ints>("strides", {1, 1});
  const Ints d = node.attribute<Ints>("dilations", {1, 1});
  const Ints p = node.attribute<Ints>("pads", {0, 0, 0, 0});
  QPool q;
  q.kernel = {k[0], k[1]};
  q.stride = {s[0], s[1]};
  q.dilation = {d[0], d[1]};
  q.pad = {p[0], p[1], p[2], p[3]};
  return q;
}

// A ceil-mode window reaches beyond the padding: as padding, trailing pads grow (or shrink, unread) until
// the window formula gives the output size.
void fit_trailing_pads(QPool& q, const ir::Shape& x, const ir::Shape& y) {
  for (size_t i = 0; i < 2; ++i) {
    const int64_t needed =
        (y[2 + i] - 1) * q.stride[i] + (q.kernel[i] - 1) * q.dilation[i] + 1 - x[2 + i] - q.pad[i];
    q.pad[i + 2] = std::max(q.pad[i + 2], needed);
  }
}

// Elements that the windows along one dimension have: inside the map, and inside the map and its own padding (a
// ceil-mode window may reach beyond that).
std::set<std::pair<int64_t, int64_t>> window_counts(const QPool& q, size_t axis, int64_t in, int64_t out,
                                                    int64_t pad_end) {
  std::set<std::pair<int64_t, int64_t>> counts;
  for (int64_t o = 0; o < out; ++o) {
    int64_t valid = 0, padded = 0;
    for (int64_t k = 0; k < q.kernel[axis]; ++k) {
      const int64_t at = o * q.stride[axis] + k * q.dilation[axis] - q.pad[axis];
      valid += at >= 0 && at < in;
      padded += at < in + pad_end;
    }
    counts.insert({valid, padded});
  }
  return counts;
}

// The divisor for each number of valid elements that occurs; false where two windows with as many have different
// ones.
bool set_factors(QPool& q, const ir::Shape& in, const ir::Shape& y, const std::array<int64_t, 4>& pad, double scale) {
  std::map<int64_t, int64_t> divisors;
  for (const auto& [h, padded_h] : window_counts(q, 0, in[2], y[2], pad[2]))
    for (const auto& [w, padded_w] : window_counts(q, 1, in[3], y[3], pad[3])) {
      if (h * w == 0) continue;
      const int64_t divisor = q.count_include_pad ? padded_h * padded_w : h * w;
      if (divisors.emplace(h * w, divisor).first->second != divisor) return false;
    }
  q.factor.resize(static_cast<size_t>(q.kernel[0] * q.kernel[1]) + 1);
  for (const auto& [valid, divisor] : divisors)
    q.factor[static_cast<size_t>(valid)] = to_fixed_point(scale / static_cast<double>(divisor));
  return true;
}

}  // namespace

void LoweringContext::emit(const std::string& op, ir::Payload payload, std::vector<ValueId> inputs,
                           const Requantised& out, const std::vector<NodeId>& shared,
                           const std::vector<NodeId>& chain) const {
  std::vector<NodeId> all = shared;
  all.insert(all.end(), chain.begin(), chain.end());
  Node node;
  node.name = graph.node(chain.front()).name;
  node.op = op;
  node.domain = ir::kDlcDomain;
  node.payload = std::move(payload);
  node.file = graph.node(chain.front()).file;
  node.onnx_nodes = onnx_names(graph, all);
  node.inputs = std::move(inputs);
  node.outputs = {out.stored};
  std::vector<ValueId> between;
  for (NodeId n : chain) {
    if (graph.node(n).outputs[0] != out.stored) between.push_back(graph.node(n).outputs[0]);
    graph.erase(n);
  }
  for (ValueId v : between) graph.erase_value(v);
  graph.value(out.stored).quantization = ir::Quantization{{static_cast<float>(out.scale)}, {out.zero}, 0};
  graph.add_node(std::move(node));
}

bool lower_average_pool(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto x = dequantised(c.graph, node.inputs[0]);
  if (!x) return false;
  const auto out = requantised(c.graph, node.outputs[0]);
  if (!out) {
    c.note(id, "its result is not quantised to 8 bits (or also used in float)");
    return false;
  }
  const ir::Shape& in = c.graph.value(node.inputs[0]).shape;
  const ir::Shape& y = c.graph.value(node.outputs[0]).shape;
  QPool q = window_of(node, in);
  q.kind = QPool::Kind::average;
  q.count_include_pad = node.attribute<int64_t>("count_include_pad", 0) != 0;
  const std::array<int64_t, 4> own_pad = q.pad;
  fit_trailing_pads(q, in, y);
  if (q.kernel[0] * q.kernel[1] > (1 << 23)) {  // 2^23 elements of 8 bits keep the sum inside 32 bits
    c.note(id, "its sums may exceed 32 bits");
    return false;
  }
  if (!set_factors(q, in, y, own_pad, x->scale / out->scale)) {
    c.note(id, "windows with equally many elements have different divisors (ceil_mode with count_include_pad)");
    return false;
  }
  q.x_zero = x->zero;
  q.zero = out->zero;
  q.low = out->low;
  q.high = out->high;
  std::vector<NodeId> chain{id};
  chain.insert(chain.end(), out->nodes.begin(), out->nodes.end());
  c.emit("qpool", q, {x->stored}, *out, {x->node}, chain);
  return true;
}

namespace {

// The same operators on stored tensors, as QOperator models have them between their quantised layers.
bool lower_stored_movement(Graph& graph, NodeId id) {
  const Node old = graph.node(id);
  const Value& x = graph.value(old.inputs[0]);
  Value& y = graph.value(old.outputs[0]);
  if (!y.quantization) y.quantization = x.quantization;
  if (old.op == "Transpose" || old.op == "Concat") return false;  // defined for every element type
  Node& node = graph.node(id);
  if (old.op == "MaxPool") {
    QPool q = window_of(old, x.shape);
    fit_trailing_pads(q, x.shape, y.shape);
    q.low = x.type == ElementType::int8 ? -128 : 0;
    q.high = q.low + 255;
    node.payload = q;
  }
  node.op = old.op == "MaxPool" ? "qpool" : "reshape";
  node.domain = ir::kDlcDomain;
  node.opset = 0;
  node.attributes.clear();
  return true;
}

}  // namespace

bool lower_movement(const LoweringContext& c, NodeId id) {
  Graph& graph = c.graph;
  if (ir::is_8bit(graph.value(graph.node(id).inputs[0]).type)) return lower_stored_movement(graph, id);
  const Node old = graph.node(id);
  std::vector<ValueId> stored;
  std::optional<Dequantised> first;
  for (ValueId v : old.inputs) {
    const auto d = v.valid() ? dequantised(graph, v) : std::nullopt;
    if (!d) return false;
    if (!first) first = d;
    if (d->scale != first->scale || d->zero != first->zero || d->type != first->type) return false;
    stored.push_back(d->stored);
  }
  const ValueId result = old.outputs[0];
  Node node;
  node.name = old.name;
  node.file = old.file;
  node.onnx_nodes = old.onnx_nodes;
  node.inputs = stored;
  const bool max_pool = old.op == "MaxPool" || old.op == "GlobalMaxPool";
  if (max_pool) {
    const ir::Shape& in = graph.value(old.inputs[0]).shape;
    QPool q = window_of(old, in);
    fit_trailing_pads(q, in, graph.value(result).shape);
    q.low = first->type == ElementType::int8 ? -128 : 0;
    q.high = q.low + 255;
    node.payload = q;
  }
  const bool onnx = old.op == "Transpose" || old.op == "Concat";  // defined for every element type
  node.op = onnx ? old.op : max_pool ? "qpool" : "reshape";
  node.domain = onnx ? "" : ir::kDlcDomain;
  node.opset = onnx ? old.opset : 0;
  if (onnx) node.attributes = old.attributes;

  Value moved;
  moved.name = graph.value(result).name + ".stored";  // until a QuantizeLinear names it
  moved.type = first->type;
  moved.shape = graph.value(result).shape;
  moved.quantization = ir::Quantization{{static_cast<float>(first->scale)}, {first->zero}, 0};
  node.outputs = {graph.add_value(std::move(moved))};
  c.unnamed.insert(node.outputs[0]);
  Node dequantise = graph.node(first->node);
  dequantise.name += ".behind." + old.name;
  dequantise.inputs[0] = node.outputs[0];
  dequantise.outputs = {result};
  graph.erase(id);
  graph.add_node(std::move(node));
  graph.add_node(std::move(dequantise));
  return true;
}

bool lower_requantise(const LoweringContext& c, NodeId id) {
  Graph& graph = c.graph;
  const auto x = dequantised(graph, graph.node(id).inputs[0]);
  const auto out = x ? requantised_from(graph, id) : std::nullopt;
  if (!out) return false;
  const ValueId y = out->stored;
  const bool same = static_cast<float>(out->scale) == static_cast<float>(x->scale) && out->zero == x->zero &&
                    out->type == x->type && out->high - out->low == 255;
  if (!same) {
    if (!machine_rank(graph.value(y).shape)) return false;
    ir::QAdd add{combine_for(*x, *x, *out)};
    set_linear_factors(add.combine, x->scale / out->scale, 0);
    c.emit("qadd", add, {x->stored, x->stored}, *out, {x->node}, out->nodes);
    return true;
  }
  if (c.unnamed.erase(x->stored)) {
    graph.swap_names(x->stored, y);  // it becomes the tensor that the model names
  } else if (graph.is_output(y)) {
    std::vector<NodeId> nodes = out->nodes;  // a name of its own, and the graph's user wants the other one
    c.emit("reshape", {}, {x->stored}, *out, {}, nodes);
    return true;
  }
  for (NodeId n : out->nodes) graph.erase(n);
  graph.replace_all_uses(y, x->stored);
  return true;
}

}  // namespace dlc::quantize
