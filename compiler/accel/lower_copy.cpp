// Bytes moved on VECTOR: parts of concatenations that cannot be written in place, phases, strided slices. The
// destination's gaps come from its Placement, the source's from the layer's window (stride, negative pad).
#include "compiler/accel/lowering.h"

namespace dlc::accel {

void lower_copy(Lowering& l) {
  const LayerPlan& p = l.plan();
  const Axis rows = window_axis(l.net, p, 0), columns = window_axis(l.net, p, 1);
  const int64_t ag = l.hw.act_groups();
  for_boxes(l, [&](const Box& box) {
    const Box from{box.image, box.blocks, input_range(rows, box.rows, {0, 1}),
                   input_range(columns, box.columns, {0, 1})};
    const ActView in = l.read_box(p.x, from), out = l.write_box(p.y, box);
    isa::Vector v;
    v.a_source = isa::VectorSource::act8;
    v.a_signed = l.tensor(p.x).is_signed;
    v.a_address =
        static_cast<uint32_t>(in.at(from.blocks.begin, from.rows.begin, from.columns.begin) * ag);
    v.d_address = static_cast<uint32_t>(out.at(box.blocks.begin, box.rows.begin, box.columns.begin) * ag);
    const std::vector<VectorLoop> outer{
        {box.blocks.size(), in.block_stride * ag, 0, out.block_stride * ag, 0, 0},
        {box.rows.size(), rows.stride * in.row_stride * ag, 0, out.row_stride * ag, 0, 0},
        {box.columns.size(), columns.stride * in.column_stride * ag, 0, out.column_stride * ag, 0, 0},
        {ag, 1, 0, 1, 0, 0}};
    const std::string note =
        "copy rows " + std::to_string(box.rows.begin) + ".." + std::to_string(box.rows.end - 1);
    l.add_vector(v, {.a = in.buffer, .d = out.buffer}, outer, {}, note);
    l.finish_box(p.y, box, out, note);
  });
}

}  // namespace dlc::accel
