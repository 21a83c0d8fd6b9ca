// Which tensors stay in the scratchpad between layers, and the tiling of each layer in what they leave.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "compiler/accel/network.h"
#include "compiler/accel/tiling.h"

namespace dlc::accel {

// Input of the planning that grows while a plan turns out not to fit.
struct PlanLimits {
  std::set<int> evicted;          // tensors that go through DRAM
  std::set<int> kept;             // tensors that the user wants in the scratchpad
  std::vector<TilingRequest> requests;        // the user's, a layer each
  std::vector<std::string> request_places;    // where they are written; "" where there is none
  std::vector<double> act_share;  // per layer: part of the free ACT space that its strips may count on
  std::set<int> compact;          // layers, see allocate.h
};

// Sets resident and in_dram of every tensor and gives each layer's tiling; evicts more tensors (into limits)
// until every layer has one. Throws UserError(unsupported): the layer, the scratchpad, bytes needed and
// there.
std::vector<LayerTiling> plan_layers(Network& net, const HwConfig& hw, bool keep_resident,
                                     PlanLimits& limits);

// Reacts to a layer whose buffers found no place in this memory: true if there is something left to try.
bool relax(const Network& net, int layer, Memory memory, PlanLimits& limits);

}  // namespace dlc::accel
