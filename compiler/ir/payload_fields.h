// The fields of the integer operators, listed once for printer and parser. `v(key, field)` is called for
// every field in order; Op may be const.
#pragma once
#include "compiler/ir/quant_ops.h"

namespace dlc::ir {

template <typename V, typename Op>
void visit_combine(V& v, Op& l) {
  v("a_zero", l.a_zero);
  v("b_zero", l.b_zero);
  v("a_multiplier", l.a_multiplier);
  v("b_multiplier", l.b_multiplier);
  v("b_negate", l.b_negate);
  v("combine_shift", l.shift);
  v("combine_zero", l.zero);
  v("combine_low", l.low);
  v("combine_high", l.high);
}

template <typename V, typename Op>
void visit_window(V& v, Op& q) {
  v("kernel", q.kernel);
  v("stride", q.stride);
  v("dilation", q.dilation);
  v("pad", q.pad);
}

// A residual is announced by has_residual, which the parser sets before the combine fields are read.
template <typename V, typename Op>
void visit_conv(V& v, Op& q, bool& has_residual) {
  visit_window(v, q);
  v("groups", q.groups);
  v("x_zero", q.x_zero);
  v("w_zero", q.w_zero);
  v("bias", q.rescale.bias);
  v("multiplier", q.rescale.multiplier);
  v("shift", q.rescale.shift);
  v("zero", q.rescale.zero);
  v("low", q.rescale.low);
  v("high", q.rescale.high);
  v("residual", has_residual);
}

template <typename V, typename Op>
void visit_pool(V& v, Op& q) {
  v("kind", q.kind);
  visit_window(v, q);
  v("count_include_pad", q.count_include_pad);
  v("x_zero", q.x_zero);
  v("factor", q.factor);
  v("zero", q.zero);
  v("low", q.low);
  v("high", q.high);
}

template <typename V, typename Op>
void visit_binary(V& v, Op& q) {
  v("kind", q.kind);
  v("a_zero", q.a_zero);
  v("b_zero", q.b_zero);
  v("multiplier", q.multiplier);
  v("shift", q.shift);
  v("zero", q.zero);
  v("low", q.low);
  v("high", q.high);
}

template <typename V, typename Op>
void visit_place(V& v, Op& q) {
  v("offset", q.offset);
  v("step", q.step);
}

template <typename V, typename Op>
void visit_take(V& v, Op& q) {
  v("offset", q.offset);
  v("step", q.step);
  v("channels", q.channels);
}

template <typename V, typename Op>
void visit_lut(V& v, Op& q) {
  v("table", q.table);
}

}  // namespace dlc::ir
