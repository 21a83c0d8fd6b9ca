// The pass pipeline as data: a list of names, looked up in one table. Between passes the graph is verified,
// timed and, on request, written out.
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace dlc::passes {

// Something a pass wants the user to know, e.g. why a node stays on the host.
struct Note {
  std::string pass, node, text;
};

struct PassContext {
  std::vector<Note> notes;
};

struct Pass {
  const char* name;     // "fold-constants"
  const char* summary;  // one line for `dlc passes`
  void (*run)(ir::Graph& graph, PassContext& context);
};

// Every pass, in the order of the default pipeline.
const std::vector<Pass>& all_passes();
std::vector<std::string> default_pipeline();

struct PipelineOptions {
  std::vector<std::string> passes = default_pipeline();
  std::vector<std::string> skip = {};
  int bisect_limit = -1;            // run at most this many passes; < 0: all
  std::string dump_directory = {};  // "NN-name.ir" after each pass; empty: none
  bool verify = true;
};

struct PassTime {
  std::string name;
  double seconds = 0;
  size_t nodes_before = 0, nodes_after = 0;
};

struct PipelineResult {
  std::vector<PassTime> times;
  std::vector<Note> notes;
};

// Throws UserError(bad_input) for an unknown pass name (with near names) or an unwritable dump directory;
// std::logic_error where verification fails after a pass (a bug: names the pass).
PipelineResult run_pipeline(ir::Graph& graph, const PipelineOptions& options = {});

}  // namespace dlc::passes
