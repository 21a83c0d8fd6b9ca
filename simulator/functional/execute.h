// The meaning of one instruction (isa/README.md §3), and nothing about time: the value engine of the
// functional device and of the SystemC model.
//
// Defined for every verified program (verify_program, isa/program_file.h): addresses are not checked again.
// `dram` is the whole DRAM image. Arithmetic is that of isa/numerics.h, bit for bit.
#pragma once
#include <cstdint>
#include <span>

#include "isa/isa_generated.h"
#include "simulator/functional/machine_state.h"

namespace dlc {

void execute(MachineState& state, const isa::Instruction& instruction, std::span<uint8_t> dram);

void execute_load(MachineState& state, const isa::Load& load, std::span<const uint8_t> dram);
void execute_store(const MachineState& state, const isa::Store& store, std::span<uint8_t> dram);
void execute_matrix(MachineState& state, const isa::Matrix& matrix);
void execute_vector(MachineState& state, const isa::Vector& vector);

}  // namespace dlc
