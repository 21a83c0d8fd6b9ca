// Edges of the tile graph from what its tasks touch: data hazards in scratchpads and DRAM, and bank ports
// (isa/README.md §1). Every edge runs forward in generation order, so the result is acyclic by construction.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "compiler/accel/tile_graph.h"

namespace dlc::accel {

// Queues in which tasks keep generation order. LOADs into different memories may overtake each other.
enum class Stream : int { load_act, load_wgt, load_par, matrix, vector, store };
inline constexpr int kStreams = 6;
Stream stream_of(const isa::Instruction& instruction);

// Precondition: all buffers are placed. Edges that others imply are left out.
void add_dependencies(TileGraph& graph);

}  // namespace dlc::accel
