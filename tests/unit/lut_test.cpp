// The look-up function of VECTOR (vector.functions: [lut]) at the level of the ISA.
#include <catch2/catch.hpp>

#include "isa/hwconfig_sv.h"
#include "isa/program_file.h"
#include "simulator/functional/execute.h"

namespace dlc {
namespace {

HwConfig machine(bool lut = true) {
  HwConfig hw = load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/tiny-4.yaml");
  if (lut) hw.functions = {"lut"};
  return hw;
}

isa::Load load(Memory memory, uint32_t address, uint64_t dram, uint32_t bytes) {
  isa::Load l;
  l.memory = memory, l.address = address, l.dram_address = dram, l.row_bytes = bytes;
  return l;
}

isa::Vector look_up(uint32_t table, uint32_t d, uint32_t groups) {
  isa::Vector v;
  v.lut = isa::Lut::table8, v.lut_table = table;
  v.d_address = d, v.count = {1, 1, 1, 1, groups}, v.a_stride[4] = v.d_stride[4] = 1;
  return v;
}

// Table 2 from DRAM 4096, ACT groups 0..7 from 0; looked up into groups 64...
Program program() {
  Program p;
  p.dram_bytes = 1 << 20;
  p.program_address = 1 << 16;
  p.instructions = {load(Memory::lut, 2, 4096, 256), load(Memory::act, 0, 0, 32), look_up(2, 64, 8)};
  isa::wait_of(p.instructions[2]) = {2, 0, 0, 0};
  return p;
}

std::string first_fault(const Program& p, const HwConfig& hw) {
  const auto faults = verify_program(p, hw, 1);
  return faults.empty() ? "" : faults.front();
}

TEST_CASE("lut: the low byte of the clamped result is the index, whatever its sign") {
  const HwConfig hw = machine();
  MachineState state(hw);
  std::vector<uint8_t> dram(8192);
  for (int i = 0; i < 256; ++i) dram[static_cast<size_t>(4096 + i)] = static_cast<uint8_t>(i * 7 + 3);
  for (int i = 0; i < 32; ++i) dram[static_cast<size_t>(i)] = static_cast<uint8_t>(i * 8);
  isa::Vector v = look_up(2, 64, 8);
  v.a_signed = 1;
  v.rescale = isa::Rescale::immediate, v.multiplier = 1, v.zero = 1, v.low = -100, v.high = 90;
  execute(state, load(Memory::lut, 2, 4096, 256), dram);
  execute(state, load(Memory::act, 0, 0, 32), dram);
  execute(state, v, dram);
  for (int i = 0; i < 32; ++i) {
    const int value = std::clamp(static_cast<int8_t>(i * 8) + 1, -100, 90);
    const auto expected = static_cast<uint8_t>(static_cast<uint8_t>(value) * 7 + 3);
    CHECK(state.act[static_cast<size_t>(64 * hw.lanes + i)] == expected);
  }
}

TEST_CASE("lut: a program that loads its table and waits for it is valid; a machine without lut refuses it") {
  CHECK(first_fault(program(), machine()) == "");
  CHECK(first_fault(program(), machine(false)).find("memory lut needs feature lut") != std::string::npos);
  Program p = program();
  p.instructions.erase(p.instructions.begin());
  isa::wait_of(p.instructions[1])[0] = 1;
  CHECK(first_fault(p, machine(false)).find("lut needs feature lut") != std::string::npos);
}

TEST_CASE("lut: a table must be written, and surely written, before it is read") {
  const HwConfig hw = machine();
  Program p = program();
  std::get<isa::Vector>(p.instructions[2]).lut_table = 1;
  CHECK(first_fault(p, hw).find("reads LUT word 1, which no earlier instruction has written") !=
        std::string::npos);
  p = program();
  std::swap(p.instructions[0], p.instructions[1]);
  isa::wait_of(p.instructions[2])[0] = 1;  // for the activations only
  CHECK(first_fault(p, hw).find("reads LUT word 2 before it is surely written by LOAD number 1") !=
        std::string::npos);
}

TEST_CASE("lut: a table may be replaced only after its last reader; another one at any time") {
  const HwConfig hw = machine();
  Program p = program();
  p.instructions.push_back(load(Memory::lut, 3, 4096, 256));
  CHECK(first_fault(p, hw) == "");
  p.instructions.push_back(load(Memory::lut, 2, 4096, 256));
  CHECK(first_fault(p, hw).find("writes LUT word 2 before it is surely read by VECTOR number 0") !=
        std::string::npos);
  isa::wait_of(p.instructions.back())[2] = 1;
  CHECK(first_fault(p, hw) == "");
}

TEST_CASE("lut: whole tables, into ACT only, no fifth table") {
  const HwConfig hw = machine();
  Program p = program();
  std::get<isa::Load>(p.instructions[0]).row_bytes = 128;
  CHECK(
      first_fault(p, hw).find("row_bytes is 128, expected a positive multiple of the LUT word, 256 bytes") !=
      std::string::npos);
  p = program();
  std::get<isa::Load>(p.instructions[0]).address = 4;
  CHECK(first_fault(p, hw).find("LUT touches words 4..4, expected 0..3") != std::string::npos);
  p = program();
  auto& v = std::get<isa::Vector>(p.instructions[2]);
  v.destination = isa::VectorDestination::acc;
  CHECK(first_fault(p, hw).find("expected act8: a table holds bytes") != std::string::npos);
}

TEST_CASE("lut: a machine with it is another machine to the RTL and to programs") {
  CHECK(hwconfig_structural_hash(machine()) != hwconfig_structural_hash(machine(false)));
  CHECK(hwconfig_hash(machine()) != hwconfig_hash(machine(false)));
}

}  // namespace
}  // namespace dlc
