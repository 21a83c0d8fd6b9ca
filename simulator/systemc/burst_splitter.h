// The bursts of a LOAD or STORE, in order (isa/README.md §4): each row is split at max_burst beats, counted
// from the bus-aligned address, and at 4 KiB boundaries.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "isa/hwconfig.h"

namespace dlc::systemc_model {

struct Burst {
  uint64_t address = 0;  // bus-aligned, bytes
  int beats = 0;
  bool last = false;  // of the instruction
};

class BurstSplitter {
 public:
  BurstSplitter() = default;

  // transfer: isa::Load or isa::Store with every count and row_bytes ≥ 1.
  template <class Transfer>
  BurstSplitter(const HwConfig& hw, const Transfer& transfer)
      : bus_(hw.bus_bytes),
        max_burst_(hw.max_burst),
        row_bytes_(transfer.row_bytes),
        base_(static_cast<int64_t>(transfer.dram_address)),
        stride_(transfer.dram_stride),
        count_(transfer.count),
        done_(false) {
    begin_row();
  }

  bool done() const { return done_; }

  // The next burst; only if !done().
  Burst next() {
    const int64_t to_boundary = (kBoundary - static_cast<int64_t>(address_ % kBoundary)) / bus_;
    Burst burst;
    burst.address = address_;
    burst.beats = static_cast<int>(std::min({int64_t{max_burst_}, beats_left_, to_boundary}));
    address_ += static_cast<uint64_t>(burst.beats) * bus_;
    beats_left_ -= burst.beats;
    if (beats_left_ == 0) next_row();
    burst.last = done_;
    return burst;
  }

 private:
  static constexpr int64_t kBoundary = 4096;  // AXI: a burst never crosses it

  void begin_row() {
    const int64_t first = base_ + index_[0] * int64_t{stride_[0]} + index_[1] * int64_t{stride_[1]} +
                          index_[2] * int64_t{stride_[2]};
    const int64_t offset = first & (bus_ - 1);
    address_ = static_cast<uint64_t>(first - offset);
    beats_left_ = (offset + row_bytes_ + bus_ - 1) / bus_;
  }

  void next_row() {
    int loop = 2;
    while (loop >= 0 && ++index_[loop] == count_[loop]) index_[loop--] = 0;
    done_ = loop < 0;
    if (!done_) begin_row();
  }

  int64_t bus_ = 1;  // a power of two
  int max_burst_ = 1;
  int64_t row_bytes_ = 0;
  int64_t base_ = 0;
  std::array<int32_t, 3> stride_{};
  std::array<uint32_t, 3> count_{};
  std::array<uint32_t, 3> index_{};
  uint64_t address_ = 0;
  int64_t beats_left_ = 0;
  bool done_ = true;
};

}  // namespace dlc::systemc_model
