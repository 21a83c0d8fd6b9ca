// What an instruction reads and writes, and through which port: the input of the hazard analysis.
#pragma once
#include <string>
#include <vector>

#include "isa/isa_generated.h"
#include "isa/verifier_affine.h"

namespace dlc::verifier {

// A way into a scratchpad bank (bank rule, isa/README.md §1). MATRIX has one for ACT and one for ACC, of the
// same name; WGT, PAR and LUT ports cannot collide.
enum class Port : int { matrix, vector_a, vector_b, store, load_write, vector_write };
inline constexpr int kPorts = 6;
isa::Engine engine_of(Port port);

// Units: groups of `lanes` in ACT and ACC (VECTOR writes single groups of a word), words in WGT, PAR and LUT.
struct ScratchpadAccess {
  Memory memory = Memory::act;
  Port port = Port::matrix;
  bool reads = false, writes = false;
  bool data = true;  // false: the port is busy, but no value depends on it (zero_activation)
  IntervalList units;
};

struct InstructionAccess {
  isa::Engine engine = isa::Engine::load;
  std::vector<ScratchpadAccess> scratchpad;
  IntervalList dram_reads, dram_writes;  // bytes
};

int64_t units_per_word(const HwConfig& hw, Memory memory);

// Precondition: static_fault() is empty.
InstructionAccess access_of(const isa::Instruction& instruction, const HwConfig& hw);

// PAR words of the taps: tap k of the reduction is in word k / 16 behind that of loop 0.
IntervalList tap_words(const isa::Vector& v);

// What is wrong with an instruction on its own: field ranges, features that the machine lacks, addresses
// outside of the memories, alignment, a VECTOR that reads what it has written itself. Empty: nothing.
std::string static_fault(const isa::Instruction& instruction, const HwConfig& hw, uint64_t dram_bytes);

}  // namespace dlc::verifier
