// Padding without padded data: which output positions a tap covers, and which taps an output position has,
// along one axis. Two axes combine as products.
#pragma once
#include <cstdint>
#include <vector>

namespace dlc::accel {

struct Range {
  int64_t begin = 0, end = 0;  // half open
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// One axis of a sliding window: input position = out * stride + tap * dilation - pad.
struct Axis {
  int64_t in = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  int64_t position(int64_t out, int64_t tap) const { return out * stride + tap * dilation - pad; }
};

// Output positions `out` that share the taps `taps`.
struct AxisClass {
  Range out, taps;
};

// For MATRIX: neighbouring taps of `taps` with the same covered part of `out`, in tap order. Taps that cover
// nothing are left out; so the result may be empty.
std::vector<AxisClass> classes_by_tap(const Axis& axis, Range out, Range taps);

// For VECTOR: neighbouring outputs with the same valid taps, in output order. `taps` may be empty.
std::vector<AxisClass> classes_by_output(const Axis& axis, Range out);

// Input positions that outputs `out` read with `taps`, clipped to the input; at least one position, so that a
// strip that lies in the padding still has an address.
Range input_range(const Axis& axis, Range out, Range taps);

// Sum over out x taps of valid positions.
int64_t count_valid(const Axis& axis, Range out);

}  // namespace dlc::accel
