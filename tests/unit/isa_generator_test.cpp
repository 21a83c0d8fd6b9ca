// What the table's generator refuses, and that its checked-in view is current.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "isa/error.h"
#include "isa/generator/table.h"

using namespace dlc;
using namespace dlc::isa_gen;

namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const char* const kHead = R"(version: 1
unit_bytes: 16
engines: [one, two]
enums:
  colour: {red: 0, green: 1, blue: 2}
header:
  - {name: opcode, at: 0, bits: 4}
  - {name: length, at: 4, bits: 4}
  - {name: wait, at: 32, bits: 24, count: 2}
instructions:
  - name: go
    opcode: 1
    units: 2
    engine: one
    sections: {extra: {units: 3, present_if: colour}}
    fields:
      - {name: colour, at: 8, bits: 2, enum: colour}
)";

// Message of the refusal for the table with `lines` behind it; empty if it is accepted.
std::string refusal(const std::string& lines, const std::string& head = kHead) {
  try {
    parse_table(head + lines, "t.yaml");
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("The generator accepts a sound table") {
  CHECK(refusal("") == "");
  CHECK(refusal(
            "      - {name: x, at: 10, bits: 6}\n      - {name: y, at: 256, bits: 128, section: extra}\n") ==
        "t.yaml:19:34: y: expected 1..62 bits");
  CHECK(refusal("      - {name: y, at: 256, bits: 32, count: 4, section: extra}\n") == "");
}

TEST_CASE("The generator refuses overlapping fields") {
  CHECK(refusal("      - {name: x, at: 9, bits: 2}\n") ==
        "t.yaml:18:9: x (bits 9..10) overlaps colour (bits 8..9)");
  CHECK(refusal("      - {name: x, at: 20, bits: 6, count: 3}\n") ==
        "t.yaml:18:9: x (bits 20..37) overlaps wait (bits 32..79)");
}

TEST_CASE("The generator refuses fields beyond the instruction or outside their section") {
  CHECK(refusal("      - {name: x, at: 250, bits: 8}\n") ==
        "t.yaml:18:9: x (bits 250..257) lies beyond the 2 units (256 bits) of go");
  CHECK(refusal("      - {name: x, at: 250, bits: 8, section: extra}\n") ==
        "t.yaml:18:9: x (bits 250..257) lies outside section extra (bits 256..383)");
  CHECK(refusal("      - {name: x, at: 380, bits: 8, section: extra}\n") ==
        "t.yaml:18:9: x (bits 380..387) lies outside section extra (bits 256..383)");
  CHECK(refusal("      - {name: x, at: 260, bits: 8, section: more}\n").find("go has no section 'more'") !=
        std::string::npos);
}

TEST_CASE("The generator refuses enums that do not fit or do not exist") {
  CHECK(refusal("      - {name: x, at: 12, bits: 1, enum: colour}\n")
            .find("value 'blue' = 2 of enum 'colour' does not fit 1 bits") != std::string::npos);
  CHECK(refusal("      - {name: x, at: 12, bits: 1, enum: shape}\n").find("no enum 'shape'") !=
        std::string::npos);
  CHECK(refusal("", replaced(kHead, "blue: 2", "blue: 1")).find("'blue' has the number of 'green'") !=
        std::string::npos);
}

TEST_CASE("The generator refuses duplicate names and opcodes") {
  CHECK(refusal("      - {name: colour, at: 12, bits: 1}\n").find("duplicate field 'colour'") !=
        std::string::npos);
  CHECK(refusal("      - {name: opcode, at: 12, bits: 1}\n").find("duplicate field 'opcode'") !=
        std::string::npos);
  const std::string second = "  - {name: stop, opcode: 1, units: 1, engine: two, fields: []}\n";
  CHECK(refusal(second) == "t.yaml:18:26: opcode 1 of 'stop' is that of 'go'");
  CHECK(refusal(replaced(second, "stop", "go")).find("duplicate instruction 'go'") != std::string::npos);
  CHECK(
      refusal("", replaced(kHead, "units: 2\n", "units: 2\n    units: 2\n")).find("duplicate key 'units'") !=
      std::string::npos);
}

TEST_CASE("The generator refuses opcodes and lengths that the header cannot hold, and unknown words") {
  CHECK(refusal("", replaced(kHead, "opcode: 1", "opcode: 16")).find("expected an opcode from 1 to 15") !=
        std::string::npos);
  CHECK(refusal("", replaced(kHead, "opcode: 1", "opcode: 0")).find("0 is padding") != std::string::npos);
  CHECK(refusal("", replaced(kHead, "units: 3", "units: 16")).find("expected 1 to 15 units") !=
        std::string::npos);
  CHECK(refusal("", replaced(kHead, "engine: one", "engine: three")).find("unknown engine 'three'") !=
        std::string::npos);
  CHECK(refusal("", replaced(kHead, "present_if: colour", "present_if: shade"))
            .find("present_if needs an enum field") != std::string::npos);
  CHECK(refusal("      - {name: x, at: 12, bit: 1}\n").find("unknown key 'bit'") != std::string::npos);
  CHECK(refusal("      - {name: X, at: 12, bits: 1}\n").find("snake_case") != std::string::npos);
  CHECK(refusal("", "{").find("t.yaml:") != std::string::npos);
  CHECK(refusal("", "").find("expected a mapping") != std::string::npos);
}

TEST_CASE("isa/ISA.md is what the generator writes (update: ninja dlc_isa_reference)") {
  const std::string root = DLC_SOURCE_DIR;
  const Table table = parse_table(read(root + "/isa/isa.yaml"), "isa.yaml");
  CHECK(emit_markdown(table) == read(root + "/isa/ISA.md"));
}

TEST_CASE("Reserved bits are those that no field uses") {
  const Table table = parse_table(kHead, "t.yaml");
  const std::vector<BitRange> ranges = reserved_bits(table, table.instructions.front());
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].first == 10);
  CHECK(ranges[0].last == 31);
  CHECK(ranges[1].first == 80);
  CHECK(ranges[1].last == 383);
}

TEST_CASE("The SystemVerilog package names every position, width and value") {
  const std::string package = emit_sv_package(parse_table(kHead, "t.yaml"));
  for (const char* line : {"localparam int MAX_UNITS = 3;", "localparam int GO_COLOUR_LSB = 8;",
                           "localparam int GO_COLOUR_W = 2;", "localparam int HEADER_WAIT_N = 2;",
                           "localparam logic [3:0] OPCODE_GO = 4'd1;",
                           "localparam logic [1:0] COLOUR_BLUE = 2'd2;", "localparam int GO_BITS = 384;"}) {
    CHECK(package.find(line) != std::string::npos);
  }
}
