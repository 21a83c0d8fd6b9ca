// Elementwise operators of quantised tensors: Add, Sub -> qadd; Mul, Max, Min -> qbinary; products with a
// scalar, PRelu.
#include <algorithm>
#include <cmath>

#include "compiler/quantize/fixed_point.h"
#include "compiler/quantize/lowering.h"
#include "compiler/quantize/operands.h"

namespace dlc::quantize {
namespace {

using ir::Node;
using ir::NodeId;
using ir::QBinary;
using ir::ValueId;

// What the operators have in common: two dequantised operands, broadcast, and a quantised result.
struct Pair {
  Dequantised a, b;
  Requantised out;
  std::vector<NodeId> chain;  // the operator, activations, the QuantizeLinear
  bool inside = false;        // of a longer chain of the same operator, which `out` is the end of
};

// The quantisation at the end of a chain of the same operator (Max of Max of ...), each the only use of the
// one before. `stored` and `nodes` are its last result's.
std::optional<Requantised> end_of_chain(const LoweringContext& c, NodeId id) {
  const std::string op = c.graph.node(id).op;
  ValueId v = c.graph.node(id).outputs[0];
  while (true) {
    if (const auto out = requantised(c.graph, v)) return out;
    const auto use = c.graph.single_use(v);
    if (!use || c.graph.node(use->node).op != op || !c.graph.node(use->node).domain.empty())
      return std::nullopt;
    v = c.graph.node(use->node).outputs[0];
  }
}

// Range of what the type and quantisation can hold.
struct Reals {
  double low, high;
};
Reals range_of(const Dequantised& d) {
  const int lowest = d.type == ir::ElementType::int8 ? -128 : 0;
  return {(lowest - d.zero) * d.scale, (lowest + 255 - d.zero) * d.scale};
}

// The quantisation of a partial sum: it holds every sum of a and b. Nothing where its step is much larger
// than the result's.
std::optional<Requantised> partial_sum(const Dequantised& a, const Dequantised& b, bool negate,
                                       Requantised out) {
  const Reals x = range_of(a), y = range_of(b);
  const double low = x.low + (negate ? -y.high : y.low), high = x.high + (negate ? -y.low : y.high);
  const double scale = std::max(out.scale, static_cast<double>(static_cast<float>((high - low) / 255)));
  if (scale > 2 * out.scale) return std::nullopt;
  const int lowest = out.type == ir::ElementType::int8 ? -128 : 0;
  out.scale = scale;
  out.zero =
      static_cast<int32_t>(std::clamp(lowest - std::nearbyint(low / scale), lowest + 0.0, lowest + 255.0));
  return out;
}

// Ranks that the operator's lowerings take.
bool machine_rank(const ir::Shape& shape) { return shape.size() >= 2 && shape.size() <= 4; }

std::optional<Pair> match(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto a = dequantised(c.graph, node.inputs[0]), b = dequantised(c.graph, node.inputs[1]);
  if (!a && !b) return std::nullopt;
  const auto own = requantised(c.graph, node.outputs[0]);
  const auto out = own ? own : end_of_chain(c, id);
  const ir::Shape shape = c.graph.value(node.outputs[0]).shape;
  if (!a || !b || !out || !machine_rank(shape)) {
    c.note(id, !a || !b ? "one operand is not quantised"
               : !out   ? "its result is not quantised to 8 bits (or also used in float)"
                        : "only tensors of rank 2 to 4 are lowered");
    return std::nullopt;
  }
  for (const Dequantised* d : {&*a, &*b}) {
    const ir::Value& v = c.graph.value(d->stored);
    const bool repeated = shape.size() == 3 && v.shape.size() == 3 && v.shape[1] != shape[1];
    if ((v.shape.size() != shape.size() || repeated) && !v.is_constant()) {
      c.note(id,
             "an operand of another rank, or along dimension 1 of three, that is not constant would be "
             "broadcast");
      return std::nullopt;
    }
  }
  Pair p{*a, *b, *out, {id}};
  if (own) {
    p.chain.insert(p.chain.end(), out->nodes.begin(), out->nodes.end());
  } else {  // inside a chain: a tensor of its own, without the activations at the end
    p.inside = true;
    p.out.low = out->type == ir::ElementType::int8 ? -128 : 0;
    p.out.high = p.out.low + 255;
  }
  for (Dequantised* d : {&p.a, &p.b}) d->stored = repeat_channels(c, d->stored, shape);
  return p;
}

// The operator in place of the chain, or inside a longer chain a tensor of its own, dequantised behind.
void emit(const LoweringContext& c, const Pair& p, const char* op, ir::Payload payload) {
  const NodeId id = p.chain.front();
  if (!p.inside) {
    c.emit(op, std::move(payload), {p.a.stored, p.b.stored}, p.out, {p.a.node, p.b.node}, p.chain);
    return;
  }
  const Node old = c.graph.node(id);
  ir::Value v;
  v.name = c.graph.value(old.outputs[0]).name + ".stored";
  v.type = p.out.type;
  v.shape = c.graph.value(old.outputs[0]).shape;
  v.quantization = ir::Quantization{{static_cast<float>(p.out.scale)}, {p.out.zero}, 0};
  const ValueId stored = add_node(c, op, std::move(payload), {p.a.stored, p.b.stored}, std::move(v), id);
  c.graph.erase(id);
  add_dequantise(c, stored, old, p.a.node);
}

// A scalar constant, positive.
std::optional<double> positive_scalar(const ir::Graph& graph, ValueId v) {
  if (graph.value(v).elements() != 1) return std::nullopt;
  const auto reals = constant_reals(graph, v);
  if (!reals || reals->size() != 1 || !((*reals)[0] > 0) || !std::isfinite((*reals)[0])) return std::nullopt;
  return (*reals)[0];
}

// x * k or x / k, k a positive scalar: a change of scale.
bool lower_scaling(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  for (size_t slot : {1, 0}) {
    if (slot == 0 && node.op == "Div") continue;
    const auto k = positive_scalar(c.graph, node.inputs[slot]);
    const auto x = k ? dequantised(c.graph, node.inputs[1 - slot]) : std::nullopt;
    const auto out = x ? requantised(c.graph, node.outputs[0]) : std::nullopt;
    if (!out || c.graph.value(x->stored).is_constant() || !machine_rank(c.graph.value(x->stored).shape) ||
        c.graph.value(x->stored).shape != c.graph.value(node.outputs[0]).shape)
      continue;
    Dequantised scaled = *x;
    scaled.scale *= node.op == "Div" ? 1 / *k : *k;
    ir::QAdd add{combine_for(scaled, scaled, *out)};
    set_linear_factors(add.combine, scaled.scale / out->scale, 0);
    std::vector<NodeId> chain{id};
    chain.insert(chain.end(), out->nodes.begin(), out->nodes.end());
    c.emit("qadd", add, {x->stored, x->stored}, *out, {x->node}, chain);
    return true;
  }
  return false;
}

}  // namespace

bool lower_add(const LoweringContext& c, NodeId id) {
  auto p = match(c, id);
  if (!p) return false;
  const bool negate = c.graph.node(id).op == "Sub";
  if (p->inside) {
    const auto partial = partial_sum(p->a, p->b, negate, p->out);
    if (!partial) {
      c.note(id, "the partial sum does not fit 8 bits at a step near the result's");
      return false;
    }
    p->out = *partial;
  }
  ir::QAdd add{combine_for(p->a, p->b, p->out)};
  add.combine.b_negate = negate;
  emit(c, *p, "qadd", add);
  return true;
}

// (a - za) sa (b - zb) sb = (y - zy) sy
bool lower_multiply(const LoweringContext& c, NodeId id) {
  if (lower_scaling(c, id)) return true;
  const auto p = c.graph.node(id).op == "Mul" ? match(c, id) : std::nullopt;
  if (!p) return false;
  if (p->inside) {
    c.note(id, "its result is not quantised to 8 bits (or also used in float)");
    return false;
  }
  const numerics::FixedPoint f = to_fixed_point(p->a.scale * p->b.scale / p->out.scale);
  const QBinary q{QBinary::Kind::multiply,
                  p->a.zero,
                  p->b.zero,
                  f.multiplier,
                  f.shift,
                  p->out.zero,
                  p->out.low,
                  p->out.high};
  emit(c, *p, "qbinary", q);
  return true;
}

// Operands of one scale are compared as they are. Others are rounded to the result's scale first, which
// changes nothing: rounding and clamping are monotonous, so they commute with maximum and minimum.
bool lower_select(const LoweringContext& c, NodeId id) {
  auto p = match(c, id);
  if (!p) return false;
  const auto kind = c.graph.node(id).op == "Max" ? QBinary::Kind::maximum : QBinary::Kind::minimum;
  QBinary q{kind, p->a.zero, p->b.zero, 0, 0, p->out.zero, p->out.low, p->out.high};
  if (static_cast<float>(p->a.scale) == static_cast<float>(p->b.scale)) {
    const numerics::FixedPoint f = to_fixed_point(p->a.scale / p->out.scale);
    q.multiplier = f.multiplier;
    q.shift = f.shift;
  } else {
    for (Dequantised* d : {&p->a, &p->b}) d->stored = requantise(c, *d, p->out, id);
    q.a_zero = q.b_zero = p->out.zero;
    q.multiplier = 1;
  }
  emit(c, *p, "qbinary", q);
  return true;
}

// One slope for each channel: max(x, 0) + slope min(x, 0). One of the two terms is 0 at every element, so
// each is rounded once. The second one is a depthwise 1x1 convolution with weights of 1 or -1 and the slope
// in its rescale.
bool lower_prelu(const LoweringContext& c, NodeId id) {
  const Node node = c.graph.node(id);
  const auto x = dequantised(c.graph, node.inputs[0]);
  if (!x) return false;
  const auto out = requantised(c.graph, node.outputs[0]);
  const auto slopes = constant_reals(c.graph, node.inputs[1]);
  const ir::Shape shape = c.graph.value(node.inputs[0]).shape, slope = c.graph.value(node.inputs[1]).shape;
  const auto channels = shape.size() < 2 ? 0 : shape[1];
  const bool by_channel = slopes && static_cast<int64_t>(slopes->size()) == channels &&
                          slope.size() + 1 >= shape.size() &&
                          slope[slope.size() + 1 - shape.size()] == channels;
  if (!out || !by_channel || (shape.size() != 2 && shape.size() != 4)) {
    c.note(id, !out          ? "its result is not quantised to 8 bits (or also used in float)"
               : !by_channel ? "its slopes are not constant, one for each channel"
                             : "only tensors of rank 2 and 4 are lowered");
    return false;
  }
  const int lowest = out->type == ir::ElementType::int8 ? -128 : 0;
  const int x_lowest = x->type == ir::ElementType::int8 ? -128 : 0;
  Requantised positive = *out;
  positive.low = std::max(out->zero, lowest);
  positive.high = lowest + 255;
  Requantised below = *out;
  below.scale = x->scale;
  below.zero = x->zero;
  below.type = x->type;
  below.low = x_lowest;
  below.high = x->zero;
  const ValueId top = requantise(c, *x, positive, id), negative = requantise(c, *x, below, id);

  ir::QConv conv;
  conv.groups = channels;
  conv.x_zero = x->zero;
  conv.rescale.bias = {0};
  conv.rescale.zero = out->zero;
  conv.rescale.low = lowest;
  conv.rescale.high = lowest + 255;
  ir::Tensor weight(ir::ElementType::int8, {channels, 1, 1, 1});
  for (size_t i = 0; i < slopes->size(); ++i) {
    weight.data<int8_t>()[i] = static_cast<int8_t>((*slopes)[i] < 0 ? -1 : 1);
    const numerics::FixedPoint f = to_fixed_point(std::abs((*slopes)[i]) * x->scale / out->scale);
    conv.rescale.multiplier.push_back(f.multiplier);
    conv.rescale.shift.push_back(f.shift);
  }
  const ValueId w = c.graph.add_constant(c.graph.unique_value_name(node.name + ".slopes"), weight);
  const ValueId bottom =
      add_node(c, "qconv", conv, {negative, w}, stored_like(c, *out, ".negative", shape), id);
  std::vector<NodeId> chain{id};
  chain.insert(chain.end(), out->nodes.begin(), out->nodes.end());
  ir::QAdd sum{{out->zero, out->zero, 0, 0, false, 0, out->zero, out->low, out->high}};
  set_linear_factors(sum.combine, 1, 1);
  c.emit("qadd", sum, {bottom, top}, *out, {x->node}, chain);
  return true;
}

}  // namespace dlc::quantize
