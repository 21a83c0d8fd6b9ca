// Maximum and average pooling on VECTOR. Border windows are smaller, so they are instructions of their own;
// an average's divisor is the immediate multiplier of its instruction. A window that does not fit ACT is read
// in parts; their results lie in ACC until the last one is there.
#include <algorithm>

#include "compiler/accel/lowering.h"

namespace dlc::accel {
namespace {

class PoolLowering {
 public:
  explicit PoolLowering(Lowering& l)
      : l_(l),
        hw_(l.hw),
        p_(l.plan()),
        pool_(*p_.pool),
        x_(l.tensor(p_.x)),
        y_(l.tensor(p_.y)),
        rows_(window_axis(l.net, p_, 0)),
        columns_(window_axis(l.net, p_, 1)) {}

  void run() {
    const LayerTiling& t = l_.tiling;
    const bool split = t.kernel_rows < rows_.kernel || t.kernel_columns < columns_.kernel;
    for (int64_t image = 0; image < y_.shape.n; ++image)
      for (int64_t r = 0; r < y_.shape.h; r += t.rows)
        for (int64_t c = 0; c < y_.shape.w; c += t.columns)
          for (int64_t b = 0; b < y_.blocks; b += t.blocks) {
            const Box box{image,
                          {b, std::min(b + t.blocks, y_.blocks)},
                          {r, std::min(r + t.rows, y_.shape.h)},
                          {c, std::min(c + t.columns, y_.shape.w)}};
            split ? window_in_parts(box) : tile(box);
          }
  }

 private:
  void tile(const Box& box) {
    const ActView in =
        l_.read_box(p_.x, {box.image, box.blocks, input_range(rows_, box.rows, {0, rows_.kernel}),
                           input_range(columns_, box.columns, {0, columns_.kernel})});
    const ActView out = l_.write_box(p_.y, box);
    for (const AxisClass& r : classes_by_output(rows_, box.rows))
      for (const AxisClass& c : classes_by_output(columns_, box.columns)) piece(box, in, out, r, c);
    l_.finish_box(p_.y, box, out,
                  "rows " + std::to_string(box.rows.begin) + ".." + std::to_string(box.rows.end - 1));
  }

  // One output pixel of one channel block.
  void window_in_parts(const Box& box) {
    const int64_t ag = hw_.act_groups();
    const Range rows = classes_by_output(rows_, box.rows)[0].taps,
                columns = classes_by_output(columns_, box.columns)[0].taps;
    const int64_t across = ceil_div(columns.size(), l_.tiling.kernel_columns);
    const int64_t parts = ceil_div(rows.size(), l_.tiling.kernel_rows) * across;
    const int acc =
        l_.graph.add_buffer(Memory::acc, ceil_div(parts * ag, hw_.acc_groups()), "partial results", l_.layer);
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t first_row = rows.begin + i / across * l_.tiling.kernel_rows,
                    first_column = columns.begin + i % across * l_.tiling.kernel_columns;
      const Range kh{first_row, std::min(first_row + l_.tiling.kernel_rows, rows.end)},
          kw{first_column, std::min(first_column + l_.tiling.kernel_columns, columns.end)};
      const ActView in = l_.read_box(p_.x, {box.image, box.blocks, input_range(rows_, box.rows, kh),
                                            input_range(columns_, box.columns, kw)});
      isa::Vector v;
      set_operand(v);
      v.destination = isa::VectorDestination::acc;
      v.a_address = static_cast<uint32_t>(in.at(box.blocks.begin, rows_.position(box.rows.begin, kh.begin),
                                                columns_.position(box.columns.begin, kw.begin)) *
                                          ag);
      v.d_address = static_cast<uint32_t>(i * ag);
      l_.add_vector(v, {.a = in.buffer, .d = acc}, {{ag, 1, 0, 1, 0, 0}}, taps(kh, kw, in),
                    "part of a window");
    }
    const ActView out = l_.write_box(p_.y, box);
    isa::Vector v;
    set_operand(v);
    v.a_source = isa::VectorSource::acc;
    set_result(v, rows.size() * columns.size());
    v.d_address = static_cast<uint32_t>(out.at(box.blocks.begin, box.rows.begin, box.columns.begin) * ag);
    l_.add_vector(v, {.a = acc, .d = out.buffer}, {{ag, 1, 0, 1, 0, 0}}, {{parts, ag, 0, 0, 0, 0}},
                  "window of parts");
    l_.finish_box(p_.y, box, out, "row " + std::to_string(box.rows.begin));
  }

  numerics::FixedPoint factor(int64_t valid) const {
    if (pool_.kind == ir::QPool::Kind::max) return {1, 0};
    return pool_.factor.at(static_cast<size_t>(valid));  // count_include_pad is folded into the table
  }

  void set_operand(isa::Vector& v) const {
    v.a_source = isa::VectorSource::act8;
    v.a_signed = x_.is_signed;
    v.reduce_op = pool_.kind == ir::QPool::Kind::max ? isa::ReduceOp::max : isa::ReduceOp::sum;
    if (pool_.kind == ir::QPool::Kind::average) v.a_zero = pool_.x_zero;
  }

  // valid: elements of the window that lie in the map.
  void set_result(isa::Vector& v, int64_t valid) const {
    const numerics::FixedPoint f = factor(valid);
    v.rescale = isa::Rescale::immediate;
    v.multiplier = f.multiplier;
    v.shift = static_cast<uint32_t>(f.shift);
    v.low = pool_.low;
    v.high = pool_.high;
    if (pool_.kind == ir::QPool::Kind::average) v.zero = pool_.zero;
  }

  std::vector<VectorLoop> taps(Range kh, Range kw, const ActView& in) const {
    const int64_t ag = hw_.act_groups();
    return {{kh.size(), rows_.dilation * in.row_stride * ag, 0, 0, 0, 0},
            {kw.size(), columns_.dilation * ag, 0, 0, 0, 0}};
  }

  void piece(const Box& box, const ActView& in, const ActView& out, const AxisClass& r, const AxisClass& c) {
    const int64_t ag = hw_.act_groups();
    isa::Vector v;
    set_operand(v);
    set_result(v, r.taps.size() * c.taps.size());
    v.a_address = static_cast<uint32_t>(in.at(box.blocks.begin, rows_.position(r.out.begin, r.taps.begin),
                                              columns_.position(c.out.begin, c.taps.begin)) *
                                        ag);
    v.d_address = static_cast<uint32_t>(out.at(box.blocks.begin, r.out.begin, c.out.begin) * ag);
    const std::vector<VectorLoop> outer{
        {box.blocks.size(), in.block_stride * ag, 0, out.block_stride * ag, 0, 0},
        {ag, 1, 0, 1, 0, 0},
        {r.out.size(), rows_.stride * in.row_stride * ag, 0, out.row_stride * ag, 0, 0},
        {c.out.size(), columns_.stride * ag, 0, out.column_stride * ag, 0, 0}};
    l_.add_vector(v, {.a = in.buffer, .d = out.buffer}, outer, taps(r.taps, c.taps, in),
                  "rows " + std::to_string(r.out.begin) + ".." + std::to_string(r.out.end - 1));
  }

  Lowering& l_;
  const HwConfig& hw_;
  const LayerPlan& p_;
  const ir::QPool& pool_;
  const TensorPlan &x_, &y_;
  Axis rows_, columns_;
};

}  // namespace

void lower_pool(Lowering& l) { PoolLowering(l).run(); }

}  // namespace dlc::accel
