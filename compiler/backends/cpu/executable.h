// The CPU backend: a graph compiled into machine code for this host. Operators without a loop nest are
// evaluated by the reference backend inside the same run.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/backends/cpu/jit.h"
#include "compiler/backends/reference/reference.h"
#include "compiler/ir/graph.h"

namespace dlc::cpu {

using reference::TensorMap;

struct CpuOptions {
  std::string target = "native";                     // see make_target
  std::string cache_folder = Jit::default_cache_folder();  // "": no cache of compiled code
  int jobs = 1;                                      // threads, for compiling and for running
};

struct StepTime {
  std::string name, op;  // graph node; its loop nest ("Conv", "block x") or operator
  bool fallback = false;
  double seconds = 0;
};

class Executable {
 public:
  // The graph must outlive it and stay unchanged. Throws UserError(unsupported) for an operator that neither
  // backend knows.
  explicit Executable(const ir::Graph& graph, const CpuOptions& options = {});
  ~Executable();

  // As reference::Evaluator::evaluate, without its `keep_all`. const and re-entrant.
  TensorMap evaluate(const TensorMap& inputs) const;
  // The same, with the time of every step added to `times` (made on the first call).
  TensorMap evaluate_timed(const TensorMap& inputs, std::vector<StepTime>* times) const;

  // Nodes that run on the reference backend, in order.
  const std::vector<ir::NodeId>& fallback_nodes() const { return fallback_nodes_; }
  const JitStatistics& jit_statistics() const;
  int64_t arena_bytes() const;
  // All kernels as text.
  std::string loop_ir() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<ir::NodeId> fallback_nodes_;
};

}  // namespace dlc::cpu
