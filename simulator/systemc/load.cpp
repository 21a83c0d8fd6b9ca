#include "simulator/systemc/load.h"

#include <algorithm>

#include "isa/timing.h"

namespace dlc::systemc_model {

Load::Load(sc_core::sc_module_name name, Scoreboard& scoreboard, ReadArbiter& arbiter)
    : ClockedModule(name), scoreboard_(scoreboard), arbiter_(arbiter) {
  scoreboard_.connect(isa::Engine::load, *this);
  arbiter_.connect(Channel::load, *this);
}

void Load::reset() {
  reset_clock();
  bursts_ = {};
  front_free_ = next_burst_ = 0;
  register_full_ = waits_for_service_ = false;
  generated_ = served_ = 0;
  last_beat_.assign(scoreboard_.hw().max_outstanding, 0);
  is_last_.assign(scoreboard_.hw().max_outstanding, false);
}

void Load::evaluate() {
  // A last burst frees the issue unit for a start in the same cycle.
  while (bursts_.done() ? start() : generate()) {
  }
}

// True if an instruction starts in this cycle.
bool Load::start() {
  const Lane& lane = scoreboard_.lane(isa::Engine::load);
  const size_t k = lane.start.size();
  int64_t front = front_free_;
  if (k >= timing::kLoadInflight) {
    if (lane.retire.size() <= k - timing::kLoadInflight) return wait_for_service();
    front = std::max(front, lane.retire[k - timing::kLoadInflight] + 1);
  }
  const int64_t cycle = scoreboard_.next_start(isa::Engine::load, front);
  if (cycle == kUnknown) return false;
  if (cycle > now()) {
    wake(cycle);
    return false;
  }
  assert(cycle == now());
  bursts_ = BurstSplitter(scoreboard_.hw(), scoreboard_.instruction<isa::Load>(isa::Engine::load, k));
  scoreboard_.start(isa::Engine::load);
  next_burst_ = now() + 1;
  return true;
}

// True if a burst is generated in this cycle.
bool Load::generate() {
  const int64_t limit = static_cast<int64_t>(last_beat_.size());
  int64_t cycle = next_burst_;
  if (generated_ >= limit) {
    if (served_ <= generated_ - limit) return wait_for_service();
    cycle = std::max(cycle, last_beat_[generated_ % limit] + 1);
  }
  if (cycle > now()) {
    wake(cycle);
    return false;
  }
  if (register_full_) return false;  // request_taken() wakes
  const Burst burst = bursts_.next();
  arbiter_.request(Channel::load, burst.address, burst.beats);
  register_full_ = true;
  is_last_[generated_ % limit] = burst.last;
  ++generated_;
  next_burst_ = now() + 1;
  if (burst.last) front_free_ = now();
  return true;
}

void Load::request_taken() {
  register_full_ = false;
  wake(now());
}

void Load::burst_served(const BurstTimes& times) {
  const size_t slot = static_cast<size_t>(served_++ % static_cast<int64_t>(last_beat_.size()));
  last_beat_[slot] = times.last_beat();
  scoreboard_.lane(isa::Engine::load).beats += times.beats();
  if (is_last_[slot]) {
    const int64_t retire = times.last_beat() + timing::kLoadRetire;
    scoreboard_.retire(isa::Engine::load, retire, retire);
  }
  if (waits_for_service_) wake(now());
  waits_for_service_ = false;
}

}  // namespace dlc::systemc_model
