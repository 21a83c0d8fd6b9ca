#include "compiler/loop/lowering.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace dlc::loop {

Ints row_major_strides(const ir::Shape& shape) {
  Ints s(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) s[i - 1] = s[i] * shape[i];
  return s;
}

namespace {

// N, C and the product of the rest.
struct Blocked {
  int64_t n = 1, c = 1, plane = 1;
};
Blocked blocked_dims(const ir::Shape& s) {
  Blocked b;
  if (!s.empty()) b.n = s[0];
  if (s.size() > 1) b.c = s[1];
  for (size_t i = 2; i < s.size(); ++i) b.plane *= s[i];
  return b;
}

// Constants are reordered at compile time.
ir::Bytes pack_blocked(const ir::Value& v, int block) {
  const Blocked d = blocked_dims(v.shape);
  const size_t size = ir::element_size(v.type);
  ir::Bytes out(static_cast<size_t>(stored_elements(v.shape, {block})) * size);
  const int64_t blocks = ceil_div(d.c, block);
  for (int64_t n = 0; n < d.n; ++n)
    for (int64_t c = 0; c < d.c; ++c)
      for (int64_t p = 0; p < d.plane; ++p) {
        const int64_t to = ((n * blocks + c / block) * d.plane + p) * block + c % block;
        const int64_t from = (n * d.c + c) * d.plane + p;
        std::memcpy(out.data() + static_cast<size_t>(to) * size, v.data->data() + static_cast<size_t>(from) * size, size);
      }
  return out;
}

bool same_storage(const ir::Shape& shape, int block) {  // blocked and row-major coincide
  const Blocked d = blocked_dims(shape);
  return d.c % block == 0 && d.plane == 1;
}

}  // namespace

int64_t stored_elements(const ir::Shape& shape, Layout layout) {
  if (layout.block == 0) return ir::element_count(shape);
  const Blocked d = blocked_dims(shape);
  return d.n * ceil_div(d.c, layout.block) * d.plane * layout.block;
}

int Lowering::define(ir::ValueId v, Layout layout) {
  const ir::Value& value = graph_.value(v);
  const int id = scratch(value.type, stored_elements(value.shape, layout));
  stored_[{v, layout}] = id;
  if (layout.block > 0 && same_storage(value.shape, layout.block)) stored_.try_emplace({v, Layout{}}, id);
  return id;
}

int Lowering::scratch(ElementType type, int64_t elements) {
  Storage s;
  s.type = type;
  s.elements = elements;
  program_.storages.push_back(std::move(s));
  return static_cast<int>(program_.storages.size()) - 1;
}

int Lowering::constant(ElementType type, ir::Bytes bytes) {
  const int id = scratch(type, static_cast<int64_t>(bytes.size() / ir::element_size(type)));
  program_.storages.back().constant = std::make_shared<const ir::Bytes>(std::move(bytes));
  return id;
}

Layout Lowering::natural_layout(ir::ValueId v) const {
  if (is_stored(v, {})) return {};
  for (const int b : {machine_.lanes, 4})
    if (is_stored(v, {b})) return {b};
  return {};
}

int Lowering::stored(ir::ValueId v, Layout layout) {
  if (const auto it = stored_.find({v, layout}); it != stored_.end()) return it->second;
  const ir::Value& value = graph_.value(v);
  if (value.is_constant()) {
    int id = -1;
    if (layout.block == 0) {
      id = scratch(value.type, value.elements());
      program_.storages.back().constant = value.data;
    } else {
      id = constant(value.type, pack_blocked(value, layout.block));
    }
    stored_[{v, layout}] = id;
    return id;
  }
  const Layout from = natural_layout(v);
  if (!is_stored(v, from)) throw std::logic_error("lowering: value '" + value.name + "' is used before it is computed");
  const int source = stored_.at({v, from});
  if (layout.block > 0 && from.block == 0 && same_storage(value.shape, layout.block)) {
    stored_[{v, layout}] = source;
    return source;
  }
  const int id = define(v, layout);
  reorder(v, source, from, id, layout);
  return id;
}

// Row-major <-> blocked. (Between two block sizes: through row-major.)
void Lowering::reorder(ir::ValueId v, int from, Layout from_layout, int to, Layout to_layout) {
  if (from_layout.block > 0 && to_layout.block > 0) {
    from = stored(v, {});
    from_layout = {};
  }
  const Blocked d = blocked_dims(value(v).shape);
  const int block = std::max(from_layout.block, to_layout.block);
  const int64_t blocks = ceil_div(d.c, block), tail = d.c - (blocks - 1) * block;
  // The last block has code of its own where it is not full.
  const auto kernel = [&](int64_t first, int64_t count, int64_t valid) {
    NestBuilder b(*this, (to_layout.block ? "block " : "unblock ") + value(v).name);
    const int x = b.in(from), y = b.out(to);
    b.parallel(d.n * count, [&](Expr i) {
      const Expr n = i / count, cb = i % count + first;
      b.loop(d.plane, [&](Expr p) {
        const Expr blocked = ((n * blocks + cb) * d.plane + p) * block;
        const Expr plain = (n * d.c + cb * block) * d.plane + p;
        const auto lanes = static_cast<int>(valid);
        if (to_layout.block) b.store(y, blocked, b.load(x, plain, block, d.plane, lanes));
        else b.store(y, plain, b.load(x, blocked, block), d.plane, lanes);
      });
    });
    b.emit({});
  };
  const int64_t full = tail == block ? blocks : blocks - 1;
  if (full > 0 && d.n * d.plane > 0) kernel(0, full, block);
  if (full < blocks && d.n * d.plane > 0) kernel(full, 1, tail);
}

int Lowering::padded(ir::ValueId v, Layout layout, const std::array<int64_t, 4>& pads, double fill) {
  const int source = stored(v, layout);
  if (pads == std::array<int64_t, 4>{}) return source;
  const auto [it, fresh] = padded_.try_emplace({v, layout, pads, fill}, -1);
  if (!fresh) return it->second;
  const ir::Shape& s = value(v).shape;
  const int64_t unit = std::max(1, layout.block), planes = s[0] * ceil_div(s[1], unit), h = s[2], w = s[3];
  const int64_t ph = h + pads[0] + pads[2], pw = w + pads[1] + pads[3];
  const int id = scratch(value(v).type, planes * ph * pw * unit);
  it->second = id;
  NestBuilder b(*this, "pad " + value(v).name);
  const int x = b.in(source), y = b.out(id);
  const int lanes = machine_.lanes * 4 / static_cast<int>(ir::element_size(value(v).type));  // of a vector of bytes
  const Type vector{value(v).type, lanes}, one{value(v).type, 1};
  const auto filled = [&](Expr at, int64_t count) {
    b.loop(0, count / lanes * lanes, lanes, [&](Expr i) { b.store(y, at + i, loop::constant(vector, fill)); });
    b.loop(count / lanes * lanes, count, 1, [&](Expr i) { b.store(y, at + i, loop::constant(one, fill)); });
  };
  b.parallel(planes, [&](Expr p) {
    const Expr to = p * (ph * pw * unit);
    filled(to, pads[0] * pw * unit);
    b.loop(h, [&](Expr r) {
      const Expr row = to + (r + pads[0]) * (pw * unit), from = (p * h + r) * (w * unit);
      filled(row, pads[1] * unit);
      const int64_t count = w * unit;
      b.loop(0, count / lanes * lanes, lanes, [&](Expr i) { b.store(y, row + i + pads[1] * unit, b.load(x, from + i, lanes)); });
      b.loop(count / lanes * lanes, count, 1, [&](Expr i) { b.store(y, row + i + pads[1] * unit, b.load(x, from + i)); });
      filled(row + (pads[1] + w) * unit, pads[3] * unit);
    });
    filled(to + (pads[0] + h) * (pw * unit), pads[2] * pw * unit);
  });
  b.emit({});
  return id;
}

void Lowering::emit(Kernel kernel, std::vector<int> storages, const std::vector<ir::NodeId>& nodes) {
  Step s;
  s.name = step_name_;
  s.kernel = std::move(kernel);
  s.storages = std::move(storages);
  s.nodes = nodes;
  program_.steps.push_back(std::move(s));
}

void Lowering::lower_fallback(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  Step s;
  s.name = node.name;
  s.fallback = id;
  s.nodes = {id};
  for (ir::ValueId v : node.inputs)
    if (v.valid()) s.storages.push_back(plain(v));
  for (ir::ValueId v : node.outputs)
    if (v.valid()) s.storages.push_back(define(v, {}));
  program_.steps.push_back(std::move(s));
}

void Lowering::lower_group(const Group& group) {
  if (!group.anchor.valid()) {
    name_steps(graph_.node(group.nodes.front()).name);
    if (lower_elementwise(*this, group)) return;
    for (ir::NodeId n : group.nodes) {
      const Group alone{{}, {}, {n}, graph_.node(n).outputs[0]};
      if (!lower_elementwise(*this, alone)) lower_fallback(n);
    }
    return;
  }
  const ir::Node& node = graph_.node(group.anchor);
  name_steps(node.name);
  const Generator generate = find_generator(node);
  if (generate && generate(*this, group)) return;
  const Group anchor{group.anchor, group.anchor_out, {}, group.anchor_out};
  if (group.nodes.empty() || !generate || !generate(*this, anchor)) lower_fallback(group.anchor);
  if (!group.nodes.empty()) lower_group({{}, {}, group.nodes, group.out});
}

LoopProgram Lowering::run() {
  for (ir::ValueId v : graph_.inputs()) {
    if (value(v).is_constant()) continue;
    const int id = define(v, {});
    program_.storages.back().value = v;
    program_.inputs[v.index] = id;
  }
  for (const Group& g : make_groups(graph_, machine_)) lower_group(g);
  name_steps("outputs");
  for (ir::ValueId v : graph_.outputs()) program_.outputs[v.index] = plain(v);
  return std::move(program_);
}

LoopProgram lower(const ir::Graph& graph, const Machine& machine) { return Lowering(graph, machine).run(); }

// --- NestBuilder
int NestBuilder::in(int storage) {
  const auto [it, fresh] = inputs_.try_emplace(storage, -1);
  if (fresh) {
    const Storage& s = lowering_.storage(storage);
    it->second = input("x" + std::to_string(storages_.size()), s.type, s.elements);
    storages_.push_back(storage);
  }
  return it->second;
}

int NestBuilder::out(int storage) {
  const Storage& s = lowering_.storage(storage);
  storages_.push_back(storage);
  return output("y" + std::to_string(storages_.size() - 1), s.type, s.elements);
}

void NestBuilder::emit(const std::vector<ir::NodeId>& nodes) { lowering_.emit(finish(), std::move(storages_), nodes); }

// --- Epilogue
OperandKind operand_kind(const Lowering& l, ir::ValueId operand, const ir::Shape& shape, Layout layout) {
  const ir::Value& v = l.value(operand);
  if (v.shape == shape) return OperandKind::full;
  if (v.elements() == 1) return OperandKind::scalar;
  if (v.shape.size() > shape.size()) return OperandKind::none;
  // Dimensions of the operand, right-aligned.
  const size_t row = layout.block ? 1 : shape.size() - 1;
  if (layout.block && shape.size() < 3) return OperandKind::none;
  for (size_t d = 0; d < shape.size(); ++d) {
    const size_t gap = shape.size() - v.shape.size();
    const int64_t size = d < gap ? 1 : v.shape[d - gap];
    if (d == row ? size != shape[d] : size != 1) return OperandKind::none;
  }
  return OperandKind::row;
}

bool Epilogue::fits(const Lowering& l, const Group& group, Layout layout) {
  const ir::Shape& shape = l.value(group.out).shape;
  std::set<ir::ValueId> inside;
  if (group.anchor.valid()) inside.insert(group.anchor_out);
  for (ir::NodeId n : group.nodes) inside.insert(l.graph().node(n).outputs[0]);
  for (ir::NodeId n : group.nodes)
    for (ir::ValueId v : l.graph().node(n).inputs) {
      if (!v.valid() || inside.count(v)) continue;
      const OperandKind kind = operand_kind(l, v, shape, layout);
      if (kind == OperandKind::none) return false;
      // A per-channel operand is packed at compile time.
      if (layout.block && kind == OperandKind::row && !l.value(v).is_constant()) return false;
    }
  return true;
}

Epilogue::Epilogue(Lowering& l, NestBuilder& b, const Group& group, Layout layout) : lowering_(l), builder_(b), group_(group) {
  const ir::Shape& shape = l.value(group.out).shape;
  std::set<ir::ValueId> inside;
  if (group.anchor.valid()) inside.insert(group.anchor_out);
  for (ir::NodeId n : group.nodes) inside.insert(l.graph().node(n).outputs[0]);
  for (ir::NodeId n : group.nodes)
    for (ir::ValueId v : l.graph().node(n).inputs) {
      if (!v.valid() || inside.count(v) || operands_.count(v)) continue;
      const OperandKind kind = operand_kind(l, v, shape, layout);
      int storage = -1;
      if (kind == OperandKind::full) {
        storage = l.stored(v, layout);
      } else if (kind == OperandKind::row && layout.block) {
        const ir::Value& c = l.value(v);
        const size_t size = ir::element_size(c.type);
        ir::Bytes bytes = *c.data;
        bytes.resize(static_cast<size_t>(ceil_div(c.elements(), layout.block) * layout.block) * size);
        storage = l.constant(c.type, std::move(bytes));
      } else {
        storage = l.plain(v);
      }
      operands_[v] = {kind, b.in(storage)};
    }
  out_ = b.out(l.define(group.out, layout));
}

Expr Epilogue::read(ir::ValueId v, const Expr& full, const Expr& row, int lanes, int valid) const {
  const Operand& o = operands_.at(v);
  if (o.kind == OperandKind::scalar) return builder_.load(o.buffer, Expr(0), lanes, 0);
  return builder_.load(o.buffer, o.kind == OperandKind::full ? full : row, lanes, 1, valid);
}

Expr Epilogue::operator()(Expr anchor, Expr full, Expr row, int lanes, int valid) const {
  std::map<ir::ValueId, Expr> values;
  if (group_.anchor.valid()) values[group_.anchor_out] = std::move(anchor);
  for (ir::NodeId n : group_.nodes) {
    const ir::Node& node = lowering_.graph().node(n);
    std::vector<Expr> arguments;
    for (ir::ValueId v : node.inputs) {
      if (v.valid() && !values.count(v)) values[v] = read(v, full, row, lanes, valid);
      arguments.push_back(v.valid() ? values.at(v) : Expr{});
    }
    values[node.outputs[0]] = pointwise(lowering_.graph(), node, arguments);
  }
  return values.at(group_.out);
}

}  // namespace dlc::loop
