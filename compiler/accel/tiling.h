// Tile sizes of a layer: the choice with the least modelled cycles among those that fit.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/accel/network.h"

namespace dlc::accel {

struct LayerTiling {
  bool on_matrix = true;          // depthwise: diagonal tiles on MATRIX, else taps on VECTOR
  int64_t rows = 1, columns = 1;  // output rectangle of a tile
  int64_t blocks = 1;             // MATRIX: output-channel blocks of `cols`; VECTOR: channel blocks of `rows`
  // MATRIX: a weight chunk is (blocks) x (in_blocks x kernel_rows x kernel_columns). Pools: the part of the window that
  // is summed at a time; less than all of it where not even one window fits ACT.
  int64_t in_blocks = 1, kernel_rows = 1, kernel_columns = 1;
  bool channels_outer = false;  // output-channel chunks around strips, else strips around chunks
  bool keep_weights = false;    // every chunk of the layer is loaded once
  bool keep_parameters = false;
  // Depthwise on MATRIX: VECTOR does channel blocks [0, vector_blocks), or the last vector_rows rows of each
  // tile, meanwhile.
  int64_t vector_blocks = 0, vector_rows = 0;
  bool whole_input = true;  // an input strip holds all channels (else those of the chunk)
  bool runs_ahead = true;   // there is room for the next tile's loads while this one is computed
  double cycles = 0;        // modelled
};

// What the user fixed of a layer's tiling (user_schedule.h); the rest is searched.
struct TilingRequest {
  std::optional<bool> on_matrix, shared, channels_outer, whole_input;
  std::optional<int64_t> rows, columns, blocks, in_blocks, kernel_rows, kernel_columns, vector_blocks, vector_rows;

  static bool allows(const std::optional<bool>& wish, bool value) { return !wish || *wish == value; }
  static std::vector<int64_t> sizes(const std::optional<int64_t>& wish, std::vector<int64_t> otherwise) {
    return wish ? std::vector<int64_t>{*wish} : std::move(otherwise);
  }
};

// Why no tiling fits, for the message: of all that were tried, the one that came furthest (accumulators,
// weights, parameters and activations are checked in this order), and of those the one closest to fitting.
struct TilingFailure {
  Memory memory = Memory::acc;
  int64_t needed_bytes = 0, available_bytes = 0;

  void offer(const TilingFailure& other) {
    const bool further = other.stage() > stage() || (other.stage() == stage() && other.excess() < excess());
    if (needed_bytes == 0 || further) *this = other;
  }

 private:
  int stage() const {
    return memory == Memory::act ? 3 : memory == Memory::par ? 2 : memory == Memory::wgt ? 1 : 0;
  }
  double excess() const {
    return static_cast<double>(needed_bytes) / (static_cast<double>(available_bytes) + 1);
  }
};

// act_words: ACT words that resident tensors leave to this layer.
std::optional<LayerTiling> choose_tiling(const Network& net, int layer, const HwConfig& hw, int64_t act_words,
                                         const TilingRequest& request, TilingFailure* failure);

// Axes of a layer's window: 0 rows, 1 columns.
struct Axis;
Axis window_axis(const Network& net, const LayerPlan& layer, int axis);

// Input-channel blocks that output-channel blocks [b0, b1) read: all, or those of their groups.
struct BlockRange {
  int64_t begin = 0, end = 0;
};
BlockRange input_blocks(const Network& net, const LayerPlan& layer, const HwConfig& hw, int64_t b0,
                        int64_t b1);

}  // namespace dlc::accel
