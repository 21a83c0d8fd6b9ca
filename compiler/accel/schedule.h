// Program order: every task is given a start time by an event model of the machine that prices with
// isa/timing.h (DMA approximately: one memory pipe, latency, bandwidth), and the program is the tasks by
// start time. Engines keep generation order, except that LOADs of different memories overtake each other:
// that is how weights and parameters run ahead of a LOAD that waits for its activations.
#pragma once
#include <vector>

#include "compiler/accel/tile_graph.h"

namespace dlc::accel {

struct Schedule {
  std::vector<int> order;      // tasks in program order
  std::vector<int64_t> start;  // per task, modelled cycle
  int64_t cycles = 0;          // modelled end
};
Schedule schedule(const TileGraph& graph);

}  // namespace dlc::accel
