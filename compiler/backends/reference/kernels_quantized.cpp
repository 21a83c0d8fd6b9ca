// The integer operators, exactly as the machine computes them: operands of 9 bits, 32-bit wrapping
// accumulators, isa/numerics.h behind them. This file is compiled with -fwrapv, so that the sums below are
// the contract's sums modulo 2^32 and still vectorise (16-bit products into 32-bit sums).
#include <algorithm>
#include <limits>

#include "compiler/backends/reference/kernels.h"
#include "isa/numerics.h"

namespace dlc::reference {
namespace {

using ir::ElementType;

bool is_signed(const ir::Tensor& t) { return t.type == ElementType::int8; }

struct Dims {
  int64_t n, c, h, w;
};

Dims dims_of(const ir::Tensor& t) {
  return {t.shape[0], t.shape[1], t.shape.size() > 2 ? t.shape[2] : 1, t.shape.size() > 3 ? t.shape[3] : 1};
}

// operand9 of every byte, zero point subtracted.
std::vector<int16_t> widen(const ir::Tensor& t, int32_t zero) {
  int16_t table[256];
  for (int i = 0; i < 256; ++i) {
    table[i] = static_cast<int16_t>(numerics::operand9(static_cast<uint8_t>(i), is_signed(t), zero));
  }
  std::vector<int16_t> out(t.bytes.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = table[t.bytes[i]];
  return out;
}

int32_t dot(const int16_t* a, const int16_t* b, int64_t n) {
  int32_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<int32_t>(a[i]) * b[i];
  return sum;
}

// Patches of one output row: [ow][channel, kh, kw], padding as 0 (it contributes nothing).
void row_patches(const ir::QConv& q, const int16_t* x, const Dims& in, int64_t channels, int64_t oh,
                 int64_t ow_count, int16_t* patches) {
  const int64_t length = channels * q.kernel[0] * q.kernel[1];
  std::fill(patches, patches + ow_count * length, int16_t{0});
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t kh = 0; kh < q.kernel[0]; ++kh) {
      const int64_t ih = oh * q.stride[0] + kh * q.dilation[0] - q.pad[0];
      if (ih < 0 || ih >= in.h) continue;
      const int16_t* row = x + (c * in.h + ih) * in.w;
      for (int64_t kw = 0; kw < q.kernel[1]; ++kw) {
        int16_t* out = patches + (c * q.kernel[0] + kh) * q.kernel[1] + kw;
        for (int64_t ow = 0; ow < ow_count; ++ow, out += length) {
          const int64_t iw = ow * q.stride[1] + kw * q.dilation[1] - q.pad[1];
          if (iw >= 0 && iw < in.w) *out = row[iw];
        }
      }
    }
  }
}

uint8_t requantise(const ir::QConv& q, int32_t acc, int64_t channel) {
  const ir::Rescale& r = q.rescale;
  const auto at = [channel](const auto& v) { return v.size() == 1 ? v[0] : v[static_cast<size_t>(channel)]; };
  return static_cast<uint8_t>(
      numerics::rescale(acc, at(r.bias), at(r.multiplier), at(r.shift), r.zero, r.low, r.high));
}

// y = f(a - a_zero, b - b_zero) with dimensions of 1 repeated.
template <typename F>
void for_broadcast(const KernelArgs& a, int32_t a_zero, int32_t b_zero, const F& f) {
  const std::vector<int16_t> x = widen(a.in(0), a_zero), z = widen(a.in(1), b_zero);
  const Dims xs = dims_of(a.in(0)), zs = dims_of(a.in(1)), ys = dims_of(a.out());
  const auto at = [](const Dims& s, int64_t n, int64_t c, int64_t h, int64_t w) {
    return static_cast<size_t>((((s.n == 1 ? 0 : n) * s.c + (s.c == 1 ? 0 : c)) * s.h + (s.h == 1 ? 0 : h)) *
                                   s.w +
                               (s.w == 1 ? 0 : w));
  };
  uint8_t* y = a.out().bytes.data();
  for (int64_t n = 0; n < ys.n; ++n)
    for (int64_t c = 0; c < ys.c; ++c)
      for (int64_t h = 0; h < ys.h; ++h)
        for (int64_t w = 0; w < ys.w; ++w) *y++ = f(x[at(xs, n, c, h, w)], z[at(zs, n, c, h, w)]);
}

// a: a stored byte of type `a_signed`, as the machine would read it back.
uint8_t combine(const ir::LinearCombine& l, int32_t a, int32_t b) {
  return static_cast<uint8_t>(numerics::combine_linear(a, l.a_multiplier, b, l.b_multiplier, l.b_negate,
                                                       l.shift, l.zero, l.low, l.high));
}

}  // namespace

void qconv(const KernelArgs& a) {
  const auto& q = std::get<ir::QConv>(a.node.payload);
  const Dims in = dims_of(a.in(0)), out = dims_of(a.out());
  const std::vector<int16_t> x = widen(a.in(0), q.x_zero), w = widen(a.in(1), q.w_zero);
  const int64_t channels = in.c / q.groups, outputs = out.c / q.groups;
  const int64_t length = channels * q.kernel[0] * q.kernel[1];
  std::vector<int16_t> patches(static_cast<size_t>(out.w * length));
  for (int64_t group = 0; group < out.n * q.groups; ++group) {
    const int16_t* plane = x.data() + group * channels * in.h * in.w;
    const int64_t first = group % q.groups * outputs;
    for (int64_t oh = 0; oh < out.h; ++oh) {
      row_patches(q, plane, in, channels, oh, out.w, patches.data());
      for (int64_t o = first; o < first + outputs; ++o) {
        uint8_t* y = a.out().bytes.data() + (((group / q.groups) * out.c + o) * out.h + oh) * out.w;
        for (int64_t ow = 0; ow < out.w; ++ow) {
          y[ow] = requantise(q, dot(patches.data() + ow * length, w.data() + o * length, length), o);
        }
      }
    }
  }
  if (!q.residual) return;
  // The first rescale's result is kept in 32 bits on the machine; it fits its own 8-bit clamp range.
  const bool first_signed = q.rescale.low < 0;
  auto& y = a.out().bytes;
  const bool b_signed = is_signed(a.in(2));
  for (size_t i = 0; i < y.size(); ++i) {
    const int32_t own = first_signed ? static_cast<int8_t>(y[i]) : static_cast<int32_t>(y[i]);
    y[i] = combine(*q.residual, own - q.residual->a_zero,
                   numerics::operand9(a.in(2).bytes[i], b_signed, q.residual->b_zero));
  }
}

void qadd(const KernelArgs& a) {
  const auto& l = std::get<ir::QAdd>(a.node.payload).combine;
  for_broadcast(a, l.a_zero, l.b_zero, [&](int32_t x, int32_t z) { return combine(l, x, z); });
}

void qbinary(const KernelArgs& a) {
  const auto& q = std::get<ir::QBinary>(a.node.payload);
  using Kind = ir::QBinary::Kind;
  for_broadcast(a, q.a_zero, q.b_zero, [&](int32_t x, int32_t z) {
    return static_cast<uint8_t>(
        q.kind == Kind::multiply
            ? numerics::combine_multiply(x, z, q.multiplier, q.shift, q.zero, q.low, q.high)
            : numerics::combine_select(x, z, q.kind == Kind::maximum, q.multiplier, q.shift, q.zero, q.low,
                                       q.high));
  });
}

void qpool(const KernelArgs& a) {
  const auto& q = std::get<ir::QPool>(a.node.payload);
  const Dims in = dims_of(a.in(0)), out = dims_of(a.out());
  const bool average = q.kind == ir::QPool::Kind::average;
  const std::vector<int16_t> x = widen(a.in(0), average ? q.x_zero : 0);
  uint8_t* y = a.out().bytes.data();
  for (int64_t plane = 0; plane < in.n * in.c; ++plane) {
    for (int64_t oh = 0; oh < out.h; ++oh) {
      for (int64_t ow = 0; ow < out.w; ++ow) {
        int32_t sum = 0, best = std::numeric_limits<int32_t>::min();
        size_t count = 0;
        for (int64_t kh = 0; kh < q.kernel[0]; ++kh) {
          const int64_t ih = oh * q.stride[0] + kh * q.dilation[0] - q.pad[0];
          if (ih < 0 || ih >= in.h) continue;
          for (int64_t kw = 0; kw < q.kernel[1]; ++kw) {
            const int64_t iw = ow * q.stride[1] + kw * q.dilation[1] - q.pad[1];
            if (iw < 0 || iw >= in.w) continue;
            const int32_t v = x[static_cast<size_t>((plane * in.h + ih) * in.w + iw)];
            sum += v;
            best = std::max(best, v);
            ++count;
          }
        }
        const numerics::FixedPoint f =
            average && count < q.factor.size() ? q.factor[count] : numerics::FixedPoint{};
        *y++ = static_cast<uint8_t>(
            average ? numerics::rescale(sum, 0, f.multiplier, f.shift, q.zero, q.low, q.high)
                    : numerics::clamp_to(best, q.low, q.high));
      }
    }
  }
}

}  // namespace dlc::reference
