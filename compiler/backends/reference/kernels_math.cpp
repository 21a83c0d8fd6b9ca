// Arithmetic, comparisons, reductions and normalisations that stay on the host.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/backends/reference/kernels.h"
#include "compiler/backends/reference/numbers.h"
#include "compiler/backends/reference/strides.h"

namespace dlc::reference {
namespace {

using ir::ElementType;
using Ints = std::vector<int64_t>;

template <typename F>
void map_float(const KernelArgs& a, const F& f) {
  auto x = a.in(0).data<float>();
  auto y = a.out().data<float>();
  std::transform(x.begin(), x.end(), y.begin(), f);
}

template <typename F>
void map_arithmetic(const KernelArgs& a, const F& f) {
  with_type(a.in(0).type, [&](auto zero) {
    using T = decltype(zero);
    auto x = a.in(0).data<T>();
    std::transform(x.begin(), x.end(), a.out().data<T>().begin(), [&](T v) { return static_cast<T>(f(v)); });
  });
}

template <typename T>
T negated(T v) {  // integers wrap
  if constexpr (std::is_floating_point_v<T>) return -v;
  return static_cast<T>(0 - static_cast<uint64_t>(v));
}

template <typename F>
void compare_with(const KernelArgs& a, const F& f) {
  const ir::Shape& out = a.out().shape;
  const Ints strides[] = {broadcast_strides(a.in(0).shape, out), broadcast_strides(a.in(1).shape, out)};
  auto y = a.out().data<uint8_t>();
  with_type(a.in(0).type, [&](auto zero) {
    using T = decltype(zero);
    auto l = a.in(0).data<T>(), r = a.in(1).data<T>();
    for_each_broadcast(out, strides, [&](size_t i, const size_t* at) { y[i] = f(l[at[0]], r[at[1]]); });
  });
}

// Output strides of the input's dimensions under a reduction: 0 along those reduced.
Ints reduction_strides(const KernelArgs& a) {
  const ir::Shape& x = a.in(0).shape;
  const Ints axes = a.node.attribute<Ints>("axes");
  Ints strides(x.size(), 0);
  int64_t stride = 1;
  for (size_t d = x.size(); d-- > 0;) {
    if (std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d))) continue;
    strides[d] = stride;
    stride *= x[d];
  }
  return strides;
}

// y = finish(fold of step(accumulator, x) from `initial`, number of elements); in double or int64.
template <typename Step, typename Finish>
void reduce_with(const KernelArgs& a, double initial, const Step& step, const Finish& finish) {
  const Ints strides[] = {reduction_strides(a)};
  const auto results = static_cast<size_t>(a.out().size());
  with_type(a.in(0).type, [&](auto zero) {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
    auto x = a.in(0).data<T>();
    const double limit = std::numeric_limits<T>::max();
    std::vector<Sum> sums(results,
                          std::isinf(initial)
                              ? static_cast<Sum>(initial < 0 ? std::numeric_limits<T>::lowest() : limit)
                              : static_cast<Sum>(initial));
    if (std::isinf(initial) && std::is_floating_point_v<T>)
      std::fill(sums.begin(), sums.end(), static_cast<Sum>(initial));
    for_each_broadcast(a.in(0).shape, strides, [&](size_t i, const size_t* at) {
      sums[at[0]] = static_cast<Sum>(step(sums[at[0]], static_cast<Sum>(x[i])));
    });
    const auto count = static_cast<Sum>(x.size() / std::max<size_t>(1, results));
    for (size_t i = 0; i < results; ++i) a.out().data<T>()[i] = static_cast<T>(finish(sums[i], count));
  });
}

const auto kFirst = [](auto sum, auto) { return sum; };
const auto kAdd = [](auto s, auto v) { return s + v; };
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void arg_extreme(const KernelArgs& a, bool greatest) {
  const ir::Shape& x = a.in(0).shape;
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis"));
  const bool last = a.node.attribute<int64_t>("select_last_index") != 0;
  int64_t inner = 1;
  for (size_t d = axis + 1; d < x.size(); ++d) inner *= x[d];
  auto y = a.out().data<int64_t>();
  with_type(a.in(0).type, [&](auto zero) {
    const auto values = a.in(0).data<decltype(zero)>();
    for (size_t i = 0; i < y.size(); ++i) {
      const int64_t base =
          static_cast<int64_t>(i) / inner * inner * x[axis] + static_cast<int64_t>(i) % inner;
      const auto at = [&](int64_t k) { return values[static_cast<size_t>(base + k * inner)]; };
      int64_t best = 0;
      for (int64_t k = 1; k < x[axis]; ++k) {
        const bool better = greatest ? at(k) > at(best) : at(k) < at(best);
        if (better || (last && at(k) == at(best))) best = k;
      }
      y[i] = best;
    }
  });
}

struct Moments {
  double mean = 0, scale = 1;  // scale = 1 / sqrt(variance + epsilon)
};

// y = (x - mean) / sqrt(variance + epsilon) of each run of `length` elements.
Moments normalise(const float* x, int64_t length, float epsilon, float* y) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < length; ++i) mean += static_cast<double>(x[i]);
  mean /= static_cast<double>(length);
  for (int64_t i = 0; i < length; ++i)
    variance += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  const double scale = 1.0 / std::sqrt(variance / static_cast<double>(length) + static_cast<double>(epsilon));
  for (int64_t i = 0; i < length; ++i) y[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * scale);
  return {mean, scale};
}

}  // namespace

void exp_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::exp(x); });
}
void log_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::log(x); });
}
void sqrt_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::sqrt(x); });
}
void reciprocal(const KernelArgs& a) {
  map_float(a, [](float x) { return 1.0f / x; });
}
void floor_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::floor(x); });
}
void ceil_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::ceil(x); });
}
void round_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::nearbyint(x); });
}  // half to even
void erf_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::erf(x); });
}
void sin_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::sin(x); });
}
void cos_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::cos(x); });
}
void neg(const KernelArgs& a) {
  map_arithmetic(a, [](auto x) { return negated(x); });
}
void abs_(const KernelArgs& a) {
  map_arithmetic(a, [](auto x) { return x < 0 ? negated(x) : x + 0; });
}
void sign(const KernelArgs& a) {
  map_arithmetic(a, [](auto x) { return (x > 0) - (x < 0); });
}
void not_(const KernelArgs& a) {
  auto x = a.in(0).data<uint8_t>();
  std::transform(x.begin(), x.end(), a.out().data<uint8_t>().begin(), [](uint8_t v) { return v == 0; });
}

void pow_(const KernelArgs& a) {
  const ir::Shape& out = a.out().shape;
  const Ints strides[] = {broadcast_strides(a.in(0).shape, out), broadcast_strides(a.in(1).shape, out)};
  const std::vector<double> e = ir::to_doubles(a.in(1));
  if (a.out().type == ElementType::float32) {
    auto x = a.in(0).data<float>();
    auto y = a.out().data<float>();
    for_each_broadcast(out, strides, [&](size_t i, const size_t* at) {
      y[i] = std::pow(x[at[0]], static_cast<float>(e[at[1]]));
    });
    return;
  }
  const std::vector<double> x = ir::to_doubles(a.in(0));
  std::vector<double> y(static_cast<size_t>(a.out().size()));
  for_each_broadcast(out, strides, [&](size_t i, const size_t* at) { y[i] = std::pow(x[at[0]], e[at[1]]); });
  ir::from_doubles(a.out(), y);
}

void equal(const KernelArgs& a) {
  compare_with(a, [](auto x, auto y) { return x == y; });
}
void less(const KernelArgs& a) {
  compare_with(a, [](auto x, auto y) { return x < y; });
}
void less_or_equal(const KernelArgs& a) {
  compare_with(a, [](auto x, auto y) { return x <= y; });
}
void greater(const KernelArgs& a) {
  compare_with(a, [](auto x, auto y) { return x > y; });
}
void greater_or_equal(const KernelArgs& a) {
  compare_with(a, [](auto x, auto y) { return x >= y; });
}
void and_(const KernelArgs& a) {
  compare_with(a, [](auto x, auto y) { return x != 0 && y != 0; });
}
void or_(const KernelArgs& a) {
  compare_with(a, [](auto x, auto y) { return x != 0 || y != 0; });
}
void xor_(const KernelArgs& a) {
  compare_with(a, [](auto x, auto y) { return (x != 0) != (y != 0); });
}

void where(const KernelArgs& a) {
  const ir::Shape& out = a.out().shape;
  const Ints strides[] = {broadcast_strides(a.in(0).shape, out), broadcast_strides(a.in(1).shape, out),
                          broadcast_strides(a.in(2).shape, out)};
  const size_t size = element_size(a.out().type);
  for_each_broadcast(out, strides, [&](size_t i, const size_t* at) {
    const bool first = a.in(0).bytes[at[0]] != 0;
    std::memcpy(a.out().bytes.data() + i * size, a.in(first ? 1 : 2).bytes.data() + at[first ? 1 : 2] * size,
                size);
  });
}

void expand(const KernelArgs& a) {
  const Ints strides[] = {broadcast_strides(a.in(0).shape, a.out().shape)};
  const size_t size = element_size(a.out().type);
  for_each_broadcast(a.out().shape, strides, [&](size_t i, const size_t* at) {
    std::memcpy(a.out().bytes.data() + i * size, a.in(0).bytes.data() + at[0] * size, size);
  });
}

void tile(const KernelArgs& a) {
  const ir::Shape& x = a.in(0).shape;
  const ir::Shape& y = a.out().shape;
  const size_t size = element_size(a.out().type);
  for (int64_t i = 0; i < a.out().size(); ++i) {
    int64_t rest = i, from = 0, stride = 1;
    for (size_t d = y.size(); d-- > 0;) {
      from += rest % y[d] % x[d] * stride;
      rest /= y[d];
      stride *= x[d];
    }
    std::memcpy(a.out().bytes.data() + static_cast<size_t>(i) * size,
                a.in(0).bytes.data() + static_cast<size_t>(from) * size, size);
  }
}

void reduce_sum(const KernelArgs& a) { reduce_with(a, 0, kAdd, kFirst); }
void reduce_mean(const KernelArgs& a) {
  reduce_with(a, 0, kAdd, [](auto sum, auto n) {
    if constexpr (std::is_integral_v<decltype(n)>) {
      if (n == 0) return sum;
    }
    return sum / n;
  });
}
void reduce_max(const KernelArgs& a) {
  reduce_with(
      a, -kInfinity, [](auto s, auto v) { return std::max(s, v); }, kFirst);
}
void reduce_min(const KernelArgs& a) {
  reduce_with(
      a, kInfinity, [](auto s, auto v) { return std::min(s, v); }, kFirst);
}
void reduce_prod(const KernelArgs& a) {
  reduce_with(
      a, 1, [](auto s, auto v) { return s * v; }, kFirst);
}
void reduce_l1(const KernelArgs& a) {
  reduce_with(
      a, 0, [](auto s, auto v) { return s + std::abs(v); }, kFirst);
}
void reduce_sum_square(const KernelArgs& a) {
  reduce_with(
      a, 0, [](auto s, auto v) { return s + v * v; }, kFirst);
}
void reduce_l2(const KernelArgs& a) {
  reduce_with(
      a, 0, [](auto s, auto v) { return s + v * v; },
      [](auto sum, auto) { return std::sqrt(static_cast<double>(sum)); });
}
void reduce_log_sum(const KernelArgs& a) {
  reduce_with(a, 0, kAdd, [](auto sum, auto) { return std::log(static_cast<double>(sum)); });
}
void reduce_log_sum_exp(const KernelArgs& a) {
  reduce_with(
      a, -kInfinity,
      [](auto s, auto v) {  // log(e^s + e^v) without overflow
        const double high = std::max(static_cast<double>(s), static_cast<double>(v));
        const double low = std::min(static_cast<double>(s), static_cast<double>(v));
        return std::isinf(low) ? high : high + std::log1p(std::exp(low - high));
      },
      kFirst);
}

void arg_max(const KernelArgs& a) { arg_extreme(a, true); }
void arg_min(const KernelArgs& a) { arg_extreme(a, false); }

void lrn(const KernelArgs& a) {
  const ir::Shape& s = a.in(0).shape;
  const int64_t size = a.node.attribute<int64_t>("size", 1);
  const float alpha = a.node.attribute<float>("alpha"), beta = a.node.attribute<float>("beta");
  const float bias = a.node.attribute<float>("bias");
  int64_t plane = 1;
  for (size_t d = 2; d < s.size(); ++d) plane *= s[d];
  const float* x = a.in(0).data<float>().data();
  float* y = a.out().data<float>().data();
  std::vector<float> squares(static_cast<size_t>(plane));
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t c = 0; c < s[1]; ++c) {
      std::fill(squares.begin(), squares.end(), 0.0f);
      const int64_t last = std::min(s[1] - 1, c + size / 2);
      for (int64_t k = std::max<int64_t>(0, c - (size - 1) / 2); k <= last; ++k) {
        const float* row = x + (n * s[1] + k) * plane;
        for (int64_t i = 0; i < plane; ++i) squares[static_cast<size_t>(i)] += row[i] * row[i];
      }
      const int64_t at = (n * s[1] + c) * plane;
      for (int64_t i = 0; i < plane; ++i) {
        y[at + i] = x[at + i] /
                    std::pow(bias + alpha / static_cast<float>(size) * squares[static_cast<size_t>(i)], beta);
      }
    }
  }
}

void instance_normalization(const KernelArgs& a) {
  const ir::Shape& s = a.in(0).shape;
  const int64_t planes = s[0] * s[1];
  const int64_t length = planes == 0 ? 0 : a.in(0).size() / planes;
  const float epsilon = a.node.attribute<float>("epsilon", 1e-5f);
  for (int64_t p = 0; p < planes; ++p) {
    float* y = a.out().data<float>().data() + p * length;
    normalise(a.in(0).data<float>().data() + p * length, length, epsilon, y);
    const auto c = static_cast<size_t>(p % s[1]);
    for (int64_t i = 0; i < length; ++i) y[i] = y[i] * a.in(1).data<float>()[c] + a.in(2).data<float>()[c];
  }
}

void layer_normalization(const KernelArgs& a) {
  const ir::Shape& s = a.in(0).shape;
  const ir::Shape normalised(s.begin() + a.node.attribute<int64_t>("axis"), s.end());
  const int64_t length = ir::element_count(normalised);
  const int64_t rows = length == 0 ? 0 : a.in(0).size() / length;
  const Ints strides[] = {broadcast_strides(a.in(1).shape, normalised),
                          broadcast_strides(a.has(2) ? a.in(2).shape : ir::Shape{}, normalised)};
  for (int64_t r = 0; r < rows; ++r) {
    float* y = a.out().data<float>().data() + r * length;
    const Moments m =
        normalise(a.in(0).data<float>().data() + r * length, length, a.node.attribute<float>("epsilon", 1e-5f), y);
    const auto row = static_cast<size_t>(r);
    if (a.outputs.size() > 1 && a.node.outputs[1].valid()) a.outputs[1].data<float>()[row] = static_cast<float>(m.mean);
    if (a.outputs.size() > 2) a.outputs[2].data<float>()[row] = static_cast<float>(m.scale);
    for_each_broadcast(normalised, strides, [&](size_t i, const size_t* at) {
      y[i] = y[i] * a.in(1).data<float>()[at[0]] + (a.has(2) ? a.in(2).data<float>()[at[1]] : 0.0f);
    });
  }
}

void split(const KernelArgs& a) {
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis"));
  const size_t size = element_size(a.in(0).type);
  int64_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= a.in(0).shape[i];
  const uint8_t* in = a.in(0).bytes.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (ir::Tensor& out : a.outputs) {
      const size_t run = static_cast<size_t>(out.size() / outer) * size;
      if (!out.bytes.empty()) std::memcpy(out.bytes.data() + static_cast<size_t>(o) * run, in, run);
      in += run;
    }
  }
}

}  // namespace dlc::reference
