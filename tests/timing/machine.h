// Support for the boundary tests of the timing contract: short instructions, and a run on every device that
// is there. The expectations are written over RunResult, so the same test body holds for SystemC and RTL.
//
// SystemC always runs. With DLC_TIMING_RTL=1 in the environment the Verilated RTL runs too (its first use
// builds it), and everything that it reports must be equal.
#pragma once
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "isa/device.h"
#include "isa/program_file.h"
#include "isa/timing.h"

namespace dlc::timing_test {

inline constexpr uint64_t kDramBytes = 1 << 20;
inline constexpr uint64_t kProgramAddress = kDramBytes / 2;  // data below, program and stores above

// A shipped configuration. Only the memory's latency and bandwidth may be changed in tests that run on RTL
// (the rest is built in).
inline HwConfig machine(const std::string& name = "tiny-4") {
  return load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/" + name + ".yaml");
}

using Waits = std::array<uint32_t, isa::kEngineCount>;

// row_bytes from DRAM `address` to ACT word 0 (or `word`), `rows` times, DRAM `stride` apart.
inline isa::Load load(uint64_t address, uint32_t row_bytes, uint32_t rows = 1, int32_t stride = 0,
                      Waits waits = {}) {
  isa::Load i;
  i.wait = waits;
  i.memory = Memory::act;
  i.dram_address = address;
  i.row_bytes = row_bytes;
  i.count = {1, 1, rows};
  i.dram_stride = {0, 0, stride};
  return i;
}

inline isa::Store store(uint64_t address, uint32_t row_bytes, uint32_t rows = 1, int32_t stride = 0,
                        Waits waits = {}) {
  isa::Store i;
  i.wait = waits;
  i.memory = Memory::act;
  i.dram_address = address;
  i.row_bytes = row_bytes;
  i.count = {1, 1, rows};
  i.dram_stride = {0, 0, stride};
  return i;
}

// `tiles` weight tiles with `steps` steps each, all on the same words: timing never depends on addresses.
inline isa::Matrix matrix(uint32_t tiles, uint32_t steps, Waits waits = {}) {
  isa::Matrix i;
  i.wait = waits;
  i.tile_count = {1, 1, 1, tiles};
  i.step_count = {1, 1, steps};
  return i;
}

// N steps from ACT to ACT.
inline isa::Vector vector(uint32_t steps, Waits waits = {}) {
  isa::Vector i;
  i.wait = waits;
  i.count = {1, 1, 1, 1, steps};
  i.d_address = 1024;  // another bank than the operand's
  return i;
}

inline Program program_of(std::vector<isa::Instruction> instructions) {
  Program program;
  program.instructions = std::move(instructions);
  program.program_address = kProgramAddress;
  program.dram_bytes = kDramBytes;
  return program;
}

inline void check_sums(const RunResult& result) {
  for (int e = 0; e < kEngines; ++e) {
    const EngineCounters& c = result.engines[e];
    INFO(kEngineNames[e] << ": busy " << c.busy << ", dependency " << c.wait_dependency << ", memory "
                         << c.wait_memory << ", idle " << c.idle);
    CHECK(c.busy + c.wait_dependency + c.wait_memory + c.idle == result.total_cycles);
    CHECK((c.busy >= 0 && c.wait_dependency >= 0 && c.wait_memory >= 0 && c.idle >= 0));
  }
}

inline void check_equal(const RunResult& a, const RunResult& b) {
  CHECK(a.total_cycles == b.total_cycles);
  for (size_t i = 0; i < a.times.size(); ++i) {
    INFO("instruction " << i);
    CHECK(a.times[i].start == b.times[i].start);
    CHECK(a.times[i].retire == b.times[i].retire);
  }
  for (int e = 0; e < kEngines; ++e) {
    INFO(kEngineNames[e]);
    CHECK(a.engines[e].busy == b.engines[e].busy);
    CHECK(a.engines[e].wait_dependency == b.engines[e].wait_dependency);
    CHECK(a.engines[e].wait_memory == b.engines[e].wait_memory);
    CHECK(a.engines[e].idle == b.engines[e].idle);
  }
  CHECK(a.dram_read_bytes == b.dram_read_bytes);
  CHECK(a.dram_write_bytes == b.dram_write_bytes);
}

inline bool with_rtl() {
  const char* wanted = std::getenv("DLC_TIMING_RTL");
  return wanted != nullptr && *wanted != '\0' && *wanted != '0';
}

// Runs on SystemC (and RTL, see above) and gives SystemC's result. `buildable`: hw is a shipped configuration
// but for its memory.
inline RunResult run(const HwConfig& hw, std::vector<isa::Instruction> instructions, bool buildable = true) {
  const Program program = program_of(std::move(instructions));
  const std::vector<uint8_t> image = dram_image(program);
  std::vector<uint8_t> dram = image;
  const RunResult result = make_systemc_device(hw)->run(program, dram, {});
  check_sums(result);
  if (buildable && with_rtl()) {
    std::vector<uint8_t> rtl_dram = image;
    check_equal(result, make_rtl_device(hw)->run(program, rtl_dram, {}));
  }
  return result;
}

}  // namespace dlc::timing_test
