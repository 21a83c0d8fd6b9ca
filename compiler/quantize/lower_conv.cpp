// Conv, Gemm and MatMul on quantised operands -> qconv.
//
//   y = clamp(round((sum (x - xz)(w - wz) + bias) * sx * sw[c] / sy) + yz)
//
// which is the float pattern's value, computed exactly and rounded once.
#include <cmath>

#include "compiler/quantize/fixed_point.h"
#include "compiler/quantize/lowering.h"

namespace dlc::quantize {
namespace {

using ir::ElementType;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::QConv;
using ir::ValueId;

// What Conv, Gemm and MatMul have in common once their operands are read.
struct Product {
  NodeId node;  // Conv, Gemm or MatMul
  Dequantised x;
  Weight w;
  ir::Tensor weight;         // (OC, IC/groups, KH, KW), stored values
  QConv conv;                // window and groups filled in
  ValueId result;            // float result, behind the bias addition if there is one
  std::vector<double> bias;  // real; empty: none
  double alpha = 1;
  std::vector<NodeId> shared;  // dequantisations of operands
  std::vector<NodeId> chain;   // the product, the bias addition
};

// A following Add of a constant per output channel (`channel_dims` dimensions behind the channel).
void match_bias_add(const Graph& graph, Product& p, int64_t channels, size_t channel_dims) {
  const auto use = graph.single_use(p.result);
  if (!use || !p.bias.empty()) return;
  const Node& add = graph.node(use->node);
  if (add.op != "Add" || !add.domain.empty()) return;
  const ValueId other = add.inputs[1 - use->input];
  const auto reals = constant_reals(graph, other);
  if (!reals || static_cast<int64_t>(reals->size()) != channels) return;
  // Every dimension but the channel's must be 1, and the sum must keep the result's shape.
  const ir::Shape& shape = graph.value(other).shape;
  const size_t at = shape.size() - 1 - channel_dims;
  if (shape.size() < channel_dims + 1 || shape[at] != channels) return;
  if (graph.value(add.outputs[0]).shape != graph.value(p.result).shape) return;
  p.bias = *reals;
  if (const NodeId b = graph.producer(other); b.valid()) p.shared.push_back(b);
  p.chain.push_back(use->node);
  p.result = add.outputs[0];
}

// Worst-case |accumulator| of any channel; the machine's accumulators have 32 bits.
int64_t worst_accumulator(const Product& p, ElementType weight_type) {
  const int64_t lowest = p.x.type == ElementType::int8 ? -128 : 0;
  const int64_t x_max = std::max<int64_t>(p.x.zero - lowest, lowest + 255 - p.x.zero);
  const size_t per_channel = p.weight.bytes.size() / static_cast<size_t>(p.weight.shape[0]);
  int64_t worst = 0;
  for (size_t c = 0; c < static_cast<size_t>(p.weight.shape[0]); ++c) {
    int64_t sum = 0;
    for (size_t i = 0; i < per_channel; ++i) {
      sum += std::abs(numerics::operand9(p.weight.bytes[c * per_channel + i],
                                         weight_type == ElementType::int8, p.w.zero));
    }
    worst = std::max(worst, sum * x_max);
  }
  return worst;
}

// Bias and factor of every channel; false (with a note) when the bias does not fit 32 bits.
bool set_rescale(const LoweringContext& c, Product& p, const Requantised& out) {
  ir::Rescale& r = p.conv.rescale;
  const auto channels = static_cast<size_t>(p.weight.shape[0]);
  r.bias.assign(channels, 0);
  for (size_t i = 0; i < channels; ++i) {
    const double unit = p.x.scale * p.w.scale[p.w.scale.size() == 1 ? 0 : i] * p.alpha;
    const numerics::FixedPoint f = to_fixed_point(unit / out.scale);
    r.multiplier.push_back(f.multiplier);
    r.shift.push_back(f.shift);
    if (p.bias.empty()) continue;
    const double b = std::nearbyint(p.bias[i] / unit);
    if (!(std::abs(b) < 2147483647.0)) {
      c.note(p.node, "a bias does not fit 32 bits");
      return false;
    }
    r.bias[i] = static_cast<int32_t>(b);
  }
  r.zero = out.zero;
  r.low = out.low;
  r.high = out.high;
  return true;
}

bool finish(const LoweringContext& c, Product& p) {
  const auto out = requantised(c.graph, p.result);
  if (!out) {
    c.note(p.node, "its result is not quantised to 8 bits (or also used in float)");
    return false;
  }
  const ElementType weight_type = c.graph.value(p.w.stored).type;
  if (worst_accumulator(p, weight_type) > INT32_MAX) {
    c.note(p.node, "its sums may exceed 32 bits");
    return false;
  }
  if (!set_rescale(c, p, *out)) return false;
  p.conv.kernel = {p.weight.shape[2], p.weight.shape[3]};
  p.conv.x_zero = p.x.zero;
  p.conv.w_zero = p.w.zero;

  // Rank 2 weights and transposed ones become a new constant; Conv's own is used as it is.
  ValueId weight = p.w.stored;
  if (c.graph.value(weight).shape != p.weight.shape) {
    p.weight.type = weight_type;
    weight = c.graph.add_constant(c.graph.value(p.w.stored).name + ".oihw", p.weight);
  }
  ir::Quantization q{
      {p.w.scale.begin(), p.w.scale.end()}, std::vector<int32_t>(p.w.scale.size(), p.w.zero), 0};
  c.graph.value(weight).quantization = q;
  p.chain.insert(p.chain.end(), out->nodes.begin(), out->nodes.end());
  c.emit("qconv", p.conv, {p.x.stored, weight}, *out, p.shared, p.chain);
  return true;
}

std::array<int64_t, 2> pair_of(const Node& n, const std::string& key) {
  const auto v = n.attribute<std::vector<int64_t>>(key);
  return {v[0], v[1]};
}

}  // namespace

bool lower_conv(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto x = dequantised(c.graph, node.inputs[0]);
  if (!x) return false;
  std::string reason;
  const auto w = quantised_weight(c.graph, node.inputs[1], 0, reason);
  if (!w) {
    c.note(id, reason);
    return false;
  }
  Product p{id, *x, *w, {}, {}, node.outputs[0], {}, 1, {x->node, w->node}, {id}};
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  if (has_bias) {
    const auto bias = constant_reals(c.graph, node.inputs[2]);
    if (!bias) {
      c.note(id, "its bias is not a constant");
      return false;
    }
    p.bias = *bias;
    if (const NodeId b = c.graph.producer(node.inputs[2]); b.valid()) p.shared.push_back(b);
  }
  const ir::Value& stored = c.graph.value(w->stored);
  p.weight.shape = stored.shape;
  p.weight.bytes = *stored.data;
  p.conv.stride = pair_of(node, "strides");
  p.conv.dilation = pair_of(node, "dilations");
  const auto pads = node.attribute<std::vector<int64_t>>("pads");
  p.conv.pad = {pads[0], pads[1], pads[2], pads[3]};
  p.conv.groups = node.attribute<int64_t>("group", 1);
  match_bias_add(c.graph, p, stored.shape[0], 2);
  return finish(c, p);
}

bool lower_matrix(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto x = dequantised(c.graph, node.inputs[0]);
  if (!x) return false;
  const bool gemm = node.op == "Gemm";
  const bool transposed = gemm && node.attribute<int64_t>("transB") != 0;  // B is (outputs, inputs)
  std::string reason;
  const auto w = quantised_weight(c.graph, node.inputs[1], transposed ? 0 : 1, reason);
  const double alpha = gemm ? static_cast<double>(node.attribute<float>("alpha", 1.0f)) : 1.0;
  if (!w || c.graph.value(node.inputs[0]).shape.size() != 2 ||
      c.graph.value(node.inputs[1]).shape.size() != 2 || node.attribute<int64_t>("transA") != 0 ||
      !(alpha > 0)) {
    c.note(id, !w ? reason
                  : "only products of a matrix with a constant matrix are lowered (no transA, alpha > 0)");
    return false;
  }
  const ir::Value& stored = c.graph.value(w->stored);
  const int64_t outputs = stored.shape[transposed ? 0 : 1], inputs = stored.shape[transposed ? 1 : 0];
  Product p{id,
            *x,
            *w,
            ir::Tensor(stored.type, {outputs, inputs, 1, 1}),
            {},
            node.outputs[0],
            {},
            alpha,
            {x->node, w->node},
            {id}};
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      p.weight.bytes[static_cast<size_t>(o * inputs + i)] =
          (*stored.data)[static_cast<size_t>(transposed ? o * inputs + i : i * outputs + o)];
    }
  }
  if (gemm && node.inputs.size() > 2 && node.inputs[2].valid()) {
    const auto bias = constant_reals(c.graph, node.inputs[2]);
    const ir::Shape& shape = c.graph.value(node.inputs[2]).shape;
    if (!bias ||
        (bias->size() != 1 && (static_cast<int64_t>(bias->size()) != outputs || shape.back() != outputs))) {
      c.note(id, "its input C is not one constant per output");
      return false;
    }
    const double beta = node.attribute<float>("beta", 1.0f);
    for (int64_t o = 0; o < outputs; ++o) {
      p.bias.push_back(beta * (*bias)[bias->size() == 1 ? 0 : static_cast<size_t>(o)]);
    }
    if (const NodeId b = c.graph.producer(node.inputs[2]); b.valid()) p.shared.push_back(b);
  }
  match_bias_add(c.graph, p, outputs, 0);
  return finish(c, p);
}

}  // namespace dlc::quantize
