// The accelerator's description, as read from a YAML file: the single source of truth for compiler,
// simulators, RTL parameters and cost models. Units are in the member names or comments.
//
// Word widths follow from the parameters (machine contract, isa/README.md):
//   ACT word = rows bytes            WGT word = preload_rows * cols bytes (broadcast: a tile, rows * cols)
//   ACC word = cols * 4 bytes        PAR word = lanes * 16 bytes
//   LUT word = 256 bytes, a table
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace dlc {

enum class Dataflow { weight_stationary, broadcast };
enum class Memory : int { act = 0, wgt = 1, acc = 2, par = 3, lut = 4 };

struct ScratchpadConfig {
  uint64_t size_bytes = 0;
  int banks = 1;
  int read_ports = 1;  // per bank; only ACT may have 2
};

// Tables of VECTOR's optional function `lut`: a word is a whole table, so that LOAD fills tables in chunks of the
// bus whatever its width, and VECTOR names one by its word.
inline constexpr int kLutTables = 4;
inline constexpr int kLutTableBytes = 256;

struct HwConfig {
  std::string name;
  std::string file;  // where it was read from, for messages
  double clock_mhz = 0;

  int rows = 0, cols = 0;  // array: reduction x output channels
  Dataflow dataflow = Dataflow::weight_stationary;
  int preload_rows = 1;  // weight rows a WGT word; weight_stationary: 1, 2, 4; broadcast: rows

  int lanes = 0;  // vector lanes; divides rows and cols
  int taps = 1;   // multiply-accumulates per lane and cycle in window mode
  std::vector<std::string> functions;

  ScratchpadConfig activation, weight, accumulator, parameter;

  int bus_bytes = 0;        // AXI data width
  int max_burst = 16;       // beats
  int max_outstanding = 16; // bursts in flight, LOAD and STORE each
  int queue_depth = 8;      // instructions per engine queue

  uint64_t memory_bytes = 0;
  int memory_latency = 0;                // cycles
  int64_t bandwidth_num = 0, bandwidth_den = 1;  // bytes per cycle, a rational number
  std::string technology_node;

  // --- derived ---
  bool has_function(const char* function) const {
    return std::find(functions.begin(), functions.end(), function) != functions.end();
  }
  bool has_lut() const { return has_function("lut"); }
  const ScratchpadConfig& scratchpad(Memory m) const {
    switch (m) {
      case Memory::wgt: return weight;
      case Memory::acc: return accumulator;
      case Memory::par: return parameter;
      case Memory::lut: return has_lut() ? kTables : kNoTables;
      default: return activation;
    }
  }
  int word_bytes(Memory m) const {
    switch (m) {
      case Memory::act: return rows;
      case Memory::wgt: return wgt_word_rows() * cols;
      case Memory::acc: return cols * 4;
      case Memory::par: return lanes * 16;
      default: return kLutTableBytes;
    }
  }
  int wgt_word_rows() const { return dataflow == Dataflow::broadcast ? rows : preload_rows; }
  int64_t words(Memory m) const { return static_cast<int64_t>(scratchpad(m).size_bytes) / word_bytes(m); }
  int64_t bank_words(Memory m) const { return words(m) / scratchpad(m).banks; }
  // Transfers between DRAM and a scratchpad move in chunks of the narrower of bus and word.
  int chunk_bytes(Memory m) const { return word_bytes(m) < bus_bytes ? word_bytes(m) : bus_bytes; }
  int tile_words() const { return rows / wgt_word_rows(); }  // WGT words per weight tile; broadcast: 1
  int act_groups() const { return rows / lanes; }         // vector groups per ACT word
  int acc_groups() const { return cols / lanes; }
  int fetch_burst_bytes() const {
    const int b = max_burst * bus_bytes;
    return b < 256 ? b : 256;
  }

 private:
  static constexpr ScratchpadConfig kTables{kLutTables * kLutTableBytes, 1, 1};
  static constexpr ScratchpadConfig kNoTables{0, 1, 1};
};

}  // namespace dlc
