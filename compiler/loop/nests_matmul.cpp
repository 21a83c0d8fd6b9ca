// MatMul and Gemm, float32: rows of A against vectors of columns of B. A constant B is packed into panels.
#include <algorithm>

#include "compiler/loop/micro_kernel.h"

namespace dlc::loop {
namespace {

struct Product {
  int64_t batches = 1, m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_depth = 1;    // strides of A
  int64_t b_depth = 0, b_column = 1; // strides of B
  Ints batch_shape, a_batch, b_batch;  // strides of A's and B's matrices in the batch's dimensions (elements)
  float alpha = 1, beta = 0;
  ir::ValueId c;
  int64_t c_row = 0, c_column = 0;
};

bool read_matmul(const Lowering& l, const ir::Node& node, Product* p) {
  const ir::Shape &a = l.value(node.inputs[0]).shape, &b = l.value(node.inputs[1]).shape, &y = l.value(node.outputs[0]).shape;
  if (a.size() < 2 || b.size() < 2) return false;
  p->m = a[a.size() - 2], p->k = a.back(), p->n = b.back();
  p->a_row = p->k, p->b_depth = p->n;
  if (b.size() == 2) {  // all of A's matrices at once
    for (size_t d = 0; d + 2 < a.size(); ++d) p->m *= a[d];
    return true;
  }
  p->batch_shape.assign(y.begin(), y.end() - 2);
  const auto strides = [&](const ir::Shape& s) {
    Ints result(p->batch_shape.size(), 0);
    int64_t stride = s[s.size() - 1] * s[s.size() - 2];
    for (size_t d = s.size() - 2; d-- > 0;) {
      if (s[d] != 1) result[result.size() - (s.size() - 2) + d] = stride;
      stride *= s[d];
    }
    return result;
  };
  p->a_batch = strides(a), p->b_batch = strides(b);
  p->batches = ir::element_count(p->batch_shape);
  return true;
}

bool read_gemm(const Lowering& l, const ir::Node& node, Product* p) {
  const bool ta = node.attribute<int64_t>("transA") != 0, tb = node.attribute<int64_t>("transB") != 0;
  const ir::Shape &a = l.value(node.inputs[0]).shape, &y = l.value(node.outputs[0]).shape;
  p->m = y[0], p->n = y[1], p->k = a[ta ? 0 : 1];
  p->a_row = ta ? 1 : p->k, p->a_depth = ta ? p->m : 1;
  p->b_depth = tb ? 1 : p->n, p->b_column = tb ? p->k : 1;
  p->alpha = node.attribute<float>("alpha", 1.0f);
  if (node.inputs.size() > 2 && node.inputs[2].valid()) {
    p->c = node.inputs[2];
    p->beta = node.attribute<float>("beta", 1.0f);
    const ir::Shape& c = l.value(p->c).shape;
    const int64_t columns = c.empty() ? 1 : c.back(), rows = c.size() < 2 ? 1 : c[0];
    p->c_column = columns == 1 ? 0 : 1;
    p->c_row = rows == 1 ? 0 : columns;
  }
  return true;
}

// First column of vector j: the last one reaches back, so that all vectors are full.
Expr column_of(const Product& p, Expr vector, int lanes) {
  const Expr at = vector * lanes;
  return p.n % lanes == 0 || p.n < lanes ? at : min(at, Expr(p.n - lanes));
}

// Constant B as [vector group][k][V][lanes].
std::vector<float> pack(const Product& p, std::span<const float> b, int vectors, int lanes) {
  const int64_t count = ceil_div(p.n, lanes);
  std::vector<float> packed(static_cast<size_t>(ceil_div(count, vectors) * vectors * p.k * lanes));
  for (int64_t j = 0; j < count; ++j) {
    const int64_t first = p.n < lanes ? 0 : std::min(j * lanes, p.n - lanes);
    for (int64_t k = 0; k < p.k; ++k)
      for (int64_t i = 0; i < lanes && first + i < p.n; ++i)
        packed[static_cast<size_t>(((j / vectors * p.k + k) * vectors + j % vectors) * lanes + i)] =
            b[static_cast<size_t>(k * p.b_depth + (first + i) * p.b_column)];
  }
  return packed;
}

int64_t run_length(const Machine& m, int64_t rows, int64_t vectors) {
  int64_t best_length = rows;
  double best = 1e300;
  for (int64_t length = 1; length <= std::min<int64_t>(rows, 512); ++length) {
    if (rows % length) continue;
    const double cost = blocking_cost(m, length, vectors, choose_blocking(m, length, vectors)) * static_cast<double>(rows / length);
    if (cost < best * (length <= 64 ? 0.999 : 0.99)) {
      best = cost;
      best_length = length;
    }
  }
  return best_length;
}

}  // namespace

bool lower_matmul(Lowering& l, const Group& group) {
  const ir::Node& node = l.graph().node(group.anchor);
  for (ir::ValueId v : node.inputs)
    if (v.valid() && l.value(v).type != ElementType::float32) return false;
  Product p;
  if (node.op == "Gemm" ? !read_gemm(l, node, &p) : !read_matmul(l, node, &p)) return false;
  if (p.m < 1 || p.n < 1 || p.k < 1 || p.batches < 1 || !Epilogue::fits(l, group, {})) return false;
  const ir::Value& weights = l.value(node.inputs[1]);
  const bool packed = weights.is_constant() && p.batches == 1;
  if (!packed && p.b_column != 1) return false;
  const int lanes = l.machine().lanes, valid = p.n < lanes ? static_cast<int>(p.n) : 0;
  const int64_t vectors = ceil_div(p.n, lanes), length = run_length(l.machine(), p.m, vectors);
  const Blocking k = choose_blocking(l.machine(), length, vectors);
  const int64_t vector_groups = vectors / k.vectors, lines = p.m / length;

  NestBuilder b(l, node.op);
  MicroKernel micro;
  micro.x_buffer = b.in(l.plain(node.inputs[0]));
  micro.w_buffer = b.in(packed ? l.constant(pack(p, weights.constant<float>(), k.vectors, lanes)) : l.plain(node.inputs[1]));
  micro.lanes = lanes;
  micro.valid = packed ? 0 : valid;
  micro.loops = {{p.k, p.a_depth, packed ? k.vectors * lanes : p.b_depth}};
  const int c = p.c.valid() ? b.in(l.plain(p.c)) : -1;
  const Epilogue epilogue(l, b, group, {});
  b.parallel(p.batches * vector_groups * lines, [&](Expr item) {
    const Expr line = item % lines, rest = item / lines, vg = rest % vector_groups;
    Expr batch = rest / vector_groups, index = batch, a_at = line * (length * p.a_row), b_at(0);
    for (size_t d = p.batch_shape.size(); d-- > 0;) {
      const Expr i = d == 0 ? index : index % p.batch_shape[d];
      a_at = a_at + i * p.a_batch[d];
      b_at = b_at + i * p.b_batch[d];
      index = index / p.batch_shape[d];
    }
    a_at = b.declare(a_at);
    std::vector<Expr> columns, starts;
    for (int v = 0; v < k.vectors; ++v) {
      columns.push_back(b.declare(column_of(p, vg * k.vectors + v, lanes)));
      starts.push_back(b.declare(packed ? vg * (p.k * k.vectors * lanes) + v * lanes : b_at + columns.back()));
    }
    const Expr first_row = b.declare(batch * p.m + line * length);
    const auto tile = [&](Expr first, int64_t rows) {
      std::vector<Expr> x;
      for (int64_t r = 0; r < rows; ++r) x.push_back(a_at + first * p.a_row + r * p.a_row);
      const std::vector<Expr> zero(static_cast<size_t>(k.vectors), constant({ElementType::float32, lanes}, 0));
      const std::vector<Expr> sums = micro.run(b, x, starts, zero);
      for (int64_t r = 0; r < rows; ++r)
        for (int v = 0; v < k.vectors; ++v) {
          const Expr row = first_row + first + r, column = columns[static_cast<size_t>(v)], at = row * p.n + column;
          Expr sum = sums[static_cast<size_t>(r * k.vectors + v)];
          if (p.alpha != 1.0f) sum = sum * constant(sum.type(), static_cast<double>(p.alpha));
          if (c >= 0) {
            const Expr added = b.load(c, row * p.c_row + column * p.c_column, lanes, p.c_column, p.c_column ? valid : 0);
            sum = sum + (p.beta == 1.0f ? added : added * constant(sum.type(), static_cast<double>(p.beta)));
          }
          b.store(epilogue.out_buffer(), at, epilogue(sum, at, column, lanes, valid), 1, valid);
        }
    };
    b.loop(0, length / k.rows * k.rows, k.rows, [&](Expr first) { tile(first, k.rows); });
    if (length % k.rows) tile(Expr(length / k.rows * k.rows), length % k.rows);
  });
  std::vector<ir::NodeId> nodes{group.anchor};
  nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
  b.emit(nodes);
  return true;
}

}  // namespace dlc::loop
