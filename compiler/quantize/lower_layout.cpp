// Movement of quantised tensors that the machine does itself: concatenation, slices, channel permutations,
// depth to space. Each moves the stored bytes and dequantises behind, so that a chain of
// movements stays one of stored tensors.
#include <algorithm>
#include <numeric>

#include "compiler/quantize/lowering.h"
#include "compiler/quantize/operands.h"

namespace dlc::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::QPlace;
using ir::QTake;
using ir::ValueId;
using Ints = std::vector<int64_t>;

bool machine_rank(const ir::Shape& shape) { return shape.size() == 2 || shape.size() == 4; }

// All operands dequantised, of ranks that the machine takes.
std::optional<std::vector<Dequantised>> operands(const LoweringContext& c, NodeId id) {
  std::vector<Dequantised> all;
  for (ValueId v : c.graph.node(id).inputs) {
    const auto d = v.valid() ? moved_operand(c.graph, v) : std::nullopt;
    if (!d || !machine_rank(c.graph.value(v).shape)) return std::nullopt;
    all.push_back(*d);
  }
  return all;
}

QPlace concatenation(const Graph& graph, const std::vector<ValueId>& parts, size_t axis) {
  QPlace q;
  int64_t at = 0;
  for (ValueId v : parts) {
    for (size_t d = 0; d < 4; ++d) q.offset.push_back(d == axis ? at : 0);
    q.step.insert(q.step.end(), {1, 1, 1, 1});
    at += graph.value(v).shape[axis];
  }
  return q;
}

}  // namespace

bool lower_concat(const LoweringContext& c, NodeId id) {
  const auto all = operands(c, id);
  if (!all) return lower_movement(c, id);
  const auto axis = static_cast<size_t>(c.graph.node(id).attribute<int64_t>("axis"));
  const bool stored = !all->front().node.valid();
  const bool equal =
      stored || std::all_of(all->begin(), all->end(), [&](const Dequantised& d) {
        return d.scale == all->front().scale && d.zero == all->front().zero && d.type == all->front().type;
      });
  std::vector<ValueId> parts;
  if (equal) {
    for (const Dequantised& d : *all) parts.push_back(d.stored);
    const QPlace q = concatenation(c.graph, parts, axis);
    move_stored(c, id, all->front(),
                [&](size_t, ir::Value v) { return add_node(c, "qplace", q, parts, std::move(v), id); });
    return true;
  }
  const auto out = requantised(c.graph, c.graph.node(id).outputs[0]);
  if (!out) {
    c.note(id, "its operands have different scales, and its result is not quantised (or also used in float)");
    return false;
  }
  std::vector<NodeId> shared, chain{id};
  for (const Dequantised& d : *all) {
    parts.push_back(requantise(c, d, *out, id));
    shared.push_back(d.node);
  }
  chain.insert(chain.end(), out->nodes.begin(), out->nodes.end());
  c.emit("qplace", concatenation(c.graph, parts, axis), parts, *out, shared, chain);
  return true;
}

bool lower_slice(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto all = operands(c, id);
  if (!all) return false;
  const auto starts = node.attribute<Ints>("starts"), steps = node.attribute<Ints>("steps");
  QTake q;
  std::copy(starts.begin(), starts.end(), q.offset.begin());
  std::copy(steps.begin(), steps.end(), q.step.begin());
  if (c.graph.value(node.outputs[0]).elements() == 0) return false;
  move_stored(c, id, all->front(), [&](size_t, ir::Value v) {
    return add_node(c, "qtake", q, {all->front().stored}, std::move(v), id);
  });
  return true;
}

bool lower_split(const LoweringContext& c, NodeId id) {
  const ValueId x = c.graph.node(id).inputs[0];
  const ir::Shape shape = c.graph.value(x).shape;
  const auto d = machine_rank(shape) ? moved_operand(c.graph, x) : std::nullopt;
  if (!d) return false;
  const auto axis = static_cast<size_t>(c.graph.node(id).attribute<int64_t>("axis"));
  Ints sizes;
  for (ValueId v : c.graph.node(id).outputs) sizes.push_back(v.valid() ? c.graph.value(v).shape[axis] : 0);
  if (std::count(sizes.begin(), sizes.end(), 0) > 0) return false;
  move_stored(c, id, *d, [&](size_t i, ir::Value v) {
    QTake q;
    q.offset[axis] = std::accumulate(sizes.begin(), sizes.begin() + static_cast<int64_t>(i), int64_t{0});
    return add_node(c, "qtake", q, {d->stored}, std::move(v), id);
  });
  return true;
}

bool lower_gather(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const ir::Value& indices = c.graph.value(node.inputs[1]);
  const auto x = map_operand(c, id);
  if (!x || node.attribute<int64_t>("axis") != 1 || indices.shape.size() != 1 || !indices.is_constant())
    return false;
  const int64_t channels = c.graph.value(node.inputs[0]).shape[1];
  QTake q;
  for (int64_t i = 0; i < indices.elements(); ++i) {
    const int64_t at = indices.type == ir::ElementType::int32
                           ? indices.constant<int32_t>()[static_cast<size_t>(i)]
                           : indices.constant<int64_t>()[static_cast<size_t>(i)];
    q.channels.push_back(at < 0 ? at + channels : at);
  }
  if (q.channels.empty()) return false;
  move_stored(c, id, *x,
              [&](size_t, ir::Value v) { return add_node(c, "qtake", q, {x->stored}, std::move(v), id); });
  return true;
}

// Depth to space: phase (i, j) is a slice of the channels.
bool lower_depth_to_space(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto x = map_operand(c, id);
  if (!x) return false;
  const auto size = node.attribute<int64_t>("blocksize");
  const bool depth_first = node.attribute<std::string>("mode", "DCR") == "DCR";
  const ir::Shape from = c.graph.value(node.inputs[0]).shape;
  const int64_t channels = from[1] / (size * size);
  std::vector<ValueId> phases;
  for (int64_t p = 0; p < size * size; ++p) {
    QTake q;
    q.offset[1] = depth_first ? p * channels : p;
    q.step[1] = depth_first ? 1 : size * size;
    ir::Value v = c.graph.value(x->stored);
    v.data = nullptr;
    v.name += ".phase";
    v.shape = {from[0], channels, from[2], from[3]};
    phases.push_back(add_node(c, "qtake", q, {x->stored}, std::move(v), id));
  }
  move_stored(c, id, *x, [&](size_t, ir::Value v) {
    return add_node(c, "qplace", interleaving(size, size), phases, std::move(v), id);
  });
  return true;
}

bool lower_space_to_depth(const LoweringContext& c, NodeId id) {
  const auto x = map_operand(c, id);
  if (!x) return false;
  const auto size = c.graph.node(id).attribute<int64_t>("blocksize");
  const ir::Shape from = c.graph.value(c.graph.node(id).inputs[0]).shape;
  std::vector<ValueId> phases;
  for (int64_t p = 0; p < size * size; ++p) {
    QTake q;
    q.offset = {0, 0, p / size, p % size};
    q.step = {1, 1, size, size};
    ir::Value v = c.graph.value(x->stored);
    v.data = nullptr;
    v.name += ".phase";
    v.shape = {from[0], from[1], from[2] / size, from[3] / size};
    phases.push_back(add_node(c, "qtake", q, {x->stored}, std::move(v), id));
  }
  move_stored(c, id, *x, [&](size_t, ir::Value v) {
    return add_node(c, "qplace", concatenation(c.graph, phases, 1), phases, std::move(v), id);
  });
  return true;
}

namespace {

bool is_movement(const Node& n) { return n.is("reshape") || n.is("Transpose"); }

// Elements `of` of a tensor of this shape in the order that they have behind the transposition.
Ints transposed(const Ints& of, const ir::Shape& shape, const Ints& perm) {
  Ints stride(shape.size(), 1);
  for (size_t d = shape.size() - 1; d > 0; --d) stride[d - 1] = stride[d] * shape[d];
  Ints result;
  result.reserve(of.size());
  Ints index(shape.size(), 0);
  for (size_t i = 0; i < of.size(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < perm.size(); ++d) from += index[d] * stride[static_cast<size_t>(perm[d])];
    result.push_back(of[static_cast<size_t>(from)]);
    for (size_t d = perm.size(); d-- > 0;) {  // the next index of the result
      if (++index[d] < shape[static_cast<size_t>(perm[d])]) break;
      index[d] = 0;
    }
  }
  return result;
}

// Channel c of the result is channel source[c] of the (N,C,H,W) tensor that `chain` (views and
// transpositions, first to last) begins with; empty if more than the channels moves.
Ints shuffled_channels(const Graph& graph, const std::vector<NodeId>& chain, const ir::Shape& whole) {
  Ints order(static_cast<size_t>(ir::element_count(whole)));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (NodeId id : chain) {
    const Node& n = graph.node(id);
    if (n.is("Transpose"))
      order = transposed(order, graph.value(n.inputs[0]).shape, n.attribute<Ints>("perm"));
  }
  const int64_t map = whole[2] * whole[3];
  Ints source;
  for (int64_t c = 0; c < whole[1]; ++c) source.push_back(order[static_cast<size_t>(c * map)] / map);
  for (size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<int64_t>(i), plane = at / map, image = plane / whole[1];
    const int64_t from = source[static_cast<size_t>(plane % whole[1])];
    if (order[i] != (image * whole[1] + from) * map + at % map) return {};
  }
  return source;
}

// The longest chain of views and transpositions that ends with `last` and begins with a tensor of its shape.
std::vector<NodeId> shuffle_ending_with(const Graph& graph, NodeId last, Ints& channels) {
  const ir::Shape whole = graph.value(graph.node(last).outputs[0]).shape;
  std::vector<NodeId> chain, best;
  bool moves = false;
  for (NodeId id = last; id.valid() && is_movement(graph.node(id));
       id = graph.producer(graph.node(id).inputs[0])) {
    chain.insert(chain.begin(), id);
    moves |= graph.node(id).is("Transpose");
    if (!moves || graph.value(graph.node(id).inputs[0]).shape != whole) continue;
    Ints source = shuffled_channels(graph, chain, whole);
    if (source.empty()) continue;
    best = chain;
    channels = std::move(source);
  }
  return best;
}

}  // namespace

void match_channel_shuffles(const LoweringContext& c) {
  Graph& graph = c.graph;
  std::vector<NodeId> order = graph.topological_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {  // the last of a chain first
    if (!is_movement(graph.node(*id))) continue;
    const Node last = graph.node(*id);
    const ir::Value& y = graph.value(last.outputs[0]);
    if (y.shape.size() != 4 || !ir::is_8bit(y.type) || y.elements() == 0) continue;
    QTake q;
    const std::vector<NodeId> chain = shuffle_ending_with(graph, *id, q.channels);
    if (chain.empty()) continue;
    Node take;
    take.name = last.name;
    take.op = "qtake";
    take.domain = ir::kDlcDomain;
    take.payload = q;
    take.file = last.file;
    take.inputs = {graph.node(chain.front()).inputs[0]};
    take.outputs = last.outputs;
    take.onnx_nodes = onnx_names(graph, chain);
    graph.erase(*id);  // the others go as dead code, unless something else reads them
    graph.add_node(std::move(take));
  }
}

}  // namespace dlc::quantize
