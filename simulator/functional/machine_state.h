// The architectural state of the machine: the scratchpads as plain arrays (isa/README.md §1).
//
// Layout is that of the words one after another, so a VECTOR group g starts at element g * lanes of ACT and
// ACC whatever the word width. Contents at power-up are zero here; a verified program never reads them.
#pragma once
#include <cstdint>
#include <vector>

#include "isa/hwconfig.h"

namespace dlc {

struct MachineState {
  explicit MachineState(const HwConfig& config)
      : hw(config),
        act(config.activation.size_bytes),
        wgt(config.weight.size_bytes),
        par(config.parameter.size_bytes),
        lut(config.scratchpad(Memory::lut).size_bytes),
        acc(config.accumulator.size_bytes / 4) {}

  HwConfig hw;
  std::vector<uint8_t> act;  // words * rows bytes
  std::vector<uint8_t> wgt;  // words * word_bytes(wgt)
  std::vector<uint8_t> par;  // words * lanes * 16 bytes
  std::vector<uint8_t> lut;  // tables * 256 bytes; none without the function
  std::vector<int32_t> acc;  // words * cols

  // First byte of a scratchpad, as LOAD and STORE see it (ACC: little endian int32).
  uint8_t* bytes(Memory memory) {
    switch (memory) {
      case Memory::wgt:
        return wgt.data();
      case Memory::acc:
        return reinterpret_cast<uint8_t*>(acc.data());
      case Memory::par:
        return par.data();
      case Memory::lut:
        return lut.data();
      default:
        return act.data();
    }
  }
  const uint8_t* bytes(Memory memory) const { return const_cast<MachineState*>(this)->bytes(memory); }
};

}  // namespace dlc
