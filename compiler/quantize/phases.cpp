#include "compiler/quantize/phases.h"

#include <algorithm>

namespace dlc::quantize {
namespace {

// Kernel size, pads of one axis of a convolution; see set_window.
struct AxisWindow {
  int64_t kernel, stride, dilation, begin, end;
};

AxisWindow window_of(const AxisPhase& p, int64_t in) {
  // One tap, in front of the map at every position.
  if (p.taps.empty()) return {1, 1, 1, p.count, -in};
  const auto kernel = static_cast<int64_t>(p.taps.size());
  const int64_t end = (p.count - 1) * p.stride + (kernel - 1) * p.dilation + 1 + p.start - in;
  return {kernel, p.stride, p.dilation, -p.start, end};
}

}  // namespace

void set_window(ir::QConv& conv, const AxisPhase& rows, const AxisPhase& columns, int64_t in_h,
                int64_t in_w) {
  const AxisWindow h = window_of(rows, in_h), w = window_of(columns, in_w);
  conv.kernel = {h.kernel, w.kernel};
  conv.stride = {h.stride, w.stride};
  conv.dilation = {h.dilation, w.dilation};
  conv.pad = {h.begin, w.begin, h.end, w.end};
}

void place_phase(ir::QPlace& place, const AxisPhase& rows, const AxisPhase& columns, int64_t row_period,
                 int64_t column_period) {
  place.offset.insert(place.offset.end(), {0, 0, rows.first, columns.first});
  place.step.insert(place.step.end(), {1, 1, row_period, column_period});
}

std::vector<AxisPhase> transposed_phases(int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                                         int64_t pad) {
  std::vector<AxisPhase> phases;
  for (int64_t r = 0; r < std::min(stride, out); ++r) {
    AxisPhase p;
    p.first = r;
    p.count = (out - r + stride - 1) / stride;
    // i = q + (r + pad - k * dilation) / stride for output q * stride + r, where that is a whole number; the
    // largest k reads first.
    for (int64_t k = kernel - 1; k >= 0; --k) {
      const int64_t distance = r + pad - k * dilation;
      if (distance % stride != 0) continue;
      const int64_t position = distance / stride;
      if (p.taps.empty()) p.start = position;
      if (p.taps.size() == 1) p.dilation = position - p.start;
      p.taps.push_back(k);
    }
    phases.push_back(std::move(p));
  }
  return phases;
}

}  // namespace dlc::quantize
