// Elementwise operators, softmax and quantisation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/backends/reference/kernels.h"
#include "compiler/backends/reference/numbers.h"
#include "compiler/backends/reference/strides.h"
#include "isa/error.h"

namespace dlc::reference {
namespace {

using ir::ElementType;

template <typename F>
void map_float(const KernelArgs& a, const F& f) {
  auto x = a.in(0).data<float>();
  auto y = a.out().data<float>();
  std::transform(x.begin(), x.end(), y.begin(), f);
}

template <typename T, typename F>
void map_binary(const KernelArgs& a, const F& f) {
  const ir::Shape& out = a.out().shape;
  const std::vector<int64_t> strides[] = {broadcast_strides(a.in(0).shape, out),
                                          broadcast_strides(a.in(1).shape, out)};
  auto x = a.in(0).data<T>();
  auto z = a.in(1).data<T>();
  auto y = a.out().data<T>();
  if (a.in(0).shape == a.in(1).shape) {
    for (size_t i = 0; i < y.size(); ++i) y[i] = f(x[i], z[i]);
    return;
  }
  for_each_broadcast(out, strides, [&](size_t i, const size_t* at) { y[i] = f(x[at[0]], z[at[1]]); });
}

template <typename F, typename G>
void binary(const KernelArgs& a, const F& of_float, const G& of_int) {
  with_type(a.out().type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      map_binary<T>(a, of_float);
    else
      map_binary<T>(a, of_int);
  });
}

// Integer arithmetic wraps instead of overflowing: f on the unsigned type.
template <typename F>
auto wrapping(const F& f) {
  return [f](auto x, auto y) {
    using T = decltype(x);
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(x), static_cast<U>(y)));
  };
}

// Rows of softmax: `outer` x `length` x `inner`.
struct Rows {
  int64_t outer = 1, length = 1, inner = 1;
};

Rows softmax_rows(const KernelArgs& a) {
  const ir::Shape& x = a.in(0).shape;
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis", 0));
  const bool flattens = a.node.opset < 13;  // everything behind the axis is one row
  Rows r;
  for (size_t i = 0; i < x.size(); ++i) {
    (i < axis ? r.outer : i == axis || flattens ? r.length : r.inner) *= x[i];
  }
  return r;
}

template <typename F>  // f(exponential sum, x - max, exp(x - max))
void softmax_with(const KernelArgs& a, const F& f) {
  const Rows r = softmax_rows(a);
  const float* x = a.in(0).data<float>().data();
  float* y = a.out().data<float>().data();
  for (int64_t row = 0; row < r.outer * r.inner; ++row) {
    const int64_t base = row / r.inner * r.length * r.inner + row % r.inner;
    float highest = std::numeric_limits<float>::lowest();
    for (int64_t i = 0; i < r.length; ++i) highest = std::max(highest, x[base + i * r.inner]);
    float sum = 0;
    for (int64_t i = 0; i < r.length; ++i) sum += std::exp(x[base + i * r.inner] - highest);
    for (int64_t i = 0; i < r.length; ++i) {
      const float d = x[base + i * r.inner] - highest;
      y[base + i * r.inner] = f(sum, d, std::exp(d));
    }
  }
}

// Calls f(element index, channel index) for all elements, the channel being 0 for one scale.
template <typename F>
void for_each_channel(const KernelArgs& a, const F& f) {
  const ir::Shape& x = a.in(0).shape;
  const int64_t channels = a.in(1).size();
  int64_t inner = 1;
  if (channels > 1) {
    for (size_t i = static_cast<size_t>(a.node.attribute<int64_t>("axis", 1)) + 1; i < x.size(); ++i)
      inner *= x[i];
  }
  const int64_t n = a.in(0).size();
  for (int64_t i = 0, row = 0; i < n; ++row) {
    for (int64_t j = 0; j < inner; ++j, ++i) f(static_cast<size_t>(i), static_cast<size_t>(row % channels));
    if (channels == 1) inner = n - i;  // one scale: the rest in one go
  }
}

template <typename T>
void quantize_to(const KernelArgs& a) {
  auto x = a.in(0).data<float>();
  auto scale = a.in(1).data<float>();
  auto y = a.out().data<T>();
  constexpr float low = std::numeric_limits<T>::lowest();
  constexpr float high = std::numeric_limits<T>::max();
  for_each_channel(a, [&](size_t i, size_t c) {
    const float zero = a.has(2) ? static_cast<float>(a.in(2).data<T>()[c]) : 0.0f;
    const float v = std::nearbyint(x[i] / scale[c]) + zero;  // nearbyint: half to even
    y[i] = static_cast<T>(std::isnan(v) ? 0.0f : std::clamp(v, low, high));
  });
}

template <typename T>
void dequantize_from(const KernelArgs& a) {
  auto x = a.in(0).data<T>();
  auto scale = a.in(1).data<float>();
  auto y = a.out().data<float>();
  for_each_channel(a, [&](size_t i, size_t c) {
    const int64_t zero = a.has(2) ? static_cast<int64_t>(a.in(2).data<T>()[c]) : 0;
    y[i] = static_cast<float>(static_cast<int64_t>(x[i]) - zero) * scale[c];
  });
}

}  // namespace

void relu(const KernelArgs& a) {
  map_float(a, [](float x) { return std::max(x, 0.0f); });
}
void leaky_relu(const KernelArgs& a) {
  const float alpha = a.node.attribute<float>("alpha", 0.01f);
  map_float(a, [alpha](float x) { return x < 0 ? alpha * x : x; });
}
void prelu(const KernelArgs& a) {
  map_binary<float>(a, [](float x, float slope) { return x < 0 ? slope * x : x; });
}
void sigmoid(const KernelArgs& a) {
  map_float(a, [](float x) { return 1.0f / (1.0f + std::exp(-x)); });
}
void tanh_(const KernelArgs& a) {
  map_float(a, [](float x) { return std::tanh(x); });
}
void clip(const KernelArgs& a) {
  const float low = a.node.attribute<float>("min", std::numeric_limits<float>::lowest());
  const float high = a.node.attribute<float>("max", std::numeric_limits<float>::max());
  map_float(a, [=](float x) { return std::min(std::max(x, low), high); });
}

void add(const KernelArgs& a) { binary(a, std::plus<>(), wrapping(std::plus<>())); }
void sub(const KernelArgs& a) { binary(a, std::minus<>(), wrapping(std::minus<>())); }
void mul(const KernelArgs& a) { binary(a, std::multiplies<>(), wrapping(std::multiplies<>())); }
void max_(const KernelArgs& a) {
  const auto f = [](auto x, auto y) { return x < y ? y : x; };
  binary(a, f, f);
}
void min_(const KernelArgs& a) {
  const auto f = [](auto x, auto y) { return y < x ? y : x; };
  binary(a, f, f);
}
void div_(const KernelArgs& a) {
  binary(a, std::divides<>(), [&](auto x, auto y) {
    using T = decltype(x);
    if (y == 0) throw UserError(ErrorKind::bad_input, a.node.where(), "integer division by zero");
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
    }
    return static_cast<T>(x / y);
  });
}

void softmax(const KernelArgs& a) {
  softmax_with(a, [](float sum, float, float e) { return e / sum; });
}
void log_softmax(const KernelArgs& a) {
  softmax_with(a, [](float sum, float d, float) { return d - std::log(sum); });
}

void quantize_linear(const KernelArgs& a) {
  switch (a.out().type) {
    case ElementType::int8:
      return quantize_to<int8_t>(a);
    case ElementType::uint8:
      return quantize_to<uint8_t>(a);
    case ElementType::int16:
      return quantize_to<int16_t>(a);
    default:
      return quantize_to<uint16_t>(a);
  }
}

void dequantize_linear(const KernelArgs& a) {
  switch (a.in(0).type) {
    case ElementType::int8:
      return dequantize_from<int8_t>(a);
    case ElementType::uint8:
      return dequantize_from<uint8_t>(a);
    case ElementType::int16:
      return dequantize_from<int16_t>(a);
    case ElementType::uint16:
      return dequantize_from<uint16_t>(a);
    default:
      return dequantize_from<int32_t>(a);
  }
}

}  // namespace dlc::reference
