// float32 operators with windows and products. Accumulation in float32, in the order of the loops.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/backends/reference/float_product.h"
#include "compiler/backends/reference/kernels.h"
#include "compiler/backends/reference/strides.h"

namespace dlc::reference {
namespace {

using Ints = std::vector<int64_t>;

struct Window {
  int64_t n, c, h, w, oh, ow, kh, kw, sh, sw, dh, dw, top, left, bottom, right;
};

Window window_of(const KernelArgs& a) {
  const ir::Shape& x = a.in(0).shape;
  const ir::Shape& y = a.outputs[0].shape;
  const Ints k = a.node.attribute<Ints>("kernel_shape", {x[2], x[3]});
  const Ints s = a.node.attribute<Ints>("strides", {1, 1});
  const Ints d = a.node.attribute<Ints>("dilations", {1, 1});
  const Ints p = a.node.attribute<Ints>("pads", {0, 0, 0, 0});
  return {x[0], x[1], x[2], x[3], y[2], y[3], k[0], k[1], s[0], s[1], d[0], d[1], p[0], p[1], p[2], p[3]};
}

// Output columns [first, last) whose tap at `offset` (= kw * dilation - pad) lies inside a row of `width`.
std::pair<int64_t, int64_t> valid_range(int64_t offset, int64_t stride, int64_t width, int64_t outputs) {
  const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t last = width - 1 - offset < 0 ? 0 : (width - 1 - offset) / stride + 1;
  return {std::min(first, outputs), std::clamp<int64_t>(last, std::min(first, outputs), outputs)};
}

void add_tap_row(const float* x, float weight, int64_t stride, int64_t count, float* y) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) y[i] += weight * x[i];
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] += weight * x[i * stride];
  }
}

void conv_plane(const Window& g, const float* x, const float* w, float* y) {  // one input, one output channel
  for (int64_t kh = 0; kh < g.kh; ++kh) {
    const auto [oh0, oh1] = valid_range(kh * g.dh - g.top, g.sh, g.h, g.oh);
    for (int64_t kw = 0; kw < g.kw; ++kw) {
      const auto [ow0, ow1] = valid_range(kw * g.dw - g.left, g.sw, g.w, g.ow);
      for (int64_t oh = oh0; oh < oh1; ++oh) {
        const int64_t ih = oh * g.sh + kh * g.dh - g.top;
        const int64_t iw = ow0 * g.sw + kw * g.dw - g.left;
        if (ow0 < ow1)
          add_tap_row(x + ih * g.w + iw, w[kh * g.kw + kw], g.sw, ow1 - ow0, y + oh * g.ow + ow0);
      }
    }
  }
}

template <typename F>  // f(input plane, output position, valid rows [h0,h1) step dh, columns likewise, padded
                       // count)
void for_each_window(const Window& g, const F& f) {
  for (int64_t plane = 0; plane < g.n * g.c; ++plane) {
    for (int64_t oh = 0; oh < g.oh; ++oh) {
      for (int64_t ow = 0; ow < g.ow; ++ow) f(plane, oh, ow);
    }
  }
}

template <typename F>
void for_each_tap(const Window& g, int64_t oh, int64_t ow, const F& f) {
  for (int64_t kh = 0; kh < g.kh; ++kh) {
    const int64_t ih = oh * g.sh + kh * g.dh - g.top;
    if (ih < 0 || ih >= g.h) continue;
    for (int64_t kw = 0; kw < g.kw; ++kw) {
      const int64_t iw = ow * g.sw + kw * g.dw - g.left;
      if (iw >= 0 && iw < g.w) f(ih * g.w + iw);
    }
  }
}

// Taps of one dimension inside the input and its padding (a ceil-mode window may reach beyond both).
int64_t padded_taps(int64_t o, int64_t stride, int64_t kernel, int64_t dilation, int64_t begin, int64_t size,
                    int64_t end) {
  int64_t count = 0;
  for (int64_t k = 0; k < kernel; ++k) count += o * stride + k * dilation - begin < size + end;
  return count;
}

// What a panel of output positions [first, first + columns) reads: one row for each (input channel, kernel
// row, kernel column) of a group. Rows [k0, k1) only.
void fill_panel(const Window& g, const float* x, int64_t first, int64_t columns, int64_t k0, int64_t k1,
                float* panel) {
  int64_t row[kPanel] = {}, column[kPanel] = {};
  for (int64_t c = 0; c < columns; ++c) {
    row[c] = (first + c) / g.ow * g.sh - g.top;
    column[c] = (first + c) % g.ow * g.sw - g.left;
  }
  for (int64_t k = k0; k < k1; ++k) {
    const int64_t kw = k % g.kw * g.dw, kh = k / g.kw % g.kh * g.dh;
    const float* plane = x + k / (g.kw * g.kh) * g.h * g.w;
    float* out = panel + (k - k0) * kPanel;
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t ih = row[c] + kh, iw = column[c] + kw;
      out[c] = ih >= 0 && ih < g.h && iw >= 0 && iw < g.w ? plane[ih * g.w + iw] : 0.0f;
    }
  }
}

// One group of one image: `channels` input and `outputs` output channels.
void conv_group(const Window& g, const float* x, int64_t channels, const float* w, int64_t outputs,
                float* y) {
  constexpr int64_t kDepth = 1024;  // panel rows at a time: 64 KiB
  const int64_t depth = channels * g.kh * g.kw, positions = g.oh * g.ow;
  std::vector<float> panel(static_cast<size_t>(std::min(depth, kDepth) * kPanel));
  for (int64_t first = 0; first < positions; first += kPanel) {
    const int64_t columns = std::min(kPanel, positions - first);
    for (int64_t k = 0; k < depth; k += kDepth) {
      const int64_t rows = std::min(kDepth, depth - k);
      fill_panel(g, x, first, columns, k, k + rows, panel.data());
      for (int64_t o = 0; o < outputs; o += kRows) {
        panel_product(w + o * depth + k, depth, std::min(kRows, outputs - o), panel.data(), rows,
                      y + o * positions + first, positions, columns);
      }
    }
  }
}

}  // namespace

void conv(const KernelArgs& a) {
  const Window g = window_of(a);
  const float* x = a.in(0).data<float>().data();
  const float* w = a.in(1).data<float>().data();
  float* y = a.out().data<float>().data();
  const int64_t oc = a.out().shape[1];
  const int64_t groups = a.node.attribute<int64_t>("group", 1);
  const int64_t ic_group = g.c / groups;
  const int64_t oc_group = oc / groups, positions = g.oh * g.ow;
  for (int64_t n = 0; n < g.n; ++n) {
    for (int64_t group = 0; group < groups; ++group) {
      const float* in = x + (n * g.c + group * ic_group) * g.h * g.w;
      const float* weight = w + group * oc_group * ic_group * g.kh * g.kw;
      float* out = y + (n * oc + group * oc_group) * positions;
      if (ic_group == 1) {  // depthwise: planes are nearer to memory order than panels
        for (int64_t o = 0; o < oc_group; ++o)
          conv_plane(g, in, weight + o * g.kh * g.kw, out + o * positions);
      } else {
        conv_group(g, in, ic_group, weight, oc_group, out);
      }
    }
    for (int64_t o = 0; a.has(2) && o < oc; ++o) {
      const float bias = a.in(2).data<float>()[static_cast<size_t>(o)];
      float* out = y + (n * oc + o) * positions;
      for (int64_t i = 0; i < positions; ++i) out[i] += bias;
    }
  }
}

namespace {

template <typename T>
void max_pool_of(const KernelArgs& a) {
  const Window g = window_of(a);
  const T* x = a.in(0).data<T>().data();
  T* y = a.out().data<T>().data();
  for_each_window(g, [&](int64_t plane, int64_t oh, int64_t ow) {
    T best = std::numeric_limits<T>::lowest();
    for_each_tap(g, oh, ow, [&](int64_t i) { best = std::max(best, x[plane * g.h * g.w + i]); });
    y[(plane * g.oh + oh) * g.ow + ow] = best;
  });
}

}  // namespace

void max_pool(const KernelArgs& a) {
  switch (a.out().type) {
    case ir::ElementType::int8:
      return max_pool_of<int8_t>(a);
    case ir::ElementType::uint8:
      return max_pool_of<uint8_t>(a);
    default:
      return max_pool_of<float>(a);
  }
}

void average_pool(const KernelArgs& a) {
  const Window g = window_of(a);
  const bool include_pad = a.node.attribute<int64_t>("count_include_pad", 0) != 0;
  const float* x = a.in(0).data<float>().data();
  float* y = a.out().data<float>().data();
  for_each_window(g, [&](int64_t plane, int64_t oh, int64_t ow) {
    float sum = 0;
    int64_t count = 0;
    for_each_tap(g, oh, ow, [&](int64_t i) {
      sum += x[plane * g.h * g.w + i];
      ++count;
    });
    if (include_pad) {
      count = padded_taps(oh, g.sh, g.kh, g.dh, g.top, g.h, g.bottom) *
              padded_taps(ow, g.sw, g.kw, g.dw, g.left, g.w, g.right);
    }
    y[(plane * g.oh + oh) * g.ow + ow] = count > 0 ? sum / static_cast<float>(count) : 0.0f;
  });
}

void global_average_pool(const KernelArgs& a) { average_pool(a); }  // the window defaults to the whole map
void global_max_pool(const KernelArgs& a) { max_pool(a); }

void gemm(const KernelArgs& a) {
  const bool ta = a.node.attribute<int64_t>("transA") != 0;
  const bool tb = a.node.attribute<int64_t>("transB") != 0;
  const float alpha = a.node.attribute<float>("alpha", 1.0f);
  const float beta = a.node.attribute<float>("beta", 1.0f);
  const int64_t m = a.out().shape[0], n = a.out().shape[1];
  const int64_t k = a.in(0).shape[ta ? 0 : 1];
  auto y = a.out().data<float>();
  matrix_product(a.in(0).data<float>().data(), ta ? 1 : k, ta ? m : 1, a.in(1).data<float>().data(),
                 tb ? 1 : n, tb ? k : 1, m, n, k, y.data());
  const ir::Shape c_shape = a.has(2) ? a.in(2).shape : ir::Shape{};
  const int64_t c_cols = c_shape.empty() ? 1 : c_shape.back();
  const int64_t c_rows = c_shape.size() < 2 ? 1 : c_shape[0];
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float& v = y[static_cast<size_t>(i * n + j)];
      v *= alpha;
      if (a.has(2)) {
        const int64_t at = (c_rows == 1 ? 0 : i) * c_cols + (c_cols == 1 ? 0 : j);
        v += beta * a.in(2).data<float>()[static_cast<size_t>(at)];
      }
    }
  }
}

void matmul(const KernelArgs& a) {
  const ir::Shape& sa = a.in(0).shape;
  const ir::Shape& sb = a.in(1).shape;
  const ir::Shape& sy = a.out().shape;
  const size_t rank = sy.size();
  const int64_t m = sy[rank - 2], n = sy[rank - 1], k = sa.back();
  const int64_t batches = m * n == 0 ? 0 : a.out().size() / (m * n);
  for (int64_t b = 0; b < batches; ++b) {
    matrix_product(a.in(0).data<float>().data() + batch_of(sa, sy, b) * m * k, k, 1,
                   a.in(1).data<float>().data() + batch_of(sb, sy, b) * k * n, n, 1, m, n, k,
                   a.out().data<float>().data() + b * m * n);
  }
}

void batch_normalization(const KernelArgs& a) {
  const float epsilon = a.node.attribute<float>("epsilon", 1e-5f);
  const int64_t channels = a.in(0).shape[1];
  const int64_t batch = a.in(0).shape[0];
  if (a.in(0).size() == 0) return;
  const int64_t plane = a.in(0).size() / (batch * channels);
  auto x = a.in(0).data<float>();
  auto y = a.out().data<float>();
  for (int64_t i = 0; i < batch * channels; ++i) {
    const auto c = static_cast<size_t>(i % channels);
    const float scale = a.in(1).data<float>()[c] / std::sqrt(a.in(4).data<float>()[c] + epsilon);
    const float shift = a.in(2).data<float>()[c] - a.in(3).data<float>()[c] * scale;
    for (int64_t j = i * plane; j < (i + 1) * plane; ++j) {
      y[static_cast<size_t>(j)] = x[static_cast<size_t>(j)] * scale + shift;
    }
  }
}

}  // namespace dlc::reference
