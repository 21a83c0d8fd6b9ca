// ONNX's integer products and dynamic quantisation: exact, on the host.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/backends/reference/kernels.h"
#include "compiler/backends/reference/strides.h"

namespace dlc::reference {
namespace {

using Ints = std::vector<int64_t>;

// The operand less its zero point (one, or one per index of `axis`), as int32.
std::vector<int32_t> centred(const KernelArgs& a, size_t operand, size_t axis) {
  const ir::Tensor& t = a.in(operand);
  const bool is_signed = t.type == ir::ElementType::int8;
  const auto at = [&](const ir::Tensor& from, size_t i) {
    return is_signed ? static_cast<int32_t>(from.data<int8_t>()[i])
                     : static_cast<int32_t>(from.data<uint8_t>()[i]);
  };
  int64_t inner = 1;
  for (size_t d = axis + 1; d < t.shape.size(); ++d) inner *= t.shape[d];
  std::vector<int32_t> values(static_cast<size_t>(t.size()));
  const bool has_zero = a.has(operand + 2);
  const bool one = has_zero && a.in(operand + 2).size() == 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto channel = static_cast<size_t>(static_cast<int64_t>(i) / inner % t.shape[axis]);
    values[i] = at(t, i) - (has_zero ? at(a.in(operand + 2), one ? 0 : channel) : 0);
  }
  return values;
}

// Sums wrap at 32 bits, as ONNX Runtime's.
int32_t wrapped(int64_t sum) { return static_cast<int32_t>(static_cast<uint64_t>(sum)); }

}  // namespace

void matmul_integer(const KernelArgs& a) {
  const ir::Shape& sa = a.in(0).shape;
  const ir::Shape& sb = a.in(1).shape;
  const ir::Shape& sy = a.out().shape;
  const int64_t m = sy[sy.size() - 2], n = sy.back(), k = sa.back();
  const std::vector<int32_t> x = centred(a, 0, sa.size() - 2), w = centred(a, 1, sb.size() - 1);
  auto y = a.out().data<int32_t>();
  const int64_t batches = m * n == 0 ? 0 : a.out().size() / (m * n);
  for (int64_t b = 0; b < batches; ++b) {
    const int64_t xb = batch_of(sa, sy, b) * m * k, wb = batch_of(sb, sy, b) * k * n;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        int64_t sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          sum += int64_t{x[static_cast<size_t>(xb + i * k + p)]} * w[static_cast<size_t>(wb + p * n + j)];
        }
        y[static_cast<size_t>((b * m + i) * n + j)] = wrapped(sum);
      }
    }
  }
}

void conv_integer(const KernelArgs& a) {
  const ir::Shape& sx = a.in(0).shape;
  const ir::Shape& sw = a.in(1).shape;
  const ir::Shape& sy = a.out().shape;
  const Ints s = a.node.attribute<Ints>("strides"), d = a.node.attribute<Ints>("dilations");
  const Ints p = a.node.attribute<Ints>("pads");
  const int64_t per_group = sw[0] / a.node.attribute<int64_t>("group", 1);
  const std::vector<int32_t> x = centred(a, 0, 1), w = centred(a, 1, 0);
  auto y = a.out().data<int32_t>();
  const auto sum_at = [&](int64_t n, int64_t o, int64_t oh, int64_t ow) {
    int64_t sum = 0;
    for (int64_t c = 0; c < sw[1]; ++c) {
      const int64_t plane = (n * sx[1] + o / per_group * sw[1] + c) * sx[2];
      for (int64_t kh = 0; kh < sw[2]; ++kh) {
        const int64_t ih = oh * s[0] + kh * d[0] - p[0];
        if (ih < 0 || ih >= sx[2]) continue;
        for (int64_t kw = 0; kw < sw[3]; ++kw) {
          const int64_t iw = ow * s[1] + kw * d[1] - p[1];
          if (iw < 0 || iw >= sx[3]) continue;
          sum += int64_t{x[static_cast<size_t>((plane + ih) * sx[3] + iw)]} *
                 w[static_cast<size_t>(((o * sw[1] + c) * sw[2] + kh) * sw[3] + kw)];
        }
      }
    }
    return sum;
  };
  size_t i = 0;
  for (int64_t n = 0; n < sy[0]; ++n) {
    for (int64_t o = 0; o < sy[1]; ++o) {
      for (int64_t oh = 0; oh < sy[2]; ++oh) {
        for (int64_t ow = 0; ow < sy[3]; ++ow) y[i++] = wrapped(sum_at(n, o, oh, ow));
      }
    }
  }
}

// ONNX: the range is extended to hold 0; scale = range / 255, zero point = round(clamp(-min / scale)).
void dynamic_quantize_linear(const KernelArgs& a) {
  const auto x = a.in(0).data<float>();
  float low = 0, high = 0;
  for (float v : x) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  float scale = (high - low) / 255.0f;
  if (scale == 0.0f) scale = 1.0f;
  const float zero = std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f));
  const auto y = a.outputs[0].data<uint8_t>();
  for (size_t i = 0; i < x.size(); ++i) {
    const float v = std::nearbyint(x[i] / scale) + zero;
    y[i] = static_cast<uint8_t>(std::isnan(v) ? 0.0f : std::clamp(v, 0.0f, 255.0f));
  }
  if (a.outputs.size() > 1 && !a.outputs[1].bytes.empty()) a.outputs[1].data<float>()[0] = scale;
  if (a.outputs.size() > 2 && !a.outputs[2].bytes.empty()) {
    a.outputs[2].data<uint8_t>()[0] = static_cast<uint8_t>(zero);
  }
}

}  // namespace dlc::reference
