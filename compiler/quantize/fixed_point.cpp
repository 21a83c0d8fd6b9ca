#include "compiler/quantize/fixed_point.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace dlc::quantize {
namespace {

constexpr double kLargest = 2147483647.0;  // 2^31 - 1

uint32_t scaled(double factor, int shift) {
  return static_cast<uint32_t>(std::min(std::nearbyint(std::ldexp(factor, shift)), kLargest));
}

// The shift that brings factor * 2^shift into [2^30, 2^31), rounding included, within 0..62.
int shift_for(double factor) {
  int exponent = 0;
  const double mantissa = std::frexp(factor, &exponent);  // factor = mantissa * 2^exponent, in [0.5, 1)
  int shift = 31 - exponent;
  if (std::nearbyint(std::ldexp(mantissa, 31)) > kLargest) --shift;  // rounds up to 2^31
  return std::clamp(shift, 0, numerics::kMaxShift);
}

}  // namespace

numerics::FixedPoint to_fixed_point(double factor) {
  assert(factor >= 0);
  if (factor == 0) return {0, 0};
  if (std::isinf(factor)) return {static_cast<uint32_t>(kLargest), 0};
  const int shift = shift_for(factor);
  return {scaled(factor, shift), shift};
}

void set_linear_factors(ir::LinearCombine& combine, double a_factor, double b_factor) {
  assert(a_factor >= 0 && b_factor >= 0);
  const double larger = std::max(a_factor, b_factor);
  combine.shift = larger == 0 || std::isinf(larger) ? 0 : shift_for(larger);
  combine.a_multiplier = scaled(a_factor, combine.shift);
  combine.b_multiplier = scaled(b_factor, combine.shift);
}

}  // namespace dlc::quantize
