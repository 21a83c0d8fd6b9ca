// Operators that move data: views, and copies by strides.
#include <algorithm>

#include "compiler/loop/lowering.h"

namespace dlc::loop {
namespace {

// to[to_at + sum i_d to_d] = from[from_at + sum i_d from_d] for all indices below `sizes`.
struct Copy {
  Ints sizes, from, to;
  int64_t from_at = 0, to_at = 0;
};

Copy simplified(const Copy& c) {
  Copy r;
  r.from_at = c.from_at, r.to_at = c.to_at;
  for (size_t d = 0; d < c.sizes.size(); ++d) {
    if (c.sizes[d] == 1) continue;
    if (!r.sizes.empty() && r.from.back() == c.from[d] * c.sizes[d] && r.to.back() == c.to[d] * c.sizes[d]) {
      r.sizes.back() *= c.sizes[d];
      r.from.back() = c.from[d];
      r.to.back() = c.to[d];
      continue;
    }
    r.sizes.push_back(c.sizes[d]);
    r.from.push_back(c.from[d]);
    r.to.push_back(c.to[d]);
  }
  if (r.sizes.empty()) r.sizes = {1}, r.from = {0}, r.to = {0};
  return r;
}

bool is_empty(const Copy& c) {
  return std::any_of(c.sizes.begin(), c.sizes.end(), [](int64_t s) { return s == 0; });
}

void emit_copy(Lowering& l, const std::string& name, int from, int to, const Copy& copy, const std::vector<ir::NodeId>& nodes) {
  if (is_empty(copy)) return;
  Copy c = simplified(copy);
  const int64_t size = static_cast<int64_t>(ir::element_size(l.storage(from).type));
  const int64_t lanes = l.machine().lanes * 4 / std::max<int64_t>(1, size);  // bytes of a vector
  NestBuilder b(l, name);
  const int x = b.in(from), y = b.out(to);
  // A long run is cut, so that there is something to share out.
  if (c.sizes.size() == 1 && c.sizes[0] % 64 == 0 && c.sizes[0] >= 4096) {
    c = {{64, c.sizes[0] / 64}, {c.from[0] * (c.sizes[0] / 64), c.from[0]}, {c.to[0] * (c.sizes[0] / 64), c.to[0]}, c.from_at, c.to_at};
  }
  int64_t outer = 1;
  for (size_t d = 0; d + 1 < c.sizes.size(); ++d) outer *= c.sizes[d];
  b.parallel(outer, [&](Expr item) {
    Expr rest = item, at = Expr(c.from_at), into = Expr(c.to_at);
    for (size_t d = c.sizes.size() - 1; d-- > 0;) {
      const Expr i = d == 0 ? rest : rest % c.sizes[d];
      at = at + i * c.from[d];
      into = into + i * c.to[d];
      rest = rest / c.sizes[d];
    }
    at = b.declare(at);
    into = b.declare(into);
    const int64_t inner = c.sizes.back(), f = c.from.back(), t = c.to.back(), full = inner / lanes * lanes;
    const auto n = static_cast<int>(lanes);
    b.loop(0, full, lanes, [&](Expr j) { b.store(y, into + j * t, b.load(x, at + j * f, n, f), t); });
    b.loop(full, inner, 1, [&](Expr j) { b.store(y, into + j * t, b.load(x, at + j * f)); });
  });
  b.emit(nodes);
}

bool plain_generator(const Group& g) { return g.nodes.empty(); }

// A rank-4 view of a shape of rank 2 (H = W = 1) or 4.
ir::Shape as4(ir::Shape s) {
  while (s.size() < 4) s.push_back(1);
  return s;
}

}  // namespace

bool lower_view(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  if (!plain_generator(g) || node.outputs.size() != 1) return false;
  const ir::Value &x = l.value(node.inputs[0]), &y = l.value(node.outputs[0]);
  if (x.type != y.type || x.elements() != y.elements()) return false;
  // The same shape keeps every layout.
  if (x.shape == y.shape && l.natural_layout(node.inputs[0]).block == l.machine().lanes) {
    l.alias(node.outputs[0], l.natural_layout(node.inputs[0]), l.stored(node.inputs[0], l.natural_layout(node.inputs[0])));
    return true;
  }
  l.alias(node.outputs[0], {}, l.plain(node.inputs[0]));
  return true;
}

bool lower_transpose(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  if (!plain_generator(g)) return false;
  const Ints perm = node.attribute<Ints>("perm"), strides = row_major_strides(l.value(node.inputs[0]).shape);
  const ir::Shape& y = l.value(node.outputs[0]).shape;
  if (perm.size() != y.size()) return false;
  Copy c{y, {}, row_major_strides(y)};
  for (int64_t p : perm) c.from.push_back(strides[static_cast<size_t>(p)]);
  const int from = l.plain(node.inputs[0]), to = l.define(node.outputs[0], {});
  emit_copy(l, "Transpose", from, to, c, {g.anchor});
  return true;
}

bool lower_concat(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  if (!plain_generator(g)) return false;
  const auto axis = static_cast<size_t>(node.attribute<int64_t>("axis"));
  const ir::Shape y = l.value(node.outputs[0]).shape;
  const int lanes = l.machine().lanes;
  bool blocked = axis == 1 && y.size() == 4;
  for (size_t i = 0; i < node.inputs.size() && blocked; ++i) {
    const ir::Value& x = l.value(node.inputs[i]);
    blocked = !x.is_constant() && l.natural_layout(node.inputs[i]).block == lanes && (i + 1 == node.inputs.size() || x.shape[1] % lanes == 0);
  }
  const Layout layout{blocked ? lanes : 0};
  const auto dims = [&](ir::Shape s) {  // in storage order
    if (blocked) {
      s[1] = ceil_div(s[1], lanes);
      s.push_back(lanes);
    }
    return s;
  };
  const int to = l.define(node.outputs[0], layout);
  const Ints strides = row_major_strides(dims(y));
  int64_t at = 0;
  for (ir::ValueId v : node.inputs) {
    const ir::Shape x = dims(l.value(v).shape);
    emit_copy(l, "Concat", l.stored(v, layout), to, {x, row_major_strides(x), strides, 0, at * strides[axis]}, {g.anchor});
    at += x[axis];
  }
  return true;
}

bool lower_slice(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  if (!plain_generator(g)) return false;
  const Ints starts = node.attribute<Ints>("starts"), steps = node.attribute<Ints>("steps");
  Ints strides = row_major_strides(l.value(node.inputs[0]).shape);
  const ir::Shape& y = l.value(node.outputs[0]).shape;
  if (starts.size() != y.size() || steps.size() != y.size()) return false;
  Copy c{y, {}, row_major_strides(y)};
  for (size_t d = 0; d < strides.size(); ++d) {
    c.from_at += starts[d] * strides[d];
    c.from.push_back(strides[d] * steps[d]);
  }
  const int from = l.plain(node.inputs[0]), to = l.define(node.outputs[0], {});
  emit_copy(l, "Slice", from, to, c, {g.anchor});
  return true;
}

bool lower_split(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  if (!plain_generator(g) || std::any_of(node.outputs.begin(), node.outputs.end(), [](ir::ValueId v) { return !v.valid(); })) return false;
  const auto axis = static_cast<size_t>(node.attribute<int64_t>("axis"));
  const Ints strides = row_major_strides(l.value(node.inputs[0]).shape);
  const int from = l.plain(node.inputs[0]);
  int64_t at = 0;
  for (ir::ValueId v : node.outputs) {
    const ir::Shape& y = l.value(v).shape;
    emit_copy(l, "Split", from, l.define(v, {}), {y, strides, row_major_strides(y), at * strides[axis], 0}, {g.anchor});
    at += y[axis];
  }
  return true;
}

bool lower_expand(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  if (!plain_generator(g)) return false;
  const ir::Shape &x = l.value(node.inputs[0]).shape, &y = l.value(node.outputs[0]).shape;
  const Ints own = row_major_strides(x);
  Copy c{y, Ints(y.size(), 0), row_major_strides(y)};
  for (size_t d = 0; d < x.size(); ++d)
    if (x[d] != 1) c.from[y.size() - x.size() + d] = own[d];
  const int from = l.plain(node.inputs[0]), to = l.define(node.outputs[0], {});
  emit_copy(l, "Expand", from, to, c, {g.anchor});
  return true;
}

bool lower_qplace(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  if (!plain_generator(g)) return false;
  const auto& q = std::get<ir::QPlace>(node.payload);
  const Ints strides = row_major_strides(as4(l.value(node.outputs[0]).shape));
  std::vector<int> from;
  for (ir::ValueId v : node.inputs) from.push_back(l.plain(v));
  const int to = l.define(node.outputs[0], {});
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ir::Shape x = as4(l.value(node.inputs[i]).shape);
    Copy c{x, row_major_strides(x), {}};
    for (size_t d = 0; d < 4; ++d) {
      c.to_at += q.offset[4 * i + d] * strides[d];
      c.to.push_back(q.step[4 * i + d] * strides[d]);
    }
    emit_copy(l, "qplace", from[i], to, c, {g.anchor});
  }
  return true;
}

bool lower_qtake(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  if (!plain_generator(g)) return false;
  const auto& q = std::get<ir::QTake>(node.payload);
  const Ints strides = row_major_strides(as4(l.value(node.inputs[0]).shape));
  const ir::Shape y = as4(l.value(node.outputs[0]).shape);
  const int from = l.plain(node.inputs[0]), to = l.define(node.outputs[0], {});
  if (q.channels.empty()) {
    Copy c{y, {}, row_major_strides(y)};
    for (size_t d = 0; d < 4; ++d) {
      c.from_at += q.offset[d] * strides[d];
      c.from.push_back(q.step[d] * strides[d]);
    }
    emit_copy(l, "qtake", from, to, c, {g.anchor});
    return true;
  }
  NestBuilder b(l, "qtake");
  std::vector<int64_t> channels;
  for (int64_t c = 0; c < y[1]; ++c) channels.push_back(q.channels[static_cast<size_t>(c)]);
  const int x = b.in(from), table = b.in(l.constant(channels)), out = b.out(to);
  b.parallel(y[0] * y[1], [&](Expr item) {
    const Expr n = item / y[1], c = b.declare(b.load(table, item % y[1]));
    const Expr base = b.declare((n * q.step[0] + q.offset[0]) * strides[0] + c * strides[1]);
    b.loop(y[2], [&](Expr h) {
      b.loop(y[3], [&](Expr w) {
        b.store(out, (item * y[2] + h) * y[3] + w, b.load(x, base + (h * q.step[2] + q.offset[2]) * strides[2] + (w * q.step[3] + q.offset[3]) * strides[3]));
      });
    });
  });
  b.emit({g.anchor});
  return true;
}

// Byte by byte in whatever layout the input has: lanes without a channel are bytes, too.
bool lower_qlut(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  if (!plain_generator(g) || l.value(node.outputs[0]).elements() == 0) return false;
  const auto& table = std::get<ir::QLut>(node.payload).table;
  const ElementType type = l.value(node.outputs[0]).type;
  const Layout layout = l.natural_layout(node.inputs[0]);
  const int from = l.stored(node.inputs[0], layout), to = l.define(node.outputs[0], layout);
  NestBuilder b(l, "qlut");
  const int x = b.in(from), t = b.in(l.constant(type, ir::Bytes(table.begin(), table.end()))), y = b.out(to);
  b.parallel(l.storage(to).elements, [&](Expr i) {
    const Expr byte = bitcast(b.load(x, i), {ElementType::uint8, 1});
    b.store(y, i, b.load(t, convert(byte, ElementType::int64)));
  });
  b.emit({g.anchor});
  return true;
}

// Constant indices only: those given at run time are checked by the reference backend.
bool lower_gather(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  const ir::Value& indices = l.value(node.inputs[1]);
  if (!plain_generator(g) || !indices.is_constant() || l.value(node.outputs[0]).elements() == 0) return false;
  const auto axis = static_cast<size_t>(node.attribute<int64_t>("axis"));
  const ir::Shape& x = l.value(node.inputs[0]).shape;
  std::vector<int64_t> table;
  for (int64_t i = 0; i < indices.elements(); ++i) {
    int64_t at = indices.type == ElementType::int32 ? indices.constant<int32_t>()[static_cast<size_t>(i)]
                                                    : indices.constant<int64_t>()[static_cast<size_t>(i)];
    if (at < 0) at += x[axis];
    if (at < 0 || at >= x[axis]) return false;
    table.push_back(at);
  }
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < x.size(); ++d)
    if (d != axis) (d < axis ? outer : inner) *= x[d];
  const auto count = static_cast<int64_t>(table.size());
  const int from = l.plain(node.inputs[0]), to = l.define(node.outputs[0], {});
  const int lanes = l.machine().lanes;
  NestBuilder b(l, "Gather");
  const int xb = b.in(from), tb = b.in(l.constant(table)), y = b.out(to);
  b.parallel(outer * count, [&](Expr item) {
    const Expr base = b.declare((item / count * x[axis] + b.load(tb, item % count)) * inner);
    const int64_t full = inner / lanes * lanes;
    b.loop(0, full, lanes, [&](Expr j) { b.store(y, item * inner + j, b.load(xb, base + j, lanes)); });
    b.loop(full, inner, 1, [&](Expr j) { b.store(y, item * inner + j, b.load(xb, base + j)); });
  });
  b.emit({g.anchor});
  return true;
}

}  // namespace dlc::loop
