#include "compiler/quantize/product.h"

#include <cmath>

#include "compiler/quantize/fixed_point.h"

namespace dlc::quantize {
namespace {

using ir::ElementType;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

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

}  // namespace

bool read_bias(const LoweringContext& c, Product& p, size_t slot) {
  const Node& node = c.graph.node(p.node);
  if (slot >= node.inputs.size() || !node.inputs[slot].valid()) return true;
  const auto bias = constant_reals(c.graph, node.inputs[slot]);
  if (!bias) {
    c.note(p.node, "its bias is not a constant");
    return false;
  }
  p.bias = *bias;
  if (const NodeId b = c.graph.producer(node.inputs[slot]); b.valid()) p.shared.push_back(b);
  return true;
}

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

std::optional<Requantised> finish_product(const LoweringContext& c, Product& p) {
  const auto out = requantised(c.graph, p.result);
  if (!out) {
    c.note(p.node, "its result is not quantised to 8 bits (or also used in float)");
    return std::nullopt;
  }
  if (worst_accumulator(p, c.graph.value(p.w.stored).type) > INT32_MAX) {
    c.note(p.node, "its sums may exceed 32 bits");
    return std::nullopt;
  }
  if (!set_rescale(c, p, *out)) return std::nullopt;
  p.conv.kernel = {p.weight.shape[2], p.weight.shape[3]};
  p.conv.x_zero = p.x.zero;
  p.conv.w_zero = p.w.zero;
  p.chain.insert(p.chain.end(), out->nodes.begin(), out->nodes.end());
  return out;
}

std::array<int64_t, 2> pair_attribute(const Node& n, const std::string& key) {
  const auto v = n.attribute<std::vector<int64_t>>(key);
  return {v[0], v[1]};
}

}  // namespace dlc::quantize
