#include "simulator/systemc/fetch.h"

#include <algorithm>

#include "isa/timing.h"

namespace dlc::systemc_model {

Fetch::Fetch(sc_core::sc_module_name name, Scoreboard& scoreboard, ReadArbiter& arbiter)
    : ClockedModule(name), scoreboard_(scoreboard), arbiter_(arbiter) {
  scoreboard_.connect_fetch(*this);
  arbiter_.connect(Channel::fetch, *this);
}

void Fetch::reset() {
  reset_clock();
  const Program& program = *scoreboard_.context().program;
  int64_t bytes = 0;
  for (const isa::Instruction& instruction : program.instructions)
    bytes += isa::units(instruction) * isa::kUnitBytes;
  burst_bytes_ = scoreboard_.hw().fetch_burst_bytes();
  bursts_ = (bytes + burst_bytes_ - 1) / burst_bytes_;
  instructions_ = program.instructions.size();
  requested_ = served_ = consumed_ = 0;
  last_request_ = last_consumed_ = -1;
  pushed_ = 0;
  unit_ = 0;
  units_left_ = instructions_ != 0 ? isa::units(program.instructions[0]) : 0;
  counters_ = {};
  wake(0);
}

void Fetch::burst_served(const BurstTimes& times) {
  times_[served_++ % kBuffers] = times;
  wake(now());
}

void Fetch::evaluate() {
  consume();
  request();
}

void Fetch::consume() {
  while (pushed_ < instructions_ && consume_unit()) {
  }
}

// Consumes the next unit if everything that its cycle depends on is known.
bool Fetch::consume_unit() {
  const int64_t last_byte = unit_ * isa::kUnitBytes + isa::kUnitBytes - 1;
  const int64_t burst = last_byte / burst_bytes_;
  if (burst >= served_) return false;  // burst_served() wakes
  const int64_t arrival =
      times_[burst % kBuffers].beat(last_byte % burst_bytes_ / scoreboard_.hw().bus_bytes);
  const int64_t available = std::max(arrival, last_consumed_) + 1;
  int64_t cycle = available;
  const auto& instructions = scoreboard_.context().program->instructions;
  const bool last = units_left_ == 1;
  if (last) {
    const isa::Engine engine = isa::engine_of(instructions[pushed_]);
    const Lane& lane = scoreboard_.lane(engine);
    const size_t k = lane.visible.size(), depth = static_cast<size_t>(scoreboard_.hw().queue_depth);
    if (k >= depth) {
      if (lane.start.size() <= k - depth) {
        scoreboard_.wake_fetch_on_start(engine);
        return false;
      }
      cycle = std::max(cycle, lane.start[k - depth] + 1);
    }
    scoreboard_.push(engine, cycle + 1);
  }
  counters_.wait_memory += available - last_consumed_ - 1;
  counters_.wait_dependency += cycle - available;
  counters_.busy += 1;
  last_consumed_ = cycle;
  ++unit_;
  for (; (consumed_ + 1) * burst_bytes_ <= last_byte + 1; ++consumed_)
    consumed_cycle_[consumed_ % kBuffers] = cycle;
  if (!last) {
    --units_left_;
  } else if (++pushed_ < instructions_) {
    units_left_ = isa::units(instructions[pushed_]);
  }
  return true;
}

void Fetch::request() {
  if (requested_ == bursts_ || requested_ - consumed_ >= kBuffers) return;  // consume() comes first
  int64_t cycle = last_request_ + 1;
  if (requested_ >= kBuffers) cycle = std::max(cycle, consumed_cycle_[requested_ % kBuffers] + 1);
  if (cycle > now()) {
    wake(cycle);
    return;
  }
  const uint64_t address = scoreboard_.context().program->program_address + requested_ * burst_bytes_;
  arbiter_.request(Channel::fetch, address, burst_bytes_ / scoreboard_.hw().bus_bytes);
  last_request_ = now();
  if (++requested_ < bursts_) wake(now() + 1);
}

}  // namespace dlc::systemc_model
