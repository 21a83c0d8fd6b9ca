// ConvTranspose on quantised operands -> a qconv for each phase of the outputs (stride x stride of them,
// phases.h), their results interleaved by a qplace. Every output belongs to one phase, so its sum is the
// direct one.
#include "compiler/quantize/operands.h"
#include "compiler/quantize/phases.h"
#include "compiler/quantize/product.h"

namespace dlc::quantize {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// The weight (IC, OC/groups, KH, KW) with its scales: one, or one for each output channel of a group (axis 1;
// the groups share them), or for each group (axis 0, groups of one input channel). In `w.scale` one for each
// output channel.
std::optional<Weight> transposed_weight(const LoweringContext& c, NodeId id, int64_t groups) {
  const Node& node = c.graph.node(id);
  const ir::Shape& shape = c.graph.value(node.inputs[1]).shape;
  std::string reason;
  auto w = quantised_weight(c.graph, node.inputs[1], 1, reason);
  const bool by_group = !w && shape[0] == groups;
  if (by_group) w = quantised_weight(c.graph, node.inputs[1], 0, reason);
  if (!w) {
    c.note(id, reason);
    return std::nullopt;
  }
  if (w->scale.size() == 1) return w;
  const std::vector<double> own = w->scale;
  w->scale.clear();
  for (int64_t oc = 0; oc < shape[1] * groups; ++oc)
    w->scale.push_back(own[static_cast<size_t>(by_group ? oc / shape[1] : oc % shape[1])]);
  return w;
}

// As a convolution's: (OC, IC/groups, KH, KW).
ir::Tensor as_convolution(const ir::Value& stored, int64_t groups) {
  const ir::Shape& s = stored.shape;
  const int64_t per_in = s[0] / groups, per_out = s[1], taps = s[2] * s[3];
  ir::Tensor t(stored.type, {per_out * groups, per_in, s[2], s[3]});
  size_t to = 0;
  for (int64_t oc = 0; oc < per_out * groups; ++oc)
    for (int64_t i = 0; i < per_in; ++i)
      for (int64_t k = 0; k < taps; ++k) {
        const int64_t ic = oc / per_out * per_in + i;
        t.bytes[to++] = (*stored.data)[static_cast<size_t>((ic * per_out + oc % per_out) * taps + k)];
      }
  return t;
}

// The taps of a phase; one that contributes nothing where it has none.
ir::Tensor phase_weight(const Product& p, const AxisPhase& rows, const AxisPhase& columns) {
  const ir::Shape& s = p.weight.shape;
  const Ints none{-1};
  const Ints& kh = rows.taps.empty() ? none : rows.taps;
  const Ints& kw = columns.taps.empty() ? none : columns.taps;
  ir::Tensor t(p.weight.type, {s[0], s[1], static_cast<int64_t>(kh.size()), static_cast<int64_t>(kw.size())});
  size_t to = 0;
  for (int64_t channel = 0; channel < s[0] * s[1]; ++channel)
    for (int64_t h : kh)
      for (int64_t w : kw)
        t.bytes[to++] = h < 0 || w < 0 ? static_cast<uint8_t>(p.w.zero)
                                       : p.weight.bytes[static_cast<size_t>((channel * s[2] + h) * s[3] + w)];
  return t;
}

}  // namespace

bool lower_conv_transpose(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto x = dequantised(c.graph, node.inputs[0]);
  if (!x) return false;
  const auto groups = node.attribute<int64_t>("group", 1);
  const auto w = transposed_weight(c, id, groups);
  if (!w) return false;
  Product p{id,
            *x,
            *w,
            as_convolution(c.graph.value(w->stored), groups),
            {},
            node.outputs[0],
            {},
            1,
            {x->node, w->node},
            {id}};
  if (!read_bias(c, p, 2)) return false;
  p.conv.groups = groups;
  match_bias_add(c.graph, p, p.weight.shape[0], 2);
  const auto stride = pair_attribute(node, "strides"), dilation = pair_attribute(node, "dilations");
  const auto pads = node.attribute<Ints>("pads");
  const ir::Shape from = c.graph.value(node.inputs[0]).shape, to = c.graph.value(node.outputs[0]).shape;
  const std::string weight_name = c.graph.value(w->stored).name;
  const auto out = finish_product(c, p);
  if (!out) return false;

  const auto all_rows = transposed_phases(to[2], p.weight.shape[2], stride[0], dilation[0], pads[0]);
  const auto all_columns = transposed_phases(to[3], p.weight.shape[3], stride[1], dilation[1], pads[1]);
  const bool single = all_rows.size() * all_columns.size() == 1;
  ir::QPlace place;
  std::vector<ValueId> phases;
  for (const AxisPhase& rows : all_rows)
    for (const AxisPhase& columns : all_columns) {
      ir::QConv conv = p.conv;
      set_window(conv, rows, columns, from[2], from[3]);
      const ValueId weight = c.graph.add_constant(c.graph.unique_value_name(weight_name + ".phase"),
                                                  phase_weight(p, rows, columns));
      c.graph.value(weight).quantization = ir::Quantization{
          {p.w.scale.begin(), p.w.scale.end()}, std::vector<int32_t>(p.w.scale.size(), p.w.zero), 0};
      if (single) {
        c.emit("qconv", conv, {x->stored, weight}, *out, p.shared, p.chain);
        return true;
      }
      place_phase(place, rows, columns, stride[0], stride[1]);
      ir::Value v = stored_like(c, *out, ".phase", {to[0], to[1], rows.count, columns.count});
      phases.push_back(add_node(c, "qconv", conv, {x->stored, weight}, std::move(v), id));
    }
  c.emit("qplace", place, phases, *out, p.shared, p.chain);
  return true;
}

}  // namespace dlc::quantize
