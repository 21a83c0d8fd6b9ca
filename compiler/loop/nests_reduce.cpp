// Softmax, reductions and layer normalisation, float32.
#include <algorithm>
#include <limits>

#include "compiler/loop/lowering.h"

namespace dlc::loop {
namespace {

constexpr double kLowest = -3.4028234663852886e38;

// Calls f(offset, valid lanes or 0) for all vectors of a contiguous row; the last may be partial.
void for_vectors(NestBuilder& b, int64_t length, int lanes, const std::function<void(Expr, int)>& f) {
  const int64_t full = length / lanes * lanes;
  b.loop(0, full, lanes, [&](Expr j) { f(j, 0); });
  if (length > full) f(Expr(full), static_cast<int>(length - full));
}

Expr masked(const Expr& v, int valid, double otherwise) {
  if (valid == 0) return v;
  const Type t = v.type();
  return select(binary(Op::less, lane_index(t.lanes), integer_constant({ElementType::int32, t.lanes}, valid)), v, constant(t, otherwise));
}

// Sum over a row of f(element): lanes apart, then together.
Expr row_sum(NestBuilder& b, int x, const Expr& base, int64_t length, int lanes, const std::function<Expr(Expr)>& f) {
  const Expr sum = b.declare(constant({ElementType::float32, lanes}, 0));
  for_vectors(b, length, lanes, [&](Expr j, int valid) { b.assign(sum, sum + masked(f(b.load(x, base + j, lanes, 1, valid)), valid, 0)); });
  return b.declare(unary(Op::reduce_add, sum));
}

void softmax_rows(NestBuilder& b, int x, int y, int64_t rows, int64_t length, int lanes, bool log) {
  b.parallel(rows, [&](Expr row) {
    const Expr base = b.declare(row * length);
    const Expr best = b.declare(constant({ElementType::float32, lanes}, kLowest));
    for_vectors(b, length, lanes, [&](Expr j, int valid) { b.assign(best, max(best, masked(b.load(x, base + j, lanes, 1, valid), valid, kLowest))); });
    const Expr highest = b.declare(unary(Op::reduce_max, best));
    if (log) {
      const Expr sum = row_sum(b, x, base, length, lanes, [&](Expr v) { return fast_exp(v - highest); });
      const Expr log_sum = b.declare(unary(Op::log, sum));
      for_vectors(b, length, lanes, [&](Expr j, int valid) { b.store(y, base + j, b.load(x, base + j, lanes, 1, valid) - highest - log_sum, 1, valid); });
      return;
    }
    const Expr sum = b.declare(constant({ElementType::float32, lanes}, 0));
    for_vectors(b, length, lanes, [&](Expr j, int valid) {
      const Expr e = b.declare(fast_exp(b.load(x, base + j, lanes, 1, valid) - highest));
      b.store(y, base + j, e, 1, valid);
      b.assign(sum, sum + masked(e, valid, 0));
    });
    const Expr total = unary(Op::reduce_add, sum);
    const Expr scale = b.declare(constant(total.type(), 1) / total);
    for_vectors(b, length, lanes, [&](Expr j, int valid) { b.store(y, base + j, b.load(y, base + j, lanes, 1, valid) * scale, 1, valid); });
  });
}

// Along an axis that is not the last: lanes are neighbours behind it.
void softmax_columns(NestBuilder& b, int x, int y, int64_t outer, int64_t length, int64_t inner, int lanes, bool log) {
  b.parallel(outer, [&](Expr o) {
    for_vectors(b, inner, lanes, [&](Expr j, int valid) {
      const Expr base = b.declare(o * (length * inner) + j);
      const Expr best = b.declare(constant({ElementType::float32, lanes}, kLowest)), sum = b.declare(constant({ElementType::float32, lanes}, 0));
      const auto at = [&](Expr i) { return b.load(x, base + i * inner, lanes, 1, valid); };
      b.loop(length, [&](Expr i) { b.assign(best, max(best, at(i))); });
      b.loop(length, [&](Expr i) { b.assign(sum, sum + fast_exp(at(i) - best)); });
      const Expr log_sum = log ? b.declare(unary(Op::log, sum)) : Expr{};
      b.loop(length, [&](Expr i) {
        b.store(y, base + i * inner, log ? at(i) - best - log_sum : fast_exp(at(i) - best) / sum, 1, valid);
      });
    });
  });
}

struct Reduction {
  double initial = 0;
  std::function<Expr(Expr, Expr)> step;
  Op across = Op::reduce_add;                     // lanes
  std::function<Expr(Expr, double count)> finish;
};

bool find_reduction(const std::string& op, Reduction* r) {
  r->step = [](Expr s, Expr v) { return s + v; };
  r->finish = [](Expr s, double) { return s; };
  if (op == "ReduceSum") return true;
  if (op == "ReduceMean") {
    r->finish = [](Expr s, double n) { return s / constant(s.type(), n); };
    return true;
  }
  if (op == "ReduceMax") {
    r->initial = -std::numeric_limits<double>::infinity();
    r->step = [](Expr s, Expr v) { return max(s, v); };
    r->across = Op::reduce_max;
    return true;
  }
  if (op == "ReduceSumSquare" || op == "ReduceL2") {
    r->step = [](Expr s, Expr v) { return fma(v, v, s); };
    if (op == "ReduceL2") r->finish = [](Expr s, double) { return unary(Op::sqrt, s); };
    return true;
  }
  if (op == "ReduceL1") {
    r->step = [](Expr s, Expr v) { return s + unary(Op::abs, v); };
    return true;
  }
  return false;
}

}  // namespace

bool lower_softmax(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  const ir::Value& x = l.value(node.inputs[0]);
  if (!g.nodes.empty() || x.type != ElementType::float32 || x.elements() == 0) return false;
  const auto axis = static_cast<size_t>(node.attribute<int64_t>("axis", 0));
  const bool flattens = node.opset < 13, log = node.op == "LogSoftmax";
  int64_t outer = 1, length = 1, inner = 1;
  for (size_t i = 0; i < x.shape.size(); ++i) (i < axis ? outer : i == axis || flattens ? length : inner) *= x.shape[i];
  NestBuilder b(l, node.op);
  const int from = b.in(l.plain(node.inputs[0])), to = b.out(l.define(node.outputs[0], {}));
  if (inner == 1) softmax_rows(b, from, to, outer, length, l.machine().lanes, log);
  else softmax_columns(b, from, to, outer, length, inner, l.machine().lanes, log);
  b.emit({g.anchor});
  return true;
}

bool lower_reduce(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  const ir::Value& x = l.value(node.inputs[0]);
  Reduction r;
  if (!g.nodes.empty() || x.type != ElementType::float32 || x.elements() == 0 || !find_reduction(node.op, &r)) return false;
  const Ints axes = node.attribute<Ints>("axes");
  if (axes.empty()) return false;
  const Ints strides = row_major_strides(x.shape);
  // Neighbouring dimensions of one kind are one: (kept | reduced) sizes with strides, outermost first.
  struct Dim {
    int64_t size, stride;
  };
  std::vector<Dim> kept, reduced;
  bool last_reduced = false, first = true;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (x.shape[d] == 1) continue;
    const bool red = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d));
    auto& list = red ? reduced : kept;
    if (!first && red == last_reduced) list.back() = {list.back().size * x.shape[d], strides[d]};
    else list.push_back({x.shape[d], strides[d]});
    last_reduced = red;
    first = false;
  }
  if (reduced.empty() || reduced.size() > 3) return false;
  double count = 1;
  for (const Dim& d : reduced) count *= static_cast<double>(d.size);
  const int lanes = l.machine().lanes;
  NestBuilder b(l, node.op);
  const int from = b.in(l.plain(node.inputs[0])), to = b.out(l.define(node.outputs[0], {}));
  const Type vector{ElementType::float32, lanes};
  const bool along = last_reduced;  // lanes run along the innermost reduced dimension, else along the innermost kept
  const Dim lane_dim = along ? reduced.back() : kept.back();
  (along ? reduced : kept).pop_back();
  int64_t outer = 1;
  for (const Dim& d : kept) outer *= d.size;
  b.parallel(outer, [&](Expr item) {
    Expr base(0), rest = item;
    for (size_t d = kept.size(); d-- > 0;) {
      base = base + (d == 0 ? rest : rest % kept[d].size) * kept[d].stride;
      rest = rest / kept[d].size;
    }
    base = b.declare(base);
    const auto over = [&](const std::function<void(Expr)>& body) {
      const std::function<void(size_t, Expr)> nest = [&](size_t d, Expr at) {
        if (d == reduced.size()) return body(at);
        b.loop(reduced[d].size, [&](Expr i) { nest(d + 1, at + i * reduced[d].stride); });
      };
      nest(0, base);
    };
    if (along) {
      const Expr sum = b.declare(constant(vector, r.initial));
      over([&](Expr at) {
        for_vectors(b, lane_dim.size, lanes, [&](Expr j, int valid) {
          const Expr v = b.load(from, at + j, lanes, 1, valid);
          b.assign(sum, r.step(sum, r.across == Op::reduce_max ? masked(v, valid, r.initial) : v));  // masked lanes are 0
        });
      });
      return b.store(to, item, r.finish(unary(r.across, sum), count));
    }
    for_vectors(b, lane_dim.size, lanes, [&](Expr j, int valid) {
      const Expr sum = b.declare(constant(vector, r.initial));
      over([&](Expr at) { b.assign(sum, r.step(sum, b.load(from, at + j, lanes, 1, valid))); });
      b.store(to, item * lane_dim.size + j, r.finish(sum, count), 1, valid);
    });
  });
  b.emit({g.anchor});
  return true;
}

// LayerNormalization over trailing dimensions (one output), InstanceNormalization over planes.
bool lower_layer_norm(Lowering& l, const Group& g) {
  const ir::Node& node = l.graph().node(g.anchor);
  const ir::Value& x = l.value(node.inputs[0]);
  if (!g.nodes.empty() || node.outputs.size() != 1 || x.type != ElementType::float32 || x.elements() == 0) return false;
  const bool instance = node.op == "InstanceNormalization";
  const size_t axis = instance ? 2 : static_cast<size_t>(node.attribute<int64_t>("axis"));
  if (axis >= x.shape.size()) return false;
  int64_t length = 1;
  for (size_t d = axis; d < x.shape.size(); ++d) length *= x.shape[d];
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  // Parameters: one an element of the row (layer), one a channel (instance).
  const int64_t expected = instance ? x.shape[1] : length;
  if (l.value(node.inputs[1]).elements() != expected || (has_bias && l.value(node.inputs[2]).elements() != expected)) return false;
  const int lanes = l.machine().lanes;
  NestBuilder b(l, node.op);
  const int from = b.in(l.plain(node.inputs[0])), scale = b.in(l.plain(node.inputs[1])), bias = has_bias ? b.in(l.plain(node.inputs[2])) : -1;
  const int to = b.out(l.define(node.outputs[0], {}));
  b.parallel(x.elements() / length, [&](Expr row) {
    const Expr base = b.declare(row * length);
    const Expr one_over = constant({ElementType::float32, 1}, 1.0 / static_cast<double>(length));
    const Expr mean = b.declare(row_sum(b, from, base, length, lanes, [](Expr v) { return v; }) * one_over);
    const Expr squares = row_sum(b, from, base, length, lanes, [&](Expr v) {
      const Expr d = v - mean;
      return d * d;
    });
    const Expr epsilon = constant({ElementType::float32, 1}, static_cast<double>(node.attribute<float>("epsilon", 1e-5f)));
    const Expr factor = b.declare(constant(epsilon.type(), 1) / unary(Op::sqrt, fma(squares, one_over, epsilon)));
    for_vectors(b, length, lanes, [&](Expr j, int valid) {
      const auto parameter = [&](int buffer) {
        return instance ? b.load(buffer, row % x.shape[1], lanes, 0) : b.load(buffer, j, lanes, 1, valid);
      };
      Expr v = (b.load(from, base + j, lanes, 1, valid) - mean) * factor * parameter(scale);
      if (has_bias) v = v + parameter(bias);
      b.store(to, base + j, v, 1, valid);
    });
  });
  b.emit({g.anchor});
  return true;
}

}  // namespace dlc::loop
