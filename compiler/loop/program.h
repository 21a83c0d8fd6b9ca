// A graph as a list of kernels over storages: what a backend compiles and runs.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/loop/loop_ir.h"
#include "compiler/loop/machine.h"

namespace dlc::loop {

// How a value of shape (N, C, spatial...) lies in memory. block 0: row-major. block b > 0: channels in blocks
// of b, innermost: N, ceil(C/b), spatial, b; the last block is filled up, its extra lanes hold any finite values.
struct Layout {
  int block = 0;
  auto operator<=>(const Layout&) const = default;
};
int64_t stored_elements(const ir::Shape& shape, Layout layout);

struct Storage {
  ElementType type = ElementType::undefined;
  int64_t elements = 0;
  ir::ValueId value;                           // a graph input (filled by the caller)
  std::shared_ptr<const ir::Bytes> constant;   // set: packed at compile time
  int64_t bytes() const { return elements * static_cast<int64_t>(ir::element_size(type)); }
};

struct Step {
  std::string name;            // of the graph's node, for messages and profiles
  Kernel kernel;               // empty body: `fallback`
  ir::NodeId fallback;         // valid: this node is evaluated by the reference backend, on row-major storages
  std::vector<int> storages;   // of the kernel's buffers; of the fallback node's valid inputs, then outputs
  std::vector<ir::NodeId> nodes;  // graph nodes that it computes
  bool is_fallback() const { return fallback.valid(); }
};

struct LoopProgram {
  std::vector<Storage> storages;
  std::vector<Step> steps;                      // in execution order
  std::unordered_map<uint32_t, int> inputs, outputs;  // graph value -> row-major storage
};

// Every node becomes loops or, where no loop nest is known for it, a fallback step.
LoopProgram lower(const ir::Graph& graph, const Machine& machine);

// Whether lower() knows loops for this operator at all (types and attributes may still exclude a node), for
// `dlc ops`.
bool knows_operator(std::string_view domain, std::string_view op);

}  // namespace dlc::loop
