#include "simulator/functional/execute.h"

#include <type_traits>

namespace dlc {

void execute(MachineState& state, const isa::Instruction& instruction, std::span<uint8_t> dram) {
  std::visit(
      [&](const auto& i) {
        using Kind = std::remove_cvref_t<decltype(i)>;
        if constexpr (std::is_same_v<Kind, isa::Load>) {
          execute_load(state, i, dram);
        } else if constexpr (std::is_same_v<Kind, isa::Matrix>) {
          execute_matrix(state, i);
        } else if constexpr (std::is_same_v<Kind, isa::Vector>) {
          execute_vector(state, i);
        } else {
          static_assert(std::is_same_v<Kind, isa::Store>, "every instruction has its meaning here");
          execute_store(state, i, dram);
        }
      },
      instruction);
}

}  // namespace dlc
