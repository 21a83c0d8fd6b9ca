// The user's hand on the schedule: --schedule FILE.yaml fixes tile sizes, loop order, the engine of a layer and where
// tensors live; dlc compile --emit-schedule writes what the compiler chose in the same form.
//
//   version: 1
//   layers:
//     - layer: conv1                # as the profile names it
//       engine: matrix              # matrix, vector or shared (depthwise layers divided between both)
//       order: rows-outer           # rows-outer: strips of rows around channel chunks; channels-outer: the other way
//       input: whole                # whole: a strip holds all input channels; chunk: those of the reduction chunk
//       rows: 8                     # output rows and columns of a tile
//       columns: 32
//       output_blocks: 1            # channel blocks of a tile: of `cols` channels on MATRIX, of `rows` on VECTOR
//       input_blocks: 1             # a chunk of the reduction: input blocks of `rows` channels, kernel rows and columns
//       kernel_rows: 3
//       kernel_columns: 3
//       vector_blocks: 0            # shared: channel blocks that VECTOR takes over, or
//       vector_rows: 0              #         rows of every tile
//   tensors:
//     - tensor: relu1_out
//       keep: scratchpad            # scratchpad or dram, between the layers that write and read it
//
// What is left out is searched.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/accel/network.h"
#include "compiler/accel/plan.h"
#include "compiler/accel/tiling.h"

namespace dlc::accel {

struct LayerChoice {
  std::string where;  // file:line:column
  TilingRequest tiling;
};
struct TensorChoice {
  std::string where;
  bool in_scratchpad = false;
};
struct UserSchedule {
  std::map<std::string, LayerChoice> layers;
  std::map<std::string, TensorChoice> tensors;
};

// Throws UserError (bad_input): file:line:column, what was expected.
UserSchedule load_schedule(const std::string& path);

// The choices for this network's layers and tensors, checked against their sizes. Throws UserError (bad_input): the
// choice's place, the value and what is possible.
void apply_schedule(const UserSchedule& schedule, const Network& net, const HwConfig& hw, PlanLimits& limits);

// What one region's compilation chose.
struct ChosenSchedule {
  struct LayerRow {
    std::string name;
    LayerTiling tiling;
  };
  struct TensorRow {
    std::string name;
    bool in_scratchpad = false;
  };
  std::vector<LayerRow> layers;
  std::vector<TensorRow> tensors;
};
ChosenSchedule chosen_schedule(const Network& net, const std::vector<LayerTiling>& tilings);

// As YAML that load_schedule reads.
std::string schedule_text(const std::vector<ChosenSchedule>& regions);

// Throws UserError (bad_input) for a layer or tensor that none of the regions has; the message lists near names.
void check_names(const UserSchedule& schedule, const std::vector<ChosenSchedule>& regions);

}  // namespace dlc::accel
