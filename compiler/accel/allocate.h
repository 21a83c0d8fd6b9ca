// Scratchpad addresses for the tile graph's buffers, from their lifetimes in generation order.
//
// Resident tensors are placed first (largest first, lowest address). Everything else rotates through what is
// free (next fit), so that a buffer's space is reused as late as possible: that is what lets LOADs run ahead.
// ACC buffers start at a bank, so MATRIX fills one bank while VECTOR drains another; strips that LOAD writes
// and strips that VECTOR writes keep to different banks where there is room.
#pragma once
#include <optional>
#include <set>

#include "compiler/accel/tile_graph.h"

namespace dlc::accel {

struct PlacementFailure {
  int buffer = -1;
  int64_t free_words = 0;  // in all, in pieces that are too small
};

// compact: layers whose buffers are placed from address 0 up instead of rotating; for those that nearly fill
// a memory. Result: nothing, or the first buffer without a place.
std::optional<PlacementFailure> place_buffers(TileGraph& graph, const std::set<int>& compact);

}  // namespace dlc::accel
