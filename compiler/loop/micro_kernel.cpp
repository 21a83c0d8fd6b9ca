#include "compiler/loop/micro_kernel.h"

#include <algorithm>

namespace dlc::loop {

double blocking_cost(const Machine& m, int64_t row_count, int64_t vector_count, Blocking b) {
  // Two multiply-adds and two loads a cycle, latency 4: a small block waits for its own sums.
  const auto block = [&](int64_t rows) {
    const double adds = static_cast<double>(rows) * b.vectors / 2, loads = static_cast<double>(rows + b.vectors) / 2;
    return std::max({adds, loads, 4.0}) + 0.25;
  };
  (void)m;
  const int64_t full = row_count / b.rows, rest = row_count % b.rows;
  const double run = static_cast<double>(full) * block(b.rows) + (rest ? block(rest) : 0);
  return run * static_cast<double>(ceil_div(vector_count, b.vectors));
}

Blocking choose_blocking(const Machine& m, int64_t row_count, int64_t vector_count) {
  Blocking best;
  double cost = blocking_cost(m, row_count, vector_count, best);
  for (int v = 1; v <= 8 && v <= vector_count; ++v) {
    if (vector_count % v != 0) continue;  // one kind of block: less code
    for (int r = 1; r <= 30 && r <= row_count; ++r) {
      // Sums, the step's weight vectors and one broadcast live at once.
      if (r * v + v + 1 > m.registers) break;
      const double c = blocking_cost(m, row_count, vector_count, {r, v});
      if (c < cost - 1e-9) {
        cost = c;
        best = {r, v};
      }
    }
  }
  return best;
}

std::vector<Expr> MicroKernel::run(KernelBuilder& b, const std::vector<Expr>& rows, const std::vector<Expr>& vectors,
                                   const std::vector<Expr>& initial) const {
  std::vector<Expr> sums;
  for (size_t r = 0; r < rows.size(); ++r)
    for (const Expr& first : initial) sums.push_back(b.declare(first));
  const bool integer = accumulator == ElementType::int32;
  const auto step = [&](const Expr& x_offset, const Expr& w_offset) {
    std::vector<Expr> w;
    const int width = integer ? 4 * lanes : lanes;
    for (const Expr& at : vectors) w.push_back(b.declare(b.load(w_buffer, at + w_offset, width, 1, valid)));
    for (size_t r = 0; r < rows.size(); ++r) {
      const Expr at = rows[r] + x_offset;
      Expr x;
      if (integer) {
        x = repeat(b.load(x_buffer, at, 4), width);
        if (flip_sign) {
          const Type words{ElementType::int32, lanes}, bytes{ElementType::uint8, width};
          x = bitcast(binary(Op::bit_xor, bitcast(x, words), integer_constant(words, static_cast<int32_t>(0x80808080u))), bytes);
        }
      } else {
        x = b.load(x_buffer, at, lanes, 0);
      }
      x = b.declare(x);
      for (size_t v = 0; v < vectors.size(); ++v) {
        const Expr& sum = sums[r * vectors.size() + v];
        b.assign(sum, integer ? dot4(sum, x, w[v]) : fma(x, w[v], sum));
      }
    }
  };
  const std::function<void(size_t, Expr, Expr)> nest = [&](size_t depth, Expr x, Expr w) {
    if (depth == loops.size()) return step(x, w);
    const ReductionLoop& l = loops[depth];
    b.loop(l.count, [&](Expr i) { nest(depth + 1, x + i * l.x_stride, w + i * l.w_stride); });
  };
  nest(0, Expr(0), Expr(0));
  return sums;
}

}  // namespace dlc::loop
