// Retire-counter waits from the tile graph's edges, by transitive reduction with vector clocks: an
// instruction carries only the waits that its own engine's earlier instructions and its other waits do not
// imply.
#pragma once
#include <vector>

#include "compiler/accel/tile_graph.h"

namespace dlc::accel {

// order: the tasks in program order. Result: the instructions in that order, addresses absolute, waits set.
std::vector<isa::Instruction> emit_with_waits(const TileGraph& graph, const std::vector<int>& order);

}  // namespace dlc::accel
