// The hardware description: what is read, what is refused and where.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "isa/error.h"
#include "isa/hwconfig_schema.h"
#include "isa/hwconfig_sv.h"
#include "isa/program_file.h"

using namespace dlc;

namespace {

const std::string kFolder = DLC_SOURCE_DIR "/hwconfigs/";

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string edge16(const std::string& from = "", const std::string& to = "") {
  std::string text = canonical_yaml(load_hwconfig(kFolder + "edge-16.yaml"));
  if (from.empty()) return text;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

struct Refusal {
  int code = 0;
  std::string text;
};

Refusal refusal(const std::string& yaml) {
  try {
    parse_hwconfig(yaml, "hw.yaml");
  } catch (const UserError& e) {
    return {e.exit_code(), e.what()};
  }
  return {};
}

void check_refused(const std::string& from, const std::string& to, int code, const std::string& message) {
  const Refusal r = refusal(edge16(from, to));
  CHECK(r.text == message);
  CHECK(r.code == code);
}

}  // namespace

TEST_CASE("Every configuration has every parameter and survives its canonical form") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    const std::string path = entry.path();
    INFO(path);
    const HwConfig hw = load_hwconfig(path);
    CHECK(hw.name == entry.path().stem());
    const std::string canonical = canonical_yaml(hw);
    CHECK(canonical_yaml(parse_hwconfig(canonical, "again")) == canonical);
    for (const HwParameter& p : hwconfig_schema()) {
      const std::string key = std::string(p.path).substr(std::string(p.path).rfind('.') + 1) + ":";
      CHECK(read(path).find(key) != std::string::npos);
    }
  }
  CHECK(files == 9);
}

TEST_CASE("edge-16 is read as written") {
  const HwConfig hw = load_hwconfig(kFolder + "edge-16.yaml");
  CHECK(hw.clock_mhz == 500);
  CHECK((hw.rows == 16 && hw.cols == 16 && hw.preload_rows == 2 && hw.lanes == 16));
  CHECK(hw.activation.size_bytes == 256 * 1024);
  CHECK((hw.activation.banks == 8 && hw.activation.read_ports == 2));
  CHECK((hw.bus_bytes == 16 && hw.max_burst == 16 && hw.max_outstanding == 16 && hw.queue_depth == 8));
  CHECK((hw.memory_bytes == uint64_t{256} << 20 && hw.memory_latency == 60));
  CHECK((hw.bandwidth_num == 16 && hw.bandwidth_den == 1));
  CHECK(hw.technology_node == "45nm");
  CHECK(hw.words(Memory::wgt) == 2048);
}

TEST_CASE("Bandwidths are exact rationals") {
  const auto rate = [](const char* text) {
    const HwConfig hw = parse_hwconfig(edge16("16 B/cycle", text), "hw.yaml");
    CHECK(canonical_yaml(parse_hwconfig(canonical_yaml(hw), "x")) == canonical_yaml(hw));
    return std::pair(hw.bandwidth_num, hw.bandwidth_den);
  };
  CHECK(rate("12.8 B/cycle") == std::pair<int64_t, int64_t>(64, 5));
  CHECK(rate("16/3 B/cycle") == std::pair<int64_t, int64_t>(16, 3));
  CHECK(rate("32/4 B/cycle") == std::pair<int64_t, int64_t>(8, 1));
}

TEST_CASE("Frequencies survive the canonical form") {
  for (const char* text : {"1.234567 GHz", "333.333333 MHz", "1 MHz", "0.7 GHz"}) {
    const std::string once = canonical_yaml(parse_hwconfig(edge16("500 MHz", text), "x"));
    CHECK(canonical_yaml(parse_hwconfig(once, "x")) == once);
  }
}

TEST_CASE("Unknown, duplicate and missing keys are named with their place") {
  check_refused("lanes:", "lane:", 2,
                "hw.yaml:13:3: unknown key 'lane' in 'vector'; did you mean 'lanes'? expected one of lanes, "
                "taps, functions");
  check_refused("  cols:", "  rows:", 2, "hw.yaml:5:3: duplicate key 'rows' in 'array'; expected it once");
  check_refused(
      "  cols: 16\n", "", 2,
      "hw.yaml:4:3: array.cols: missing; expected a power of two from 4 to 128 (columns of the array: output "
      "channels; weight_stationary: aspect ratio at most 4:1; broadcast: rows * cols at most 1024)");
  check_refused("array:\n", "array: 5\nvector:\n", 2,
                "hw.yaml:3:8: 'array': expected a mapping with the keys rows, cols, dataflow, preload_rows");
}

TEST_CASE("Values are refused with expectation and place") {
  check_refused("rows: 16", "rows: 12", 2,
                "hw.yaml:4:9: array.rows: expected a power of two from 4 to 128, got 12");
  check_refused("rows: 16", "rows: [16]", 2,
                "hw.yaml:4:9: array.rows: expected a power of two from 4 to 128, got a list");
  check_refused("60 cycles", "60", 2,
                "hw.yaml:37:12: memory.latency: expected a time such as '60 cycles', a whole number from 1 "
                "to 10000, got 60");
  check_refused(
      "500 MHz", "0 MHz", 2,
      "hw.yaml:2:8: clock: expected a frequency such as '500 MHz' (MHz, GHz), 1 to 10000 MHz, got 0 MHz");
  check_refused(
      "16 B/cycle", "0 B/cycle", 2,
      "hw.yaml:38:14: memory.bandwidth: expected a rate above 0 such as '16 B/cycle', '12.8 B/cycle' or "
      "'16/3 B/cycle', got 0 B/cycle");
  check_refused(
      "128 bit", "96 bit", 2,
      "hw.yaml:31:8: dma.bus: expected a width such as '128 bit', a power of two from 32 to 512, got 96 bit");
  check_refused("name: edge-16", "name: 'a/b'", 2,
                "hw.yaml:1:7: name: expected a name of letters, digits, '-', '_' and '.', got a/b");
  check_refused("queue_depth: 8", "queue_depth: 1", 2,
                "hw.yaml:34:14: queue_depth: expected a whole number from 2 to 64, got 1");
}

TEST_CASE("Rules between parameters are refused at the parameter to blame") {
  check_refused(
      "cols: 16", "cols: 128", 2,
      "hw.yaml:5:9: array.cols: expected an aspect ratio of at most 4:1 (4 to 64 with rows: 16), got 128");
  check_refused("lanes: 16", "lanes: 32", 2,
                "hw.yaml:13:10: vector.lanes: expected a divisor of rows and cols, at most 16, got 32");
  check_refused("size: 256 KiB", "size: 32 MiB", 2,
                "hw.yaml:18:11: scratchpad.activation.size: expected at most 16 MiB (1048576 words of 16 B: "
                "addresses have "
                "20 bits), got 32 MiB");
  check_refused(
      "size: 64 KiB", "size: 256 B", 2,
      "hw.yaml:22:11: scratchpad.weight.size: expected room for two weight tiles (512 B), got 256 B");
  check_refused("max_burst: 16", "max_burst: 256", 0, "");
  check_refused("128 bit\n  max_burst: 16", "512 bit\n  max_burst: 128", 2,
                "hw.yaml:32:14: dma.max_burst: expected bursts of 16 B to 4 KiB (1 to 64 beats of 64 B), got "
                "128 beats");
  check_refused(
      "16 B/cycle", "33/2 B/cycle", 2,
      "hw.yaml:38:14: memory.bandwidth: expected at most the bus width, 16 B/cycle, got 33/2 B/cycle");
  check_refused("size: 16 KiB\n    banks: 1", "size: 256 B\n    banks: 2", 2,
                "hw.yaml:29:12: scratchpad.parameter.banks: expected at most one bank a word (1), got 2");
}

TEST_CASE("A broadcast array reads whole tiles, of any shape up to 1024 multipliers") {
  const auto array = [](int rows, int cols, const std::string& preload) {
    std::string yaml =
        edge16("dataflow: weight_stationary\n  preload_rows: 2", "dataflow: broadcast" + preload);
    yaml.replace(yaml.find("rows: 16"), 8, "rows: " + std::to_string(rows));
    yaml.replace(yaml.find("cols: 16"), 8, "cols: " + std::to_string(cols));
    return yaml.replace(yaml.find("lanes: 16"), 9, "lanes: 4");
  };
  for (const char* preload : {"", "\n  preload_rows: 8"}) {
    const HwConfig hw = parse_hwconfig(array(8, 128, preload), "b");
    CHECK(hw.word_bytes(Memory::wgt) == 1024);
    CHECK(hw.tile_words() == 1);
    CHECK(hw.preload_rows == 8);
    CHECK(hwconfig_hash(hw) == hwconfig_hash(parse_hwconfig(canonical_yaml(hw), "c")));
  }
  CHECK(refusal(array(16, 128, "")).text ==
        "hw.yaml:5:9: array.cols: expected at most 1024 multipliers for dataflow broadcast (cols up to 64 "
        "with rows: "
        "16), got 128");
  CHECK(refusal(array(16, 16, "\n  preload_rows: 2")).text ==
        "hw.yaml:7:17: array.preload_rows: expected 16 (rows: broadcast reads a whole tile at once) or "
        "nothing, got 2");
  CHECK(refusal(edge16("preload_rows: 2", "preload_rows: 8")).text ==
        "hw.yaml:7:17: array.preload_rows: expected 1, 2 or 4, got 8");
  CHECK(refusal(edge16("\n  preload_rows: 2", "")).code == 2);
}

TEST_CASE("What this version does not do is refused as unsupported, not as wrong") {
  check_refused("taps: 1", "taps: 3", 3,
                "hw.yaml:14:9: vector.taps: 3 is not implemented by this version of dlc; use 1");
  check_refused(
      "[lut]", "[softmax]", 3,
      "hw.yaml:15:15: vector.functions: softmax is not implemented by this version of dlc; leave it out");
  check_refused(
      "[lut]", "[softmix]", 2,
      "hw.yaml:15:15: vector.functions: expected a list such as [] of lut, softmax, norm, got softmix");
  check_refused("weight: int8", "weight: int4", 3,
                "hw.yaml:10:11: precision.weight: int4 is not implemented by this version of dlc; use int8");
}

TEST_CASE("Files that are no hardware description are refused as a whole") {
  CHECK(refusal("").text ==
        "hw.yaml: expected one YAML document with a hardware description, got an empty file");
  CHECK(refusal("# only a comment\n").code == 2);
  CHECK_THAT(refusal("a: [\n").text, Catch::StartsWith("hw.yaml:2:1: not valid YAML"));
  CHECK(refusal("just text").text.starts_with("hw.yaml:1:1: the hardware description: expected a mapping"));
  CHECK(refusal(edge16() + "---\n" + edge16()).text.find("got several") != std::string::npos);
  CHECK(refusal(std::string(100000, '[')).code == 2);
  CHECK(refusal(",").text.find("got several") != std::string::npos);  // made YAML::LoadAll loop for ever
  CHECK_THROWS_WITH(load_hwconfig(kFolder), Catch::Contains("is a directory"));
  CHECK_THROWS_WITH(load_hwconfig(kFolder + "none.yaml"), Catch::Contains("cannot be read"));
}

TEST_CASE("The hash covers every parameter but the name; the structural hash only what shapes the RTL") {
  const HwConfig base = parse_hwconfig(edge16(), "a");
  const auto changed = [&](const char* from, const char* to) {
    return parse_hwconfig(edge16(from, to), "b");
  };
  CHECK(hwconfig_hash(changed("name: edge-16", "name: other")) == hwconfig_hash(base));
  for (const auto& [from, to] : {std::pair("500 MHz", "400 MHz"),
                                 {"60 cycles", "61 cycles"},
                                 {"16 B/cycle", "8 B/cycle"},
                                 {"256 MiB", "128 MiB"},
                                 {"45nm", "28nm"}}) {
    CHECK(hwconfig_hash(changed(from, to)) != hwconfig_hash(base));
    CHECK(hwconfig_structural_hash(changed(from, to)) == hwconfig_structural_hash(base));
  }
  for (const auto& [from, to] : {std::pair("preload_rows: 2", "preload_rows: 4"),
                                 {"queue_depth: 8", "queue_depth: 9"},
                                 {"read_ports: 2", "read_ports: 1"},
                                 {"128 bit", "256 bit"}}) {
    CHECK(hwconfig_hash(changed(from, to)) != hwconfig_hash(base));
    CHECK(hwconfig_structural_hash(changed(from, to)) != hwconfig_structural_hash(base));
  }
}

TEST_CASE("The RTL package states the configuration") {
  const std::string package = hwconfig_verilog_package(parse_hwconfig(edge16(), "a"));
  for (const char* line :
       {"package dlc_config_pkg;", "ROWS = 16;", "BUS_BYTES = 16;", "ACT_BYTES = 262144;",
        "ACT_READ_PORTS = 2;", "FETCH_BURST_BYTES = 256;", "LOAD_INFLIGHT = 8;", "endpackage"}) {
    CHECK(package.find(line) != std::string::npos);
  }
}

TEST_CASE("The schema table in hwconfigs/README.md is current") {
  CHECK(read(kFolder + "README.md").find("<!-- schema -->\n" + hwconfig_reference() + "<!-- /schema -->") !=
        std::string::npos);
}
