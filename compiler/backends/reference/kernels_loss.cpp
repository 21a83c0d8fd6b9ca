// Losses and normalisations that run on the host only. Computed in double.
#include <algorithm>
#include <cmath>

#include "compiler/backends/reference/kernels.h"
#include "compiler/backends/reference/numbers.h"
#include "compiler/backends/reference/strides.h"

namespace dlc::reference {
namespace {

using ir::Shape;
using Reals = std::vector<double>;

// -log_probability[target] * weight of each element, reduced; both losses end so.
Reals negative_log_likelihood(const KernelArgs& a, const Reals& log_probabilities) {
  const Lines l(a.in(0).shape, 1);
  const std::vector<int64_t> targets = integers(a.in(1));
  const Reals weights = a.has(2) ? ir::to_doubles(a.in(2)) : Reals{};
  const bool ignores = a.node.attributes.contains("ignore_index");
  const int64_t ignored = a.node.attribute<int64_t>("ignore_index");
  const auto reduction = a.node.attribute<std::string>("reduction");
  Reals losses(targets.size());
  double sum = 0, total = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (ignores && targets[i] == ignored) continue;
    const int64_t target = checked_index(a, targets[i], l.length);
    const double w = weights.empty() ? 1 : weights[static_cast<size_t>(target)];
    losses[i] = -w * log_probabilities[l.at(static_cast<int64_t>(i), target)];
    sum += losses[i];
    total += w;
  }
  if (reduction == "none") return losses;
  return {reduction == "sum" ? sum : sum / total};
}

double power(double x, int64_t p) { return std::pow(std::abs(x), static_cast<double>(p)); }

}  // namespace

void negative_log_likelihood_loss(const KernelArgs& a) {
  ir::from_doubles(a.out(), negative_log_likelihood(a, ir::to_doubles(a.in(0))));
}

void softmax_cross_entropy_loss(const KernelArgs& a) {
  const Lines l(a.in(0).shape, 1);
  Reals x = ir::to_doubles(a.in(0));
  for (int64_t line = 0; line < l.lines(); ++line) {
    double highest = x[l.at(line, 0)], sum = 0;
    for (int64_t i = 1; i < l.length; ++i) highest = std::max(highest, x[l.at(line, i)]);
    for (int64_t i = 0; i < l.length; ++i) sum += std::exp(x[l.at(line, i)] - highest);
    for (int64_t i = 0; i < l.length; ++i) x[l.at(line, i)] -= highest + std::log(sum);
  }
  ir::from_doubles(a.out(), negative_log_likelihood(a, x));
  if (a.outputs.size() > 1) ir::from_doubles(a.outputs[1], x);
}

void rms_normalization(const KernelArgs& a) {
  const Shape& s = a.in(0).shape;
  const Shape normalised(s.begin() + a.node.attribute<int64_t>("axis"), s.end());
  const auto length = static_cast<size_t>(ir::element_count(normalised));
  const std::vector<int64_t> strides[] = {broadcast_strides(a.in(1).shape, normalised)};
  const Reals scale = ir::to_doubles(a.in(1));
  Reals x = ir::to_doubles(a.in(0));
  const double epsilon = static_cast<double>(a.node.attribute<float>("epsilon"));
  for (size_t row = 0; length > 0 && row < x.size(); row += length) {
    double squares = 0;
    for (size_t i = 0; i < length; ++i) squares += x[row + i] * x[row + i];
    const double factor = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
    for_each_broadcast(normalised, strides, [&](size_t i, const size_t* at) { x[row + i] *= factor * scale[at[0]]; });
  }
  ir::from_doubles(a.out(), x);
}

// Each group of channels of an image normalised, then scaled and shifted per channel (before opset 21: per group).
void group_normalization(const KernelArgs& a) {
  const Shape& s = a.in(0).shape;
  const int64_t groups = a.node.attribute<int64_t>("num_groups"), channels = s[1];
  const Lines l(s, 1);
  Reals x = ir::to_doubles(a.in(0));
  const Reals scale = ir::to_doubles(a.in(1)), bias = ir::to_doubles(a.in(2));
  const int64_t length = channels / groups * l.inner, parameters = a.in(1).size();
  const double epsilon = static_cast<double>(a.node.attribute<float>("epsilon"));
  for (int64_t g = 0; g < s[0] * groups; ++g) {
    double* row = x.data() + g * length;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < length; ++i) mean += row[i] / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t channel = g % groups * (channels / groups) + i / l.inner;
      const auto p = static_cast<size_t>(parameters == channels ? channel : g % groups);
      row[i] = (row[i] - mean) / std::sqrt(variance + epsilon) * scale[p] + bias[p];
    }
  }
  ir::from_doubles(a.out(), x);
}

void lp_normalization(const KernelArgs& a) {
  const Lines l(a.in(0).shape, static_cast<size_t>(a.node.attribute<int64_t>("axis")));
  const int64_t p = a.node.attribute<int64_t>("p");
  Reals x = ir::to_doubles(a.in(0));
  for (int64_t line = 0; line < l.lines(); ++line) {
    double sum = 0;
    for (int64_t i = 0; i < l.length; ++i) sum += power(x[l.at(line, i)], p);
    const double norm = std::pow(sum, 1 / static_cast<double>(p));
    for (int64_t i = 0; i < l.length; ++i) x[l.at(line, i)] = norm == 0 ? 0 : x[l.at(line, i)] / norm;
  }
  ir::from_doubles(a.out(), x);
}

void mean_variance_normalization(const KernelArgs& a) {
  const Shape& s = a.in(0).shape;
  const auto axes = a.node.attribute<std::vector<int64_t>>("axes");
  std::vector<int64_t> reduced(s.size());
  int64_t stride = 1;
  for (size_t d = s.size(); d-- > 0;) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end()) continue;
    reduced[d] = stride;
    stride *= s[d];
  }
  const std::vector<int64_t> strides[] = {reduced};
  Reals x = ir::to_doubles(a.in(0)), mean(static_cast<size_t>(stride)), variance(mean.size());
  const double n = static_cast<double>(x.size()) / static_cast<double>(stride);
  for_each_broadcast(s, strides, [&](size_t i, const size_t* at) { mean[at[0]] += x[i] / n; });
  for_each_broadcast(s, strides, [&](size_t i, const size_t* at) { variance[at[0]] += (x[i] - mean[at[0]]) * (x[i] - mean[at[0]]) / n; });
  constexpr double kEpsilon = 1e-9;  // of the operator's function body
  for_each_broadcast(s, strides, [&](size_t i, const size_t* at) { x[i] = (x[i] - mean[at[0]]) / (std::sqrt(variance[at[0]]) + kEpsilon); });
  ir::from_doubles(a.out(), x);
}

// Windows in any number of dimensions.
namespace {

struct Windows {
  std::vector<int64_t> kernel, stride, dilation, pads;
  Shape in, out;  // spatial
  explicit Windows(const KernelArgs& a)
      : kernel(a.node.attribute<std::vector<int64_t>>("kernel_shape")), stride(a.node.attribute<std::vector<int64_t>>("strides")),
        dilation(a.node.attribute<std::vector<int64_t>>("dilations")), pads(a.node.attribute<std::vector<int64_t>>("pads")),
        in(a.in(0).shape.begin() + 2, a.in(0).shape.end()), out(a.out().shape.begin() + 2, a.out().shape.end()) {}

  // Calls f(tap, offset in the input's map, or -1 in the padding, whether within input and explicit pads).
  template <typename F>
  void visit(int64_t position, const F& f) const {
    const int64_t taps = ir::element_count(kernel);
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t rest_tap = tap, rest = position, offset = 0, step = 1;
      bool inside = true, padded = true;
      for (size_t d = in.size(); d-- > 0;) {
        const int64_t at = rest % out[d] * stride[d] + rest_tap % kernel[d] * dilation[d] - pads[d];
        rest /= out[d];
        rest_tap /= kernel[d];
        inside = inside && at >= 0 && at < in[d];
        padded = padded && at >= -pads[d] && at < in[d] + pads[d + in.size()];
        offset += at * step;
        step *= in[d];
      }
      f(tap, inside ? offset : -1, padded);
    }
  }
};

}  // namespace

void max_pool_nd(const KernelArgs& a) {
  const Windows w(a);
  const Lines from(a.in(0).shape, 1);
  const Reals x = ir::to_doubles(a.in(0));
  const int64_t maps = a.out().shape[0] * a.out().shape[1], places = ir::element_count(w.out);
  const bool column_major = a.node.attribute<int64_t>("storage_order") != 0;
  Reals y(static_cast<size_t>(a.out().size()));
  for (int64_t i = 0; i < maps * places; ++i) {
    double best = -HUGE_VAL;
    int64_t index = -1;
    w.visit(i % places, [&](int64_t, int64_t offset, bool) {
      if (offset < 0) return;
      const double v = x[static_cast<size_t>(i / places * from.inner + offset)];
      if (index >= 0 && !(v > best)) return;
      best = v;
      index = offset;
    });
    y[static_cast<size_t>(i)] = best;
    if (a.outputs.size() < 2) continue;
    if (column_major) {  // offsets count the first spatial dimension fastest
      int64_t rest = index, transposed = 0;
      Shape place(w.in.size());
      for (size_t d = w.in.size(); d-- > 0;) {
        place[d] = rest % w.in[d];
        rest /= w.in[d];
      }
      for (size_t d = w.in.size(); d-- > 0;) transposed = transposed * w.in[d] + place[d];
      index = transposed;
    }
    a.outputs[1].data<int64_t>()[static_cast<size_t>(i)] = i / places * from.inner + index;
  }
  ir::from_doubles(a.out(), y);
}

// Average, and the p-norm of windows.
void average_pool_nd(const KernelArgs& a) {
  const Windows w(a);
  const Lines from(a.in(0).shape, 1);
  const Reals x = ir::to_doubles(a.in(0));
  const int64_t maps = a.out().shape[0] * a.out().shape[1], places = ir::element_count(w.out);
  const bool with_pads = a.node.attribute<int64_t>("count_include_pad") != 0, norm = a.node.is("LpPool");
  const int64_t p = a.node.attribute<int64_t>("p", 2);
  Reals y(static_cast<size_t>(a.out().size()));
  for (int64_t i = 0; i < maps * places; ++i) {
    double sum = 0, count = 0;
    w.visit(i % places, [&](int64_t, int64_t offset, bool padded) {
      if (offset >= 0) {
        const double v = x[static_cast<size_t>(i / places * from.inner + offset)];
        sum += norm ? power(v, p) : v;
      }
      if (offset >= 0 || (with_pads && padded)) ++count;
    });
    y[static_cast<size_t>(i)] = norm ? std::pow(sum, 1 / static_cast<double>(p)) : sum / count;
  }
  ir::from_doubles(a.out(), y);
}

void conv_nd(const KernelArgs& a) {
  const Windows w(a);
  const Shape &s = a.in(0).shape, &weight = a.in(1).shape;
  const Reals x = ir::to_doubles(a.in(0)), f = ir::to_doubles(a.in(1));
  const Reals bias = a.has(2) ? ir::to_doubles(a.in(2)) : Reals(static_cast<size_t>(weight[0]));
  const int64_t groups = a.node.attribute<int64_t>("group"), per_group = weight[0] / groups, depth = weight[1];
  const int64_t map = ir::element_count(w.in), places = ir::element_count(w.out), taps = ir::element_count(w.kernel);
  Reals y(static_cast<size_t>(a.out().size()));
  for (size_t i = 0; i < y.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t channel = at / places % weight[0], image = at / places / weight[0];
    double sum = bias[static_cast<size_t>(channel)];
    w.visit(at % places, [&](int64_t tap, int64_t offset, bool) {
      if (offset < 0) return;
      for (int64_t c = 0; c < depth; ++c)
        sum += x[static_cast<size_t>((image * s[1] + channel / per_group * depth + c) * map + offset)] *
               f[static_cast<size_t>((channel * depth + c) * taps + tap)];
    });
    y[i] = sum;
  }
  ir::from_doubles(a.out(), y);
}

}  // namespace dlc::reference
