// Every program that scripts/cosim-random ever failed on, shrunk (tests/fuzz/kept/*.s): none fails again.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isa/program_file.h"
#include "tests/fuzz/compare.h"

namespace dlc {
namespace {

TEST_CASE("programs that once failed agree on functional model, SystemC and RTL") {
  const std::filesystem::path folder = std::string(DLC_SOURCE_DIR) + "/tests/fuzz/kept";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".s") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    INFO(file.filename().string());
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    const Program program = assemble(text.str(), file.string());
    const HwConfig hw = parse_hwconfig(program.hw_yaml, file.string());
    const auto functional = make_functional_device(hw), systemc = make_systemc_device(hw), rtl = make_rtl_device(hw);
    CHECK(compare_devices(program, hw, *functional, *systemc, false) == "");
    CHECK(compare_devices(program, hw, *systemc, *rtl, true) == "");
    for (const uint64_t seed : {1, 2, 3}) {
      RunOptions stalled;
      stalled.stall_seed = seed;
      CHECK(compare_devices(program, hw, *functional, *rtl, false, stalled) == "");
    }
  }
}

}  // namespace
}  // namespace dlc
