// Convolution (dense or grouped, fully connected) on MATRIX, drained by VECTOR.
//
// Weights lie in DRAM as [output block][input block][kernel row][kernel column][rows x cols]. A weight chunk
// (tiling.h) is loaded into WGT; a tile of outputs accumulates over its reduction chunks; one MATRIX
// instruction covers all taps of a chunk that reach the same output rectangle, so padding is neither stored
// nor computed.
#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/accel/lowering.h"

namespace dlc::accel {
namespace {

// Part of the reduction: input blocks and taps.
struct Reduction {
  Range in_blocks, kernel_rows, kernel_columns;
};

// A chunk's weights in WGT.
struct Weights {
  int buffer = -1;
  int64_t block_stride = 0, in_stride = 0, row_stride = 0;  // words
};

class ConvLowering {
 public:
  ConvLowering(Lowering& l, const Beside& beside)
      : l_(l),
        beside_(beside),
        hw_(l.hw),
        t_(l.tiling),
        p_(l.plan()),
        conv_(*p_.conv),
        x_(l.tensor(p_.x)),
        y_(l.tensor(p_.y)),
        rows_(window_axis(l.net, p_, 0)),
        columns_(window_axis(l.net, p_, 1)),
        out_blocks_(ceil_div(y_.shape.c, hw_.cols)),
        first_block_(t_.vector_blocks * hw_.rows / hw_.cols) {}

  void run() {
    pack_weights();
    const int64_t groups = std::max(out_blocks_ * hw_.acc_groups(), y_.blocks * hw_.act_groups());
    parameter_address_ = l_.dram.add_constant(p_.name + ".parameters",
                                              parameter_words(conv_.rescale, y_.shape.c, groups, hw_.lanes));
    const std::vector<Range> chunks = split({first_block_, out_blocks_}, t_.blocks);
    if (t_.channels_outer) {
      for (const Range& chunk : chunks) {
        forget(!t_.keep_weights, !t_.keep_parameters);
        for_strips([&](int64_t image, Range rows, Range columns) { tile(image, rows, columns, chunk); });
      }
    } else {
      for_strips([&](int64_t image, Range rows, Range columns) {
        for (const Range& chunk : chunks) {
          forget(!t_.keep_weights, !t_.keep_parameters);
          tile(image, rows, columns, chunk);
        }
      });
    }
  }

 private:
  static std::vector<Range> split(Range all, int64_t step) {
    std::vector<Range> parts;
    for (int64_t i = all.begin; i < all.end; i += step) parts.push_back({i, std::min(i + step, all.end)});
    return parts;
  }

  template <typename Body>
  void for_strips(Body&& body) {
    for (int64_t image = 0; image < y_.shape.n; ++image)
      for (const Range& rows : split({0, y_.shape.h}, t_.rows))
        for (const Range& columns : split({0, y_.shape.w}, t_.columns)) body(image, rows, columns);
  }

  void forget(bool weights, bool parameters) {
    if (weights) weights_.clear();
    if (parameters) parameters_.clear();
  }

  Range input_range_of(Range chunk) const {
    const BlockRange r = input_blocks(l_.net, p_, hw_, chunk.begin, chunk.end);
    return {r.begin, r.end};
  }

  uint8_t weight(int64_t oc, int64_t ic, int64_t kh, int64_t kw) const {
    const int64_t in_per = p_.in_channels / conv_.groups, out_per = y_.shape.c / conv_.groups;
    if (oc >= y_.shape.c || ic >= p_.in_channels || ic / in_per != oc / out_per)
      return static_cast<uint8_t>(conv_.w_zero);  // contributes nothing
    return p_.weights[((oc * in_per + ic % in_per) * rows_.kernel + kh) * columns_.kernel + kw];
  }

  void pack_weights() {
    std::vector<uint8_t> bytes;
    for (const Range& chunk : split({first_block_, out_blocks_}, t_.blocks)) {
      const Range in = input_range_of(chunk);
      for (int64_t b = chunk.begin; b < chunk.end; ++b) {
        block_offset_.push_back(static_cast<int64_t>(bytes.size()));
        for (int64_t i = in.begin; i < in.end; ++i)
          for (int64_t kh = 0; kh < rows_.kernel; ++kh)
            for (int64_t kw = 0; kw < columns_.kernel; ++kw)
              for (int64_t r = 0; r < hw_.rows; ++r)
                for (int64_t c = 0; c < hw_.cols; ++c)
                  bytes.push_back(weight(b * hw_.cols + c, i * hw_.rows + r, kh, kw));
      }
    }
    weight_address_ = l_.dram.add_constant(p_.name + ".weights", std::move(bytes));
  }

  std::vector<Reduction> reductions(Range in) const {
    std::vector<Reduction> parts;
    for (const Range& i : split(in, t_.in_blocks))
      for (const Range& kh : split({0, rows_.kernel}, t_.kernel_rows))
        for (const Range& kw : split({0, columns_.kernel}, t_.kernel_columns)) parts.push_back({i, kh, kw});
    return parts;
  }

  // The chunk's weights, loaded where they are not there yet.
  Weights weights(Range chunk, const Reduction& part, Range in) {
    const auto key =
        std::tuple(chunk.begin, part.in_blocks.begin, part.kernel_rows.begin, part.kernel_columns.begin);
    if (auto it = weights_.find(key); it != weights_.end()) return it->second;
    const int64_t tile = hw_.tile_words(), tile_bytes = int64_t{hw_.rows} * hw_.cols;
    Weights w;
    w.row_stride = part.kernel_columns.size() * tile;
    w.in_stride = part.kernel_rows.size() * w.row_stride;
    w.block_stride = part.in_blocks.size() * w.in_stride;
    w.buffer = l_.graph.add_buffer(Memory::wgt, chunk.size() * w.block_stride, "weights", l_.layer);
    const int64_t kernel_bytes = rows_.kernel * columns_.kernel * tile_bytes;
    const int64_t first = block_offset_[chunk.begin - first_block_] +
                          (part.in_blocks.begin - in.begin) * kernel_bytes +
                          (part.kernel_rows.begin * columns_.kernel + part.kernel_columns.begin) * tile_bytes;
    const bool whole_columns = part.kernel_columns.size() == columns_.kernel;
    const bool whole_kernel = whole_columns && part.kernel_rows.size() == rows_.kernel;
    const bool contiguous = whole_kernel && (chunk.size() == 1 || part.in_blocks == in);
    isa::Load load;
    load.memory = Memory::wgt;
    load.dram_address = weight_address_ + static_cast<uint64_t>(first);
    const int64_t word_bytes = hw_.word_bytes(Memory::wgt);
    if (contiguous) {
      load.row_bytes = static_cast<uint32_t>(chunk.size() * w.block_stride * word_bytes);
    } else {
      const int64_t runs = whole_kernel ? 1 : part.kernel_rows.size();
      load.row_bytes = static_cast<uint32_t>((whole_kernel ? w.in_stride : w.row_stride) * word_bytes);
      load.count = {static_cast<uint32_t>(chunk.size()), static_cast<uint32_t>(part.in_blocks.size()),
                    static_cast<uint32_t>(runs)};
      load.stride = {static_cast<int32_t>(w.block_stride), static_cast<int32_t>(w.in_stride),
                     static_cast<int32_t>(w.row_stride)};
      load.dram_stride = {static_cast<int32_t>(in.size() * kernel_bytes), static_cast<int32_t>(kernel_bytes),
                          static_cast<int32_t>(columns_.kernel * tile_bytes)};
    }
    l_.graph.add_task(load, {.a = w.buffer}, l_.layer, "load weights of output blocks " + text(chunk));
    return weights_[key] = w;
  }

  int parameters(Range chunk) {
    if (auto it = parameters_.find(chunk.begin); it != parameters_.end()) return it->second;
    const Range groups = drain_groups(chunk);
    const int buffer = l_.graph.add_buffer(Memory::par, groups.size(), "rescale parameters", l_.layer);
    const int64_t word = hw_.word_bytes(Memory::par);
    l_.load(buffer, Memory::par, 0, parameter_address_ + static_cast<uint64_t>(groups.begin * word),
            groups.size() * word, "load parameters of output blocks " + text(chunk));
    return parameters_[chunk.begin] = buffer;
  }

  // Channel groups that the chunk's drain writes. The last chunk also fills up its last ACT word (groups
  // without accumulators exist where rows > cols), and leaves out groups beyond it (where cols > rows).
  Range drain_groups(Range chunk) const {
    const int64_t end = y_.blocks * hw_.act_groups();
    return {chunk.begin * hw_.acc_groups(), chunk.end == out_blocks_ ? end : chunk.end * hw_.acc_groups()};
  }

  static std::string text(Range r) { return std::to_string(r.begin) + ".." + std::to_string(r.end - 1); }

  // whole_rows: with those that VECTOR does itself.
  void tile(int64_t image, Range whole_rows, Range columns, Range chunk) {
    const Range rows{whole_rows.begin, std::min(whole_rows.end, whole_rows.begin + t_.rows - t_.vector_rows)};
    const Range beside_rows = t_.vector_rows > 0 ? Range{rows.end, whole_rows.end} : rows;
    const Range in = input_range_of(chunk);
    const int64_t pixels = rows.size() * columns.size();
    const int acc = l_.graph.add_buffer(Memory::acc, chunk.size() * pixels, "accumulators", l_.layer);
    const int par = parameters(chunk);
    const std::vector<Reduction> parts = reductions(in);
    if (t_.channels_outer && parts.size() > 1) weights_.clear();  // they would not all fit at once
    bool first = true;
    for (const Reduction& part : parts) {
      const Weights w = weights(chunk, part, in);
      const ActView view = input(image, rows, columns, part);
      accumulate(rows, columns, chunk, part, w, view, acc, first);
      first = false;
    }
    if (beside_)
      beside_((chunk.begin - first_block_) / t_.blocks, ceil_div(out_blocks_ - first_block_, t_.blocks),
              image, beside_rows, columns);
    drain(image, rows, columns, chunk, acc, par);
  }

  // The strip that the part reads: of all channels, kept while the strip stays the same, or of the part's.
  ActView input(int64_t image, Range rows, Range columns, const Reduction& part) {
    const Range blocks = t_.whole_input || x_.resident ? Range{0, x_.blocks} : part.in_blocks;
    const auto key = std::tuple(image, rows.begin, columns.begin);
    if (t_.whole_input && key == strip_key_) return strip_;
    strip_ = l_.read_box(p_.x, {image, blocks, input_range(rows_, rows, {0, rows_.kernel}),
                                input_range(columns_, columns, {0, columns_.kernel})});
    strip_key_ = key;
    return strip_;
  }

  isa::Matrix matrix() const {
    isa::Matrix m;
    m.act_signed = x_.is_signed;
    m.wgt_signed = p_.weights_signed;
    m.act_zero = conv_.x_zero;
    m.wgt_zero = conv_.w_zero;
    return m;
  }

  void accumulate(Range rows, Range columns, Range chunk, const Reduction& part, const Weights& w,
                  const ActView& view, int acc, bool first) {
    const Range whole[2] = {rows, columns};
    struct Piece {
      AxisClass row, column;
    };
    std::vector<Piece> pieces;
    for (const AxisClass& r : classes_by_tap(rows_, rows, part.kernel_rows))
      for (const AxisClass& c : classes_by_tap(columns_, columns, part.kernel_columns))
        pieces.push_back({r, c});
    const auto full = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& p) {
      return p.row.out == whole[0] && p.column.out == whole[1];
    });
    const Refs refs{.a = view.buffer, .b = w.buffer, .d = acc};
    if (first && full == pieces.end()) {
      clear(rows, columns, chunk, part, w, view, refs);
    } else if (first) {
      std::rotate(pieces.begin(), full, full + 1);  // it overwrites what the others add to
    }
    bool overwrite = first && full != pieces.end();
    for (const Piece& p : pieces) {
      isa::Matrix m = matrix();
      m.accumulate = overwrite ? 0 : 1;
      overwrite = false;
      set_tiles(m, chunk, part, w, view, p.row.taps, p.column.taps, p.row.out.begin, p.column.out.begin);
      m.acc_address = static_cast<uint32_t>((p.row.out.begin - rows.begin) * columns.size() +
                                            p.column.out.begin - columns.begin);
      m.acc_tile_stride = static_cast<int32_t>(rows.size() * columns.size());
      m.step_count = {1, static_cast<uint32_t>(p.row.out.size()), static_cast<uint32_t>(p.column.out.size())};
      m.act_step_stride = {0, static_cast<int32_t>(rows_.stride * view.row_stride),
                           static_cast<int32_t>(columns_.stride)};
      m.acc_step_stride = {0, static_cast<int32_t>(columns.size()), 1};
      l_.graph.add_task(m, refs, l_.layer,
                        "rows " + text(rows) + " output blocks " + text(chunk) + " taps " + text(p.row.taps) +
                            " x " + text(p.column.taps));
    }
  }

  void set_tiles(isa::Matrix& m, Range chunk, const Reduction& part, const Weights& w, const ActView& view,
                 Range kh, Range kw, int64_t out_row, int64_t out_column) const {
    m.act_address = static_cast<uint32_t>(view.at(part.in_blocks.begin, rows_.position(out_row, kh.begin),
                                                  columns_.position(out_column, kw.begin)));
    m.wgt_address = static_cast<uint32_t>((kh.begin - part.kernel_rows.begin) * w.row_stride +
                                          (kw.begin - part.kernel_columns.begin) * hw_.tile_words());
    m.tile_count = {static_cast<uint32_t>(chunk.size()), static_cast<uint32_t>(part.in_blocks.size()),
                    static_cast<uint32_t>(kh.size()), static_cast<uint32_t>(kw.size())};
    m.act_tile_stride = {0, static_cast<int32_t>(view.block_stride),
                         static_cast<int32_t>(rows_.dilation * view.row_stride),
                         static_cast<int32_t>(columns_.dilation)};
    m.wgt_tile_stride = {static_cast<int32_t>(w.block_stride), static_cast<int32_t>(w.in_stride),
                         static_cast<int32_t>(w.row_stride), hw_.tile_words()};
  }

  // No tap reaches every output: zeros first, at the price of one tile's steps.
  void clear(Range rows, Range columns, Range chunk, const Reduction& part, const Weights&,
             const ActView& view, const Refs& refs) {
    isa::Matrix m = matrix();
    m.zero_activation = 1;
    const Range in_rows = input_range(rows_, rows, {0, rows_.kernel}),
                in_columns = input_range(columns_, columns, {0, columns_.kernel});
    m.act_address = static_cast<uint32_t>(view.at(part.in_blocks.begin, in_rows.begin, in_columns.begin));
    m.acc_tile_stride = static_cast<int32_t>(rows.size() * columns.size());
    m.tile_count = {static_cast<uint32_t>(chunk.size()), 1, 1, 1};
    m.step_count = {1, static_cast<uint32_t>(rows.size()), static_cast<uint32_t>(columns.size())};
    m.acc_step_stride = {0, static_cast<int32_t>(columns.size()), 1};
    l_.graph.add_task(m, refs, l_.layer, "clear rows " + text(rows) + " output blocks " + text(chunk));
  }

  void drain(int64_t image, Range rows, Range columns, Range chunk, int acc, int par) {
    const Range groups = drain_groups(chunk);
    const int64_t ag = hw_.act_groups(), cg = hw_.acc_groups();
    const Box box{image, {groups.begin / ag, ceil_div(groups.end, ag)}, rows, columns};
    ActView residual;
    if (p_.second >= 0) residual = l_.read_box(p_.second, box);
    const ActView out = l_.write_box(p_.y, box);
    isa::Vector v;
    v.a_source = isa::VectorSource::acc;
    v.rescale = isa::Rescale::parameter;
    v.zero = conv_.rescale.zero;
    v.low = conv_.rescale.low;
    v.high = conv_.rescale.high;
    Refs refs{.a = acc, .d = out.buffer, .par = par};
    if (p_.second >= 0) {
      set_linear_combine(v, *conv_.residual, l_.tensor(p_.second).is_signed);
      refs.b = residual.buffer;
    }
    const int64_t pixels = rows.size() * columns.size();
    const GroupLayout in_acc{cg, pixels * cg}, in_out{ag, out.block_stride * ag},
        in_residual{ag, residual.block_stride * ag};
    auto emit = [&](int64_t g, std::vector<VectorLoop> loops, bool accumulated) {
      isa::Vector i = v;
      i.a_address = accumulated ? static_cast<uint32_t>(in_acc.at(g - groups.begin)) : 0;
      i.par_address = static_cast<uint32_t>(g - groups.begin);
      i.d_address = group_address(out, g, box);
      if (p_.second >= 0) i.b_address = group_address(residual, g, box);
      if (!accumulated)
        for (VectorLoop& loop : loops) loop.a = 0;  // any written accumulators do: the multiplier is 0
      loops.push_back(
          {rows.size(), columns.size() * cg, residual.row_stride * ag, out.row_stride * ag, 0, 0});
      loops.push_back({columns.size(), cg, ag, out.column_stride * ag, 0, 0});
      l_.add_vector(i, refs, loops, {}, "drain rows " + text(rows) + " output blocks " + text(chunk));
    };
    const int64_t computed = std::min(groups.end, chunk.end * cg);
    for_group_nests(groups.begin, computed, in_acc, in_residual, in_out,
                    [&](int64_t g, std::vector<VectorLoop> loops) { emit(g, std::move(loops), true); });
    for_group_nests(computed, groups.end, in_acc, in_residual, in_out,
                    [&](int64_t g, std::vector<VectorLoop> loops) { emit(g, std::move(loops), false); });
    l_.finish_box(p_.y, box, out, "rows " + text(rows) + " output blocks " + text(chunk));
  }

  uint32_t group_address(const ActView& view, int64_t group, const Box& box) const {
    const int64_t ag = hw_.act_groups();
    return static_cast<uint32_t>(view.at(group / ag, box.rows.begin, box.columns.begin) * ag + group % ag);
  }

  Lowering& l_;
  const Beside& beside_;
  const HwConfig& hw_;
  const LayerTiling& t_;
  const LayerPlan& p_;
  const ir::QConv& conv_;
  const TensorPlan &x_, &y_;
  Axis rows_, columns_;
  int64_t out_blocks_;   // of `cols` channels
  int64_t first_block_;  // those before it are not MATRIX's
  uint64_t weight_address_ = 0, parameter_address_ = 0;
  std::vector<int64_t> block_offset_;  // bytes, per output block
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, Weights> weights_;
  std::map<int64_t, int> parameters_;
  ActView strip_;
  std::tuple<int64_t, int64_t, int64_t> strip_key_{-1, -1, -1};
};

}  // namespace

void set_linear_combine(isa::Vector& v, const ir::LinearCombine& c, bool b_signed) {
  v.combine = isa::Combine::linear;
  v.b_source = isa::VectorSource::act8;
  v.b_signed = b_signed;
  v.b_negate = c.b_negate;
  v.b_zero = c.b_zero;
  v.a_multiplier = c.a_multiplier;
  v.b_multiplier = c.b_multiplier;
  v.out_shift = static_cast<uint32_t>(c.shift);
  v.out_zero = c.zero;
  v.out_low = c.low;
  v.out_high = c.high;
}

void lower_conv(Lowering& l, const Beside& beside) { ConvLowering(l, beside).run(); }

}  // namespace dlc::accel
