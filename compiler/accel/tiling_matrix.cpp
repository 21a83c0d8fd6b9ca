// Tile sizes for MATRIX: every combination of output rectangle, channel chunk, reduction split and loop
// order.
#include "compiler/accel/tiling_search.h"
#include "isa/timing.h"

namespace dlc::accel {
namespace {

constexpr int64_t kMaxTileCount = 4095;  // bits of a MATRIX tile loop

class MatrixSearch {
 public:
  // vector_blocks: channel blocks that VECTOR takes over, or with divide_rows a part of every tile's rows;
  // vector_words: PAR words of one of its channel blocks.
  MatrixSearch(const Problem& p, int64_t vector_blocks, bool divide_rows, int64_t vector_words)
      : p_(p), vector_blocks_(vector_blocks), divide_rows_(divide_rows), vector_words_(vector_words) {
    first_block_ = vector_blocks * p.hw.rows / p.hw.cols;
    out_blocks_ = ceil_div(p.y.c, p.hw.cols) - first_block_;
    unit_ = std::max(1, p.hw.rows / p.hw.cols);  // a chunk covers whole ACT words
    const int64_t pixels = p.y.h * p.y.w;
    valid_ = static_cast<double>(count_valid(p.rows, {0, p.y.h}) * count_valid(p.columns, {0, p.y.w})) /
             static_cast<double>(pixels * p.rows.kernel * p.columns.kernel);
    grouped_ = p.layer.conv->groups > 1 || !p.layer.band.empty();
  }

  std::optional<LayerTiling> run() {
    for (int64_t columns : sizes(&TilingRequest::columns, halvings(p_.y.w, 1), p_.y.w)) {
      if (search_columns(columns)) return best_;
    }
    return std::nullopt;
  }

 private:
  // The user's size where there is one (and it lies within 1 .. most), else all to be tried.
  std::vector<int64_t> sizes(std::optional<int64_t> TilingRequest::*wish, std::vector<int64_t> otherwise, int64_t most) const {
    const std::optional<int64_t>& value = p_.request.*wish;
    if (value && (*value < 1 || *value > most)) return {};
    return TilingRequest::sizes(value, std::move(otherwise));
  }

  bool search_columns(int64_t columns) {
    const int64_t chunk_in = grouped_ ? max_group_blocks() : p_.in_blocks;
    for (int64_t kernel_columns : sizes(&TilingRequest::kernel_columns, halvings(p_.columns.kernel, 1), p_.columns.kernel))
      for (int64_t kernel_rows : sizes(&TilingRequest::kernel_rows, halvings(p_.rows.kernel, 1), p_.rows.kernel)) {
        if (kernel_columns < p_.columns.kernel && kernel_rows > 1) continue;
        for (int64_t in_blocks : sizes(&TilingRequest::in_blocks, halvings(chunk_in, 1), chunk_in)) {
          if (kernel_rows < p_.rows.kernel && in_blocks > 1) continue;
          for (int64_t blocks : block_sizes(in_blocks, kernel_rows, kernel_columns))
            for (int64_t rows : sizes(&TilingRequest::rows, tile_sizes(p_.y.h), p_.y.h))
              for (int64_t vector_rows : row_shares(rows)) {
                LayerTiling t;
                t.rows = rows;
                t.vector_rows = vector_rows;
                t.columns = columns;
                t.blocks = blocks;
                t.in_blocks = in_blocks;
                t.kernel_rows = kernel_rows;
                t.kernel_columns = kernel_columns;
                try_orders(t);
              }
          // A finer split of the reduction costs nothing but tiles: worth a look where loads and compute would
          // take turns (a fully connected layer whose weights of one output block fill WGT).
          if (best_ && best_->runs_ahead) return true;
        }
      }
    return best_.has_value();
  }

  int64_t max_group_blocks() const {
    int64_t most = 1;
    for (int64_t b = first_block_; b < first_block_ + out_blocks_; b += unit_) {
      const BlockRange r =
          input_blocks(p_.net, p_.layer, p_.hw, b, std::min(b + unit_, first_block_ + out_blocks_));
      most = std::max(most, r.end - r.begin);
    }
    return most;
  }

  // A split reduction keeps one accumulator rectangle: one unit of output blocks.
  std::vector<int64_t> block_sizes(int64_t in_blocks, int64_t kernel_rows, int64_t kernel_columns) const {
    const bool split = grouped_ || in_blocks < p_.in_blocks || kernel_rows < p_.rows.kernel ||
                       kernel_columns < p_.columns.kernel;
    if (split) return p_.request.blocks.value_or(unit_) == unit_ ? std::vector<int64_t>{unit_} : std::vector<int64_t>{};
    const int64_t all = ceil_div(out_blocks_, unit_) * unit_;
    if (p_.request.blocks && *p_.request.blocks % unit_ != 0) return {};
    return sizes(&TilingRequest::blocks, halvings(all, unit_), all);
  }

  // Rows of a tile that VECTOR takes over: about as many as keep both engines equally long.
  std::vector<int64_t> row_shares(int64_t rows) const {
    if (!divide_rows_) return p_.request.vector_rows.value_or(0) == 0 ? std::vector<int64_t>{0} : std::vector<int64_t>{};
    if (p_.request.vector_rows)
      return *p_.request.vector_rows >= 1 && *p_.request.vector_rows < rows ? std::vector<int64_t>{*p_.request.vector_rows}
                                                                            : std::vector<int64_t>{};
    const double taps = static_cast<double>(p_.rows.kernel * p_.columns.kernel) * valid_;
    const auto share = static_cast<int64_t>(static_cast<double>(rows) * (taps - 1) / (2 * taps - 1));
    std::vector<int64_t> shares;
    for (int64_t s = std::max<int64_t>(1, share); s <= share + 1 && s < rows; ++s) shares.push_back(s);
    return shares;
  }

  void try_orders(const LayerTiling& tiles) {
    const bool divided = vector_blocks_ > 0 || divide_rows_;
    for (const bool channels_outer : {false, true})
      for (const bool whole_input : {true, false}) {
        if (!TilingRequest::allows(p_.request.channels_outer, channels_outer) ||
            !TilingRequest::allows(p_.request.whole_input, whole_input))
          continue;
        LayerTiling t = tiles;
        t.channels_outer = channels_outer;
        t.whole_input = whole_input;
        t.vector_blocks = vector_blocks_;
        if (!whole_input && (!p_.x_strips || (t.in_blocks == p_.in_blocks && !grouped_))) continue;
        if (divided && whole_input && p_.x_strips) continue;  // each engine's part loads what it reads
        evaluate(t);
      }
  }

  void evaluate(LayerTiling& t) {
    const HwConfig& hw = p_.hw;
    const int64_t T = hw.tile_words();
    const int64_t chunks = ceil_div(out_blocks_, t.blocks);
    const int64_t strips = p_.y.n * ceil_div(p_.y.h, t.rows) * ceil_div(p_.y.w, t.columns);
    const int64_t chunk_in = grouped_ ? max_group_blocks() : p_.in_blocks;
    const int64_t reductions = ceil_div(chunk_in, t.in_blocks) * ceil_div(p_.rows.kernel, t.kernel_rows) *
                               ceil_div(p_.columns.kernel, t.kernel_columns);
    Cost cost;
    t.runs_ahead = true;
    const int64_t matrix_rows = t.rows - t.vector_rows;
    if (!p_.fits(Memory::acc, t.blocks * matrix_rows * t.columns, p_.space.acc)) return;
    if (!weights(t, T, strips, chunks, chunk_in, reductions, cost) || !parameters(t, chunks, strips, cost)) return;
    if (!activations(t, chunks, strips, reductions, cost)) return;

    const double steps =
        std::max<double>(static_cast<double>(matrix_rows * t.columns) * valid_, static_cast<double>(T));
    cost.matrix +=
        static_cast<double>(strips * out_blocks_ * chunk_in * p_.rows.kernel * p_.columns.kernel) * steps;
    // A group that VECTOR does itself costs a step a tap, a drained one a step.
    const double windows = static_cast<double>(p_.rows.kernel * p_.columns.kernel) * valid_;
    const double own = divide_rows_
                           ? static_cast<double>(t.vector_rows * p_.out_blocks) / static_cast<double>(t.rows)
                           : static_cast<double>(vector_blocks_);
    cost.vector = static_cast<double>(p_.y.n * p_.y.h * p_.y.w * hw.act_groups()) *
                  (static_cast<double>(p_.out_blocks) - own + own * windows);
    // The next layer waits for the last drain, unless it can begin with the first rows.
    const double drain = static_cast<double>(t.blocks * matrix_rows * t.columns * hw.acc_groups());
    const bool rows_early = !t.channels_outer && t.rows < p_.y.h;
    cost.fill += rows_early ? 0.3 * drain : drain + static_cast<double>(timing::matrix_path(hw)) + kHandover;
    if (p_.x_strips || p_.y_stored) cost.fill += 2 * hw.memory_latency;
    cost.fill += kTileTax * static_cast<double>(strips * chunks * reductions);
    t.cycles = cost.total();
    if (!best_ || t.cycles < best_->cycles) best_ = t;
  }

  bool weights(LayerTiling& t, int64_t T, int64_t strips, int64_t chunks, int64_t chunk_in, int64_t reductions, Cost& cost) {
    const int64_t taps = p_.rows.kernel * p_.columns.kernel;
    const int64_t total = out_blocks_ * chunk_in * taps * T;
    const int64_t chunk = t.blocks * t.in_blocks * t.kernel_rows * t.kernel_columns * T;
    const double word = p_.hw.word_bytes(Memory::wgt);
    t.keep_weights = !t.channels_outer && total <= p_.space.wgt;
    if (!t.keep_weights && !p_.fits(Memory::wgt, chunk, p_.space.wgt)) return false;
    const bool once = t.keep_weights || strips == 1 || (t.channels_outer && reductions == 1);
    const double traffic = p_.dram_cycles(static_cast<double>(once ? total : total * strips) * word);
    cost.dram += traffic;
    cost.fill += p_.dram_cycles(static_cast<double>(chunk) * word) * 0.5;
    if (t.keep_weights) {
      cost.fill +=
          0.5 * p_.dram_cycles(static_cast<double>(std::max<int64_t>(0, total - p_.space.wgt / 2)) * word);
    } else if (2 * chunk > p_.space.wgt) {
      cost.fill += traffic;
      t.runs_ahead = strips * chunks * reductions == 1;
    } else if (3 * chunk > p_.space.wgt) {
      cost.fill += 0.25 * traffic;
    }
    return true;
  }

  bool parameters(LayerTiling& t, int64_t chunks, int64_t strips, Cost& cost) {
    const int64_t chunk = t.blocks * p_.hw.acc_groups();
    t.keep_parameters = !t.channels_outer && chunk * chunks <= p_.space.par / 2;
    if (vector_blocks_ > 0 || divide_rows_) {  // parameters of both engines' parts
      t.keep_parameters = false;
      const int64_t portion = ceil_div(divide_rows_ ? p_.out_blocks : vector_blocks_, chunks) * vector_words_;
      if (2 * (chunk + portion) > p_.space.par) return false;
      const double loads = static_cast<double>(t.channels_outer || chunks == 1 ? chunks : chunks * strips);
      cost.dram += p_.dram_cycles(loads * static_cast<double>(portion * p_.hw.word_bytes(Memory::par)));
    }
    return p_.fits(Memory::par, chunk,
                   t.keep_parameters ? p_.space.par : std::max<int64_t>(1, p_.space.par / 2));
  }

  bool activations(LayerTiling& t, int64_t chunks, int64_t strips, int64_t reductions, Cost& cost) {
    const HwConfig& hw = p_.hw;
    const int64_t in_blocks = t.whole_input ? p_.in_blocks : t.in_blocks;
    const int64_t in = in_blocks * p_.strip_rows(t.rows) * p_.strip_columns(t.columns);
    const int64_t out = ceil_div(t.blocks * hw.cols, hw.rows) * t.rows * t.columns;
    int64_t needed = (p_.x_strips ? in : 0) + (p_.y_strips ? out : 0) + (p_.second_strips ? out : 0);
    if (divide_rows_) needed += needed;
    if (vector_blocks_ > 0) needed += needed * ceil_div(vector_blocks_, chunks) / in_blocks;
    if (!p_.fits(Memory::act, needed, p_.space.act)) return false;
    const double bytes = hw.rows;
    double strip_bytes = 0;
    if (p_.x_strips) {
      const double reload = t.channels_outer || !t.whole_input ? static_cast<double>(chunks) : 1;
      const double once = static_cast<double>(in_blocks * (t.whole_input ? 1 : reductions) * strips) *
                          static_cast<double>(p_.strip_rows(t.rows) * p_.strip_columns(t.columns)) * bytes;
      cost.dram += p_.dram_cycles(once * reload);
      strip_bytes += static_cast<double>(in) * bytes;
    }
    const double map = static_cast<double>(p_.y.n * p_.out_blocks * p_.y.h * p_.y.w) * bytes;
    if (p_.second_strips) cost.dram += p_.dram_cycles(map);
    if (p_.y_stored) {
      cost.dram += p_.dram_cycles(map);
      strip_bytes += static_cast<double>(out) * bytes;
    }
    cost.fill += p_.dram_cycles(strip_bytes);
    if (2 * needed > p_.space.act) {  // single buffers: loads and compute take turns
      cost.fill += cost.dram;
      t.runs_ahead = t.runs_ahead && strips * chunks * reductions == 1;
    }
    return true;
  }

  const Problem& p_;
  int64_t vector_blocks_;
  bool divide_rows_;
  int64_t vector_words_;
  int64_t first_block_ = 0, out_blocks_ = 0, unit_ = 1;  // MATRIX's blocks
  double valid_ = 1;
  bool grouped_ = false;
  std::optional<LayerTiling> best_;
};

}  // namespace

std::optional<LayerTiling> search_matrix(const Problem& problem, int64_t vector_blocks, bool divide_rows,
                                         int64_t vector_words) {
  return MatrixSearch(problem, vector_blocks, divide_rows, vector_words).run();
}

}  // namespace dlc::accel
