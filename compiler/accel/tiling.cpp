#include "compiler/accel/tiling.h"

#include <algorithm>
#include <vector>

#include "compiler/accel/windows.h"

namespace dlc::accel {
namespace {

// ceil(n / k) for k = 1, 2, ...: every tile size that differs in the number of tiles, largest first.
std::vector<int64_t> tile_sizes(int64_t n) {
  std::vector<int64_t> sizes;
  for (int64_t k = 1; k <= n; ++k) {
    const int64_t s = ceil_div(n, k);
    if (sizes.empty() || s < sizes.back()) sizes.push_back(s);
    if (s == 1) break;
  }
  return sizes;
}

// n, then halves of it (rounded up to a multiple of `unit`) down to one unit.
std::vector<int64_t> halvings(int64_t n, int64_t unit) {
  std::vector<int64_t> sizes{n};
  while (sizes.back() > unit) sizes.push_back(ceil_div(ceil_div(sizes.back(), 2), unit) * unit);
  return sizes;
}

struct Space {
  int64_t act, wgt, acc, par;  // words
};

// Everything about the layer that the search reads.
struct Problem {
  const Network& net;
  const LayerPlan& layer;
  const HwConfig& hw;
  Space space;
  Nchw x, y;
  Axis rows, columns;
  bool x_strips, y_strips, second_strips;  // not resident: goes through strips
  bool y_stored;
  int64_t in_blocks, out_blocks;  // ACT blocks
  double bytes_per_cycle;
  TilingFailure* failure;

  bool fits(Memory m, int64_t needed, int64_t available) const {
    if (needed <= available) return true;
    if (failure) *failure = {m, needed * hw.word_bytes(m), available * hw.word_bytes(m)};
    return false;
  }
  double dram_cycles(double bytes) const { return bytes / bytes_per_cycle; }
  int64_t strip_rows(int64_t out_rows) const { return std::min(rows.in, (out_rows - 1) * rows.stride + (rows.kernel - 1) * rows.dilation + 1); }
  int64_t strip_columns(int64_t out) const {
    return std::min(columns.in, (out - 1) * columns.stride + (columns.kernel - 1) * columns.dilation + 1);
  }
};

Problem make_problem(const Network& net, int index, const HwConfig& hw, int64_t act_words, TilingFailure* failure) {
  const LayerPlan& layer = net.layers[index];
  const TensorPlan &x = net.tensors[layer.x], &y = net.tensors[layer.y];
  Problem p{net, layer, hw, {}, x.shape, y.shape, window_axis(net, layer, 0), window_axis(net, layer, 1),
            false, false, false, false, 0, 0, 0, failure};
  p.space = {act_words, hw.words(Memory::wgt), hw.bank_words(Memory::acc) * std::max(1, hw.accumulator.banks / 2),
             hw.words(Memory::par)};
  p.x_strips = !x.resident;
  p.y_strips = !y.resident;
  p.second_strips = layer.second >= 0 && !net.tensors[layer.second].resident;
  p.y_stored = y.in_dram;
  p.in_blocks = x.blocks;
  p.out_blocks = y.blocks;
  p.bytes_per_cycle = std::min<double>(hw.bus_bytes, static_cast<double>(hw.bandwidth_num) / hw.bandwidth_den);
  return p;
}

// Cycles beyond the busiest resource: the first tile's loads and the last tile's drain and store, and a tax for
// each tile (its instructions' fetch, retire latencies).
struct Cost {
  double matrix = 0, vector = 0, dram = 0, fill = 0;
  double total() const { return std::max({matrix, vector, dram}) + fill; }
};

constexpr double kTileTax = 8;
constexpr double kHandover = 60;  // from one layer's last drain to the next one's first step

// Divisions of a depthwise layer between VECTOR and MATRIX that are tried.
constexpr int64_t kSplits = 16;

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
    grouped_ = p.layer.conv->groups > 1;
  }

  std::optional<LayerTiling> run() {
    for (int64_t columns : halvings(p_.y.w, 1)) {
      if (search_columns(columns)) return best_;
    }
    return std::nullopt;
  }

 private:
  bool search_columns(int64_t columns) {
    const int64_t chunk_in = grouped_ ? max_group_blocks() : p_.in_blocks;
    for (int64_t kernel_columns : halvings(p_.columns.kernel, 1))
      for (int64_t kernel_rows : halvings(p_.rows.kernel, 1)) {
        if (kernel_columns < p_.columns.kernel && kernel_rows > 1) continue;
        for (int64_t in_blocks : halvings(chunk_in, 1)) {
          if (kernel_rows < p_.rows.kernel && in_blocks > 1) continue;
          for (int64_t blocks : block_sizes(in_blocks, kernel_rows, kernel_columns))
            for (int64_t rows : tile_sizes(p_.y.h))
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
          if (best_) return true;
        }
      }
    return false;
  }

  int64_t max_group_blocks() const {
    int64_t most = 1;
    for (int64_t b = first_block_; b < first_block_ + out_blocks_; b += unit_) {
      const BlockRange r = input_blocks(p_.net, p_.layer, p_.hw, b, std::min(b + unit_, first_block_ + out_blocks_));
      most = std::max(most, r.end - r.begin);
    }
    return most;
  }

  // A split reduction keeps one accumulator rectangle: one unit of output blocks.
  std::vector<int64_t> block_sizes(int64_t in_blocks, int64_t kernel_rows, int64_t kernel_columns) const {
    const bool split = grouped_ || in_blocks < p_.in_blocks || kernel_rows < p_.rows.kernel || kernel_columns < p_.columns.kernel;
    return split ? std::vector<int64_t>{unit_} : halvings(ceil_div(out_blocks_, unit_) * unit_, unit_);
  }

  // Rows of a tile that VECTOR takes over: about as many as keep both engines equally long.
  std::vector<int64_t> row_shares(int64_t rows) const {
    if (!divide_rows_) return {0};
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
    const int64_t matrix_rows = t.rows - t.vector_rows;
    if (!p_.fits(Memory::acc, t.blocks * matrix_rows * t.columns, p_.space.acc)) return;
    if (!weights(t, T, chunks, strips, chunk_in, reductions, cost) || !parameters(t, chunks, strips, cost)) return;
    if (!activations(t, chunks, strips, reductions, cost)) return;

    const double steps = std::max<double>(static_cast<double>(matrix_rows * t.columns) * valid_, static_cast<double>(T));
    cost.matrix += static_cast<double>(strips * out_blocks_ * chunk_in * p_.rows.kernel * p_.columns.kernel) * steps;
    // A group that VECTOR does itself costs a step a tap, a drained one a step.
    const double windows = static_cast<double>(p_.rows.kernel * p_.columns.kernel) * valid_;
    const double own = divide_rows_ ? static_cast<double>(t.vector_rows * p_.out_blocks) / static_cast<double>(t.rows)
                                    : static_cast<double>(vector_blocks_);
    cost.vector = static_cast<double>(p_.y.n * p_.y.h * p_.y.w * hw.act_groups()) *
                  (static_cast<double>(p_.out_blocks) - own + own * windows);
    // The next layer waits for the last drain, unless it can begin with the first rows.
    const double drain = static_cast<double>(t.blocks * matrix_rows * t.columns * hw.acc_groups());
    const bool rows_early = !t.channels_outer && t.rows < p_.y.h;
    cost.fill += rows_early ? 0.3 * drain : drain + hw.rows + hw.cols + kHandover;
    if (p_.x_strips || p_.y_stored) cost.fill += 2 * hw.memory_latency;
    cost.fill += kTileTax * static_cast<double>(strips * chunks * reductions);
    t.cycles = cost.total();
    if (!best_ || t.cycles < best_->cycles) best_ = t;
  }

  bool weights(LayerTiling& t, int64_t T, int64_t chunks, int64_t strips, int64_t chunk_in, int64_t reductions, Cost& cost) {
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
      cost.fill += 0.5 * p_.dram_cycles(static_cast<double>(std::max<int64_t>(0, total - p_.space.wgt / 2)) * word);
    } else if (2 * chunk > p_.space.wgt) {
      cost.fill += traffic;  // loads cannot run ahead
    } else if (3 * chunk > p_.space.wgt) {
      cost.fill += 0.25 * traffic;
    }
    (void)chunks;
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
    return p_.fits(Memory::par, chunk, t.keep_parameters ? p_.space.par : std::max<int64_t>(1, p_.space.par / 2));
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
    if (2 * needed > p_.space.act) cost.fill += cost.dram;  // single buffers: loads and compute take turns
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

// PAR words that one channel group of a depthwise layer needs: parameters and the taps of every border variant.
int64_t depthwise_words(const Problem& p) {
  int64_t words = 1;
  std::vector<std::pair<Range, Range>> seen;
  for (const AxisClass& r : classes_by_output(p.rows, {0, p.y.h}))
    for (const AxisClass& c : classes_by_output(p.columns, {0, p.y.w})) {
      if (std::find(seen.begin(), seen.end(), std::pair{r.taps, c.taps}) != seen.end()) continue;
      seen.push_back({r.taps, c.taps});
      words += std::max<int64_t>(1, ceil_div(r.taps.size() * c.taps.size(), 16));
    }
  return words;
}

std::optional<LayerTiling> search_vector(const Problem& p) {
  const HwConfig& hw = p.hw;
  const bool depthwise = p.layer.kind == LayerKind::depthwise;
  const int64_t par = depthwise ? depthwise_words(p) * hw.act_groups() : 0;
  const int64_t taps = count_valid(p.rows, {0, p.y.h}) * count_valid(p.columns, {0, p.y.w});
  const double groups = static_cast<double>(p.y.n * p.out_blocks * hw.act_groups());
  std::optional<LayerTiling> best;
  for (int64_t columns : halvings(p.y.w, 1)) {
    for (int64_t blocks : halvings(p.out_blocks, 1))
      for (int64_t rows : tile_sizes(p.y.h)) {
        if (!p.fits(Memory::par, blocks * par, std::max<int64_t>(1, p.space.par / 2))) continue;
        const int64_t in = blocks * p.strip_rows(rows) * p.strip_columns(columns), out = blocks * rows * columns;
        const int64_t needed = (p.x_strips ? in : 0) + (p.y_strips ? out : 0) + (p.second_strips ? out : 0);
        if (!p.fits(Memory::act, needed, p.space.act)) continue;
        const double tiles = static_cast<double>(p.y.n * ceil_div(p.y.h, rows) * ceil_div(p.y.w, columns) * ceil_div(p.out_blocks, blocks));
        const double bytes = hw.rows;
        Cost cost;
        cost.vector = groups * static_cast<double>(taps);
        cost.dram = p.dram_cycles(static_cast<double>(p.y.n * p.out_blocks * par * hw.word_bytes(Memory::par)));
        if (p.x_strips) cost.dram += p.dram_cycles(tiles * static_cast<double>(in) * bytes);
        if (p.second_strips) cost.dram += p.dram_cycles(tiles * static_cast<double>(out) * bytes);
        if (p.y_stored) cost.dram += p.dram_cycles(tiles * static_cast<double>(out) * bytes);
        const double strip = static_cast<double>((p.x_strips ? in : 0) + (p.y_stored ? out : 0)) * bytes;
        cost.fill = p.dram_cycles(strip) + kTileTax * tiles + hw.memory_latency + cost.vector / tiles;
        if (2 * needed > p.space.act) cost.fill += cost.dram;
        if (best && best->cycles <= cost.total()) continue;
        best = LayerTiling{};
        best->on_matrix = false;
        best->rows = rows;
        best->columns = columns;
        best->blocks = blocks;
        best->cycles = cost.total();
      }
    if (best) break;
  }
  return best;
}

}  // namespace

Axis window_axis(const Network& net, const LayerPlan& layer, int axis) {
  const Nchw& x = net.tensors[layer.x].shape;
  const Window& w = layer.window;
  return {axis == 0 ? x.h : x.w, w.kernel[axis], w.stride[axis], w.dilation[axis], w.pad[axis]};
}

BlockRange input_blocks(const Network& net, const LayerPlan& layer, const HwConfig& hw, int64_t b0, int64_t b1) {
  const int64_t groups = layer.conv->groups, channels = layer.in_channels;
  if (groups == 1) return {0, net.tensors[layer.x].blocks};
  const int64_t out_channels = net.tensors[layer.y].shape.c;
  const int64_t in_per = channels / groups, out_per = out_channels / groups;
  const int64_t first = b0 * hw.cols / out_per, last = (std::min(b1 * hw.cols, out_channels) - 1) / out_per;
  return {first * in_per / hw.rows, ceil_div((last + 1) * in_per, hw.rows)};
}

std::optional<LayerTiling> choose_tiling(const Network& net, int layer, const HwConfig& hw, int64_t act_words,
                                         TilingFailure* failure) {
  const Problem p = make_problem(net, layer, hw, act_words, failure);
  std::optional<LayerTiling> best;
  auto consider = [&](const std::optional<LayerTiling>& t) {
    if (t && (!best || t->cycles < best->cycles)) best = t;
  };
  if (p.layer.kind != LayerKind::conv) consider(search_vector(p));
  if (p.layer.conv) consider(MatrixSearch(p, 0, false, 0).run());
  if (p.layer.kind == LayerKind::depthwise) {
    const int64_t unit = std::max(1, hw.cols / hw.rows), words = depthwise_words(p) * hw.act_groups();
    const int64_t step = ceil_div(ceil_div(p.out_blocks, kSplits), unit) * unit;
    for (int64_t b = step; b < p.out_blocks; b += step) consider(MatrixSearch(p, b, false, words).run());
    consider(MatrixSearch(p, 0, true, words).run());
  }
  return best;
}

}  // namespace dlc::accel
