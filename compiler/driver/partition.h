// Divides a lowered graph between the accelerator and the host.
//
// The integer operators (domain "dlc") run on the accelerator, everything else on the host. This version
// makes one accelerator region: a host operator between two accelerator operators is refused by name.
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "isa/program.h"

namespace dlc {

struct HostNode {
  std::string node, op, reason;
};

struct Partition {
  std::vector<ir::NodeId> region;             // accelerator nodes, topological order
  std::vector<ir::ValueId> region_inputs;     // 8-bit tensors that the host hands over
  std::vector<ir::ValueId> region_outputs;
  ir::Graph host;                             // the host's nodes alone: region inputs are among its outputs,
                                              // region outputs among its inputs
  std::vector<std::string> before, after;     // host node names, executed before / after the region
  std::vector<HostNode> host_nodes;
};

// Throws UserError (unsupported) for a graph without accelerator nodes or with more than one region; with
// no_fallback also for any host operator but quantising inputs and dequantising outputs.
Partition partition(const ir::Graph& graph, bool no_fallback);

// Adds the host segments around the program's accelerator segment, and the host's graph.
void add_host_segments(Program& program, const ir::Graph& graph, const Partition& partition);

// The sub-graph of these nodes. Its inputs are what they read from elsewhere, its outputs what others (or the
// graph's outputs) read from them; both in order of first appearance.
ir::Graph extract(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

}  // namespace dlc
