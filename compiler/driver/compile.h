// The whole compiler as straight-line calls: a newcomer reads compile.cpp first.
#pragma once
#include <string>

#include "compiler/driver/options.h"
#include "compiler/driver/partition.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/pass_manager.h"
#include "isa/program.h"

namespace dlc {

struct Compiled {
  HwConfig hw;
  ir::Graph original;     // as imported (kept only for --compare-tensors)
  ir::Graph graph;        // after the passes: what the reference evaluates
  Partition parts;
  Program program;
  passes::PipelineResult pipeline;
  double seconds = 0;
};

// --dim NAME=VALUE arguments. UserError (bad_input) for anything else.
std::map<std::string, int64_t> parse_dims(const std::vector<std::string>& dims);

// options: hw, model, dims, passes, no_fallback ... Throws UserError.
Compiled compile_model(const Options& options);

}  // namespace dlc
