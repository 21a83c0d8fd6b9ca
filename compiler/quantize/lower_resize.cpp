// Resize and Upsample of quantised maps. Nearest by integer factors moves bytes. Linear by any ratio whose
// weights repeat with a short period is a depthwise convolution for each phase of the outputs (phases.h): the
// weights are whole numbers over a common denominator, which goes into the rescale, so each result is rounded
// once.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/quantize/fixed_point.h"
#include "compiler/quantize/operands.h"
#include "compiler/quantize/phases.h"

namespace dlc::quantize {
namespace {

using ir::Node;
using ir::NodeId;
using ir::QTake;
using ir::ValueId;

constexpr int64_t kMaxPhases = 256;  // of both axes together: layers

// x(o) = (step * o + offset) / divisor: where output o lies in the input.
struct Coordinate {
  int64_t step = 1, offset = 0, divisor = 1;
};

// The ratio numerator / denominator that the float32 `scale` stands for; sizes give out / in.
std::optional<std::pair<int64_t, int64_t>> ratio_of(float scale, int64_t in, int64_t out) {
  const auto is = [scale](int64_t n, int64_t d) {
    return static_cast<float>(static_cast<double>(n) / static_cast<double>(d)) == scale;
  };
  if (is(out, in)) return std::pair(out, in);
  for (int64_t d = 1; d <= 64; ++d) {
    const auto n = static_cast<int64_t>(std::llround(static_cast<double>(scale) * static_cast<double>(d)));
    if (n > 0 && is(n, d)) return std::pair(n, d);
  }
  return std::nullopt;
}

std::optional<Coordinate> coordinate_of(const Node& node, size_t axis, int64_t in, int64_t out) {
  const auto mode = node.attribute<std::string>("coordinate_transformation_mode", "asymmetric");
  if (mode == "align_corners") {
    if (in > 1 && out > 1) return Coordinate{in - 1, 0, out - 1};
    return Coordinate{1, 0, std::max<int64_t>(out, 1)};  // every output is the first element
  }
  const auto ratio = ratio_of(node.attribute<std::vector<float>>("scales")[2 + axis], in, out);
  if (!ratio) return std::nullopt;
  const auto [n, d] = *ratio;
  if (mode == "asymmetric" || (mode == "pytorch_half_pixel" && out == 1)) return Coordinate{d, 0, n};
  return Coordinate{2 * d, d - n, 2 * n};
}

// Phases of one axis; `taps` are weights over `divisor[phase]`. Elements beyond the map (`before`, `after` of
// them) repeat its edge.
struct LinearAxis {
  int64_t period = 1, before = 0, after = 0;
  std::vector<AxisPhase> phases;
  std::vector<int64_t> divisor;
};

LinearAxis linear_axis(const Coordinate& x, int64_t in, int64_t out) {
  const int64_t common = std::gcd(x.step, x.divisor);
  LinearAxis axis;
  axis.period = x.divisor / common;
  for (int64_t r = 0; r < std::min(axis.period, out); ++r) {
    const int64_t at = x.step * r + x.offset;
    const auto low =
        static_cast<int64_t>(std::floor(static_cast<double>(at) / static_cast<double>(x.divisor)));
    const int64_t rest = at - low * x.divisor, unit = std::gcd(rest, x.divisor);
    AxisPhase p;
    p.first = r;
    p.count = (out - r + axis.period - 1) / axis.period;
    p.stride = std::max<int64_t>(1, x.step / common);
    p.start = low;
    p.taps = {(x.divisor - rest) / unit};
    if (rest > 0) p.taps.push_back(rest / unit);
    const int64_t last = low + (p.count - 1) * p.stride + static_cast<int64_t>(p.taps.size()) - 1;
    axis.before = std::max(axis.before, -low);
    axis.after = std::max(axis.after, last - (in - 1));
    axis.phases.push_back(std::move(p));
    axis.divisor.push_back(x.divisor / unit);
  }
  return axis;
}

int64_t largest_weight(const LinearAxis& axis) {
  int64_t most = 1;
  for (const AxisPhase& p : axis.phases)
    most = std::max(most, *std::max_element(p.taps.begin(), p.taps.end()));
  return most;
}

// A run of rows (or columns) of the padded map: `size` from `source` on in the map.
struct Run {
  int64_t at, source, size;
};

std::vector<Run> runs(const LinearAxis& axis, int64_t in) {
  std::vector<Run> all;
  if (axis.before > 0) all.push_back({0, 0, 1});
  all.push_back({axis.before, 0, in});
  if (axis.after > 0) all.push_back({axis.before + in, in - 1, 1});
  return all;
}

// x with its edges repeated as far as the windows reach.
ValueId repeat_edges(const LoweringContext& c, ValueId x, const LinearAxis& rows, const LinearAxis& columns,
                     NodeId like) {
  if (rows.before + rows.after + columns.before + columns.after == 0) return x;
  const ir::Shape shape = c.graph.value(x).shape;
  ir::Value v = c.graph.value(x);
  v.data = nullptr;
  const std::string name = v.name;
  ir::QPlace place;
  std::vector<ValueId> parts;
  for (const Run& h : runs(rows, shape[2]))
    for (const Run& w : runs(columns, shape[3])) {
      place.offset.insert(place.offset.end(), {0, 0, h.at, w.at});
      place.step.insert(place.step.end(), {1, 1, 1, 1});
      QTake take;
      take.offset = {0, 0, h.source, w.source};
      v.shape = {shape[0], shape[1], h.size, w.size};
      v.name = name + ".edge";
      parts.push_back(v.shape == shape ? x : add_node(c, "qtake", take, {x}, v, like));
    }
  v.shape = {shape[0], shape[1], shape[2] + rows.before + rows.after,
             shape[3] + columns.before + columns.after};
  v.name = name + ".edges";
  return add_node(c, "qplace", place, parts, std::move(v), like);
}

// The weights of one phase for every channel, depthwise.
ir::Tensor phase_weights(const AxisPhase& rows, const AxisPhase& columns, int64_t channels, bool fits_int8) {
  ir::Tensor t(
      fits_int8 ? ir::ElementType::int8 : ir::ElementType::uint8,
      {channels, 1, static_cast<int64_t>(rows.taps.size()), static_cast<int64_t>(columns.taps.size())});
  size_t to = 0;
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t h : rows.taps)
      for (int64_t w : columns.taps) t.bytes[to++] = static_cast<uint8_t>(h * w);
  return t;
}

bool refuse(const LoweringContext& c, NodeId id, const std::string& why) {
  c.note(id, why);
  return false;
}

bool lower_linear(const LoweringContext& c, NodeId id, const Dequantised& x) {
  const Node node = c.graph.node(id);
  const ir::Shape from = c.graph.value(node.inputs[0]).shape, to = c.graph.value(node.outputs[0]).shape;
  const auto out = requantised(c.graph, node.outputs[0]);
  if (!out) return refuse(c, id, "its result is not quantised to 8 bits (or also used in float)");
  const auto h = coordinate_of(node, 0, from[2], to[2]), w = coordinate_of(node, 1, from[3], to[3]);
  if (!h || !w) return refuse(c, id, "its scale is no ratio of small numbers");
  const int64_t period =
      h->divisor / std::gcd(h->step, h->divisor) * (w->divisor / std::gcd(w->step, w->divisor));
  if (period > kMaxPhases)
    return refuse(c, id,
                  "its weights repeat after " + std::to_string(period) + " results only, more than " +
                      std::to_string(kMaxPhases));
  const LinearAxis rows = linear_axis(*h, from[2], to[2]), columns = linear_axis(*w, from[3], to[3]);
  if (std::max({rows.before, rows.after, columns.before, columns.after}) > 1)
    return refuse(c, id, "it reads more than one element beyond an edge");
  const int64_t weight = largest_weight(rows) * largest_weight(columns);
  if (weight > 255)
    return refuse(c, id, "its exact weights, up to " + std::to_string(weight) + ", need more than 8 bits");

  const ValueId map = repeat_edges(c, x.stored, rows, columns, id);
  const ir::Shape padded = c.graph.value(map).shape;
  std::vector<NodeId> chain{id};
  chain.insert(chain.end(), out->nodes.begin(), out->nodes.end());
  ir::QPlace place;
  std::vector<ValueId> phases;
  for (size_t i = 0; i < rows.phases.size(); ++i)
    for (size_t j = 0; j < columns.phases.size(); ++j) {
      AxisPhase row = rows.phases[i], column = columns.phases[j];
      row.start += rows.before;
      column.start += columns.before;
      ir::QConv conv;
      set_window(conv, row, column, padded[2], padded[3]);
      conv.groups = from[1];
      conv.x_zero = x.zero;
      const numerics::FixedPoint f =
          to_fixed_point(x.scale / out->scale / static_cast<double>(rows.divisor[i] * columns.divisor[j]));
      conv.rescale = {{0}, {f.multiplier}, {f.shift}, out->zero, out->low, out->high};
      const ValueId weights = c.graph.add_constant(c.graph.unique_value_name(node.name + ".weights"),
                                                   phase_weights(row, column, from[1], weight <= 127));
      if (rows.phases.size() * columns.phases.size() == 1) {
        c.emit("qconv", conv, {map, weights}, *out, {x.node}, chain);
        return true;
      }
      place_phase(place, row, column, rows.period, columns.period);
      ir::Value v = stored_like(c, *out, ".phase", {to[0], to[1], row.count, column.count});
      phases.push_back(add_node(c, "qconv", conv, {map, weights}, std::move(v), id));
    }
  c.emit("qplace", place, phases, *out, {x.node}, chain);
  return true;
}

// Whether the nearest source of output o is o / factor: every coordinate convention but those that stretch
// the corners or round asymmetric coordinates.
bool is_plain_nearest(const Node& node) {
  const auto coordinates = node.attribute<std::string>("coordinate_transformation_mode", "asymmetric");
  const auto nearest = node.attribute<std::string>("nearest_mode", "floor");
  return (coordinates == "asymmetric" && nearest == "floor") ||
         (coordinates == "half_pixel" &&
          (nearest == "round_prefer_floor" || nearest == "round_prefer_ceil")) ||
         (coordinates == "pytorch_half_pixel" && nearest != "floor" && nearest != "ceil");
}

}  // namespace

bool lower_resize(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto x = map_operand(c, id);
  if (!x) return false;
  const ir::Shape &from = c.graph.value(node.inputs[0]).shape, &to = c.graph.value(node.outputs[0]).shape;
  if (node.attribute<std::string>("mode") == "linear" && x->node.valid()) return lower_linear(c, id, *x);
  const int64_t sh = to[2] / from[2], sw = to[3] / from[3];
  if (!is_plain_nearest(node) || to[0] != from[0] || to[1] != from[1] || sh < 1 || sw < 1 ||
      sh * from[2] != to[2] || sw * from[3] != to[3])
    return refuse(c, id,
                  "nearest resize is lowered by integer factors, to the nearest element by half_pixel or "
                  "asymmetric coordinates");
  const std::vector<ValueId> phases(static_cast<size_t>(sh * sw), x->stored);
  move_stored(c, id, *x, [&](size_t, ir::Value v) {
    return add_node(c, "qplace", interleaving(sh, sw), phases, std::move(v), id);
  });
  return true;
}

}  // namespace dlc::quantize
