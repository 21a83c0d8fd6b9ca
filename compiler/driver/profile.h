// What a run tells about the machine: utilisation, bounds, layers. Computed from the program (work) and
// the run's exact counters and times; cycles everywhere, bytes where said.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/device.h"
#include "isa/program.h"

namespace dlc {

// Work and traffic of a set of instructions.
struct Work {
  int64_t matrix_steps = 0;      // cycles the array needs at one step a cycle
  int64_t preload_cycles = 0;    // weight tiles * rows / preload_rows
  int64_t vector_steps = 0;
  int64_t dram_read_bytes = 0, dram_write_bytes = 0;  // whole beats, instruction fetch excluded
};
Work instruction_work(const isa::Instruction& instruction, const HwConfig& hw);

struct LayerProfile {
  std::string name, op, target = "accelerator";
  std::vector<std::string> onnx_nodes;
  int64_t cycles = 0;                  // those in which the layer owns the oldest unretired instruction
  int64_t first_cycle = 0, last_cycle = 0;  // its span, overlaps with other layers included
  int64_t macs = 0, valid_macs = 0;
  double utilization = 0;              // macs / (cycles * rows * cols)
  Work work;
  std::string bound;                   // compute, vector, dram, latency: what limits it
};

// The least cycles that the work needs on each resource alone.
struct LowerBound {
  int64_t matrix = 0, vector = 0, preload = 0, dram = 0, bound = 0;
};

struct Profile {
  int64_t total_cycles = 0;
  int64_t macs = 0, valid_macs = 0;
  double mac_utilization = 0, valid_mac_utilization = 0;
  double latency_ms = 0, inferences_per_second = 0, tops = 0;
  LowerBound lower_bound;
  int64_t dram_read_bytes = 0, dram_write_bytes = 0;
  std::array<EngineCounters, kEngines> engines{};
  std::vector<LayerProfile> layers;    // sums to total_cycles
};

Profile make_profile(const Program& program, const HwConfig& hw, const RunResult& run);

// Aligned tables for a terminal.
std::string format_profile(const Profile& profile, const HwConfig& hw);

}  // namespace dlc
