// LOAD: rows of DRAM bytes into scratchpad words.
#include <cstring>

#include "simulator/functional/execute.h"
#include "simulator/functional/loop_nest.h"

namespace dlc {

void execute_load(MachineState& state, const isa::Load& load, std::span<const uint8_t> dram) {
  LoopNest<3, 2> rows;  // streams: DRAM byte, scratchpad word
  for (int i = 0; i < 3; ++i) rows.add_loop(load.count[i], {load.dram_stride[i], load.stride[i]});
  rows.restart({static_cast<int64_t>(load.dram_address), load.address});
  uint8_t* scratchpad = state.bytes(load.memory);
  const int word_bytes = state.hw.word_bytes(load.memory);
  do {
    std::memcpy(scratchpad + rows.address(1) * word_bytes, dram.data() + rows.address(0), load.row_bytes);
  } while (rows.next());
}

}  // namespace dlc
