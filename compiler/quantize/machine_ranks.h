// Element-wise integer operators on tensors of any rank.
#pragma once
#include "compiler/quantize/lowering.h"

namespace dlc::quantize {

// qlut, or qadd and qbinary of equal shapes (T, of rank 0, 1, 3 or 5 and more)  ->  reshape to (N,C), qlut, reshape back. N: all dimensions but the last.
// The machine's tensors are NCHW or N,C; an element-wise function does not care which. After all lowerings.
void fold_ranks(const LoweringContext& context);

}  // namespace dlc::quantize
