#include "tests/fuzz/random_hwconfig.h"

#include <algorithm>
#include <string>

#include "isa/program_file.h"
#include "tests/fuzz/random.h"

namespace dlc {
namespace {

constexpr int kMostMultipliers = 256;

int power_of_two(Random& random, int low, int high) {
  int exponents = 0;
  while (low << exponents < high) ++exponents;
  return low << random.range(0, exponents);
}

ScratchpadConfig scratchpad(Random& random, const HwConfig& hw, Memory memory, int64_t least_words) {
  ScratchpadConfig pad;
  int64_t words = least_words;
  while (words * hw.word_bytes(memory) < 256) words *= 2;
  words <<= random.range(0, 3);
  pad.size_bytes = static_cast<uint64_t>(words * hw.word_bytes(memory));
  // A bank has at least a word in each of the sub-memories that a bus wider than a word needs.
  const int64_t interleaved = std::max(1, hw.bus_bytes / hw.word_bytes(memory));
  pad.banks = power_of_two(random, 1, static_cast<int>(std::min<int64_t>(8, words / interleaved)));
  return pad;
}

}  // namespace

HwConfig random_hwconfig(uint64_t seed) {
  Random random(seed * 5 + 3);
  HwConfig hw;
  hw.name = "random-" + std::to_string(seed);
  hw.clock_mhz = 500;
  if (random.chance(30)) hw.dataflow = Dataflow::broadcast;
  do {
    hw.rows = power_of_two(random, 4, 32);
    hw.cols = power_of_two(random, 4, 32);
  } while ((hw.dataflow == Dataflow::weight_stationary &&
            std::max(hw.rows, hw.cols) > 4 * std::min(hw.rows, hw.cols)) ||
           hw.rows * hw.cols > kMostMultipliers);
  hw.preload_rows = hw.dataflow == Dataflow::broadcast ? hw.rows : power_of_two(random, 1, 4);
  hw.lanes = power_of_two(random, random.chance(20) ? 1 : 4, std::min(hw.rows, hw.cols));
  if (random.chance(50)) hw.functions = {"lut"};
  hw.bus_bytes = power_of_two(random, 4, 64);
  hw.max_burst = power_of_two(random, std::max(1, 16 / hw.bus_bytes), std::min(16, 4096 / hw.bus_bytes));
  hw.max_outstanding = static_cast<int>(random.range(1, 20));
  hw.queue_depth = static_cast<int>(random.range(2, 9));
  hw.activation = scratchpad(random, hw, Memory::act, 128);
  hw.activation.read_ports = static_cast<int>(random.range(1, 2));
  hw.weight = scratchpad(random, hw, Memory::wgt, 8 * hw.tile_words());
  hw.accumulator = scratchpad(random, hw, Memory::acc, 64);
  hw.parameter = scratchpad(random, hw, Memory::par, 32);
  hw.memory_bytes = 16 << 20;
  hw.memory_latency = static_cast<int>(random.range(1, 90));
  hw.bandwidth_num = random.chance(50) ? hw.bus_bytes : random.range(1, hw.bus_bytes);
  hw.technology_node = "45nm";
  return parse_hwconfig(canonical_yaml(hw), hw.name);
}

}  // namespace dlc
