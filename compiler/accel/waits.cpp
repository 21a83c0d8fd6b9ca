#include "compiler/accel/waits.h"

#include <algorithm>
#include <array>

namespace dlc::accel {
namespace {

using Clock = std::array<uint32_t, isa::kEngineCount>;  // per engine: instructions known to have retired

void join(Clock& into, const Clock& other) {
  for (int e = 0; e < isa::kEngineCount; ++e) into[e] = std::max(into[e], other[e]);
}

}  // namespace

std::vector<isa::Instruction> emit_with_waits(const TileGraph& graph, const std::vector<int>& order) {
  std::vector<int> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);

  std::vector<isa::Instruction> program;
  std::vector<Clock> at_start(order.size());   // per program position
  std::vector<uint32_t> number(order.size());  // per program position: index + 1 in its engine
  Clock issued{};
  std::array<Clock, isa::kEngineCount> previous{};  // an engine's instructions start in order
  for (size_t i = 0; i < order.size(); ++i) {
    isa::Instruction instruction = graph.bound(order[i]);
    const int engine = static_cast<int>(isa::engine_of(instruction));
    Clock known = previous[engine];
    std::vector<int> before;
    for (auto [e, end] = boost::in_edges(order[i], graph.dag()); e != end; ++e)
      before.push_back(position[boost::source(*e, graph.dag())]);
    std::sort(before.begin(), before.end(), std::greater<>());  // the latest imply the most
    auto& wait = isa::wait_of(instruction);
    for (int p : before) {
      const int other = static_cast<int>(isa::engine_of(program[p]));
      if (known[other] >= number[p]) continue;
      wait[other] = std::max(wait[other], number[p]);
      join(known, at_start[p]);
      known[other] = number[p];
    }
    at_start[i] = previous[engine] = known;
    number[i] = ++issued[engine];
    program.push_back(std::move(instruction));
  }
  return program;
}

}  // namespace dlc::accel
