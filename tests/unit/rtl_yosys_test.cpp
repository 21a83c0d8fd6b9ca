// yosys 0.23 reads the design that `dlc rtl` writes as it is, in all shapes: no language construct that it
// refuses, every instance resolved, every port of its width. Skipped where yosys is not installed
// (scripts/setup --synth).
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isa/program_file.h"
#include "rtl/cosim/rtl_sources.h"

namespace dlc {
namespace {

namespace fs = std::filesystem;

// Yosys' errors, and warnings that tell of a port of another width or an unconnected driver; empty if
// accepted.
std::string read_by_yosys(const HwConfig& hw) {
  const fs::path folder = fs::temp_directory_path() / ("dlc-yosys-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::string files;
  for (const auto& [name, text] : rtl_design(hw)) {
    std::ofstream(folder / name) << text;
    files += " " + name;
  }
  std::ofstream(folder / "read.ys")
      << "read_verilog -sv" + files +
             "\nhierarchy -check -top dlc_top\nproc\nmemory_collect\ncheck -assert\n";
  const std::string command = "cd " + folder.string() + " && yosys -q -s read.ys >log 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream log(folder / "log");
  std::string faults = status == 0 ? "" : "exit status " + std::to_string(status) + "\n";
  for (std::string line; std::getline(log, line);) {
    if (line.find("ERROR") != std::string::npos || line.find("Resizing cell port") != std::string::npos)
      faults += line + "\n";
  }
  fs::remove_all(folder);
  return faults;
}

TEST_CASE("yosys accepts the RTL of every shape") {
  if (std::system("command -v yosys >/dev/null") != 0) {
    WARN("skipped: yosys is not installed (scripts/setup --synth)");
    return;
  }
  for (const char* name : {"tiny-4", "edge-8", "wide-8x32", "narrow-32x8", "vta-16"}) {
    INFO(name);
    CHECK(read_by_yosys(load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/" + name + ".yaml")) == "");
  }
}

}  // namespace
}  // namespace dlc
