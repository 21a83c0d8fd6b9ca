// Real factors as the machine's 31-bit multiplier and shift (isa/numerics.h).
#pragma once
#include "compiler/ir/quant_ops.h"
#include "isa/numerics.h"

namespace dlc::quantize {

// factor >= 0 -> multiplier * 2^-shift, multiplier in [2^30, 2^31) where the shift (0..62) allows: relative
// error at most 2^-31. Smaller factors lose bits (below 2^-63 they become 0); factors of 2^31 and more
// saturate at 2^31 - 1. NaN and negative factors are a precondition failure.
numerics::FixedPoint to_fixed_point(double factor);

// y = a_factor * a + b_factor * b with one common shift: the larger factor gets 31 bits, so the error is at
// most 2^-31 of the larger factor per step of either operand. |a|, |b| < 2^9: the sum stays below 2^41.
// Sets multipliers and shift of `combine`; the rest is left alone.
void set_linear_factors(ir::LinearCombine& combine, double a_factor, double b_factor);

}  // namespace dlc::quantize
