#include "compiler/accel/windows.h"

#include <algorithm>

#include "compiler/accel/network.h"

namespace dlc::accel {

std::vector<AxisClass> classes_by_tap(const Axis& axis, Range out, Range taps) {
  std::vector<AxisClass> classes;
  for (int64_t k = taps.begin; k < taps.end; ++k) {
    // 0 <= out * stride + k * dilation - pad < in
    const int64_t offset = k * axis.dilation - axis.pad;
    const Range covered{std::max(out.begin, ceil_div(std::max<int64_t>(-offset, 0), axis.stride)),
                        std::min(out.end, floor_div(axis.in - 1 - offset, axis.stride) + 1)};
    if (covered.begin >= covered.end) continue;
    if (!classes.empty() && classes.back().out == covered && classes.back().taps.end == k) {
      classes.back().taps.end = k + 1;
    } else {
      classes.push_back({covered, {k, k + 1}});
    }
  }
  return classes;
}

std::vector<AxisClass> classes_by_output(const Axis& axis, Range out) {
  std::vector<AxisClass> classes;
  for (int64_t o = out.begin; o < out.end; ++o) {
    const int64_t first = axis.position(o, 0);
    Range taps{first < 0 ? ceil_div(-first, axis.dilation) : 0,
               std::min(axis.kernel, floor_div(axis.in - 1 - first, axis.dilation) + 1)};
    if (taps.begin >= taps.end) taps = {0, 0};
    if (!classes.empty() && classes.back().taps == taps) {
      classes.back().out.end = o + 1;
    } else {
      classes.push_back({{o, o + 1}, taps});
    }
  }
  return classes;
}

Range input_range(const Axis& axis, Range out, Range taps) {
  int64_t low = axis.in, high = -1;
  for (int64_t k = taps.begin; k < taps.end; ++k) {
    const auto c = classes_by_tap(axis, out, {k, k + 1});
    if (c.empty()) continue;
    low = std::min(low, axis.position(c[0].out.begin, k));
    high = std::max(high, axis.position(c[0].out.end - 1, k));
  }
  if (low > high) return {0, 1};
  return {low, high + 1};
}

int64_t count_valid(const Axis& axis, Range out) {
  int64_t count = 0;
  for (const AxisClass& c : classes_by_output(axis, out)) count += c.out.size() * c.taps.size();
  return count;
}

}  // namespace dlc::accel
