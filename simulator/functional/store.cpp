// STORE: rows of scratchpad words into DRAM.
#include <cstring>

#include "simulator/functional/execute.h"
#include "simulator/functional/loop_nest.h"

namespace dlc {

void execute_store(const MachineState& state, const isa::Store& store, std::span<uint8_t> dram) {
  LoopNest<3, 2> rows;  // streams: DRAM byte, scratchpad word
  for (int i = 0; i < 3; ++i) rows.add_loop(store.count[i], {store.dram_stride[i], store.stride[i]});
  rows.restart({static_cast<int64_t>(store.dram_address), store.address});
  const uint8_t* scratchpad = state.bytes(store.memory);
  const int word_bytes = state.hw.word_bytes(store.memory);
  do {
    std::memcpy(dram.data() + rows.address(0), scratchpad + rows.address(1) * word_bytes, store.row_bytes);
  } while (rows.next());
}

}  // namespace dlc
