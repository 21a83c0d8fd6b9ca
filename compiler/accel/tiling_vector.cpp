// Tile sizes for layers that VECTOR does alone.
#include "compiler/accel/tiling_search.h"

namespace dlc::accel {

// PAR words that one channel group of a depthwise layer needs: parameters and the taps of every border
// variant.
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

namespace {

// One output of one channel block at a time, whose window comes in parts: partial results lie in ACC.
std::optional<LayerTiling> split_window(const Problem& p) {
  const HwConfig& hw = p.hw;
  for (int64_t columns : halvings(p.columns.kernel, 1))
    for (int64_t rows : halvings(p.rows.kernel, 1)) {
      if (columns < p.columns.kernel && rows > 1) continue;
      const int64_t in = std::min(p.rows.in, (rows - 1) * p.rows.dilation + 1) *
                         std::min(p.columns.in, (columns - 1) * p.columns.dilation + 1);
      const int64_t parts = ceil_div(p.rows.kernel, rows) * ceil_div(p.columns.kernel, columns);
      if (!p.fits(Memory::act, in + (p.y_strips ? 1 : 0), p.space.act)) continue;
      if (!p.fits(Memory::acc, ceil_div(parts * hw.act_groups(), hw.acc_groups()), p.space.acc)) continue;
      LayerTiling t;
      t.on_matrix = false;
      t.kernel_rows = rows;
      t.kernel_columns = columns;
      const auto outputs = static_cast<double>(p.y.n * p.out_blocks * p.y.h * p.y.w);
      const auto part = static_cast<double>(rows * columns * hw.act_groups());
      t.cycles = outputs * static_cast<double>(parts) * (part + p.dram_cycles(static_cast<double>(in * hw.rows)));
      return t;
    }
  return std::nullopt;
}

}  // namespace

std::optional<LayerTiling> search_vector(const Problem& p) {
  const HwConfig& hw = p.hw;
  const bool depthwise = p.layer.kind == LayerKind::depthwise;
  const int64_t par = depthwise ? depthwise_words(p) * hw.act_groups() : 0;
  const bool no_window = p.layer.kind == LayerKind::combine || p.layer.kind == LayerKind::copy;
  const int64_t taps = no_window ? p.y.h * p.y.w
                                 : count_valid(p.rows, {0, p.y.h}) * count_valid(p.columns, {0, p.y.w});
  const double groups = static_cast<double>(p.y.n * p.out_blocks * hw.act_groups());
  std::optional<LayerTiling> best;
  for (int64_t columns : TilingRequest::sizes(p.request.columns, halvings(p.y.w, 1))) {
    for (int64_t blocks : TilingRequest::sizes(p.request.blocks, halvings(p.out_blocks, 1)))
      for (int64_t rows : TilingRequest::sizes(p.request.rows, tile_sizes(p.y.h))) {
        if (!p.fits(Memory::par, blocks * par, std::max<int64_t>(1, p.space.par / 2))) continue;
        const int64_t in = blocks * p.strip_rows(rows) * p.strip_columns(columns),
                      out = blocks * rows * columns;
        const int64_t needed = (p.x_strips ? in : 0) + (p.y_strips ? out : 0) + (p.second_strips ? out : 0);
        if (!p.fits(Memory::act, needed, p.space.act)) continue;
        const double tiles = static_cast<double>(p.y.n * ceil_div(p.y.h, rows) * ceil_div(p.y.w, columns) *
                                                 ceil_div(p.out_blocks, blocks));
        const double bytes = hw.rows;
        Cost cost;
        cost.vector = groups * static_cast<double>(taps);
        cost.dram =
            p.dram_cycles(static_cast<double>(p.y.n * p.out_blocks * par * hw.word_bytes(Memory::par)));
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
        best->kernel_rows = p.rows.kernel;
        best->kernel_columns = p.columns.kernel;
        best->cycles = cost.total();
      }
    if (best) break;
  }
  return best || p.layer.kind != LayerKind::pool ? best : split_window(p);
}

}  // namespace dlc::accel
