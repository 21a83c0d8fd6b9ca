// The whole compiler as straight-line calls: a newcomer reads compile.cpp first.
#pragma once
#include <string>

#include "compiler/driver/options.h"
#include "compiler/driver/partition.h"
#include "compiler/ir/graph.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "isa/program.h"

namespace dlc {

// What does not depend on the machine: the network after import, quantisation and passes.
struct Prepared {
  ir::Graph original;  // as imported (kept only for --compare-tensors)
  ir::Graph graph;     // after the passes: what the reference evaluates
  passes::PipelineResult pipeline;
  std::string quantised;  // what post-training quantisation did, "" where the network was quantised already
  double seconds = 0;

  Prepared clone() const;
};

struct Compiled {
  HwConfig hw;
  ir::Graph original, graph;  // of Prepared, moved here
  passes::PipelineResult pipeline;
  std::string quantised;
  std::vector<std::string> packed;  // what pack_pixels did, a line a layer
  Partition parts;
  Program program;
  double seconds = 0;
};

// How the network is imported: --dim, and the shapes of the --input files.
onnx_import::ImportOptions import_options(const Options& options);

// --dim NAME=VALUE arguments. UserError (bad_input) for anything else.
std::map<std::string, int64_t> parse_dims(const std::vector<std::string>& dims);

// The importer and the reference backend know more element types than the passes and the quantiser, which compute with
// float32: UserError (unsupported) naming the first tensor of another floating-point or a sub-byte type.
void refuse_other_floats(const ir::Graph& graph);

// options: model, dims, passes, calibration. Throws UserError.
Prepared prepare_model(const Options& options, bool quantise = true);

// The second half of the flow. One prepared network serves any number of machines: pass prepared.clone().
// options: no_fallback, no_residency. Throws UserError.
Compiled compile_for(const HwConfig& hw, Prepared prepared, const Options& options);

// Both halves for options.hw, with what --verbose and the warnings print. Throws UserError.
Compiled compile_model(const Options& options);

}  // namespace dlc
