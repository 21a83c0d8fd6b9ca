// The tile graph: what each engine does on each tile, over virtual scratchpad buffers, on a Boost.Graph DAG
// over the whole region. Made by lower_*.cpp in generation order (layer by layer, tile by tile), in which
// every task stands behind all tasks that it depends on.
//
// A task is an instruction whose scratchpad addresses are relative to its buffers (Refs) until bind() adds
// the buffers' addresses, and whose waits are empty until waits.cpp fills them.
#pragma once
#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/hwconfig.h"
#include "isa/program.h"

namespace dlc::accel {

// An interval of one scratchpad that lives from the first to the last task that names it.
struct Buffer {
  Memory memory = Memory::act;
  int64_t words = 0;
  std::string name;      // for messages: "input strip of conv1"
  int layer = 0;         // that asked for it first
  bool pinned = false;   // a resident tensor: placed before the strips, away from where they rotate
  int64_t address = -1;  // word, once placed
  int first_task = -1, last_task = -1;  // generation order
};

// Buffers of an instruction's address fields; -1: field unused.
struct Refs {
  int a = -1;    // load: destination, store: source, matrix: act, vector: operand A
  int b = -1;    // matrix: wgt, vector: operand B
  int d = -1;    // matrix: acc, vector: destination
  int par = -1;  // vector: rescale parameters
  int tap = -1;  // vector: taps
  int lut = -1;  // vector: look-up table
};

struct Task {
  isa::Instruction instruction;
  Refs refs;
  int layer = 0;
  std::string note;
};

// An edge u -> v: v starts after u has retired.
using TaskDag = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Task>;

class TileGraph {
 public:
  explicit TileGraph(const HwConfig& hw) : hw_(hw) {}

  int add_buffer(Memory memory, int64_t words, std::string name, int layer, bool pinned = false);
  int add_task(isa::Instruction instruction, Refs refs, int layer, std::string note);
  void add_dependency(int before, int after) { boost::add_edge(before, after, dag_); }

  int task_count() const { return static_cast<int>(boost::num_vertices(dag_)); }
  const Task& task(int t) const { return dag_[t]; }
  Task& task(int t) { return dag_[t]; }
  const TaskDag& dag() const { return dag_; }
  std::vector<Buffer>& buffers() { return buffers_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const HwConfig& hw() const { return hw_; }

  // The task's instruction with absolute scratchpad addresses. Precondition: its buffers are placed.
  isa::Instruction bound(int t) const;

 private:
  const HwConfig& hw_;
  TaskDag dag_;
  std::vector<Buffer> buffers_;
};

// What an instruction touches. Units: groups of `lanes` in ACT and ACC, words in WGT, PAR and LUT.
struct Access {
  Memory memory = Memory::act;
  bool write = false;
  int port = 0;                // distinct read ports of one engine: VECTOR's A is 0, its B is 1
  int64_t begin = 0, end = 0;  // units
};
// Runs in no particular order, possibly overlapping; accesses of an absolute instruction.
std::vector<Access> accesses_of(const isa::Instruction& instruction, const HwConfig& hw);

}  // namespace dlc::accel
