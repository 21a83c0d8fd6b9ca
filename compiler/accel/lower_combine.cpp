// Two tensors combined element by element on VECTOR: sums with their own scales, products, maxima, minima.
// Dimensions of 1 of either operand are repeated through zero strides (images, rows, columns; not channels).
#include <algorithm>

#include "compiler/accel/lowering.h"

namespace dlc::accel {
namespace {

void set_binary(isa::Vector& v, const ir::QBinary& q, bool b_signed) {
  using Kind = ir::QBinary::Kind;
  v.combine = q.kind == Kind::multiply  ? isa::Combine::multiply
              : q.kind == Kind::maximum ? isa::Combine::maximum
                                        : isa::Combine::minimum;
  v.b_source = isa::VectorSource::act8;
  v.b_signed = b_signed;
  v.b_zero = q.b_zero;
  v.a_multiplier = q.multiplier;
  v.out_shift = static_cast<uint32_t>(q.shift);
  v.out_zero = q.zero;
  v.out_low = q.low;
  v.out_high = q.high;
}

// The part of an operand that a box of the result reads.
Box operand_box(const Nchw& operand, const Nchw& result, const Box& box) {
  Box own = box;
  if (operand.n == 1 && result.n > 1) own.image = 0;
  if (operand.h == 1) own.rows = {0, 1};
  if (operand.w == 1) own.columns = {0, 1};
  return own;
}

struct Operand {
  ActView view;
  uint32_t first;
  int64_t block, row, column;  // strides in groups
};

Operand operand(Lowering& l, int tensor, const Box& result_box) {
  const int64_t ag = l.hw.act_groups();
  const Nchw shape = l.tensor(tensor).shape;
  const Box box = operand_box(shape, l.tensor(l.plan().y).shape, result_box);
  const ActView view = l.read_box(tensor, box);
  const int64_t at = view.at(box.blocks.begin, box.rows.begin, box.columns.begin) * ag;
  return {view, static_cast<uint32_t>(at), view.block_stride * ag, shape.h == 1 ? 0 : view.row_stride * ag,
          shape.w == 1 ? 0 : ag};
}

void tile(Lowering& l, const Box& box) {
  const LayerPlan& p = l.plan();
  const int64_t ag = l.hw.act_groups();
  const Operand a = operand(l, p.x, box), b = operand(l, p.second, box);
  const ActView out = l.write_box(p.y, box);
  isa::Vector v;
  v.a_source = isa::VectorSource::act8;
  v.a_signed = l.tensor(p.x).is_signed;
  v.a_zero = p.add ? p.add->combine.a_zero : p.binary->a_zero;
  if (p.add)
    set_linear_combine(v, p.add->combine, l.tensor(p.second).is_signed);
  else
    set_binary(v, *p.binary, l.tensor(p.second).is_signed);
  v.a_address = a.first;
  v.b_address = b.first;
  v.d_address = static_cast<uint32_t>(out.at(box.blocks.begin, box.rows.begin, box.columns.begin) * ag);
  const std::vector<VectorLoop> outer{
      {box.blocks.size(), a.block, b.block, out.block_stride * ag, 0, 0},
      {box.rows.size(), a.row, b.row, out.row_stride * ag, 0, 0},
      {box.columns.size(), a.column, b.column, out.column_stride * ag, 0, 0},
      {ag, 1, 1, 1, 0, 0}};
  const std::string note = "rows " + std::to_string(box.rows.begin) + ".." + std::to_string(box.rows.end - 1);
  l.add_vector(v, {.a = a.view.buffer, .b = b.view.buffer, .d = out.buffer}, outer, {}, note);
  l.finish_box(p.y, box, out, note);
}

}  // namespace

void for_boxes(Lowering& l, const std::function<void(const Box&)>& visit) {
  const TensorPlan& y = l.tensor(l.plan().y);
  const LayerTiling& t = l.tiling;
  for (int64_t image = 0; image < y.shape.n; ++image)
    for (int64_t r = 0; r < y.shape.h; r += t.rows)
      for (int64_t c = 0; c < y.shape.w; c += t.columns)
        for (int64_t b = 0; b < y.blocks; b += t.blocks)
          visit({image,
                 {b, std::min(b + t.blocks, y.blocks)},
                 {r, std::min(r + t.rows, y.shape.h)},
                 {c, std::min(c + t.columns, y.shape.w)}});
}

void lower_combine(Lowering& l) {
  for_boxes(l, [&](const Box& box) { tile(l, box); });
}

}  // namespace dlc::accel
