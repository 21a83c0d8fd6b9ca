// What every witness that runs programs looks like: functional model, SystemC model, Verilated RTL.
//
// A Device is made for one HwConfig and may run any number of programs, one after another. `dram` is the
// DRAM image (see dram_image() in program_file.h; inputs filled in by the caller); it is updated in place.
// Times are cycles of the timing contract (isa/README.md §4); the functional model leaves them empty.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa/program.h"

namespace dlc {

struct EngineCounters {
  int64_t busy = 0, wait_dependency = 0, wait_memory = 0, idle = 0;
  friend bool operator==(const EngineCounters&, const EngineCounters&) = default;
};

struct InstructionTimes {
  int64_t start = -1, retire = -1;
  friend bool operator==(const InstructionTimes&, const InstructionTimes&) = default;
};

// Index into RunResult::engines; the first four are isa::Engine's values.
inline constexpr int kEngines = 5;
inline constexpr const char* kEngineNames[kEngines] = {"load", "matrix", "vector", "store", "fetch"};

struct RunResult {
  int64_t total_cycles = 0;
  std::array<EngineCounters, kEngines> engines{};
  std::vector<InstructionTimes> times;  // per instruction, program order
  int64_t dram_read_bytes = 0, dram_write_bytes = 0;  // beats * bus bytes, FETCH included
  double seconds = 0;                   // wall time of the run itself
};

struct RunOptions {
  bool values = true;            // false: timing only (SystemC), dram untouched
  int64_t max_cycles = 0;        // stop with an error beyond this many cycles; 0: a bound from the program
  uint64_t initial_state = 0;    // RTL: seed of the random initial state
  uint64_t stall_seed = 0;       // RTL: nonzero: the bus's READY signals fall at random; values hold, times do not
  std::string waveform;          // RTL: FST file, empty for none
  int64_t waveform_first = 0, waveform_last = INT64_MAX;  // cycles that it shows
  std::function<void(double)> progress;  // called now and then with the fraction of instructions retired
};

// A witness that cannot finish a program: an assertion in the RTL, an access outside DRAM, out of cycles.
class RunFailure : public std::runtime_error {
 public:
  RunFailure(const std::string& what, int64_t at) : std::runtime_error(what), cycle(at) {}
  int64_t cycle;  // in which it gave up
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // functional, systemc, rtl
  virtual RunResult run(const Program& program, std::vector<uint8_t>& dram, const RunOptions& options) = 0;
};

std::unique_ptr<Device> make_functional_device(const HwConfig& hw);  // simulator/functional
std::unique_ptr<Device> make_systemc_device(const HwConfig& hw);     // simulator/systemc
std::unique_ptr<Device> make_rtl_device(const HwConfig& hw);         // rtl/cosim: verilates on first use

}  // namespace dlc
