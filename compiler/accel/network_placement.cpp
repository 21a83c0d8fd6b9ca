// qplace and qtake in the network: wherever whole channel blocks are moved, a tensor simply lives inside
// another one and nothing is copied. What cannot (tensors that the host also sees, or that live elsewhere
// already) is copied by VECTOR; channels that do not start at a block go through a permutation on MATRIX, a 1x1
// convolution whose weights are zeros and ones.
#include "compiler/accel/network_builder.h"

namespace dlc::accel {
namespace {

constexpr uint32_t kOne = 1u << 30;  // as a multiplier with shift 30
constexpr int kOneShift = 30;

}  // namespace

Placement Network::placement(int t) const {
  const Placement& own = tensors[t].place;
  if (own.root < 0) return {t};
  Placement outer = placement(own.root);
  outer.image += own.image;
  outer.block += own.block;
  outer.row = outer.map_row(own.row);
  outer.column = outer.map_column(own.column);
  outer.row_step *= own.row_step;
  outer.column_step *= own.column_step;
  return outer;
}

int NetworkBuilder::anonymous(const std::string& name, const Nchw& shape, bool is_signed) {
  TensorPlan t;
  t.name = name;
  t.shape = shape;
  t.blocks = ceil_div(shape.c, hw.rows);
  t.is_signed = is_signed;
  t.in_dram = true;
  net.tensors.push_back(t);
  return static_cast<int>(net.tensors.size()) - 1;
}

int NetworkBuilder::add_part(int root, const Nchw& shape, const Placement& place) {
  const int t = anonymous(net.tensors[root].name + ".part", shape, net.tensors[root].is_signed);
  net.tensors[t].place = place;
  net.tensors[t].place.root = root;
  return t;
}

// The host sees the value, or a view of it.
bool NetworkBuilder::leaves(ValueId value) const {
  if (leaves_region(value)) return true;
  for (const ir::Use& u : graph.consumers(value)) {
    const Node& reader = graph.node(u.node);
    if (reader.is("reshape") && members.count(u.node) && leaves(reader.outputs[0])) return true;
  }
  return false;
}

// Whether tensor t, which is to become part of `root`, can be written there by its producer.
bool NetworkBuilder::can_live_inside(int t, int root, const Placement& place) const {
  const TensorPlan& p = net.tensors[t];
  const NodeId producer = graph.producer(p.value);
  if (p.constant || p.place.root >= 0 || !producer.valid() || !members.count(producer)) return false;
  if (net.root(root) == t) return false;
  if (leaves(p.value)) return false;
  if (place.row_step == 1 && place.column_step == 1) return true;
  // Nothing but this operator may read what has gaps.
  return p.producer >= 0 && graph.single_use(p.value);
}

void NetworkBuilder::copy(const Node& node, int x, int y, const Window& window) {
  const int index = static_cast<int>(net.layers.size());
  LayerPlan layer;
  layer.kind = LayerKind::copy;
  layer.node = *graph.find_node(node.name);
  layer.where = node.where();
  layer.name = node.name;
  layer.x = x;
  layer.y = y;
  layer.window = window;
  net.tensors[x].last_use = std::max(net.tensors[x].last_use, index);
  net.tensors[y].producer = index;
  push(node, std::move(layer));
}

// y's channel c is x's channel source[c].
void NetworkBuilder::permute(const Node& node, int x, int y, const std::vector<int64_t>& source,
                             const Window& window) {
  copy(node, x, y, window);
  LayerPlan& layer = net.layers.back();
  const int64_t channels = net.tensors[x].shape.c, outputs = static_cast<int64_t>(source.size());
  auto weights = std::make_shared<ir::Bytes>(static_cast<size_t>(outputs * channels), uint8_t{0});
  for (int64_t c = 0; c < outputs; ++c) (*weights)[static_cast<size_t>(c * channels + source[c])] = 1;
  auto conv = std::make_shared<ir::QConv>();
  conv->rescale = {{0}, {kOne}, {kOneShift}};
  conv->rescale.low = net.tensors[x].is_signed ? -128 : 0;
  conv->rescale.high = conv->rescale.low + 255;
  layer.kind = LayerKind::conv;
  layer.permutation = true;
  layer.conv = conv.get();
  layer.weights = weights->data();
  layer.in_channels = channels;
  for (int64_t c = 0; c < outputs; c += hw.cols) {
    const auto first = source.begin() + c, last = source.begin() + std::min(c + hw.cols, outputs);
    const auto [low, high] = std::minmax_element(first, last);
    layer.band.push_back({*low / hw.rows, *high / hw.rows + 1});
  }
  net.info.back().op = "Permute";
  net.own_convs.push_back(std::move(conv));
  net.own_weights.push_back(std::move(weights));
}

// Input number `input` of a qplace goes to `place` of y.
void NetworkBuilder::add_part_of_output(const Node& node, size_t input, int y, const Placement& place) {
  const ValueId value = node.inputs[input];
  const int t = tensor_of(value);
  const Nchw shape = as_nchw(graph.value(value).shape);
  if (shape != net.tensors[t].shape)
    throw UserError(ErrorKind::unsupported, node.where(),
                    "reads a tensor that was flattened over H and W, which only a fully connected layer can");
  if (can_live_inside(t, y, place)) {
    net.tensors[t].place = place;
    net.tensors[t].place.root = y;
    return;
  }
  const int x = read(value, static_cast<int>(net.layers.size()));
  copy(node, x, add_part(y, shape, place), {});
}

void NetworkBuilder::add_place(NodeId id) {
  const Node& node = graph.node(id);
  const auto& q = std::get<ir::QPlace>(node.payload);
  const int y = tensor_of(node.outputs[0]);
  net.tensors[y].region_output = leaves_region(node.outputs[0]);
  const Nchw whole = net.tensors[y].shape;
  bool aligned = true;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int64_t begin = q.offset[4 * i + 1], end = begin + as_nchw(graph.value(node.inputs[i]).shape).c;
    aligned &= begin % hw.rows == 0 && (end % hw.rows == 0 || end == whole.c);
  }
  if (aligned) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int64_t* o = &q.offset[4 * i];
      const int64_t* s = &q.step[4 * i];
      add_part_of_output(node, i, y, {y, o[0], o[1] / hw.rows, o[2], o[3], s[2], s[3]});
    }
    return;
  }
  // Side by side in whole blocks first, then the gaps between them go.
  int64_t blocks = 0;
  for (ValueId v : node.inputs) blocks += ceil_div(as_nchw(graph.value(v).shape).c, hw.rows);
  const int padded = anonymous(net.tensors[y].name + ".padded", {whole.n, blocks * hw.rows, whole.h, whole.w},
                               net.tensors[y].is_signed);
  std::vector<int64_t> source(static_cast<size_t>(whole.c), 0);
  blocks = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int64_t channels = as_nchw(graph.value(node.inputs[i]).shape).c;
    for (int64_t c = 0; c < channels; ++c)
      source[static_cast<size_t>(q.offset[4 * i + 1] + c)] = blocks * hw.rows + c;
    add_part_of_output(node, i, padded, {padded, 0, blocks});
    blocks += ceil_div(channels, hw.rows);
  }
  permute(node, padded, y, source, {});
}

void NetworkBuilder::add_take(NodeId id) {
  const Node& node = graph.node(id);
  const auto& q = std::get<ir::QTake>(node.payload);
  const int x = read(node.inputs[0], static_cast<int>(net.layers.size()));
  const Nchw from = as_nchw(graph.value(node.inputs[0]).shape), to = as_nchw(graph.value(node.outputs[0]).shape);
  if (net.tensors[x].shape != from)
    throw UserError(ErrorKind::unsupported, node.where(),
                    "reads a tensor that was flattened over H and W, which only a fully connected layer can");
  std::vector<int64_t> source;
  bool run = true;
  for (int64_t c = 0; c < to.c; ++c) {
    source.push_back(q.channel(c));
    run &= source.back() == source.front() + c;
  }
  const bool blocks = run && source.front() % hw.rows == 0;
  const int y = tensor_of(node.outputs[0]);
  net.tensors[y].region_output = leaves_region(node.outputs[0]);
  const Placement place{x, q.offset[0], blocks ? source.front() / hw.rows : 0};
  if (blocks && q.step[2] == 1 && q.step[3] == 1 && !leaves(node.outputs[0])) {
    net.tensors[y].place = place;
    net.tensors[y].place.row = q.offset[2];
    net.tensors[y].place.column = q.offset[3];
    return;
  }
  Window window;
  window.stride = {q.step[2], q.step[3]};
  window.pad = {-q.offset[2], -q.offset[3], 0, 0};
  Nchw seen = from;
  seen.n = to.n;
  if (blocks) seen.c = to.c;
  const int part = seen == from ? x : add_part(x, seen, place);
  if (blocks)
    copy(node, part, y, window);
  else
    permute(node, part, y, source, window);
}

// A root lives from the first write to the last read of any of its parts.
void NetworkBuilder::finish_parts() {
  for (int t = 0; t < static_cast<int>(net.tensors.size()); ++t) {
    const TensorPlan& p = net.tensors[t];
    if (p.place.root < 0) continue;
    TensorPlan& root = net.tensors[net.root(t)];
    root.last_use = std::max(root.last_use, p.last_use);
    if (p.producer >= 0) root.producer = root.producer < 0 ? p.producer : std::min(root.producer, p.producer);
  }
}

}  // namespace dlc::accel
