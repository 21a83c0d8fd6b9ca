// What a run leaves behind: counters as the timing contract defines them (isa/README.md §4, "Counters"), and
// the explanation of a run that got stuck.
#include <algorithm>
#include <string>

#include "isa/timing.h"
#include "simulator/systemc/core.h"

namespace dlc::systemc_model {

namespace {

struct LaneCycles {
  int64_t active = 0;           // cycles in the union of the active intervals
  int64_t wait_dependency = 0;  // not active, but a queue head is visible
};

LaneCycles count_cycles(const Lane& lane) {
  LaneCycles cycles;
  int64_t active_end = -1;  // last active cycle so far
  int64_t previous_start = -1;
  for (size_t k = 0; k < lane.start.size(); ++k) {
    // The instruction is the visible head from `head` to its start.
    const int64_t head = std::max(lane.visible[k], previous_start + 1);
    cycles.wait_dependency += std::max<int64_t>(0, lane.start[k] - std::max(head, active_end + 1));
    const int64_t begin = std::max(lane.start[k], active_end + 1);
    active_end = std::max(active_end, lane.active_end[k]);
    cycles.active += std::max<int64_t>(0, active_end - begin + 1);
    previous_start = lane.start[k];
  }
  return cycles;
}

}  // namespace

EngineCounters Core::lane_counters(isa::Engine engine, int64_t total) const {
  const Lane& lane = scoreboard_.lane(engine);
  const LaneCycles cycles = count_cycles(lane);
  EngineCounters counters;
  const bool moves_data = engine == isa::Engine::load || engine == isa::Engine::store;
  counters.busy = moves_data ? lane.beats : cycles.active;
  counters.wait_memory = cycles.active - counters.busy;
  counters.wait_dependency = cycles.wait_dependency;
  counters.idle = total - cycles.active - cycles.wait_dependency;
  return counters;
}

RunResult Core::result() const {
  RunResult result;
  int64_t last = fetch_.last_consumed();
  result.times.resize(scoreboard_.context().program->instructions.size());
  for (int e = 0; e < isa::kEngineCount; ++e) {
    const Lane& lane = scoreboard_.lane(static_cast<isa::Engine>(e));
    for (size_t k = 0; k < lane.size(); ++k) {
      result.times[lane.program_index[k]] = {lane.start[k], lane.retire[k]};
    }
    if (!lane.retire.empty()) last = std::max(last, lane.retire.back());
  }
  result.total_cycles = last + timing::kEndLatency;
  for (int e = 0; e < isa::kEngineCount; ++e) {
    result.engines[e] = lane_counters(static_cast<isa::Engine>(e), result.total_cycles);
  }
  EngineCounters fetch = fetch_.counters();
  fetch.idle = result.total_cycles - fetch_.last_consumed() - 1;
  result.engines[isa::kEngineCount] = fetch;
  result.dram_read_bytes = bus_.bytes_read();
  result.dram_write_bytes = bus_.bytes_written();
  return result;
}

std::string Core::describe_stuck() const {
  std::string text;
  const Program& program = *scoreboard_.context().program;
  for (int e = 0; e < isa::kEngineCount; ++e) {
    const Lane& lane = scoreboard_.lane(static_cast<isa::Engine>(e));
    const size_t k = lane.start.size();
    if (k == lane.visible.size()) continue;
    const uint32_t index = lane.program_index[k];
    text += "\n  " + std::string(kEngineNames[e]) + ": instruction " + std::to_string(index) + " waits";
    const auto& waits = isa::wait_of(program.instructions[index]);
    for (int x = 0; x < isa::kEngineCount; ++x) {
      const size_t known = scoreboard_.lane(static_cast<isa::Engine>(x)).retire.size();
      if (known >= waits[x]) continue;
      text += " for " + std::string(kEngineNames[x]) + " to retire " + std::to_string(waits[x]) +
              " (it has retired " + std::to_string(known) + ")";
    }
  }
  if (!fetch_.done()) {
    const auto engine = static_cast<int>(isa::engine_of(program.instructions[fetch_.pushed()]));
    text += "\n  fetch: instruction " + std::to_string(fetch_.pushed()) + " waits for room in the queue of " +
            kEngineNames[engine];
  }
  return text;
}

}  // namespace dlc::systemc_model
