#include "compiler/accel/pack_pixels.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "compiler/accel/compile.h"
#include "compiler/accel/network.h"

namespace dlc::accel {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::QConv;
using ir::ValueId;

constexpr int64_t kPhaseTax = 100;  // cycles: a phase's own loads of weights and parameters, and its drain

// One axis of the packed convolution.
struct PhaseWindow {
  int64_t outputs = 0;  // of this phase
  int64_t taps = 0;     // words that it touches
  int64_t first = 0;    // pixel of the first word where its first tap lies
  int64_t pad = 0;      // words before the image
};

struct Axis {
  int64_t in, out, kernel, stride, pad;
  int64_t factor = 1;  // pixels a word

  int64_t phases() const { return std::max<int64_t>(1, factor / stride); }
  int64_t words() const { return ceil_div(in, factor); }
  int64_t word_stride() const { return phases() * stride / factor; }
  PhaseWindow phase(int64_t i) const {
    const int64_t start = i * stride - pad;  // at most factor - stride
    const int64_t word = start >= 0 ? start / factor : -ceil_div(-start, factor);
    const int64_t first = start - word * factor;
    return {ceil_div(out - i, phases()), (first + kernel - 1) / factor + 1, first, -word};
  }
  int64_t pad_end(const PhaseWindow& p) const {
    return (p.outputs - 1) * word_stride() + p.taps - words() - p.pad;
  }
  // Output positions x taps inside the image, of one phase.
  int64_t valid_taps(int64_t phase) const {
    int64_t count = 0;
    for (int64_t o = phase; o < out; o += phases())
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t i = o * stride + k - pad;
        count += i >= 0 && i < in;
      }
    return count;
  }
};

struct Packing {
  Axis rows, columns;
  int64_t channels = 0;  // of the image
  int64_t lanes() const { return rows.factor * columns.factor * channels; }
};

// Cycles of the layer: MATRIX over all phases, or VECTOR where that takes longer.
int64_t cycles(const Packing& p, int64_t images, int64_t out_channels, const HwConfig& hw) {
  const int64_t blocks = ceil_div(out_channels, hw.cols);
  int64_t matrix = 0;
  for (int64_t r = 0; r < p.rows.phases(); ++r)
    for (int64_t c = 0; c < p.columns.phases(); ++c) {
      const PhaseWindow y = p.rows.phase(r), x = p.columns.phase(c);
      const int64_t steps = std::max<int64_t>(images * y.outputs * x.outputs, hw.tile_words());
      matrix += blocks * y.taps * x.taps * steps;
    }
  const int64_t words = images * p.rows.out * p.columns.out * ceil_div(out_channels, hw.rows);
  const int64_t phases = p.rows.phases() * p.columns.phases();
  // Columns that phases interleave leave as single words where the result goes to DRAM.
  const bool short_bursts = p.columns.phases() > 1 && 2 * words >= hw.words(Memory::act);
  return std::max(matrix, words * hw.act_groups()) + (short_bursts ? 2 * words : 0) +
         (phases > 1 ? phases * kPhaseTax : 0);
}

// Every factor that divides the stride or is a multiple of it, so that a phase starts at one place in a word.
std::vector<int64_t> factors(const Axis& axis, int64_t most) {
  std::vector<int64_t> list;
  for (int64_t f = 1; f <= std::min(most, std::max(axis.in, axis.stride)); ++f)
    if (axis.stride % f == 0 || (f % axis.stride == 0 && f / axis.stride <= axis.out)) list.push_back(f);
  return list;
}

std::optional<Packing> best_packing(const Packing& plain, int64_t images, int64_t out_channels, const HwConfig& hw) {
  Packing best = plain;
  int64_t least = cycles(plain, images, out_channels, hw);
  for (int64_t fy : factors(plain.rows, hw.rows / plain.channels))
    for (int64_t fx : factors(plain.columns, hw.rows / plain.channels / fy)) {
      Packing p = plain;
      p.rows.factor = fy;
      p.columns.factor = fx;
      const int64_t c = cycles(p, images, out_channels, hw);
      if (c >= least) continue;
      least = c;
      best = p;
    }
  if (best.rows.factor * best.columns.factor == 1) return std::nullopt;
  return best;
}

// The image comes from the host: it is a network input, or a float operator's result (quantised there).
bool from_host(const Graph& graph, ValueId x) {
  const NodeId producer = graph.producer(x);
  return !graph.value(x).is_constant() && (!producer.valid() || graph.node(producer).domain != ir::kDlcDomain);
}

std::optional<Packing> packing_of(const Graph& graph, NodeId id, const HwConfig& hw) {
  const Node& node = graph.node(id);
  const auto* conv = std::get_if<QConv>(&node.payload);
  if (!conv || conv->groups != 1 || conv->residual || conv->dilation != std::array<int64_t, 2>{1, 1}) return std::nullopt;
  const ir::Shape &x = graph.value(node.inputs[0]).shape, &y = graph.value(node.outputs[0]).shape;
  if (x.size() != 4 || x[1] * 2 > hw.rows || !from_host(graph, node.inputs[0]) || refusal(graph, id, hw)) return std::nullopt;
  Packing p;
  p.rows = {x[2], y[2], conv->kernel[0], conv->stride[0], conv->pad[0]};
  p.columns = {x[3], y[3], conv->kernel[1], conv->stride[1], conv->pad[1]};
  p.channels = x[1];
  return best_packing(p, x[0], y[1], hw);
}

ValueId packed_image(Graph& graph, const Node& conv, const Packing& p, int32_t x_zero) {
  ir::Value v = graph.value(conv.inputs[0]);
  v.name = graph.unique_value_name(v.name + ".packed");
  v.shape = {v.shape[0], p.lanes(), p.rows.words(), p.columns.words()};
  const ValueId packed = graph.add_value(std::move(v));
  Node n;
  n.name = graph.unique_node_name(conv.name + ".pack");
  n.op = "pack_pixels";
  n.domain = ir::kDlcDomain;
  n.attributes = {{"rows", p.rows.factor}, {"columns", p.columns.factor}, {"zero", int64_t{x_zero}}};
  n.onnx_nodes = conv.onnx_nodes;
  n.file = conv.file;
  n.inputs = {conv.inputs[0]};
  n.outputs = {packed};
  graph.add_node(std::move(n));
  return packed;
}

ir::Tensor packed_weights(const ir::Value& w, const Packing& p, const PhaseWindow& y, const PhaseWindow& x, int32_t w_zero) {
  ir::Tensor t(w.type, {w.shape[0], p.lanes(), y.taps, x.taps});
  std::fill(t.bytes.begin(), t.bytes.end(), static_cast<uint8_t>(w_zero));
  const std::span<const uint8_t> from = w.constant<uint8_t>();
  size_t i = 0;
  for (int64_t o = 0; o < w.shape[0]; ++o)
    for (int64_t c = 0; c < p.channels; ++c)
      for (int64_t ky = 0; ky < p.rows.kernel; ++ky)
        for (int64_t kx = 0; kx < p.columns.kernel; ++kx) {
          const int64_t row = y.first + ky, column = x.first + kx;
          const int64_t lane = (row % p.rows.factor * p.columns.factor + column % p.columns.factor) * p.channels + c;
          const int64_t at = ((o * p.lanes() + lane) * y.taps + row / p.rows.factor) * x.taps + column / p.columns.factor;
          t.bytes[static_cast<size_t>(at)] = from[i++];
        }
  return t;
}

// The look-up that alone reads the convolution's result: it moves in front of the qplace, where it costs nothing.
NodeId look_up_behind(const Graph& graph, const Node& conv) {
  const auto use = graph.single_use(conv.outputs[0]);
  return use && graph.node(use->node).is("qlut") ? use->node : NodeId{};
}

void rewrite(Graph& graph, NodeId id, const Packing& p) {
  const Node conv = graph.node(id);
  const QConv whole = std::get<QConv>(conv.payload);
  const ir::Value weights = graph.value(conv.inputs[1]);
  const ValueId image = packed_image(graph, conv, p, whole.x_zero);
  const bool one_phase = p.rows.phases() * p.columns.phases() == 1;
  const NodeId lut = one_phase ? NodeId{} : look_up_behind(graph, conv);
  const Node look_up = lut.valid() ? graph.node(lut) : Node{};
  const ValueId result = lut.valid() ? look_up.outputs[0] : conv.outputs[0];
  if (lut.valid()) graph.erase(lut);
  graph.erase(id);

  ir::QPlace place;
  std::vector<ValueId> parts;
  for (int64_t r = 0; r < p.rows.phases(); ++r)
    for (int64_t c = 0; c < p.columns.phases(); ++c) {
      const PhaseWindow y = p.rows.phase(r), x = p.columns.phase(c);
      const std::string suffix = one_phase ? "" : ".phase" + std::to_string(parts.size());
      const auto part = [&](ValueId like) {
        ir::Value v = graph.value(like);
        v.name = graph.unique_value_name(v.name + suffix);
        v.shape = {v.shape[0], v.shape[1], y.outputs, x.outputs};
        return graph.add_value(std::move(v));
      };
      Node n = conv;
      n.name = graph.unique_node_name(conv.name + suffix);
      QConv& q = std::get<QConv>(n.payload);
      q.kernel = {y.taps, x.taps};
      q.stride = {p.rows.word_stride(), p.columns.word_stride()};
      q.pad = {y.pad, x.pad, p.rows.pad_end(y), p.columns.pad_end(x)};
      n.attributes = {{"image_channels", p.channels},
                      {"image_kernel", std::vector<int64_t>{p.rows.kernel, p.columns.kernel}},
                      {"image_taps", std::vector<int64_t>{p.rows.valid_taps(r), p.columns.valid_taps(c)}}};
      const ValueId w = graph.add_constant(graph.unique_value_name(weights.name + suffix + ".packed"), packed_weights(weights, p, y, x, whole.w_zero));
      graph.value(w).quantization = weights.quantization;
      n.inputs = {image, w};
      n.outputs = {one_phase ? result : part(conv.outputs[0])};
      parts.push_back(n.outputs[0]);
      graph.add_node(std::move(n));
      if (lut.valid()) {
        Node l = look_up;
        l.name = graph.unique_node_name(look_up.name + suffix);
        l.inputs = {parts.back()};
        l.outputs = {part(result)};
        parts.back() = l.outputs[0];
        graph.add_node(std::move(l));
      }
      place.offset.insert(place.offset.end(), {0, 0, r, c});
      place.step.insert(place.step.end(), {1, 1, p.rows.phases(), p.columns.phases()});
    }
  if (lut.valid()) graph.erase_value(conv.outputs[0]);
  if (graph.consumers(conv.inputs[1]).empty()) graph.erase_value(conv.inputs[1]);
  if (one_phase) return;
  Node join;
  join.name = graph.unique_node_name(conv.name + ".place");
  join.op = "qplace";
  join.domain = ir::kDlcDomain;
  join.payload = std::move(place);
  join.onnx_nodes = conv.onnx_nodes;
  join.file = conv.file;
  join.inputs = parts;
  join.outputs = {result};
  graph.add_node(std::move(join));
}

}  // namespace

std::vector<std::string> pack_pixels(Graph& graph, const HwConfig& hw) {
  std::vector<std::string> notes;
  for (NodeId id : graph.topological_order()) {
    const auto p = graph.alive(id.index) ? packing_of(graph, id, hw) : std::nullopt;
    if (!p) continue;
    notes.push_back("'" + graph.node(id).name + "': " + std::to_string(p->rows.factor) + " x " + std::to_string(p->columns.factor) +
                    " pixels a word, " + std::to_string(p->rows.phases() * p->columns.phases()) + " phases");
    rewrite(graph, id, *p);
  }
  return notes;
}

}  // namespace dlc::accel
