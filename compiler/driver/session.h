// Runs a program's segments one after another: host segments on the reference backend, accelerator segments
// on a Device. What `dlc run`, `simulate` and `cosim` do for one inference.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/backends/reference/reference.h"
#include "compiler/ir/graph.h"
#include "isa/device.h"
#include "isa/program.h"

namespace dlc {

using TensorMap = reference::TensorMap;

struct Inference {
  TensorMap outputs;          // the network's outputs, by graph name
  TensorMap device_tensors;   // every tensor that the accelerator reads or writes in DRAM, logical layout
  std::vector<uint8_t> dram;  // the DRAM image after the run
  RunResult run;              // of all accelerator segments one after another: times run on, counters add up
  double host_seconds = 0;    // host segments, packing and unpacking
};

class Session {
 public:
  // The program must outlive the session.
  Session(const Program& program, const HwConfig& hw);

  // The network's inputs: name, type, shape (bytes are zero).
  std::vector<ir::Tensor> input_signature() const;
  // inputs: one entry per network input.
  Inference infer(Device& device, const TensorMap& inputs, const RunOptions& options) const;

 private:
  struct HostPart {  // a host segment, ready to evaluate
    ir::Graph graph;
    std::unique_ptr<reference::Evaluator> evaluator;
  };
  struct MachinePart {  // an accelerator segment: what the host writes to program_address before its start
    Program program;
    std::vector<uint8_t> code;
  };
  void run_machine_part(const MachinePart& part, Device& device, const RunOptions& options, TensorMap& values, Inference& result) const;
  const TensorInfo& tensor(const std::string& name) const;

  const Program& program_;
  int rows_;
  std::vector<std::unique_ptr<HostPart>> host_parts_;        // per segment; null for the accelerator's
  std::vector<std::unique_ptr<MachinePart>> machine_parts_;  // per segment; null for the host's
  std::vector<uint8_t> image_;
};

// A tensor between its DRAM layout and logical order.
ir::Tensor read_tensor(const std::vector<uint8_t>& dram, const TensorInfo& info, int rows);
void write_tensor(std::vector<uint8_t>& dram, const TensorInfo& info, int rows, const ir::Tensor& tensor);

}  // namespace dlc
