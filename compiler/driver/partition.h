// Divides a lowered graph between the accelerator and the host.
//
// The integer operators (domain "dlc") that the machine has run on the accelerator, everything else on the
// host. Operators are gathered into as few segments as their dependencies allow: each node goes into the
// earliest phase after its inputs, host and accelerator phases alternating, so no cycle between segments
// can arise.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "isa/program.h"

namespace dlc {

struct HostNode {
  std::string node, op, reason;
  int64_t macs = 0;  // of convolutions and matrix products; 0 for others
};

struct Partition {
  struct Part {
    Segment::Kind kind;
    std::vector<ir::NodeId> nodes;   // topological order
  };
  std::vector<Part> parts;           // in execution order, none empty
  std::vector<HostNode> host_nodes;  // topological order
  int64_t host_macs = 0;
  bool has_accelerator() const;
};

// Why nodes are on the host, by name, where a pass has said it ("its input has 16 bits").
using HostReasons = std::map<std::string, std::string>;

// Throws UserError (unsupported) with no_fallback for any host operator but quantising inputs and
// dequantising outputs.
Partition partition(const ir::Graph& graph, const HwConfig& hw, bool no_fallback, const HostReasons& reasons = {});

// The sub-graph of these nodes. Its inputs are what they read from elsewhere, its outputs what others (or the
// graph's outputs) read from them; both in order of first appearance.
ir::Graph extract(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

// Joins the accelerator parts' programs (one per accelerator part, in order) and the host parts into one
// program: DRAM addresses of later parts are moved behind the earlier ones' (a tensor that an earlier part has
// already is shared), host nodes are kept as textual Graph IR.
Program assemble_program(const ir::Graph& graph, const Partition& partition, std::vector<Program> accelerator_parts);

}  // namespace dlc
