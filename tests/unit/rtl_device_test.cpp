// The Verilated RTL as a Device, on the smallest configuration (its library takes half a minute to build
// once).
#include <catch2/catch.hpp>

#include "isa/device.h"
#include "isa/error.h"
#include "isa/program_file.h"
#include "rtl/cosim/rtl_sources.h"
#include "tests/fuzz/compare.h"
#include "tests/fuzz/random_program.h"

namespace dlc {
namespace {

HwConfig tiny() { return load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/tiny-4.yaml"); }

Program one_load() {
  Program program;
  isa::Load load;
  load.row_bytes = 64;
  load.dram_address = 8192;
  program.instructions.push_back(load);
  program.program_address = 4096;
  program.dram_bytes = 16384;
  return program;
}

TEST_CASE("RTL and functional model agree in every byte, RTL and SystemC in every cycle and counter") {
  const HwConfig base = tiny();
  for (uint64_t seed = 1000; seed < 1012; ++seed) {
    const HwConfig hw = vary_memory(base, seed);
    const Program program = random_program(hw, seed, random_options(seed));
    INFO("seed " << seed);
    const auto rtl = make_rtl_device(hw), functional = make_functional_device(hw),
               systemc = make_systemc_device(hw);
    REQUIRE(compare_devices(program, hw, *functional, *rtl, false) == "");
    REQUIRE(compare_devices(program, hw, *systemc, *rtl, true) == "");
  }
}

TEST_CASE("two random initial states of all registers and memories give the same run, in bytes and cycles") {
  const HwConfig hw = tiny();
  const auto rtl = make_rtl_device(hw), systemc = make_systemc_device(hw);
  for (uint64_t seed = 2000; seed < 2012; ++seed) {
    const Program program = random_program(hw, seed, random_options(seed));
    for (const uint64_t state : {seed, seed * 77 + 1}) {
      RunOptions options;
      options.initial_state = state;
      INFO("seed " << seed << ", initial state " << state);
      REQUIRE(compare_devices(program, hw, *systemc, *rtl, true, options) == "");
    }
  }
}

// The timing contract knows READY = 1 only. With READY falling at random the times are others, the bytes are not,
// and dlc_top's assertions watch that what waits for READY stays as it is.
TEST_CASE("a bus that stalls at random changes no byte of DRAM") {
  const HwConfig base = tiny();
  for (uint64_t seed = 3000; seed < 3024; ++seed) {
    const HwConfig hw = vary_memory(base, seed);
    const auto rtl = make_rtl_device(hw), functional = make_functional_device(hw);
    const Program program = random_program(hw, seed, random_options(seed));
    RunOptions options;
    options.stall_seed = seed;
    INFO("seed " << seed);
    REQUIRE(compare_devices(program, hw, *functional, *rtl, false, options) == "");
  }
}

TEST_CASE("stalls make a run longer, the same seed by the same number of cycles") {
  const HwConfig hw = tiny();
  const auto rtl = make_rtl_device(hw);
  const Program program = random_program(hw, 3100, random_options(3100));
  const auto cycles = [&](uint64_t stall_seed) {
    std::vector<uint8_t> dram = dram_image(program);
    RunOptions options;
    options.stall_seed = stall_seed;
    return rtl->run(program, dram, options).total_cycles;
  };
  CHECK(cycles(5) > cycles(0));
  CHECK(cycles(5) == cycles(5));
}

TEST_CASE("RTL runs one program after another on one device") {
  const HwConfig hw = tiny();
  const auto rtl = make_rtl_device(hw);
  const Program program = one_load();
  std::vector<uint8_t> dram = dram_image(program);
  const RunResult first = rtl->run(program, dram, {}), second = rtl->run(program, dram, {});
  CHECK(first.total_cycles == second.total_cycles);
  CHECK(first.times == second.times);
  // Program: two bursts of 128 bytes, or what the configuration's largest fetch burst makes of 256.
  CHECK(first.dram_read_bytes == hw.fetch_burst_bytes() + 64);
  CHECK(first.dram_write_bytes == 0);
}

TEST_CASE("RTL that cannot go on is stopped at max_cycles, and the engine is named") {
  const HwConfig hw = tiny();
  Program program = one_load();
  isa::wait_of(program.instructions[0])[1] = 1;  // no MATRIX instruction will ever retire
  std::vector<uint8_t> dram = dram_image(program);
  RunOptions options;
  options.max_cycles = 2000;
  REQUIRE_THROWS_WITH(
      make_rtl_device(hw)->run(program, dram, options),
      Catch::Contains("not finished after 2000 cycles") && Catch::Contains("load started 0, retired 0 of 1"));
  options.max_cycles = 0;  // a bound from the program
  REQUIRE_THROWS_WITH(make_rtl_device(hw)->run(program, dram, options), Catch::Contains("not finished"));
}

TEST_CASE("RTL refuses a program without instructions") {
  const HwConfig hw = tiny();
  Program program = one_load();
  program.instructions.clear();
  std::vector<uint8_t> dram = dram_image(program);
  REQUIRE_THROWS_WITH(make_rtl_device(hw)->run(program, dram, {}), Catch::Contains("has no instructions"));
}

TEST_CASE("RTL reports a STORE outside DRAM") {
  const HwConfig hw = tiny();
  Program program = one_load();
  isa::Store store;
  store.wait[0] = 1;
  store.row_bytes = 64;
  store.dram_address = program.dram_bytes - 32;
  program.instructions.push_back(store);
  std::vector<uint8_t> dram = dram_image(program);
  REQUIRE_THROWS_WITH(make_rtl_device(hw)->run(program, dram, {}), Catch::Contains("outside DRAM"));
}

TEST_CASE("the RTL of a configuration: packages first, numbers in dlc_pkg, dlc_top last") {
  const auto design = rtl_design(tiny());
  REQUIRE(design.size() == rtl_sources().size() + 2);
  CHECK(design[0].first == "dlc_config_pkg.sv");
  CHECK(design[1].first == "dlc_isa_pkg.sv");
  CHECK(design[2].first == "dlc_pkg.sv");
  CHECK(design.back().first == "dlc_top.sv");
  CHECK(design[2].second.find("dlc_config_pkg::") == std::string::npos);
  CHECK(design[2].second.find("ROWS = 4;") != std::string::npos);
}

}  // namespace
}  // namespace dlc
