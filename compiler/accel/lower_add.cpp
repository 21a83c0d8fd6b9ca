// Elementwise addition of two tensors with their own scales, on VECTOR.
#include <algorithm>

#include "compiler/accel/lowering.h"

namespace dlc::accel {
namespace {

void tile(Lowering& l, const Box& box) {
  const LayerPlan& p = l.plan();
  const int64_t ag = l.hw.act_groups();
  const ActView a = l.read_box(p.x, box), b = l.read_box(p.second, box), out = l.write_box(p.y, box);
  auto first = [&](const ActView& view) {
    return static_cast<uint32_t>(view.at(box.blocks.begin, box.rows.begin, box.columns.begin) * ag);
  };
  isa::Vector v;
  v.a_source = isa::VectorSource::act8;
  v.a_signed = l.tensor(p.x).is_signed;
  v.a_zero = p.add->combine.a_zero;
  set_linear_combine(v, p.add->combine, l.tensor(p.second).is_signed);
  v.a_address = first(a);
  v.b_address = first(b);
  v.d_address = first(out);
  const std::vector<VectorLoop> outer{
      {box.blocks.size(), a.block_stride * ag, b.block_stride * ag, out.block_stride * ag, 0, 0},
      {box.rows.size(), a.row_stride * ag, b.row_stride * ag, out.row_stride * ag, 0, 0},
      {box.columns.size() * ag, 1, 1, 1, 0, 0}};
  const std::string note = "rows " + std::to_string(box.rows.begin) + ".." + std::to_string(box.rows.end - 1);
  l.add_vector(v, {.a = a.buffer, .b = b.buffer, .d = out.buffer}, outer, {}, note);
  l.finish_box(p.y, box, out, note);
}

}  // namespace

void lower_add(Lowering& l) {
  const TensorPlan& y = l.tensor(l.plan().y);
  const LayerTiling& t = l.tiling;
  for (int64_t image = 0; image < y.shape.n; ++image)
    for (int64_t r = 0; r < y.shape.h; r += t.rows)
      for (int64_t c = 0; c < y.shape.w; c += t.columns)
        for (int64_t b = 0; b < y.blocks; b += t.blocks)
          tile(l, {image,
                   {b, std::min(b + t.blocks, y.blocks)},
                   {r, std::min(r + t.rows, y.shape.h)},
                   {c, std::min(c + t.columns, y.shape.w)}});
}

}  // namespace dlc::accel
