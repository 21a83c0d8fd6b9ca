// Movement of quantised tensors that the machine does itself: concatenation, slices, channel permutations,
// nearest resize, depth to space. Each moves the stored bytes and dequantises behind, so that a chain of
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

// Replaces operator `id` on the dequantised tensor `x`: its output number i becomes the dequantisation of what
// make(i, value) computes; `value` is the stored result's description. An operator on stored tensors (x.node
// invalid) is replaced in place.
template <typename Make>
void move_stored(const LoweringContext& c, NodeId id, const Dequantised& x, const Make& make) {
  Graph& graph = c.graph;
  const Node old = graph.node(id);
  std::vector<ValueId> stored;
  for (size_t i = 0; i < old.outputs.size(); ++i) {
    if (!old.outputs[i].valid()) {
      stored.push_back({});
      continue;
    }
    ir::Value v;
    v.name = graph.value(old.outputs[i]).name + ".stored";  // until a QuantizeLinear names it
    v.type = x.type;
    v.shape = graph.value(old.outputs[i]).shape;
    v.quantization = ir::Quantization{{static_cast<float>(x.scale)}, {x.zero}, 0};
    stored.push_back(make(i, std::move(v)));
    c.unnamed.insert(stored.back());
  }
  graph.erase(id);
  for (size_t i = 0; i < stored.size(); ++i) {
    if (!stored[i].valid()) continue;
    if (!x.node.valid()) {
      c.unnamed.erase(stored[i]);
      graph.swap_names(stored[i], old.outputs[i]);
      graph.replace_all_uses(old.outputs[i], stored[i]);
      continue;
    }
    Node dequantise = graph.node(x.node);
    dequantise.name = graph.unique_node_name(dequantise.name + ".behind." + old.name);
    dequantise.inputs[0] = stored[i];
    dequantise.outputs = {old.outputs[i]};
    graph.add_node(std::move(dequantise));
  }
}

// The tensor that `value` is the dequantisation of, or which it is itself (QOperator models move stored tensors).
std::optional<Dequantised> moved_operand(const Graph& graph, ValueId value) {
  const ir::Value& v = graph.value(value);
  if (!ir::is_8bit(v.type)) return dequantised(graph, value);
  if (v.is_constant()) return std::nullopt;
  Dequantised d;
  d.stored = value;
  d.type = v.type;
  if (v.quantization && !v.quantization->per_axis()) {
    d.scale = static_cast<double>(v.quantization->scale[0]);
    d.zero = v.quantization->zero[0];
  }
  return d;
}

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

// Phases (i, j), row by row, of sh x sw cells.
QPlace interleaving(int64_t sh, int64_t sw) {
  QPlace q;
  for (int64_t i = 0; i < sh * sw; ++i) {
    q.offset.insert(q.offset.end(), {0, 0, i / sw, i % sw});
    q.step.insert(q.step.end(), {1, 1, sh, sw});
  }
  return q;
}

// An operand of a movement that takes exactly one tensor, of rank 4.
std::optional<Dequantised> map_operand(const LoweringContext& c, NodeId id) {
  const ValueId x = c.graph.node(id).inputs[0];
  return c.graph.value(x).shape.size() == 4 ? moved_operand(c.graph, x) : std::nullopt;
}

}  // namespace

bool lower_concat(const LoweringContext& c, NodeId id) {
  const auto all = operands(c, id);
  if (!all) return lower_movement(c, id);
  const auto axis = static_cast<size_t>(c.graph.node(id).attribute<int64_t>("axis"));
  const bool stored = !all->front().node.valid();
  const bool equal = stored || std::all_of(all->begin(), all->end(), [&](const Dequantised& d) {
    return d.scale == all->front().scale && d.zero == all->front().zero && d.type == all->front().type;
  });
  std::vector<ValueId> parts;
  if (equal) {
    for (const Dequantised& d : *all) parts.push_back(d.stored);
    const QPlace q = concatenation(c.graph, parts, axis);
    move_stored(c, id, all->front(), [&](size_t, ir::Value v) {
      return add_node(c, "qplace", q, parts, std::move(v), id);
    });
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
  move_stored(c, id, *x, [&](size_t, ir::Value v) {
    return add_node(c, "qtake", q, {x->stored}, std::move(v), id);
  });
  return true;
}

bool lower_resize(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto x = map_operand(c, id);
  if (!x) return false;
  const ir::Shape &from = c.graph.value(node.inputs[0]).shape, &to = c.graph.value(node.outputs[0]).shape;
  const int64_t sh = to[2] / from[2], sw = to[3] / from[3];
  // Integer factors: the nearest source of output o is o / factor in every coordinate convention but those
  // that stretch the corners or round asymmetric coordinates.
  const auto coordinates = node.attribute<std::string>("coordinate_transformation_mode", "asymmetric");
  const auto nearest = node.attribute<std::string>("nearest_mode", "floor");
  const bool plain = (coordinates == "asymmetric" && nearest == "floor") ||
                     ((coordinates == "half_pixel" || coordinates == "half_pixel_symmetric") &&
                      (nearest == "round_prefer_floor" || nearest == "round_prefer_ceil")) ||
                     (coordinates == "pytorch_half_pixel" && nearest != "floor" && nearest != "ceil");
  if (node.attribute<std::string>("mode") != "nearest" || !plain || to[0] != from[0] || to[1] != from[1] ||
      sh < 1 || sw < 1 || sh * from[2] != to[2] || sw * from[3] != to[3]) {
    c.note(id, "only nearest resize by integer factors is lowered");
    return false;
  }
  const std::vector<ValueId> phases(static_cast<size_t>(sh * sw), x->stored);
  move_stored(c, id, *x, [&](size_t, ir::Value v) {
    return add_node(c, "qplace", interleaving(sh, sw), phases, std::move(v), id);
  });
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

// Channel c of the result is channel source[c] of a (N,C,H,W) tensor that is viewed as `split`, transposed by
// `perm` and viewed as (N,C,H,W) again; empty if more than the channels moves.
Ints shuffled_channels(const ir::Shape& whole, const ir::Shape& split, const Ints& perm) {
  const size_t rank = split.size(), groups = rank < 4 ? 0 : rank - 3;
  if (groups < 2 || split[0] != whole[0] || split[rank - 2] != whole[2] || split[rank - 1] != whole[3])
    return {};
  const auto at = [&](size_t i) { return static_cast<size_t>(perm[i]); };
  if (at(0) != 0 || at(rank - 2) != rank - 2 || at(rank - 1) != rank - 1) return {};
  Ints source;
  for (int64_t c = 0; c < whole[1]; ++c) {
    int64_t rest = c, from = 0;
    Ints index(rank, 0);
    for (size_t i = groups; i >= 1; --i) {  // digits of c in the transposed shape
      index[at(i)] = rest % split[at(i)];
      rest /= split[at(i)];
    }
    for (size_t d = 1; d <= groups; ++d) from = from * split[d] + index[d];
    source.push_back(from);
  }
  return source;
}

}  // namespace

void match_channel_shuffles(const LoweringContext& c) {
  Graph& graph = c.graph;
  const auto producer_of = [&](ValueId v, const char* op) {
    const NodeId p = graph.producer(v);
    return p.valid() && graph.node(p).is(op) ? p : NodeId{};
  };
  for (NodeId id : graph.nodes()) {
    if (!graph.alive(id.index) || !graph.node(id).is("reshape")) continue;
    const Node last = graph.node(id);
    const NodeId transpose = producer_of(last.inputs[0], "Transpose");
    if (!transpose.valid()) continue;
    const NodeId first = producer_of(graph.node(transpose).inputs[0], "reshape");
    if (!first.valid()) continue;
    const ValueId x = graph.node(first).inputs[0], y = last.outputs[0];
    const ir::Shape whole = graph.value(x).shape;
    if (whole.size() != 4 || graph.value(y).shape != whole || !ir::is_8bit(graph.value(x).type)) continue;
    QTake q;
    q.channels = shuffled_channels(whole, graph.value(graph.node(first).outputs[0]).shape,
                                   graph.node(transpose).attribute<Ints>("perm"));
    if (q.channels.empty()) continue;
    Node take = last;
    take.op = "qtake";
    take.payload = q;
    take.inputs = {x};
    take.onnx_nodes = onnx_names(graph, {first, transpose, id});
    graph.erase(id);  // the others go as dead code, unless something else reads them
    graph.add_node(std::move(take));
  }
}

}  // namespace dlc::quantize
