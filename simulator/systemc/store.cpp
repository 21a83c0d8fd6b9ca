#include "simulator/systemc/store.h"

#include <algorithm>

#include "isa/timing.h"

namespace dlc::systemc_model {

Store::Store(sc_core::sc_module_name name, Scoreboard& scoreboard, BusPort& bus)
    : ClockedModule(name), scoreboard_(scoreboard), bus_(bus) {
  scoreboard_.connect(isa::Engine::store, *this);
  bus_.connect(Channel::store, *this);
}

void Store::reset() {
  reset_clock();
  bursts_ = {};
  front_free_ = next_read_ = 0;
  reads_ = sends_ = responses_ = 0;
  buffer_free_ = {};
  waits_for_service_ = false;
  channel_free_ = 0;
  to_send_.clear();
  to_issue_.clear();
  response_.assign(scoreboard_.hw().max_outstanding, 0);
  is_last_.assign(scoreboard_.hw().max_outstanding, false);
}

void Store::evaluate() {
  bool progress = true;
  while (progress) {
    progress = bursts_.done() ? start() : plan_read();
    progress |= plan_send();
  }
  issue();
}

// True if an instruction starts in this cycle.
bool Store::start() {
  const Lane& lane = scoreboard_.lane(isa::Engine::store);
  const size_t k = lane.start.size();
  int64_t front = front_free_;
  if (k >= timing::kStoreInflight) {
    if (lane.retire.size() <= k - timing::kStoreInflight) return wait_for_service();
    front = std::max(front, lane.retire[k - timing::kStoreInflight] + 1);
  }
  const int64_t cycle = scoreboard_.next_start(isa::Engine::store, front);
  if (cycle == kUnknown) return false;
  if (cycle > now()) {
    wake(cycle);
    return false;
  }
  assert(cycle == now());
  bursts_ = BurstSplitter(scoreboard_.hw(), scoreboard_.instruction<isa::Store>(isa::Engine::store, k));
  scoreboard_.start(isa::Engine::store);
  next_read_ = std::max(next_read_, now() + 1);
  return true;
}

// True if the next burst's scratchpad reads could be timed: a buffer's release is known.
bool Store::plan_read() {
  if (reads_ - sends_ >= kBuffers) return false;
  Planned planned;
  planned.burst = bursts_.next();
  const int64_t first = std::max(next_read_, buffer_free_[reads_ % kBuffers]);
  next_read_ = planned.read_end = first + planned.burst.beats;
  if (planned.burst.last) front_free_ = planned.read_end - 1;
  to_send_.push_back(planned);
  ++reads_;
  return true;
}

// True if the oldest read burst's W beats could be timed: the responses that it waits for are known.
bool Store::plan_send() {
  if (to_send_.empty()) return false;
  Planned planned = to_send_.front();
  const int64_t limit = static_cast<int64_t>(response_.size());
  int64_t first = std::max(planned.read_end + timing::kStoreLatency, channel_free_);
  if (sends_ >= limit) {
    if (responses_ <= sends_ - limit) return wait_for_service();
    first = std::max(first, response_[sends_ % limit] + 1);
  }
  to_send_.pop_front();
  channel_free_ = buffer_free_[sends_ % kBuffers] = first + planned.burst.beats;
  planned.last_w = channel_free_ - 1;
  is_last_[sends_ % limit] = planned.burst.last;
  to_issue_.push_back(planned);
  ++sends_;
  return true;
}

void Store::issue() {
  while (!to_issue_.empty() && to_issue_.front().last_w <= now()) {
    const Burst& burst = to_issue_.front().burst;
    bus_.issue(Channel::store, burst.address, burst.beats);
    to_issue_.pop_front();
  }
  if (!to_issue_.empty()) wake(to_issue_.front().last_w);
}

void Store::burst_served(const BurstTimes& times) {
  const size_t slot = static_cast<size_t>(responses_++ % static_cast<int64_t>(response_.size()));
  response_[slot] = times.response();
  scoreboard_.lane(isa::Engine::store).beats += times.beats();
  if (is_last_[slot]) {
    const int64_t retire = times.response() + timing::kStoreRetire;
    scoreboard_.retire(isa::Engine::store, retire, retire);
  }
  if (waits_for_service_) wake(now());
  waits_for_service_ = false;
}

}  // namespace dlc::systemc_model
