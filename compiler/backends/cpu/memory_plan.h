// Where storages live in one arena: two storages share bytes unless their lives overlap.
#pragma once
#include <vector>

#include "compiler/loop/program.h"

namespace dlc::cpu {

struct MemoryPlan {
  std::vector<int64_t> offsets;  // per storage, bytes; -1: not in the arena (constants, storages never used)
  int64_t arena_bytes = 0;
  int64_t without_reuse = 0;     // the sum of all sizes, for the report
};

// Greedy by size: the largest first, each at the lowest offset free during its life. Offsets are multiples of
// 64 bytes; 64 bytes are kept free behind each storage.
MemoryPlan plan_memory(const loop::LoopProgram& program);

}  // namespace dlc::cpu
