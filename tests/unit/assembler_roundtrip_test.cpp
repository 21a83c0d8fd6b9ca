// Assembler and disassembler: round trips and errors with their places.
#include <catch2/catch.hpp>
#include <functional>

#include "isa/error.h"
#include "isa/program_check.h"
#include "tests/unit/isa_sample_program.h"

using namespace dlc;

namespace {

std::string error(const std::string& text) {
  try {
    assemble(text, "p.s");
  } catch (const UserError& e) {
    CHECK(e.exit_code() == 2);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Assembling a disassembled program gives it back, part by part") {
  const Program before = test::sample_program();
  const std::string text = disassemble(before);
  INFO(text);
  const Program after = assemble(text, "p.s");
  CHECK(disassemble(after) == text);
  CHECK(check_program(after) == "");
  CHECK(after.hw_hash == before.hw_hash);
  CHECK(after.hw_yaml == before.hw_yaml);
  CHECK(after.hw_name == before.hw_name);
  CHECK(after.model == before.model);
  CHECK(after.instructions == before.instructions);
  CHECK(after.layer_of == before.layer_of);
  CHECK(after.notes == before.notes);
  CHECK(after.host_graph == before.host_graph);
  CHECK(after.inputs == before.inputs);
  CHECK(after.outputs == before.outputs);
  CHECK(after.program_address == before.program_address);
  CHECK(after.dram_bytes == before.dram_bytes);
  REQUIRE(after.segments.size() == 3);
  CHECK(after.segments[0].instruction_count == 3);
  CHECK(after.segments[1].nodes == before.segments[1].nodes);
  CHECK(after.segments[1].reason == before.segments[1].reason);
  CHECK(after.segments[2].first_instruction == 3);
  REQUIRE(after.constants.size() == 2);
  CHECK(after.constants[0].bytes == before.constants[0].bytes);
  REQUIRE(after.tensors.size() == 2);
  CHECK(after.tensors[0].shape == before.tensors[0].shape);
  CHECK(after.tensors[0].layout == Layout::blocked);
  CHECK(after.tensors[1].scale == before.tensors[1].scale);
  REQUIRE(after.layers.size() == 2);
  CHECK(after.layers[0].onnx_nodes == before.layers[0].onnx_nodes);
  CHECK(after.layers[0].valid_macs == 900);
}

TEST_CASE("Unusual programs survive too") {
  const auto survives = [](const std::function<void(Program&)>& change) {
    Program p = test::sample_program();
    change(p);
    const std::string text = disassemble(p);
    INFO(text);
    CHECK(disassemble(assemble(text, "p.s")) == text);
  };
  survives([](Program& p) { p = {}; });
  survives([](Program& p) { p.segments.clear(); });
  survives([](Program& p) { p.segments[2].first_instruction = 1; });  // overlaps: explicit first and count
  survives([](Program& p) { p.segments[0].instruction_count = 2; });  // an instruction between segments
  survives([](Program& p) { p.notes.clear(); });
  survives([](Program& p) { p.layers.clear(); });
  survives([](Program& p) { p.host_graph = "\n"; });
  survives([](Program& p) { p.host_graph = "a\n\n"; });
  survives([](Program& p) { p.model = std::string("\0\x01\x7f\\x41", 7); });
}

TEST_CASE("Hand-written text needs no more than instructions") {
  const Program p = assemble(
      "; clear two words\n"
      "  matrix zero_activation=1 step_count=[1,1,2] acc_step_stride=[0,0,1]   ; comment\n"
      "\n"
      "store memory=acc dram_address=0x100 row_bytes=128 wait=[0,1,0,0] note=\"out; \\\"x\\\"\"\n",
      "p.s");
  REQUIRE(p.instructions.size() == 2);
  CHECK(std::get<isa::Matrix>(p.instructions[0]).step_count[2] == 2);
  CHECK(std::get<isa::Store>(p.instructions[1]).dram_address == 0x100);
  CHECK(isa::wait_of(p.instructions[1])[1] == 1);
  CHECK(p.notes[1] == "out; \"x\"");
  CHECK(p.layer_of == std::vector<uint32_t>{0, 0});
}

TEST_CASE("Instruction errors name line, column and what was expected") {
  CHECK(error("\nmatrx\n") ==
        "p.s:2:1: unknown instruction 'matrx'; did you mean 'matrix'? expected one of load, matrix, vector, "
        "store");
  CHECK(error("load row_byte=4").find("p.s:1:6: unknown key 'row_byte'; did you mean 'row_bytes'?") == 0);
  CHECK(error("load row_bytes=4 row_bytes=4") == "p.s:1:18: 'row_bytes' is given twice; expected it once");
  CHECK(error("load row_bytes=16777216") ==
        "p.s:1:16: row_bytes: 16777216 is out of range, expected 0..16777215");
  CHECK(error("load count=[1,2]") == "p.s:1:16: count: expected 3 values");
  CHECK(error("load count=[1,2,3,4]") == "p.s:1:18: count: expected 3 values and ']'");
  CHECK(error("load count=3") == "p.s:1:12: expected '[', got '3'");
  CHECK(
      error("load memory=wgtt") ==
      "p.s:1:13: memory: unknown value 'wgtt'; did you mean 'wgt'? expected one of act, wgt, acc, par, lut");
  CHECK(error("load row_bytes=x") == "p.s:1:16: expected a whole number, got 'x'");
  CHECK(error("load row_bytes 4") == "p.s:1:16: expected '=', got '4'");
  CHECK(error("vector b_address=4")
            .find("b_address is set, but the instruction has no operand section for it") !=
        std::string::npos);
  CHECK(error("load layer=1") == "p.s:1:12: layer 1 is not declared; expected below 0");
  CHECK(error("load note=\"abc") == "p.s:1:11: the closing quote is missing");
}

TEST_CASE("Directive errors name line, column and what was expected") {
  CHECK(error(".modle \"x\"").find("p.s:1:2: unknown directive '.modle'; did you mean 'model'?") == 0);
  CHECK(error(".isa 99") == "p.s:1:6: ISA version 99; this dlc knows version 1");
  CHECK(error(".model x") == "p.s:1:8: expected a text in double quotes, got 'x'");
  CHECK(error(".model \"x\" y") == "p.s:1:12: expected the end of the line, got 'y'");
  CHECK(error(".model \"\\q\"") == "p.s:1:10: unknown escape '\\q'; expected one of \\\" \\\\ \\n \\t \\xNN");
  CHECK(error(".constant \"w\" address=-1\n.end") ==
        "p.s:1:23: expected a number that is not negative, got -1");
  CHECK(error(".constant \"w\" address=0\n  0g\n.end") ==
        "p.s:2:3: expected hexadecimal digits (0-9, a-f), got 'g'");
  CHECK(error(".constant \"w\" address=0\n  012\n.end") ==
        "p.s:2:3: expected two hexadecimal digits a byte, got an odd number");
  CHECK(error(".constant \"w\" address=0\n  01\n").find("has no .end") != std::string::npos);
  CHECK(error(".hw\n").find("the block .hw has no .end") != std::string::npos);
  CHECK(error(".end") == "p.s:1:2: .end without an open block or segment");
  CHECK(error(".segment gpu").find("expected accelerator or host, got 'gpu'") != std::string::npos);
  CHECK(error(".tensor \"x\" int8 [1,2] square").find("expected linear or blocked, got 'square'") !=
        std::string::npos);
  CHECK(error(".tensor \"x\" int8 [1] linear zero_point=3000000000").find("out of range") !=
        std::string::npos);
}

TEST_CASE("Errors in the hardware block have the places of the assembler file") {
  std::string text = disassemble(test::sample_program());
  text.replace(text.find("rows: 16"), 8, "rows: 17");
  CHECK(error(text) == "p.s:8:11: array.rows: expected a power of two from 4 to 128, got 17");
}
