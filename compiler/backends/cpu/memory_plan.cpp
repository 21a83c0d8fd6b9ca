#include "compiler/backends/cpu/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace dlc::cpu {
namespace {

constexpr int64_t kAlign = 64;

struct Life {
  size_t first = SIZE_MAX, last = 0;  // steps
  bool overlaps(const Life& o) const { return first <= o.last && o.first <= last; }
};

std::vector<Life> lives_of(const loop::LoopProgram& p) {
  std::vector<Life> lives(p.storages.size());
  const auto use = [&](int storage, size_t step) {
    Life& l = lives[static_cast<size_t>(storage)];
    l.first = std::min(l.first, step);
    l.last = std::max(l.last, step);
  };
  for (size_t i = 0; i < p.steps.size(); ++i)
    for (int s : p.steps[i].storages) use(s, i + 1);
  for (const auto& [value, s] : p.inputs) use(s, 0);
  for (const auto& [value, s] : p.outputs) use(s, p.steps.size() + 1);
  return lives;
}

}  // namespace

MemoryPlan plan_memory(const loop::LoopProgram& program) {
  MemoryPlan plan;
  plan.offsets.assign(program.storages.size(), -1);
  const std::vector<Life> lives = lives_of(program);
  std::vector<size_t> order;
  for (size_t i = 0; i < lives.size(); ++i)
    if (!program.storages[i].constant && lives[i].first != SIZE_MAX) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return program.storages[a].bytes() > program.storages[b].bytes(); });
  const auto room = [&](size_t i) { return (program.storages[i].bytes() + 2 * kAlign - 1) / kAlign * kAlign; };
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    int64_t at = 0;
    for (size_t other : placed) {
      if (!lives[i].overlaps(lives[other])) continue;
      if (at + room(i) <= plan.offsets[other]) break;
      at = std::max(at, plan.offsets[other] + room(other));
    }
    plan.offsets[i] = at;
    plan.arena_bytes = std::max(plan.arena_bytes, at + room(i));
    plan.without_reuse += room(i);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }), i);
  }
  return plan;
}

}  // namespace dlc::cpu
