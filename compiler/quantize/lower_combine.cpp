// Elementwise operators of two quantised tensors: Add, Sub -> qadd; Mul, Max, Min -> qbinary.
#include <algorithm>

#include "compiler/quantize/operands.h"
#include "compiler/quantize/fixed_point.h"
#include "compiler/quantize/lowering.h"

namespace dlc::quantize {
namespace {

using ir::NodeId;
using ir::QBinary;
using ir::ValueId;

// What the operators have in common: two dequantised operands, broadcast, and a quantised result.
struct Pair {
  Dequantised a, b;
  Requantised out;
  std::vector<NodeId> chain;  // the operator, activations, the QuantizeLinear
};

std::optional<Pair> match(const LoweringContext& c, NodeId id) {
  const ir::Node& node = c.graph.node(id);
  if (node.inputs.size() != 2) {
    c.note(id, "only two operands are lowered");
    return std::nullopt;
  }
  const auto a = dequantised(c.graph, node.inputs[0]), b = dequantised(c.graph, node.inputs[1]);
  if (!a && !b) return std::nullopt;
  const auto out = requantised(c.graph, node.outputs[0]);
  const ir::Shape shape = c.graph.value(node.outputs[0]).shape;
  if (!a || !b || !out || (shape.size() != 2 && shape.size() != 4)) {
    c.note(id, !a || !b ? "one operand is not quantised"
               : !out   ? "its result is not quantised to 8 bits (or also used in float)"
                        : "only tensors of rank 2 and 4 are lowered");
    return std::nullopt;
  }
  for (const Dequantised* d : {&*a, &*b}) {
    const ir::Value& v = c.graph.value(d->stored);
    if (v.shape.size() != shape.size() && !v.is_constant()) {
      c.note(id, "an operand of another rank that is not constant would be broadcast");
      return std::nullopt;
    }
  }
  Pair p{*a, *b, *out, {id}};
  p.chain.insert(p.chain.end(), out->nodes.begin(), out->nodes.end());
  for (Dequantised* d : {&p.a, &p.b}) d->stored = repeat_channels(c, d->stored, shape);
  return p;
}

}  // namespace

bool lower_add(const LoweringContext& c, NodeId id) {
  const auto p = match(c, id);
  if (!p) return false;
  ir::QAdd add{combine_for(p->a, p->b, p->out)};
  add.combine.b_negate = c.graph.node(id).op == "Sub";
  c.emit("qadd", add, {p->a.stored, p->b.stored}, p->out, {p->a.node, p->b.node}, p->chain);
  return true;
}

// (a - za) sa (b - zb) sb = (y - zy) sy
bool lower_multiply(const LoweringContext& c, NodeId id) {
  const auto p = match(c, id);
  if (!p) return false;
  const numerics::FixedPoint f = to_fixed_point(p->a.scale * p->b.scale / p->out.scale);
  const QBinary q{QBinary::Kind::multiply, p->a.zero, p->b.zero, f.multiplier, f.shift,
                  p->out.zero,             p->out.low, p->out.high};
  c.emit("qbinary", q, {p->a.stored, p->b.stored}, p->out, {p->a.node, p->b.node}, p->chain);
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
  c.emit("qbinary", q, {p->a.stored, p->b.stored}, p->out, {p->a.node, p->b.node}, p->chain);
  return true;
}

}  // namespace dlc::quantize
