// The RTL is clean under verilator --lint-only -Wall, but for the waivers in rtl/lint/waivers.vlt, in all
// shapes: bus narrower and wider than the words, rows != cols, every preload rate, broadcast, one and two
// read ports.
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

// preload_rows 0: broadcast.
HwConfig shape(int rows, int cols, int preload_rows, int lanes, int bus_bytes, int read_ports) {
  HwConfig hw = load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/edge-8.yaml");
  hw.name = "shape";
  if (preload_rows == 0) hw.dataflow = Dataflow::broadcast;
  hw.rows = rows;
  hw.cols = cols;
  hw.preload_rows = preload_rows;
  hw.lanes = lanes;
  hw.bus_bytes = bus_bytes;
  hw.max_burst = 16;
  hw.activation.read_ports = read_ports;
  return hw;
}

// Verilator's output; empty if clean.
std::string lint(const HwConfig& hw) {
  const fs::path folder = fs::temp_directory_path() / ("dlc-lint-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::string files;
  for (const auto& [name, text] : rtl_design(hw)) {
    std::ofstream(folder / name) << text;
    files += " " + name;
  }
  const std::string command = "cd " + folder.string() +
                              " && verilator --lint-only -Wall --top-module dlc_top " + rtl_directory() +
                              "/lint/waivers.vlt" + files + " >lint.log 2>&1";
  const int status = std::system(command.c_str());
  std::ostringstream log;
  log << std::ifstream(folder / "lint.log").rdbuf();
  fs::remove_all(folder);
  return status == 0 ? log.str() : "exit status " + std::to_string(status) + "\n" + log.str();
}

TEST_CASE("lint: the shipped configurations are clean") {
  for (const char* name : {"tiny-4", "edge-8", "edge-16", "wide-8x32", "narrow-32x8", "vta-16"}) {
    INFO(name);
    CHECK(lint(load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/" + name + ".yaml")) == "");
  }
}

TEST_CASE("lint: every shape is clean") {
  HwConfig without = shape(8, 8, 1, 8, 8, 1);
  without.functions.clear();
  CHECK(lint(without) == "");
  CHECK(lint(shape(4, 4, 4, 2, 64, 1)) == "");
  CHECK(lint(shape(32, 8, 4, 4, 4, 2)) == "");
  CHECK(lint(shape(16, 8, 1, 8, 32, 1)) == "");
  CHECK(lint(shape(8, 32, 2, 8, 16, 2)) == "");
  CHECK(lint(shape(4, 4, 1, 1, 64, 2)) == "");
  CHECK(lint(shape(32, 32, 2, 32, 16, 2)) == "");
  CHECK(lint(shape(4, 4, 0, 4, 64, 1)) == "");
  CHECK(lint(shape(32, 4, 0, 2, 32, 2)) == "");
  CHECK(lint(shape(4, 64, 0, 4, 4, 1)) == "");
}

}  // namespace
}  // namespace dlc
