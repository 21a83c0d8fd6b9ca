// The accelerator backend: integer operators of the Graph IR -> a verified Program.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "isa/hwconfig.h"
#include "isa/program.h"

namespace dlc::accel {

struct UserSchedule;
struct ChosenSchedule;

struct AccelOptions {
  bool keep_resident = true;  // activations that fit stay in the scratchpad between layers
  const UserSchedule* schedule = nullptr;  // the user's choices (user_schedule.h); outlives the call
  bool verify = true;         // run the program verifier; a message is a compiler bug (std::logic_error)
};

// Why the accelerator `hw` cannot run this node (of domain "dlc"), or nothing. Sizes are not judged here: that a
// layer does not fit into the scratchpads is found by compile_accelerator.
std::optional<std::string> refusal(const ir::Graph& graph, ir::NodeId node, const HwConfig& hw);

// region: the accelerator's nodes (qconv, qadd, qpool, reshape), producers first. What they read from outside
// (constants apart) and what others read from them are 8-bit tensors in DRAM, blocked layout.
//
// Fills everything of Program but host segments and host_graph: one accelerator segment; inputs and outputs
// are the region's. Deterministic: the same graph and configuration give the same bytes. Throws
// UserError(unsupported): node that the machine cannot run, or that does not fit: buffer, bytes needed and
// bytes there.
// chosen: what was decided, for --emit-schedule.
Program compile_accelerator(const ir::Graph& graph, const std::vector<ir::NodeId>& region, const HwConfig& hw,
                            const AccelOptions& options = {}, ChosenSchedule* chosen = nullptr);

}  // namespace dlc::accel
