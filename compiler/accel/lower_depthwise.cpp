// Depthwise convolution on VECTOR: a x tap, summed over the window, rescaled. Outputs at the border have
// smaller windows; each combination of valid taps is its own instruction with its own taps in PAR, because a
// tap's index is its position in the reduction.
//
// MATRIX can do the same with diagonal tiles at about the same speed (a step a tap and channel block). So the
// tiling divides the channel blocks between the two engines, and they work side by side.
//
// PAR words of a channel group: rescale parameters, then the taps of each variant of the layer.
#include <algorithm>

#include "compiler/accel/lowering.h"

namespace dlc::accel {
namespace {

struct Variant {
  Range rows, columns;  // valid taps
  int64_t word = 0;     // of its taps, from the group's first PAR word
};

class DepthwiseLowering {
 public:
  explicit DepthwiseLowering(Lowering& l)
      : l_(l),
        hw_(l.hw),
        p_(l.plan()),
        conv_(*p_.conv),
        x_(l.tensor(p_.x)),
        y_(l.tensor(p_.y)),
        rows_(window_axis(l.net, p_, 0)),
        columns_(window_axis(l.net, p_, 1)) {}

  void prepare() {
    find_variants();
    pack_parameters();
  }

  // All of the layer.
  void run() {
    for (int64_t image = 0; image < y_.shape.n; ++image)
      for (int64_t b = 0; b < y_.blocks; b += l_.tiling.blocks) {
        const Range blocks{b, std::min(b + l_.tiling.blocks, y_.blocks)};
        const int par = load_parameters(blocks);
        for (int64_t r = 0; r < y_.shape.h; r += l_.tiling.rows)
          for (int64_t c = 0; c < y_.shape.w; c += l_.tiling.columns)
            tile({image,
                  blocks,
                  {r, std::min(r + l_.tiling.rows, y_.shape.h)},
                  {c, std::min(c + l_.tiling.columns, y_.shape.w)}},
                 par);
      }
  }

  // Part of these channel blocks: portion `index` of `count`, for one rectangle of outputs.
  void run_portion(int64_t index, int64_t count, int64_t image, Range rows, Range columns) {
    const int64_t all = l_.tiling.vector_rows > 0 ? y_.blocks : l_.tiling.vector_blocks;
    const Range blocks{index * all / count, (index + 1) * all / count};
    if (blocks.size() == 0 || rows.size() == 0) return;
    if (blocks != portion_) portion_par_ = load_parameters(blocks);
    portion_ = blocks;
    tile({image, blocks, rows, columns}, portion_par_);
  }

 private:
  void find_variants() {
    words_ = 1;
    for (const AxisClass& r : classes_by_output(rows_, {0, y_.shape.h}))
      for (const AxisClass& c : classes_by_output(columns_, {0, y_.shape.w})) {
        if (find(r.taps, c.taps)) continue;
        variants_.push_back({r.taps, c.taps, words_});
        words_ += std::max<int64_t>(1, ceil_div(r.taps.size() * c.taps.size(), 16));
      }
  }

  const Variant* find(Range rows, Range columns) const {
    for (const Variant& v : variants_)
      if (v.rows == rows && v.columns == columns) return &v;
    return nullptr;
  }

  void pack_parameters() {
    const int64_t word = hw_.word_bytes(Memory::par), groups = y_.blocks * hw_.act_groups();
    std::vector<uint8_t> bytes(static_cast<size_t>(groups * words_ * word), 0);
    for (int64_t g = 0; g < groups; ++g) {
      uint8_t* group = bytes.data() + g * words_ * word;
      write_parameters(conv_.rescale, y_.shape.c, g, hw_.lanes, group);
      for (const Variant& v : variants_) pack_taps(v, g, group + v.word * word);
    }
    address_ = l_.dram.add_constant(p_.name + ".taps", std::move(bytes));
  }

  void pack_taps(const Variant& v, int64_t group, uint8_t* out) const {
    const int64_t word = hw_.word_bytes(Memory::par);
    // A window that lies in the padding altogether reads one element and multiplies it by zero.
    const int64_t count = std::max<int64_t>(1, v.rows.size() * v.columns.size());
    for (int64_t k = 0; k < count; ++k)
      for (int l = 0; l < hw_.lanes; ++l) {
        const int64_t channel = group * hw_.lanes + l;
        uint8_t tap = static_cast<uint8_t>(conv_.w_zero);
        if (channel < y_.shape.c && v.rows.size() * v.columns.size() > 0) {
          const int64_t kh = v.rows.begin + k / v.columns.size(), kw = v.columns.begin + k % v.columns.size();
          tap = p_.weights[(channel * rows_.kernel + kh) * columns_.kernel + kw];
        }
        out[k / 16 * word + l * 16 + k % 16] = tap;
      }
  }

  int load_parameters(Range blocks) {
    const int64_t first = blocks.begin * hw_.act_groups() * words_,
                  words = blocks.size() * hw_.act_groups() * words_;
    const int buffer = l_.graph.add_buffer(Memory::par, words, "taps and parameters", l_.layer);
    const int64_t word = hw_.word_bytes(Memory::par);
    l_.load(buffer, Memory::par, 0, address_ + static_cast<uint64_t>(first * word), words * word,
            "load taps");
    return buffer;
  }

  void tile(const Box& box, int par) {
    const ActView in =
        l_.read_box(p_.x, {box.image, box.blocks, input_range(rows_, box.rows, {0, rows_.kernel}),
                           input_range(columns_, box.columns, {0, columns_.kernel})});
    ActView second;
    if (p_.second >= 0) second = l_.read_box(p_.second, box);
    const ActView out = l_.write_box(p_.y, box);
    for (const AxisClass& r : classes_by_output(rows_, box.rows))
      for (const AxisClass& c : classes_by_output(columns_, box.columns))
        piece(box, in, second, out, r, c, par);
    l_.finish_box(p_.y, box, out,
                  "rows " + std::to_string(box.rows.begin) + ".." + std::to_string(box.rows.end - 1));
  }

  void piece(const Box& box, const ActView& in, const ActView& second, const ActView& out, const AxisClass& r,
             const AxisClass& c, int par) {
    const int64_t ag = hw_.act_groups();
    const bool empty = r.taps.size() * c.taps.size() == 0;
    const int64_t row = empty ? input_range(rows_, box.rows, {0, rows_.kernel}).begin
                              : rows_.position(r.out.begin, r.taps.begin);
    const int64_t column = empty ? input_range(columns_, box.columns, {0, columns_.kernel}).begin
                                 : columns_.position(c.out.begin, c.taps.begin);
    isa::Vector v;
    v.a_source = isa::VectorSource::act8;
    v.a_signed = x_.is_signed;
    v.a_zero = conv_.x_zero;
    v.premultiply = isa::Premultiply::tap;
    v.tap_signed = p_.weights_signed;
    v.tap_zero = conv_.w_zero;
    v.reduce_op = isa::ReduceOp::sum;
    v.rescale = isa::Rescale::parameter;
    v.zero = conv_.rescale.zero;
    v.low = conv_.rescale.low;
    v.high = conv_.rescale.high;
    v.a_address = static_cast<uint32_t>(in.at(box.blocks.begin, row, column) * ag);
    v.d_address = static_cast<uint32_t>(out.at(box.blocks.begin, r.out.begin, c.out.begin) * ag);
    v.tap_address = static_cast<uint32_t>(find(r.taps, c.taps)->word);
    Refs refs{.a = in.buffer, .d = out.buffer, .par = par, .tap = par};
    if (p_.second >= 0) {
      set_linear_combine(v, *conv_.residual, l_.tensor(p_.second).is_signed);
      v.b_address = static_cast<uint32_t>(second.at(box.blocks.begin, r.out.begin, c.out.begin) * ag);
      refs.b = second.buffer;
    }
    const int64_t step_r = empty ? 0 : rows_.stride * in.row_stride * ag,
                  step_c = empty ? 0 : columns_.stride * ag;
    std::vector<VectorLoop> outer{{box.blocks.size(), in.block_stride * ag, second.block_stride * ag,
                                   out.block_stride * ag, ag * words_, ag * words_},
                                  {ag, 1, 1, 1, words_, words_},
                                  {r.out.size(), step_r, second.row_stride * ag, out.row_stride * ag, 0, 0},
                                  {c.out.size(), step_c, ag, out.column_stride * ag, 0, 0}};
    std::vector<VectorLoop> reduce;
    if (!empty) {
      reduce.push_back({r.taps.size(), rows_.dilation * in.row_stride * ag, 0, 0, 0, 0});
      reduce.push_back({c.taps.size(), columns_.dilation * ag, 0, 0, 0, 0});
    }
    l_.add_vector(v, refs, outer, reduce,
                  "rows " + std::to_string(r.out.begin) + ".." + std::to_string(r.out.end - 1));
  }

  Lowering& l_;
  const HwConfig& hw_;
  const LayerPlan& p_;
  const ir::QConv& conv_;
  const TensorPlan &x_, &y_;
  Axis rows_, columns_;
  std::vector<Variant> variants_;
  int64_t words_ = 1;  // PAR words of a channel group
  uint64_t address_ = 0;
  Range portion_;  // whose parameters are in PAR
  int portion_par_ = -1;
};

}  // namespace

void lower_depthwise(Lowering& l) {
  if (l.tiling.on_matrix && l.tiling.vector_blocks + l.tiling.vector_rows == 0) return lower_conv(l, {});
  DepthwiseLowering depthwise(l);
  depthwise.prepare();
  if (!l.tiling.on_matrix) return depthwise.run();
  lower_conv(l, [&](int64_t index, int64_t count, int64_t image, Range rows, Range columns) {
    depthwise.run_portion(index, count, image, rows, columns);
  });
}

}  // namespace dlc::accel
