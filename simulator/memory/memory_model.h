// The DRAM behind the accelerator's AXI4 port, as the timing contract describes it (isa/README.md §4):
// whole bursts served in acceptance order, one bandwidth for both directions, plus a latency.
//
// Plain C++ (no SystemC, no Verilator): the SystemC model's TLM target and the Verilator harness share it,
// so the two cannot disagree about the memory. Times only; the bytes are the caller's.
//
// Exactness: a beat takes τ = bus_bytes / bandwidth cycles, a rational number p/q ≥ 1. All times are kept as
// integers in units of 1/q cycle, so nothing ever rounds except the final "first whole cycle not before".
//
// Two ways to use it:
//   event-driven:  BurstTimes b = memory.accept(cycle, beats);  b.beat(i), b.response()
//   per cycle:     MemoryPort (below): accept_read / accept_write in the cycle of the handshake, then
//                  pop_read_beat(cycle) and pop_write_response(cycle) once in every later cycle.
// Either way: calls in order of the cycle, and in one cycle the read before the write (AXI: one AR and one
// last W beat at most a cycle).
#pragma once
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>

#include "isa/error.h"
#include "isa/hwconfig.h"

namespace dlc {

// When the beats of one accepted burst are on the bus. The bandwidth is constant, so it is a closed form.
class BurstTimes {
 public:
  BurstTimes() = default;
  BurstTimes(int64_t start, int64_t tau_num, int64_t tau_den, int beats)
      : start_(start), tau_num_(tau_num), tau_den_(tau_den), beats_(beats) {}

  int beats() const { return beats_; }
  // Cycle of read beat i (0-based) on the R channel.
  int64_t beat(int64_t i) const { return ceil_cycle(start_ + i * tau_num_); }
  int64_t last_beat() const { return beat(beats_ - 1); }
  // Cycle of a write's B response.
  int64_t response() const { return ceil_cycle(start_ + beats_ * tau_num_); }
  // Number of read beats whose cycle is < `cycle`.
  int64_t beats_before(int64_t cycle) const {
    // ceil((start + i*num)/den) < cycle  <=>  start + i*num <= (cycle-1)*den
    const int64_t room = (cycle - 1) * tau_den_ - start_;
    if (room < 0) return 0;
    return std::min<int64_t>(beats_, room / tau_num_ + 1);
  }
  // Service start and end, in units of 1/den cycles.
  int64_t start_units() const { return start_; }
  int64_t end_units() const { return start_ + beats_ * tau_num_; }
  int64_t tau_num() const { return tau_num_; }
  int64_t tau_den() const { return tau_den_; }

 private:
  int64_t ceil_cycle(int64_t units) const { return (units + tau_den_ - 1) / tau_den_; }

  int64_t start_ = 0;  // service start s, in units of 1/tau_den_ cycle
  int64_t tau_num_ = 1, tau_den_ = 1;
  int beats_ = 0;
};

class MemoryModel {
 public:
  // latency: cycles ≥ 1; bandwidth: bytes per cycle, bandwidth_num / bandwidth_den. A bandwidth beyond the
  // bus width is the bus width (τ = 1). Errors: UserError for a latency < 1 or a bandwidth ≤ 0.
  MemoryModel(int64_t latency, int bus_bytes, int64_t bandwidth_num, int64_t bandwidth_den)
      : latency_(latency) {
    if (latency < 1) {
      throw UserError(ErrorKind::bad_input, "memory", "latency must be at least 1 cycle");
    }
    if (bus_bytes < 1 || bandwidth_num < 1 || bandwidth_den < 1) {
      throw UserError(ErrorKind::bad_input, "memory", "bandwidth and bus width must be positive");
    }
    tau_num_ = bus_bytes * bandwidth_den;
    tau_den_ = bandwidth_num;
    const int64_t divisor = std::gcd(tau_num_, tau_den_);
    tau_num_ /= divisor;
    tau_den_ /= divisor;
    if (tau_num_ < tau_den_) tau_num_ = tau_den_ = 1;
  }
  explicit MemoryModel(const HwConfig& hw)
      : MemoryModel(hw.memory_latency, hw.bus_bytes, hw.bandwidth_num, hw.bandwidth_den) {}

  // Forgets everything that was accepted.
  void reset() { free_ = last_accept_ = 0; }

  // A burst of `beats` ≥ 1 beats is accepted in `cycle`: a read with its AR handshake, a write with its last
  // W beat. Never before an earlier call's cycle; reads before writes in one cycle.
  BurstTimes accept(int64_t cycle, int beats) {
    assert(cycle >= last_accept_ && beats >= 1);
    last_accept_ = cycle;
    const int64_t start = std::max((cycle + latency_) * tau_den_, free_);
    const BurstTimes times(start, tau_num_, tau_den_, beats);
    free_ = times.end_units();
    return times;
  }

  int64_t latency() const { return latency_; }
  int64_t tau_num() const { return tau_num_; }
  int64_t tau_den() const { return tau_den_; }

 private:
  int64_t latency_;
  int64_t tau_num_ = 1, tau_den_ = 1;
  int64_t free_ = 0;  // when the last accepted burst is served, in units of 1/tau_den_ cycle
  int64_t last_accept_ = 0;
};

// The per-cycle face of a MemoryModel. `tag` and `address` come back as they were given.
class MemoryPort {
 public:
  struct ReadBeat {
    uint64_t tag = 0;
    uint64_t address = 0;  // of the burst
    int index = 0;         // beat number in its burst
    bool last = false;
  };

  explicit MemoryPort(const MemoryModel& model) : model_(model) {}

  void reset() {
    model_.reset();
    reads_.clear();
    writes_.clear();
  }

  void accept_read(int64_t cycle, uint64_t tag, uint64_t address, int beats) {
    reads_.push_back({model_.accept(cycle, beats), tag, address, 0});
  }
  void accept_write(int64_t cycle, uint64_t tag, int beats) {
    writes_.push_back({model_.accept(cycle, beats), tag, 0, 0});
  }

  // The R beat of this cycle, if any. At most one a cycle is due (τ ≥ 1). Call in every cycle.
  std::optional<ReadBeat> pop_read_beat(int64_t cycle) {
    if (reads_.empty()) return std::nullopt;
    Burst& b = reads_.front();
    if (b.times.beat(b.next) > cycle) return std::nullopt;
    ReadBeat beat{b.tag, b.address, b.next, b.next + 1 == b.times.beats()};
    ++b.next;
    if (beat.last) reads_.pop_front();
    return beat;
  }

  // The tag of the write whose B response is on the bus in this cycle, if any.
  std::optional<uint64_t> pop_write_response(int64_t cycle) {
    if (writes_.empty() || writes_.front().times.response() > cycle) return std::nullopt;
    const uint64_t tag = writes_.front().tag;
    writes_.pop_front();
    return tag;
  }

  bool idle() const { return reads_.empty() && writes_.empty(); }

 private:
  struct Burst {
    BurstTimes times;
    uint64_t tag;
    uint64_t address;
    int next;  // next beat
  };
  MemoryModel model_;
  std::deque<Burst> reads_, writes_;
};

}  // namespace dlc
