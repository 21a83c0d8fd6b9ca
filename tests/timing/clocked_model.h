// The timing contract (isa/README.md §4) once more, one clock tick at a time: an oracle for the event-driven
// SystemC model that shares no mechanism with it. Registered state, next-state computed from it, committed at
// the end of the cycle, as in the RTL. Slow and simple. No values; MATRIX and VECTOR rows from isa/timing.h.
//
// Why beside the RTL: it runs any configuration without a build, so thousands of random programs and odd
// memories cost nothing, and a disagreement of SystemC and RTL has a third opinion.
#pragma once
#include <algorithm>
#include <deque>
#include <vector>

#include "isa/device.h"
#include "isa/timing.h"
#include "simulator/memory/memory_model.h"

namespace dlc::timing_test {

class ClockedModel {
 public:
  ClockedModel(const HwConfig& hw, const Program& program)
      : hw_(hw), program_(program), memory_(MemoryModel(hw)) {
    result_.times.resize(program.instructions.size());
    for (const auto& i : program.instructions) units_ += isa::units(i);
    fetch_bursts_ = (units_ * 16 + hw.fetch_burst_bytes() - 1) / hw.fetch_burst_bytes();
  }

  // Runs to the end, or throws after max_cycles.
  RunResult run(int64_t max_cycles = 2'000'000) {
    while (retired_total_ < program_.instructions.size()) {
      if (t_ > max_cycles) throw std::runtime_error("clocked model: too many cycles");
      cycle();
      ++t_;
    }
    for (int64_t end = last_ + timing::kEndLatency; t_ < end; ++t_) cycle();
    result_.total_cycles = t_;
    return result_;
  }

 private:
  struct Burst {
    uint64_t address = 0;
    int beats = 0;
    bool last = false;
  };
  // An engine's queue and counters; *_seen are the registered values of this cycle.
  struct Lane {
    std::deque<size_t> queue;
    size_t queue_seen = 0, retired = 0, retired_seen = 0, started = 0, started_seen = 0;
    std::deque<size_t> in_flight;       // started, not retired
    std::deque<int64_t> retire_cycles;  // MATRIX, VECTOR: known at the start
    int64_t front_free = 0, previous_end = 0, active_until = -1;
    std::deque<Burst> bursts;  // LOAD, STORE: of the instruction in front
  };

  static constexpr int kLoad = 0, kMatrix = 1, kVector = 2, kStore = 3, kFetch = 4;
  static constexpr uint64_t kFetchTag = 0, kLoadTag = 1;

  void cycle() {
    for (Lane& lane : lanes_) {
      lane.queue_seen = lane.queue.size();
      lane.retired_seen = lane.retired;
      lane.started_seen = lane.started;
    }
    fetch_consumed_seen_ = fetch_consumed_;
    load_outstanding_seen_ = load_outstanding_;
    store_outstanding_seen_ = store_outstanding_;
    beat_ = {false, false, false};
    memory_responses();
    memory_requests();
    fetch();
    load();
    start_compute(kMatrix);
    start_compute(kVector);
    store();
    retire();
    count();
  }

  // --- memory and read channel ---
  void memory_responses() {
    if (const auto beat = memory_.pop_read_beat(t_)) {
      if (beat->tag == kFetchTag) {
        fetch_beats_.push_back(t_);
      } else {
        beat_[0] = true;
        if (beat->last) {
          --load_outstanding_;
          if (load_last_.front()) retire_at_[kLoad].push_back(t_ + timing::kLoadRetire);
          load_last_.pop_front();
        }
      }
    }
    if (memory_.pop_write_response(t_)) {
      --store_outstanding_;
      if (store_last_.front()) retire_at_[kStore].push_back(t_ + timing::kStoreRetire);
      store_last_.pop_front();
    }
  }

  void memory_requests() {
    if (ar_valid_) {
      memory_.accept_read(t_, ar_tag_, ar_.address, ar_.beats);
      result_.dram_read_bytes += int64_t{ar_.beats} * hw_.bus_bytes;
    }
    ar_valid_ = false;
    fetch_taken_ = load_taken_ = false;
    if (fetch_request_) {
      fetch_taken_ = ar_valid_ = true;
      ar_ = {0, hw_.fetch_burst_bytes() / hw_.bus_bytes, false};
      ar_tag_ = kFetchTag;
    } else if (load_request_) {
      load_taken_ = ar_valid_ = true;
      ar_ = load_register_;
      ar_tag_ = kLoadTag;
    }
  }

  // --- FETCH ---
  void fetch() {
    fetch_state_ = Fetch::memory;
    if (fetch_unit_ == units_) {
      fetch_state_ = Fetch::done;
    } else {
      const int64_t last_byte = fetch_unit_ * 16 + 15;
      const auto beat = static_cast<size_t>(last_byte / hw_.bus_bytes);
      if (beat < fetch_beats_.size() && fetch_beats_[beat] < t_) consume();
    }
    const bool register_free = !fetch_request_ || fetch_taken_;
    fetch_request_ = fetch_request_ && !fetch_taken_;
    if (fetch_generated_ < fetch_bursts_ && register_free &&
        fetch_generated_ - fetch_consumed_seen_ < timing::kFetchBuffers) {
      ++fetch_generated_;
      fetch_request_ = true;
    }
  }

  void consume() {
    const bool last = fetch_in_instruction_ + 1 == isa::units(program_.instructions[fetch_instruction_]);
    if (last) {
      Lane& lane = lanes_[engine_of(fetch_instruction_)];
      if (lane.queue_seen >= static_cast<size_t>(hw_.queue_depth)) {
        fetch_state_ = Fetch::dependency;
        return;
      }
      lane.queue.push_back(fetch_instruction_++);
      fetch_in_instruction_ = 0;
    } else {
      ++fetch_in_instruction_;
    }
    fetch_state_ = Fetch::busy;
    ++fetch_unit_;
    fetch_consumed_ = fetch_unit_ * 16 / hw_.fetch_burst_bytes();
    last_ = t_;
  }

  // --- starts ---
  int engine_of(size_t i) const { return static_cast<int>(isa::engine_of(program_.instructions[i])); }

  bool ready(int e) const {
    const Lane& lane = lanes_[e];
    if (lane.queue_seen == 0) return false;
    const auto& waits = isa::wait_of(program_.instructions[lane.queue.front()]);
    for (int x = 0; x < isa::kEngineCount; ++x) {
      if (lanes_[x].retired_seen < waits[x]) return false;
    }
    return true;
  }

  size_t start(int e) {
    Lane& lane = lanes_[e];
    const size_t i = lane.queue.front();
    lane.queue.pop_front();
    lane.in_flight.push_back(i);
    ++lane.started;
    result_.times[i].start = t_;
    return i;
  }

  void start_compute(int e) {
    Lane& lane = lanes_[e];
    if (!ready(e) || t_ < lane.front_free) return;
    const size_t i = start(e);
    const auto product = [](const auto& counts) {
      int64_t n = 1;
      for (const uint32_t c : counts) n *= c;
      return n;
    };
    if (e == kMatrix) {
      const auto& m = std::get<isa::Matrix>(program_.instructions[i]);
      const auto times =
          timing::matrix_times(hw_, t_, lane.previous_end, product(m.tile_count), product(m.step_count));
      lane.front_free = times.front_free;
      lane.previous_end = times.end;
      lane.active_until = times.end - 1;
      retire_at_[e].push_back(times.retire);
    } else {
      const auto times =
          timing::vector_times(t_, product(std::get<isa::Vector>(program_.instructions[i]).count));
      lane.front_free = times.front_free;
      lane.active_until = times.front_free;
      retire_at_[e].push_back(times.retire);
    }
  }

  template <class Transfer>
  void split(const Transfer& t, std::deque<Burst>& bursts) const {
    const int64_t bus = hw_.bus_bytes;
    for (uint32_t i0 = 0; i0 < t.count[0]; ++i0) {
      for (uint32_t i1 = 0; i1 < t.count[1]; ++i1) {
        for (uint32_t i2 = 0; i2 < t.count[2]; ++i2) {
          const int64_t begin = static_cast<int64_t>(t.dram_address) + int64_t{i0} * t.dram_stride[0] +
                                int64_t{i1} * t.dram_stride[1] + int64_t{i2} * t.dram_stride[2];
          const int64_t first = begin / bus, end = (begin + t.row_bytes - 1) / bus + 1;  // beats
          Burst burst{static_cast<uint64_t>(first * bus), 0, false};
          for (int64_t beat = first; beat < end; ++beat) {
            if (burst.beats == hw_.max_burst || (beat != first && beat * bus % 4096 == 0)) {
              bursts.push_back(burst);
              burst = {static_cast<uint64_t>(beat * bus), 0, false};
            }
            ++burst.beats;
          }
          bursts.push_back(burst);
        }
      }
    }
    bursts.back().last = true;
  }

  // --- LOAD ---
  void load() {
    Lane& lane = lanes_[kLoad];
    const bool register_free = !load_request_ || load_taken_;
    load_request_ = load_request_ && !load_taken_;
    if (!lane.bursts.empty() && register_free && load_outstanding_seen_ < hw_.max_outstanding) {
      load_register_ = lane.bursts.front();
      lane.bursts.pop_front();
      load_last_.push_back(load_register_.last);
      load_request_ = true;
      ++load_outstanding_;
    }
    const bool room = lane.started_seen - lane.retired_seen < timing::kLoadInflight;
    if (lane.bursts.empty() && room && ready(kLoad)) {
      split(std::get<isa::Load>(program_.instructions[start(kLoad)]), lane.bursts);
    }
  }

  // --- STORE ---
  struct Buffer {
    int beats = 0;
    bool last = false;
    int64_t ready = 0;  // AW not before
  };

  void store() {
    Lane& lane = lanes_[kStore];
    // W channel: the burst in front of the buffers.
    const size_t used_seen = buffers_.size() + (reading_ > 0 ? 1 : 0);
    if (sending_ == 0 && !buffers_.empty() && buffers_.front().ready <= t_ &&
        store_outstanding_seen_ < hw_.max_outstanding) {
      sending_ = buffers_.front().beats;
      store_last_.push_back(buffers_.front().last);
      ++store_outstanding_;
    }
    if (sending_ > 0) {
      beat_[1] = true;
      result_.dram_write_bytes += hw_.bus_bytes;
      if (--sending_ == 0) {
        memory_.accept_write(t_, 0, buffers_.front().beats);
        buffers_.pop_front();
      }
    }
    // Scratchpad reads.
    if (reading_ == 0 && !lane.bursts.empty() && used_seen < 2) reading_ = lane.bursts.front().beats;
    bool finished = lane.bursts.empty();
    if (reading_ > 0 && --reading_ == 0) {
      const Burst& burst = lane.bursts.front();
      buffers_.push_back({burst.beats, burst.last, t_ + 1 + timing::kStoreLatency});
      lane.bursts.pop_front();
      finished = lane.bursts.empty();
    }
    const bool room = lane.started_seen - lane.retired_seen < timing::kStoreInflight;
    if (finished && room && ready(kStore)) {
      split(std::get<isa::Store>(program_.instructions[start(kStore)]), lane.bursts);
    }
  }

  // --- retires and counters ---
  void retire() {
    retiring_ = {};
    for (int e = 0; e < isa::kEngineCount; ++e) {
      if (retire_at_[e].empty() || retire_at_[e].front() > t_) continue;
      retire_at_[e].pop_front();
      Lane& lane = lanes_[e];
      result_.times[lane.in_flight.front()].retire = t_;
      lane.in_flight.pop_front();
      ++lane.retired;
      ++retired_total_;
      retiring_[e] = true;
      last_ = t_;
    }
  }

  void count() {
    for (int e = 0; e < isa::kEngineCount; ++e) {
      const Lane& lane = lanes_[e];
      EngineCounters& c = result_.engines[e];
      const bool moves = e == kLoad || e == kStore;
      const bool active = moves ? !lane.in_flight.empty() || retiring_[e] : t_ <= lane.active_until;
      if (active) {
        const bool busy = !moves || beat_[e == kLoad ? 0 : 1];
        ++(busy ? c.busy : c.wait_memory);
      } else {
        ++(lane.queue_seen > 0 ? c.wait_dependency : c.idle);
      }
    }
    EngineCounters& f = result_.engines[kFetch];
    switch (fetch_state_) {
      case Fetch::busy:
        ++f.busy;
        break;
      case Fetch::dependency:
        ++f.wait_dependency;
        break;
      case Fetch::memory:
        ++f.wait_memory;
        break;
      case Fetch::done:
        ++f.idle;
        break;
    }
  }

  const HwConfig hw_;
  const Program& program_;
  MemoryPort memory_;
  RunResult result_;
  int64_t t_ = 0, last_ = 0;
  size_t retired_total_ = 0;
  std::array<Lane, isa::kEngineCount> lanes_;
  std::array<std::deque<int64_t>, isa::kEngineCount> retire_at_;
  std::array<bool, isa::kEngineCount> retiring_{};
  std::array<bool, 3> beat_{};  // LOAD beat, STORE beat in this cycle

  bool ar_valid_ = false;
  Burst ar_;
  uint64_t ar_tag_ = 0;

  enum class Fetch { busy, dependency, memory, done } fetch_state_ = Fetch::memory;
  int64_t units_ = 0, fetch_bursts_ = 0, fetch_generated_ = 0, fetch_consumed_ = 0, fetch_consumed_seen_ = 0;
  int64_t fetch_unit_ = 0;
  size_t fetch_instruction_ = 0;
  int fetch_in_instruction_ = 0;
  std::vector<int64_t> fetch_beats_;  // arrival cycles
  bool fetch_request_ = false, fetch_taken_ = false;

  bool load_request_ = false, load_taken_ = false;
  Burst load_register_;
  int load_outstanding_ = 0, load_outstanding_seen_ = 0;
  std::deque<bool> load_last_;

  std::deque<Buffer> buffers_;
  int reading_ = 0, sending_ = 0;
  int store_outstanding_ = 0, store_outstanding_seen_ = 0;
  std::deque<bool> store_last_;
};

}  // namespace dlc::timing_test
