// Trace files of a run.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "isa/error.h"
#include "simulator/trace/trace.h"
#include "tests/timing/machine.h"

namespace dlc {
namespace {

using namespace timing_test;

struct Traced {
  Program program = program_of(
      {load(0, 256), matrix(1, 8, {1, 0, 0, 0}), matrix(1, 8), store(0x90000, 64, 1, 0, {1, 2, 0, 0})});
  RunResult result;
  std::string path = (std::filesystem::temp_directory_path() / "dlc_trace_test").string();

  Traced() {
    program.layers = {{"conv \"1\"", "Conv", {"conv1", "relu1"}, 0, 0}, {"out", "Store", {}, 0, 0}};
    program.layer_of = {0, 0, 0, 1};
    program.notes = {"", "tile 0", "tile 1", ""};
    std::vector<uint8_t> dram = dram_image(program);
    result = make_systemc_device(machine())->run(program, dram, {});
  }
  ~Traced() { std::filesystem::remove(path); }

  std::string text() const {
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
};

TEST_CASE("the text trace has a line an instruction with its cycles, layer, note and disassembly") {
  Traced t;
  write_trace_text(t.path, t.program, t.result);
  std::istringstream lines(t.text());
  std::string line;
  std::getline(lines, line);
  CHECK(line.find(std::to_string(t.result.total_cycles)) != std::string::npos);
  for (size_t i = 0; i < t.program.instructions.size(); ++i) {
    REQUIRE(std::getline(lines, line));
    std::istringstream fields(line);
    size_t index;
    std::string engine;
    int64_t start, retire;
    fields >> index >> engine >> start >> retire;
    CHECK(index == i);
    CHECK(start == t.result.times[i].start);
    CHECK(retire == t.result.times[i].retire);
    CHECK(line.find(isa::to_string(t.program.instructions[i])) != std::string::npos);
  }
  CHECK(line.find(" out - ") != std::string::npos);
  CHECK(!std::getline(lines, line));
}

TEST_CASE("the JSON trace is valid, slices of a track do not overlap, layer slices cover the run") {
  Traced t;
  write_trace_json(t.path, t.program, t.result);
  const auto json = nlohmann::json::parse(t.text());
  std::map<int, int64_t> track_end;
  size_t slices = 0;
  int64_t layer_cycles = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const int track = event["tid"];
    CHECK(event["ts"].get<int64_t>() >= track_end[track]);
    track_end[track] = event["ts"].get<int64_t>() + event["dur"].get<int64_t>();
    if (track == isa::kEngineCount) {
      layer_cycles += event["dur"].get<int64_t>();
    } else {
      const size_t index = event["args"]["index"];
      CHECK(event["ts"] == t.result.times[index].start);
      CHECK(event["args"]["retire"] == t.result.times[index].retire);
      ++slices;
    }
  }
  CHECK(slices == t.program.instructions.size());
  CHECK(layer_cycles == t.result.times.back().retire + 1);
}

TEST_CASE("a trace of a run without times or to a place that cannot be written is refused") {
  Traced t;
  CHECK_THROWS_AS(write_trace_text("/nonexistent/trace", t.program, t.result), UserError);
  CHECK_THROWS_AS(write_trace_json("/nonexistent/trace", t.program, t.result), UserError);
  CHECK_THROWS_AS(write_trace_text(t.path, t.program, RunResult{}), UserError);
}

}  // namespace
}  // namespace dlc
