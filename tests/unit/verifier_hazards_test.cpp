// The verifier accepts what happens-before allows, and names the fault otherwise.
#include <catch2/catch.hpp>
#include <chrono>

#include "isa/program_file.h"

namespace dlc {
namespace {

HwConfig machine(int read_ports = 1) {
  HwConfig hw;
  hw.rows = hw.cols = hw.lanes = 4;
  hw.bus_bytes = 16;
  hw.activation = {1024, 4, read_ports};  // 256 words, 64 a bank
  hw.weight = {1024, 2, 1};               // 256 words
  hw.accumulator = {4096, 2, 1};          // 256 words, 128 a bank
  hw.parameter = {1024, 1, 1};            // 16 words
  hw.memory_bytes = 1 << 20;
  return hw;
}

class Builder {
 public:
  Builder() { program.dram_bytes = 1 << 20; }
  isa::Load& load(Memory memory, uint32_t address, uint32_t words, const HwConfig& hw = machine()) {
    isa::Load l;
    l.memory = memory, l.address = address, l.dram_address = 65536;
    l.row_bytes = words * static_cast<uint32_t>(hw.word_bytes(memory));
    return add(l);
  }
  isa::Store& store(Memory memory, uint32_t address, uint32_t words, uint64_t dram = 131072) {
    isa::Store s;
    s.memory = memory, s.address = address, s.dram_address = dram;
    s.row_bytes = words * static_cast<uint32_t>(machine().word_bytes(memory));
    return add(s);
  }
  isa::Matrix& matrix(uint32_t act, uint32_t wgt, uint32_t acc, uint32_t steps) {
    isa::Matrix m;
    m.act_address = act, m.wgt_address = wgt, m.acc_address = acc;
    m.step_count = {1, 1, steps}, m.act_step_stride = {0, 0, 1}, m.acc_step_stride = {0, 0, 1};
    return add(m);
  }
  isa::Vector& vector(isa::VectorSource source, uint32_t a, isa::VectorDestination destination, uint32_t d,
                      uint32_t n) {
    isa::Vector v;
    v.a_source = source, v.destination = destination, v.a_address = a, v.d_address = d;
    v.count = {1, 1, 1, 1, n}, v.a_stride = {0, 0, 0, 0, 1}, v.d_stride = {0, 0, 0, 0, 1};
    return add(v);
  }
  Program program;

 private:
  template <class I>
  I& add(const I& i) {
    program.instructions.push_back(i);
    return std::get<I>(program.instructions.back());
  }
};

std::string first(const Builder& b, const HwConfig& hw = machine()) {
  const std::vector<std::string> faults = verify_program(b.program, hw);
  return faults.empty() ? "" : faults.front();
}
bool says(const std::string& message, const std::string& part) {
  INFO(message);
  return message.find(part) != std::string::npos;
}

constexpr auto kFromAct = isa::VectorSource::act8;
constexpr auto kFromAcc = isa::VectorSource::acc;
constexpr auto kToAct = isa::VectorDestination::act8;
constexpr auto kToAcc = isa::VectorDestination::acc;

// LOAD act, LOAD wgt, MATRIX, VECTOR, STORE with the waits that the data needs.
Builder pipeline() {
  Builder b;
  b.load(Memory::act, 0, 8);
  b.load(Memory::wgt, 0, 4);
  b.matrix(0, 0, 0, 8).wait = {2, 0, 0, 0};
  b.vector(kFromAcc, 0, kToAct, 64, 8).wait = {0, 1, 0, 0};
  b.store(Memory::act, 64, 8).wait = {0, 0, 1, 0};
  return b;
}

TEST_CASE("verifier: a pipeline with its waits is valid") { CHECK(first(pipeline()) == ""); }

TEST_CASE("verifier: every wait of the pipeline is necessary") {
  for (size_t i = 2; i < 5; ++i) {
    Builder b = pipeline();
    isa::wait_of(b.program.instructions[i]) = {};
    CHECK(says(first(b), "before it is surely written by"));
  }
  Builder b = pipeline();
  isa::wait_of(b.program.instructions[2])[0] = 1;  // activations are there, weights are not
  CHECK(says(first(b), "reads WGT word 0 before it is surely written by LOAD number 1"));
  CHECK(says(first(b), "expected a wait for 2 LOAD instructions, has 1"));
}

TEST_CASE("verifier: waits act through other instructions") {
  Builder b = pipeline();
  // STORE waits for VECTOR, which waits for MATRIX, which waited for both LOADs: words 0..7 are free.
  b.load(Memory::act, 0, 8).wait = {0, 0, 0, 1};
  CHECK(first(b) == "");
  isa::wait_of(b.program.instructions.back()) = {};
  CHECK(says(first(b), "writes ACT word 0 before it is surely read by MATRIX number 0"));
}

TEST_CASE("verifier: a wait may only name earlier instructions") {
  Builder b = pipeline();
  isa::wait_of(b.program.instructions[2])[3] = 1;
  CHECK(says(first(b), "waits for 1 STORE instructions, but only 0 are earlier"));
}

TEST_CASE("verifier: an engine's own pipeline") {
  SECTION("MATRIX accumulates into what MATRIX has just written") {
    Builder b = pipeline();
    b.matrix(0, 0, 0, 8).wait = {0, 0, 1, 0};
    b.matrix(0, 0, 0, 8).accumulate = 1;
    CHECK(first(b) == "");
  }
  SECTION("VECTOR needs a wait to read what VECTOR has written") {
    Builder b = pipeline();
    b.vector(kFromAct, 64, kToAcc, 128, 8);
    CHECK(says(first(b), "reads ACT word 64 before it is surely written by VECTOR number 0"));
    isa::wait_of(b.program.instructions.back()) = {0, 0, 1, 1};
    CHECK(first(b) == "");
  }
  SECTION("VECTOR may overwrite what VECTOR has read") {
    Builder b = pipeline();
    b.vector(kFromAct, 0, kToAct, 128, 8).wait = {0, 1, 0, 1};
    b.vector(kFromAcc, 0, kToAct, 0, 8);
    CHECK(first(b) == "");
  }
  SECTION("a VECTOR must not read its own results") {
    Builder b = pipeline();
    isa::Vector& v = b.vector(kFromAct, 64, kToAct, 65, 4);
    v.wait = {0, 0, 1, 1};
    CHECK(says(first(b), "operand A reads a group that an earlier output of this instruction writes"));
    std::get<isa::Vector>(b.program.instructions.back()).d_address = 64;
    CHECK(first(b) == "");
  }
}

TEST_CASE("verifier: what nobody has written is not read") {
  Builder b;
  b.load(Memory::act, 0, 8);
  b.store(Memory::act, 0, 9).wait = {1, 0, 0, 0};
  CHECK(says(first(b), "reads ACT word 8, which no earlier instruction has written"));
  Builder c = pipeline();
  c.matrix(0, 0, 8, 1).accumulate = 1;
  isa::wait_of(c.program.instructions.back()) = {0, 0, 1, 0};
  CHECK(says(first(c), "reads ACC word 8, which no earlier"));
  std::get<isa::Matrix>(c.program.instructions.back()).accumulate = 0;
  CHECK(first(c) == "");
}

TEST_CASE("verifier: bank ports") {
  SECTION("two writers of a bank") {
    Builder b = pipeline();
    b.load(Memory::act, 100, 1);  // bank 1, which VECTOR number 0 writes
    CHECK(says(first(b), "uses ACT bank 1 possibly at the same time as VECTOR number 0"));
    isa::wait_of(b.program.instructions.back()) = {0, 0, 1, 0};
    CHECK(first(b) == "");
  }
  SECTION("MATRIX has an ACC bank for itself") {
    Builder b = pipeline();
    b.matrix(0, 0, 100, 8);
    CHECK(says(first(b), "uses ACC bank 0 possibly at the same time as VECTOR number 0"));
    std::get<isa::Matrix>(b.program.instructions.back()).acc_address = 128;
    CHECK(first(b) == "");
  }
  SECTION("two readers of a bank with one read port, three of a bank with two") {
    Builder b = pipeline();
    b.load(Memory::act, 128, 8);
    b.store(Memory::act, 128, 8).wait = {3, 0, 0, 0};
    b.matrix(132, 0, 128, 4).wait = {3, 0, 0, 0};
    CHECK(says(first(b), "uses ACT bank 2 possibly at the same time as STORE number 1"));
    CHECK(first(b, machine(2)) == "");
    b.vector(kFromAct, 128, kToAct, 64, 1).wait = {3, 0, 0, 1};
    CHECK(says(first(b, machine(2)), "uses ACT bank 2 possibly at the same time as MATRIX number 1"));
    isa::wait_of(b.program.instructions.back())[1] = 2;
    CHECK(first(b, machine(2)) == "");
    isa::wait_of(b.program.instructions.back()) = {3, 0, 0, 2};
    CHECK(first(b, machine(2)) == "");
  }
  SECTION("consecutive VECTORs may read one bank through either port: their steps are in order") {
    Builder b = pipeline();
    b.load(Memory::act, 128, 8);
    isa::Vector& v = b.vector(kFromAct, 0, kToAcc, 0, 4);
    v.combine = isa::Combine::linear, v.b_address = 128, v.b_stride = {0, 0, 0, 0, 1}, v.wait = {3, 1, 0, 0};
    isa::Vector& w = b.vector(kFromAct, 128, kToAcc, 8, 4);
    w.combine = isa::Combine::linear, w.b_address = 0, w.b_stride = {0, 0, 0, 0, 1};
    CHECK(first(b) == "");
  }
  SECTION("both operands of VECTOR from one bank") {
    Builder b = pipeline();
    isa::Vector& v = b.vector(kFromAct, 0, kToAct, 128, 4);
    v.combine = isa::Combine::linear, v.b_address = 4, v.b_stride = {0, 0, 0, 0, 1}, v.wait = {0, 1, 0, 0};
    CHECK(says(first(b), "uses ACT bank 0 twice at a time"));
    CHECK(first(b, machine(2)) == "");
  }
}

TEST_CASE("verifier: DRAM") {
  SECTION("LOAD of what a STORE writes waits for it") {
    Builder b = pipeline();
    b.load(Memory::act, 200, 1).dram_address = 131072 + 16;
    CHECK(says(first(b), "reads DRAM byte 131088 before it is surely written by STORE number 0"));
    isa::wait_of(b.program.instructions.back())[3] = 1;
    CHECK(first(b) == "");
  }
  SECTION("STORE over what a LOAD reads waits for it") {
    Builder b;
    b.load(Memory::act, 0, 8);
    b.load(Memory::act, 8, 8);
    b.store(Memory::act, 0, 8, 65536).wait = {1, 0, 0, 0};
    CHECK(says(first(b), "writes DRAM byte 65536 before it is surely read by LOAD number 1"));
    isa::wait_of(b.program.instructions.back()) = {2, 0, 0, 0};
    CHECK(first(b) == "");
  }
  SECTION("program and constants stay as they are") {
    Builder b = pipeline();
    b.program.program_address = 131072;
    CHECK(says(first(b), "which hold the program"));
    b.program.program_address = 0;
    b.program.constants.push_back({"weights", 131088, std::vector<uint8_t>(4)});
    CHECK(says(first(b), "which hold constant weights"));
    b.program.constants.front().address = 100;
    CHECK(says(first(b), "overlaps the program"));
    b.program.constants.front().address = (1 << 20) - 3;
    CHECK(says(first(b), "expected within the DRAM image"));
  }
}

TEST_CASE("verifier: an instruction's own faults") {
  Builder b = pipeline();
  const auto broken = [&](size_t index, auto&& change) {
    Builder copy = b;
    std::visit([&](auto& i) { change(i); }, copy.program.instructions[index]);
    return first(copy);
  };
  const auto load = [&](auto&& change) {
    return broken(0, [&](auto& i) {
      if constexpr (requires { i.mode; }) change(i);
    });
  };
  const auto matrix = [&](auto&& change) {
    return broken(2, [&](auto& i) {
      if constexpr (requires { i.tile_count; }) change(i);
    });
  };
  const auto vector = [&](auto&& change) {
    return broken(3, [&](auto& i) {
      if constexpr (requires { i.a_source; }) change(i);
    });
  };
  CHECK(says(load([](isa::Load& l) { l.address = 250; }), "ACT touches words 250..257, expected 0..255"));
  CHECK(says(load([](isa::Load& l) { l.row_bytes = 6; }), "row_bytes is 6, expected a positive multiple"));
  CHECK(
      says(load([](isa::Load& l) { l.dram_address = 65538; }), "expected a multiple of the chunk, 4 bytes"));
  CHECK(says(load([](isa::Load& l) { l.count[1] = 0; }), "count[1] is 0, expected at least 1"));
  CHECK(says(load([](isa::Load& l) { l.memory = Memory::lut; }), "needs feature lut"));
  CHECK(says(load([](isa::Load& l) { l.mode = isa::LoadMode::fill; }), "needs feature fill"));
  CHECK(says(load([](isa::Load& l) { l.mode = isa::LoadMode::copy; }), "needs feature copy"));
  CHECK(says(load([](isa::Load& l) { l.dram_address = (1 << 20) - 4; }), "DRAM touches bytes"));
  CHECK(
      says(matrix([](isa::Matrix& m) { m.wgt_type = isa::WeightType::int4; }), "needs feature weight_int4"));
  CHECK(says(matrix([](isa::Matrix& m) { m.wgt_address = 253; }), "WGT operand touches words 253..256"));
  CHECK(says(matrix([](isa::Matrix& m) { m.act_step_stride[2] = -1; }), "ACT operand touches words -7..0"));
  CHECK(says(matrix([](isa::Matrix& m) { m.act_step_stride[2] = 1 << 19; }), "act_step_stride"));
  CHECK(says(vector([](isa::Vector& v) { v.lut = isa::Lut::table8; }), "needs feature lut"));
  CHECK(says(vector([](isa::Vector& v) { v.a_source = isa::VectorSource::act16; }),
             "needs feature wide_activations"));
  CHECK(says(vector([](isa::Vector& v) { v.premultiply = isa::Premultiply::self; }), "needs feature norm"));
  CHECK(says(vector([](isa::Vector& v) { v.reduce_loops = 1; }), "d_stride[4] is 1, expected 0"));
  CHECK(says(vector([](isa::Vector& v) { v.shift = 63; }), "shift is 63, expected 0..62"));
  CHECK(says(vector([](isa::Vector& v) { v.rescale = isa::Rescale::parameter, v.par_address = 16; }),
             "rescale parameters touches PAR words 16..16"));
  CHECK(says(vector([](isa::Vector& v) { v.rescale = isa::Rescale::parameter; }),
             "reads PAR word 0, which no earlier instruction has written"));
}

TEST_CASE("verifier: messages name index, instruction and layer") {
  Builder b = pipeline();
  b.program.layers.push_back({"conv7", "Conv", {}, 0, 0});
  b.program.layer_of.assign(5, 0);
  isa::wait_of(b.program.instructions[4]) = {};
  const std::string message = first(b);
  CHECK(says(message, "instruction 4 (store "));
  CHECK(says(message, ", layer conv7)"));
  CHECK(says(message, "instruction 3 (vector "));
  CHECK(verify_program(b.program, machine(), 0).empty());
}

TEST_CASE("verifier: millions of matrix steps take well under a second") {
  HwConfig hw = machine();
  hw.rows = hw.cols = hw.lanes = 16, hw.preload_rows = 2;
  hw.activation = {256 << 10, 8, 2};
  hw.weight = {64 << 10, 4, 1};
  hw.accumulator = {64 << 10, 2, 1};
  Builder b;
  b.load(Memory::act, 0, 2048, hw);
  b.load(Memory::wgt, 0, 1024, hw);
  for (uint32_t n = 0; n < 2000; ++n) {  // 2000 * 9 * 4 * 392 = 28 M steps
    isa::Matrix& m = b.matrix(0, (n % 2) * 512, (n % 2) * 512, 28);
    m.tile_count = {1, 4, 3, 3}, m.act_tile_stride = {0, 420, 30, 1}, m.wgt_tile_stride = {0, 72, 24, 8};
    m.step_count = {1, 14, 28}, m.act_step_stride = {0, 30, 1}, m.acc_step_stride = {0, 28, 1};
    m.wait = {2, 0, n < 2 ? 0 : n - 1, 0};
    b.vector(kFromAcc, (n % 2) * 512, kToAct, 8192, 392).wait = {0, n + 1, 0, 0};
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(first(b, hw) == "");
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 1.0);
}

}  // namespace
}  // namespace dlc
