// Element-wise operators and generators that run on the host only. Functions of reals are computed in double and
// rounded once.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "compiler/backends/reference/kernels.h"
#include "compiler/backends/reference/numbers.h"
#include "compiler/backends/reference/strides.h"
#include "isa/error.h"

namespace dlc::reference {
namespace {

using ir::ElementType;
using Ints = std::vector<int64_t>;

template <typename F>
void map_numbers(const KernelArgs& a, const F& f) {
  std::vector<double> x = ir::to_doubles(a.in(0));
  std::transform(x.begin(), x.end(), x.begin(), f);
  ir::from_doubles(a.out(), x);
}

// f(x, y) in the operands' integer type.
template <typename F>
void combine_integers(const KernelArgs& a, const F& f) {
  const ir::Shape& out = a.out().shape;
  const Ints strides[] = {broadcast_strides(a.in(0).shape, out), broadcast_strides(a.in(1).shape, out)};
  with_type(a.out().type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      auto x = a.in(0).data<T>(), z = a.in(1).data<T>();
      auto y = a.out().data<T>();
      for_each_broadcast(out, strides, [&](size_t i, const size_t* at) { y[i] = static_cast<T>(f(x[at[0]], z[at[1]])); });
    }
  });
}

template <typename F>
void combine_numbers(const KernelArgs& a, const F& f) {
  const ir::Shape& out = a.out().shape;
  const Ints strides[] = {broadcast_strides(a.in(0).shape, out), broadcast_strides(a.in(1).shape, out)};
  const std::vector<double> x = ir::to_doubles(a.in(0)), z = ir::to_doubles(a.in(1));
  std::vector<double> y(static_cast<size_t>(a.out().size()));
  for_each_broadcast(out, strides, [&](size_t i, const size_t* at) { y[i] = f(x[at[0]], z[at[1]]); });
  ir::from_doubles(a.out(), y);
}

template <typename F>
void test_numbers(const KernelArgs& a, const F& f) {
  const std::vector<double> x = ir::to_doubles(a.in(0));
  std::transform(x.begin(), x.end(), a.out().bytes.begin(), f);
}

template <typename F>
void cumulate(const KernelArgs& a, double initial, const F& f) {
  const Lines l(a.in(0).shape, static_cast<size_t>(a.node.attribute<int64_t>("axis")));
  const bool exclusive = a.node.attribute<int64_t>("exclusive") != 0, reverse = a.node.attribute<int64_t>("reverse") != 0;
  with_type(a.out().type, [&](auto zero) {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
    auto x = a.in(0).data<T>();
    auto y = a.out().data<T>();
    for (int64_t line = 0; line < l.lines(); ++line) {
      auto sum = static_cast<Sum>(initial);
      for (int64_t i = 0; i < l.length; ++i) {
        const size_t at = l.at(line, reverse ? l.length - 1 - i : i);
        if (exclusive) y[at] = static_cast<T>(sum);
        sum = f(sum, static_cast<Sum>(x[at]));
        if (!exclusive) y[at] = static_cast<T>(sum);
      }
    }
  });
}

}  // namespace

void acos_(const KernelArgs& a) { map_numbers(a, [](double x) { return std::acos(x); }); }
void acosh_(const KernelArgs& a) { map_numbers(a, [](double x) { return std::acosh(x); }); }
void asin_(const KernelArgs& a) { map_numbers(a, [](double x) { return std::asin(x); }); }
void asinh_(const KernelArgs& a) { map_numbers(a, [](double x) { return std::asinh(x); }); }
void atan_(const KernelArgs& a) { map_numbers(a, [](double x) { return std::atan(x); }); }
void atanh_(const KernelArgs& a) { map_numbers(a, [](double x) { return std::atanh(x); }); }
void cosh_(const KernelArgs& a) { map_numbers(a, [](double x) { return std::cosh(x); }); }
void sinh_(const KernelArgs& a) { map_numbers(a, [](double x) { return std::sinh(x); }); }
void tan_(const KernelArgs& a) { map_numbers(a, [](double x) { return std::tan(x); }); }
void swish(const KernelArgs& a) {
  const double alpha = static_cast<double>(a.node.attribute<float>("alpha", 1.0f));
  map_numbers(a, [=](double x) { return x / (1 + std::exp(-alpha * x)); });
}
void shrink(const KernelArgs& a) {
  const auto bias = static_cast<double>(a.node.attribute<float>("bias"));
  const auto lambda = static_cast<double>(a.node.attribute<float>("lambd"));
  map_numbers(a, [=](double x) { return x < -lambda ? x + bias : x > lambda ? x - bias : 0; });
}
void is_nan(const KernelArgs& a) { test_numbers(a, [](double x) { return std::isnan(x); }); }
void is_inf(const KernelArgs& a) {
  const bool negative = a.node.attribute<int64_t>("detect_negative") != 0;
  const bool positive = a.node.attribute<int64_t>("detect_positive") != 0;
  test_numbers(a, [=](double x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

void clip_tensor(const KernelArgs& a) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double low = a.has(1) ? ir::to_doubles(a.in(1))[0] : -infinity;
  const double high = a.has(2) ? ir::to_doubles(a.in(2))[0] : infinity;
  map_numbers(a, [=](double x) { return std::min(std::max(x, low), high); });
}

void bit_cast(const KernelArgs& a) { a.out().bytes = a.in(0).bytes; }
void bitwise_and(const KernelArgs& a) { combine_integers(a, [](auto x, auto y) { return x & y; }); }
void bitwise_or(const KernelArgs& a) { combine_integers(a, [](auto x, auto y) { return x | y; }); }
void bitwise_xor(const KernelArgs& a) { combine_integers(a, [](auto x, auto y) { return x ^ y; }); }
void bitwise_not(const KernelArgs& a) {
  std::transform(a.in(0).bytes.begin(), a.in(0).bytes.end(), a.out().bytes.begin(),
                 [](uint8_t v) { return static_cast<uint8_t>(~v); });
}
void bit_shift(const KernelArgs& a) {
  const bool left = a.node.attribute<std::string>("direction") == "LEFT";
  combine_integers(a, [left](auto x, auto y) -> decltype(x) {
    if (static_cast<uint64_t>(y) >= 8 * sizeof x) return 0;
    const auto n = static_cast<int>(y);
    return static_cast<decltype(x)>(left ? static_cast<uint64_t>(x) << n : static_cast<uint64_t>(x) >> n);
  });
}

// fmod 0: the sign of the divisor (as Python), fmod 1: of the dividend (as C).
void mod(const KernelArgs& a) {
  const bool c_sign = a.node.attribute<int64_t>("fmod") != 0;
  if (ir::is_float(a.out().type)) {
    return combine_numbers(a, [=](double x, double y) {
      const double r = std::fmod(x, y);
      return !c_sign && r != 0 && (r < 0) != (y < 0) ? r + y : r;
    });
  }
  combine_integers(a, [&](auto x, auto y) -> decltype(x) {
    if (y == 0) throw UserError(ErrorKind::bad_input, a.node.where(), "integer division by zero");
    if constexpr (std::is_signed_v<decltype(x)>) {
      if (y == -1) return 0;
      const auto r = static_cast<decltype(x)>(x % y);
      return static_cast<decltype(x)>(!c_sign && r != 0 && (r < 0) != (y < 0) ? r + y : r);
    } else {
      return static_cast<decltype(x)>(x % y);
    }
  });
}

void size(const KernelArgs& a) { a.out().data<int64_t>()[0] = a.in(0).size(); }

void range(const KernelArgs& a) {
  with_type(a.out().type, [&](auto zero) {
    using T = decltype(zero);
    auto y = a.out().data<T>();
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<T>(a.in(0).data<T>()[0] + static_cast<T>(i) * a.in(2).data<T>()[0]);
  });
}

void eye_like(const KernelArgs& a) {
  const int64_t k = a.node.attribute<int64_t>("k"), columns = a.out().shape[1];
  std::vector<double> y(static_cast<size_t>(a.out().size()));
  for (int64_t row = 0; row < a.out().shape[0]; ++row)
    if (row + k >= 0 && row + k < columns) y[static_cast<size_t>(row * columns + row + k)] = 1;
  ir::from_doubles(a.out(), y);
}

void cumulative_sum(const KernelArgs& a) {
  cumulate(a, 0, [](auto s, auto v) { return s + v; });
}
void cumulative_product(const KernelArgs& a) {
  cumulate(a, 1, [](auto s, auto v) { return s * v; });
}

void trilu(const KernelArgs& a) {
  const ir::Shape& x = a.in(0).shape;
  const bool upper = a.node.attribute<int64_t>("upper") != 0;
  const int64_t k = a.node.attribute<int64_t>("k"), rows = x[x.size() - 2], columns = x.back();
  const size_t bytes = element_size(a.out().type);
  for (int64_t i = 0; i < a.out().size(); ++i) {
    const int64_t row = i / columns % rows, column = i % columns;
    const bool kept = upper ? column - row >= k : column - row <= k;
    const size_t at = static_cast<size_t>(i) * bytes;
    if (kept) std::memcpy(a.out().bytes.data() + at, a.in(0).bytes.data() + at, bytes);
  }
}

// Greatest (or least) first; of equal ones the lower index first.
void top_k(const KernelArgs& a) {
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis"));
  const Lines from(a.in(0).shape, axis), to(a.out().shape, axis);
  const bool largest = a.node.attribute<int64_t>("largest") != 0;
  with_type(a.out().type, [&](auto zero) {
    using T = decltype(zero);
    auto x = a.in(0).data<T>();
    auto y = a.out().data<T>();
    for (int64_t line = 0; line < from.lines(); ++line) {
      Ints order(static_cast<size_t>(from.length));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
        const T v = x[from.at(line, p)], w = x[from.at(line, q)];
        return largest ? v > w : v < w;
      });
      for (int64_t i = 0; i < to.length; ++i) {
        y[to.at(line, i)] = x[from.at(line, order[static_cast<size_t>(i)])];
        if (a.outputs.size() > 1) a.outputs[1].data<int64_t>()[to.at(line, i)] = order[static_cast<size_t>(i)];
      }
    }
  });
}

void one_hot(const KernelArgs& a) {
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis"));
  const Lines l(a.out().shape, axis);
  const std::vector<double> indices = ir::to_doubles(a.in(0));
  const size_t bytes = element_size(a.out().type);
  for (int64_t line = 0; line < l.lines(); ++line) {
    auto index = static_cast<int64_t>(indices[static_cast<size_t>(line)]);
    if (index < 0) index += l.length;
    for (int64_t i = 0; i < l.length; ++i)
      std::memcpy(a.out().bytes.data() + l.at(line, i) * bytes, a.in(1).bytes.data() + (i == index ? bytes : 0), bytes);
  }
}

void hardmax(const KernelArgs& a) {
  const ir::Shape& x = a.in(0).shape;
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis", 0));
  Lines l(x, axis);
  if (a.node.opset < 13) {  // everything behind the axis is one row
    l.length *= l.inner;
    l.inner = 1;
  }
  const std::vector<double> values = ir::to_doubles(a.in(0));
  std::vector<double> y(values.size());
  for (int64_t line = 0; line < l.lines() && l.length > 0; ++line) {
    size_t best = l.at(line, 0);
    for (int64_t i = 1; i < l.length; ++i)
      if (values[l.at(line, i)] > values[best]) best = l.at(line, i);
    y[best] = 1;
  }
  ir::from_doubles(a.out(), y);
}

}  // namespace dlc::reference
