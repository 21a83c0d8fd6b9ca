// float32 operators that change the resolution.
#include <algorithm>
#include <cmath>

#include "compiler/backends/reference/kernels.h"

namespace dlc::reference {
namespace {

using Ints = std::vector<int64_t>;

// Position in the input of output o along one dimension (ONNX Resize, coordinate_transformation_mode).
double source_of(const std::string& mode, int64_t o, int64_t in, int64_t out, double scale) {
  const auto x = static_cast<double>(o);
  if (mode == "asymmetric") return x / scale;
  if (mode == "align_corners")
    return out == 1 ? 0 : x * static_cast<double>(in - 1) / static_cast<double>(out - 1);
  if (mode == "pytorch_half_pixel" && out == 1) return 0;
  return (x + 0.5) / scale - 0.5;
}

int64_t nearest(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));  // round_prefer_floor
}

struct Sample {
  int64_t low = 0, high = 0;
  float weight = 0;  // of high
};

std::vector<Sample> samples(const ir::Node& node, int64_t in, int64_t out, float scale) {
  const auto mode = node.attribute<std::string>("coordinate_transformation_mode");
  const bool linear = node.attribute<std::string>("mode") == "linear";
  std::vector<Sample> all;
  for (int64_t o = 0; o < out; ++o) {
    const double x = source_of(mode, o, in, out, static_cast<double>(scale));
    if (!linear) {
      const int64_t at = std::clamp<int64_t>(nearest(node.attribute<std::string>("nearest_mode"), x), 0, in - 1);
      all.push_back({at, at, 0});
      continue;
    }
    const double inside = std::clamp(x, 0.0, static_cast<double>(in - 1));
    const auto low = static_cast<int64_t>(inside);
    all.push_back({low, std::min(low + 1, in - 1), static_cast<float>(inside - static_cast<double>(low))});
  }
  return all;
}

}  // namespace

void resize(const KernelArgs& a) {
  const ir::Shape &x = a.in(0).shape, &y = a.out().shape;
  const auto scales = a.node.attribute<std::vector<float>>("scales");
  const auto rows = samples(a.node, x[2], y[2], scales[2]), columns = samples(a.node, x[3], y[3], scales[3]);
  const auto in = a.in(0).data<float>();
  size_t to = 0;
  const auto out = a.out().data<float>();
  for (int64_t plane = 0; plane < x[0] * x[1]; ++plane) {
    const auto at = [&](int64_t h, int64_t w) { return in[static_cast<size_t>((plane * x[2] + h) * x[3] + w)]; };
    for (const Sample& r : rows)
      for (const Sample& c : columns) {
        const float top = at(r.low, c.low) * (1 - c.weight) + at(r.low, c.high) * c.weight;
        const float bottom = at(r.high, c.low) * (1 - c.weight) + at(r.high, c.high) * c.weight;
        out[to++] = top * (1 - r.weight) + bottom * r.weight;
      }
  }
}

void depth_to_space(const KernelArgs& a) {
  const ir::Shape &x = a.in(0).shape, &y = a.out().shape;
  const auto size = a.node.attribute<int64_t>("blocksize");
  const bool depth_first = a.node.attribute<std::string>("mode") == "DCR";
  const auto in = a.in(0).data<float>();
  size_t to = 0;
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t c = 0; c < y[1]; ++c)
      for (int64_t h = 0; h < y[2]; ++h)
        for (int64_t w = 0; w < y[3]; ++w) {
          const int64_t phase = h % size * size + w % size;
          const int64_t from = depth_first ? phase * y[1] + c : c * size * size + phase;
          a.out().data<float>()[to++] =
              in[static_cast<size_t>(((n * x[1] + from) * x[2] + h / size) * x[3] + w / size)];
        }
}

void space_to_depth(const KernelArgs& a) {
  const ir::Shape &x = a.in(0).shape, &y = a.out().shape;
  const auto size = a.node.attribute<int64_t>("blocksize");
  const auto in = a.in(0).data<float>();
  size_t to = 0;
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t c = 0; c < y[1]; ++c)
      for (int64_t h = 0; h < y[2]; ++h)
        for (int64_t w = 0; w < y[3]; ++w) {
          const int64_t phase = c / x[1];
          a.out().data<float>()[to++] =
              in[static_cast<size_t>(((n * x[1] + c % x[1]) * x[2] + h * size + phase / size) * x[3] +
                                     w * size + phase % size)];
        }
}

// Every input element adds its multiple of the kernel to the output.
void conv_transpose(const KernelArgs& a) {
  const ir::Shape &x = a.in(0).shape, &w = a.in(1).shape, &y = a.out().shape;
  const Ints strides = a.node.attribute<Ints>("strides"), dilations = a.node.attribute<Ints>("dilations");
  const Ints pads = a.node.attribute<Ints>("pads");
  const int64_t group = a.node.attribute<int64_t>("group"), per_in = x[1] / group, per_out = w[1];
  const auto in = a.in(0).data<float>(), weight = a.in(1).data<float>();
  const auto out = a.out().data<float>();
  if (a.has(2)) {
    const auto bias = a.in(2).data<float>();
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = bias[i / static_cast<size_t>(y[2] * y[3]) % static_cast<size_t>(y[1])];
  }
  for (int64_t n = 0; n < x[0]; ++n)
    for (int64_t ic = 0; ic < x[1]; ++ic)
      for (int64_t oc = 0; oc < per_out; ++oc) {
        float* plane = out.data() + (n * y[1] + ic / per_in * per_out + oc) * y[2] * y[3];
        for (int64_t h = 0; h < x[2]; ++h)
          for (int64_t v = 0; v < x[3]; ++v) {
            const float value = in[static_cast<size_t>(((n * x[1] + ic) * x[2] + h) * x[3] + v)];
            for (int64_t kh = 0; kh < w[2]; ++kh) {
              const int64_t oh = h * strides[0] + kh * dilations[0] - pads[0];
              if (oh < 0 || oh >= y[2]) continue;
              for (int64_t kw = 0; kw < w[3]; ++kw) {
                const int64_t ow = v * strides[1] + kw * dilations[1] - pads[1];
                if (ow < 0 || ow >= y[3]) continue;
                plane[oh * y[3] + ow] +=
                    value * weight[static_cast<size_t>(((ic * per_out + oc) * w[2] + kh) * w[3] + kw)];
              }
            }
          }
      }
}

}  // namespace dlc::reference
