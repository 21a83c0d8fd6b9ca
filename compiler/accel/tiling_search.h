// The parts of the tiling search (tiling.cpp): the problem, the cost, and a search for each engine.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/accel/tiling.h"
#include "compiler/accel/windows.h"

namespace dlc::accel {

// ceil(n / k) for k = 1, 2, ...: every tile size that differs in the number of tiles, largest first.
std::vector<int64_t> tile_sizes(int64_t n);

// n, then halves of it (rounded up to a multiple of `unit`) down to one unit.
std::vector<int64_t> halvings(int64_t n, int64_t unit);

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
  const TilingRequest& request;
  TilingFailure* failure;

  bool fits(Memory m, int64_t needed, int64_t available) const {
    if (needed <= available) return true;
    if (failure) failure->offer({m, needed * hw.word_bytes(m), available * hw.word_bytes(m)});
    return false;
  }
  double dram_cycles(double bytes) const { return bytes / bytes_per_cycle; }
  int64_t strip_rows(int64_t out_rows) const {
    return std::min(rows.in, (out_rows - 1) * rows.stride + (rows.kernel - 1) * rows.dilation + 1);
  }
  int64_t strip_columns(int64_t out) const {
    return std::min(columns.in, (out - 1) * columns.stride + (columns.kernel - 1) * columns.dilation + 1);
  }
};

// Cycles beyond the busiest resource: the first tile's loads and the last tile's drain and store, and a tax
// for each tile (its instructions' fetch, retire latencies).
struct Cost {
  double matrix = 0, vector = 0, dram = 0, fill = 0;
  double total() const { return std::max({matrix, vector, dram}) + fill; }
};

inline constexpr double kTileTax = 8;
inline constexpr double kHandover = 60;  // from one layer's last drain to the next one's first step

// Dense, grouped or depthwise convolution on MATRIX. vector_blocks: channel blocks that VECTOR takes over, or
// with divide_rows a part of every tile's rows; vector_words: PAR words of one of its channel blocks.
std::optional<LayerTiling> search_matrix(const Problem& problem, int64_t vector_blocks, bool divide_rows,
                                         int64_t vector_words);

// Depthwise convolution, pool, combination or copy on VECTOR.
std::optional<LayerTiling> search_vector(const Problem& problem);

// PAR words that one channel group of a depthwise layer needs: parameters and the taps of every border
// variant.
int64_t depthwise_words(const Problem& problem);

}  // namespace dlc::accel
