#include "simulator/systemc/scoreboard.h"

#include <algorithm>

#include "simulator/functional/execute.h"

namespace dlc::systemc_model {

namespace {
constexpr size_t kProgressReports = 200;  // a run
}

void Scoreboard::reset(const RunContext& context) {
  reset_clock();
  context_ = context;
  for (Lane& lane : lanes_) lane = Lane{};
  const auto& instructions = context.program->instructions;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    lane(isa::engine_of(instructions[i])).program_index.push_back(i);
  }
  for (Lane& lane : lanes_) {
    for (auto* cycles : {&lane.visible, &lane.start, &lane.retire, &lane.active_end}) {
      cycles->reserve(lane.size());
    }
  }
  fetch_waits_for_ = {};
  waits_for_push_.fill(true);
  needs_ = {};
  watch_retires_ = context.state != nullptr || context.options->progress;
  retired_ = report_at_ = 0;
  failure_ = nullptr;
}

void Scoreboard::push(isa::Engine engine, int64_t cycle) {
  lane(engine).visible.push_back(cycle);
  bool& waits = waits_for_push_[static_cast<int>(engine)];
  if (waits) engines_[static_cast<int>(engine)]->wake(cycle);
  waits = false;
}

int64_t Scoreboard::next_start(isa::Engine engine, int64_t front_free) {
  const Lane& own = lane(engine);
  const size_t k = own.start.size();
  if (k >= own.visible.size()) {
    waits_for_push_[static_cast<int>(engine)] = true;
    return kUnknown;
  }
  int64_t cycle = std::max(own.visible[k], front_free);
  const auto& waits = isa::wait_of(context_.program->instructions[own.program_index[k]]);
  for (int e = 0; e < isa::kEngineCount; ++e) {
    const size_t n = waits[e];
    if (n == 0) continue;
    if (lanes_[e].retire.size() < n) {
      needs_[static_cast<int>(engine)][e] = n;
      return kUnknown;
    }
    cycle = std::max(cycle, lanes_[e].retire[n - 1] + 1);
  }
  return cycle;
}

void Scoreboard::start(isa::Engine engine) {
  lane(engine).start.push_back(now());
  bool& waits = fetch_waits_for_[static_cast<int>(engine)];
  if (waits) fetch_->wake(now());
  waits = false;
}

void Scoreboard::retire(isa::Engine engine, int64_t cycle, int64_t active_end) {
  const int index = static_cast<int>(engine);
  Lane& own = lanes_[index];
  assert(cycle >= now() && (own.retire.empty() || cycle >= own.retire.back()));
  own.retire.push_back(cycle);
  own.active_end.push_back(active_end);
  for (int e = 0; e < isa::kEngineCount; ++e) {
    if (needs_[e][index] != 0 && own.retire.size() >= needs_[e][index]) {
      needs_[e][index] = 0;
      engines_[e]->wake(cycle + 1);
    }
  }
  if (watch_retires_) wake(cycle);
}

bool Scoreboard::all_retired() const {
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [](const Lane& lane) { return lane.retire.size() == lane.size(); });
}

void Scoreboard::evaluate() {
  // An exception must not pass through the kernel: it would end the simulation context for good.
  try {
    for (Lane& lane : lanes_) retire_values(lane);
    if (context_.options->progress && retired_ >= report_at_) {
      const size_t total = context_.program->instructions.size();
      report_at_ = retired_ + std::max<size_t>(1, total / kProgressReports);
      context_.options->progress(static_cast<double>(retired_) / static_cast<double>(total));
    }
  } catch (...) {
    failure_ = std::current_exception();
    sc_core::sc_pause();
    return;
  }
  int64_t next = kUnknown;
  for (const Lane& lane : lanes_) {
    if (lane.retired < lane.retire.size()) next = std::min(next, lane.retire[lane.retired]);
  }
  if (next != kUnknown) wake(next);
}

void Scoreboard::retire_values(Lane& lane) {
  while (lane.retired < lane.retire.size() && lane.retire[lane.retired] <= now()) {
    if (context_.state != nullptr) {
      execute(*context_.state, context_.program->instructions[lane.program_index[lane.retired]],
              context_.dram);
    }
    ++lane.retired;
    ++retired_;
  }
}

}  // namespace dlc::systemc_model
