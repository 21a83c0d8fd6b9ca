// Rules between hardware parameters. Ranges of single ones are in the schema.
#include <fmt/format.h>

#include <algorithm>

#include "isa/hwconfig_schema.h"

namespace dlc {
namespace {

class Checker {
 public:
  explicit Checker(const HwConfig& hw) : hw_(hw) {}

  std::vector<HwFault> run() {
    check_array();
    if (!faults_.empty()) return faults_;  // the rest divides by these
    check_scratchpad("activation", Memory::act, hw_.act_groups(), 20);
    check_scratchpad("weight", Memory::wgt, 1, 20);
    check_scratchpad("accumulator", Memory::acc, hw_.acc_groups(), 20);
    check_scratchpad("parameter", Memory::par, 1, 14);
    if (faults_.empty() && hw_.words(Memory::wgt) < 2 * hw_.tile_words()) {
      add("scratchpad.weight.size", fmt::format("expected room for two weight tiles ({}), got {}",
                                                bytes_text(static_cast<uint64_t>(2 * hw_.rows * hw_.cols)),
                                                bytes_text(hw_.weight.size_bytes)));
    }
    check_dma();
    return faults_;
  }

 private:
  void add(const std::string& path, const std::string& message) { faults_.push_back({path, message}); }

  void check_array() {
    const int low = std::min(hw_.rows, hw_.cols), high = std::max(hw_.rows, hw_.cols);
    if (hw_.dataflow == Dataflow::broadcast) {
      check_broadcast();
    } else if (high > 4 * low) {
      add("array.cols",
          fmt::format("expected an aspect ratio of at most 4:1 ({} to {} with rows: {}), got {}",
                      std::max(4, hw_.rows / 4), std::min(128, hw_.rows * 4), hw_.rows, hw_.cols));
    }
    if (hw_.lanes > low) {
      add("vector.lanes",
          fmt::format("expected a divisor of rows and cols, at most {}, got {}", low, hw_.lanes));
    }
    if (hw_.dataflow == Dataflow::weight_stationary && hw_.preload_rows > 4) {
      add("array.preload_rows", fmt::format("expected 1, 2 or 4, got {}", hw_.preload_rows));
    }
  }

  // Every multiplier has its own wire from the WGT word: beyond this size nobody builds it.
  void check_broadcast() {
    constexpr int kMultipliers = 1024;
    if (hw_.rows * hw_.cols > kMultipliers) {
      add("array.cols",
          fmt::format("expected at most {} multipliers for dataflow broadcast (cols up to {} with "
                      "rows: {}), got {}",
                      kMultipliers, kMultipliers / hw_.rows, hw_.rows, hw_.cols));
    }
    if (hw_.preload_rows != hw_.rows) {
      add("array.preload_rows",
          fmt::format("expected {} (rows: broadcast reads a whole tile at once) or nothing, got {}", hw_.rows,
                      hw_.preload_rows));
    }
  }

  // groups: addressable groups a word; bits: of the instruction's address field.
  void check_scratchpad(const std::string& name, Memory memory, int64_t groups, int bits) {
    const std::string path = "scratchpad." + name;
    const ScratchpadConfig& pad = hw_.scratchpad(memory);
    const auto word = static_cast<uint64_t>(hw_.word_bytes(memory));
    if (pad.size_bytes < word) {
      add(path + ".size", fmt::format("expected at least one word of {}, got {}", bytes_text(word),
                                      bytes_text(pad.size_bytes)));
      return;
    }
    const int64_t limit = (int64_t{1} << bits) / groups;
    if (hw_.words(memory) > limit) {
      add(path + ".size",
          fmt::format("expected at most {} ({} words of {} B: addresses have {} bits), got {}",
                      bytes_text(static_cast<uint64_t>(limit) * word), limit, word, bits,
                      bytes_text(pad.size_bytes)));
    }
    if (pad.banks > hw_.words(memory)) {
      add(path + ".banks",
          fmt::format("expected at most one bank a word ({}), got {}", hw_.words(memory), pad.banks));
      return;
    }
    // A beat of a wider bus moves several words at once: as many SRAMs side by side in each bank.
    const int64_t interleaved = std::max<int64_t>(1, hw_.bus_bytes / hw_.word_bytes(memory));
    if (hw_.bank_words(memory) < interleaved) {
      const int64_t most = hw_.words(memory) / interleaved;
      const std::string place = most > 0 ? ".banks" : ".size";
      add(path + place,
          fmt::format("expected banks of at least {} words of {} (a beat of the {} B bus fills as many at once; "
                      "{}), got {} of {} words",
                      interleaved, bytes_text(word), hw_.bus_bytes,
                      most > 0 ? fmt::format("at most {} banks here", most)
                               : fmt::format("at least {}", bytes_text(word * static_cast<uint64_t>(interleaved))),
                      pad.banks, hw_.bank_words(memory)));
    }
  }

  void check_dma() {
    const int burst = hw_.max_burst * hw_.bus_bytes;
    if (burst > 4096 || burst < 16) {
      add("dma.max_burst",
          fmt::format("expected bursts of 16 B to 4 KiB ({} to {} beats of {} B), got {} beats",
                      std::max(1, 16 / hw_.bus_bytes), 4096 / hw_.bus_bytes, hw_.bus_bytes, hw_.max_burst));
    }
    if (hw_.bandwidth_num > hw_.bandwidth_den * hw_.bus_bytes) {
      add("memory.bandwidth", fmt::format("expected at most the bus width, {} B/cycle, got {}", hw_.bus_bytes,
                                          rate_text({hw_.bandwidth_num, hw_.bandwidth_den})));
    }
  }

  const HwConfig& hw_;
  std::vector<HwFault> faults_;
};

}  // namespace

std::vector<HwFault> check_hwconfig(const HwConfig& hw) { return Checker(hw).run(); }

}  // namespace dlc
