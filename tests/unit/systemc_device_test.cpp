// The SystemC device as a whole: values, many runs and configurations in one process, errors.
#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>

#include "isa/error.h"
#include "tests/timing/machine.h"

namespace dlc {
namespace {

using timing_test::kDramBytes;
using timing_test::load;
using timing_test::machine;
using timing_test::matrix;
using timing_test::program_of;
using timing_test::store;
using timing_test::vector;

// LOAD activations and weights, multiply, rescale, STORE: every engine, every wait.
Program small_network(const HwConfig& hw) {
  const auto rows = static_cast<uint32_t>(hw.rows);
  const auto lanes = static_cast<int32_t>(hw.lanes);
  isa::Load activations = load(0, rows * 32);
  isa::Load weights = load(0x8000, static_cast<uint32_t>(hw.rows * hw.cols));
  weights.memory = Memory::wgt;
  isa::Matrix product = matrix(1, 32, {2, 0, 0, 0});
  product.act_step_stride = product.acc_step_stride = {0, 0, 1};
  product.wgt_signed = 1;
  isa::Vector rescale = vector(0, {0, 1, 0, 0});
  rescale.a_source = isa::VectorSource::acc;
  rescale.count = {1, 1, 1, 32, static_cast<uint32_t>(hw.rows / lanes)};
  rescale.a_stride = {0, 0, 0, hw.acc_groups(), 0};
  rescale.d_stride = {0, 0, 0, hw.act_groups(), 1};
  rescale.d_address = static_cast<uint32_t>(hw.bank_words(Memory::act) * hw.act_groups());
  rescale.rescale = isa::Rescale::immediate;
  rescale.multiplier = 77777;
  rescale.shift = 24;
  rescale.low = -128;
  rescale.high = 127;
  isa::Store result = store(0x90000, rows * 32, 1, 0, {0, 0, 1, 0});
  result.address = static_cast<uint32_t>(hw.bank_words(Memory::act));
  return program_of({activations, weights, product, rescale, result});
}

std::vector<uint8_t> image_with_data(const Program& program) {
  std::vector<uint8_t> dram = dram_image(program);
  uint32_t x = 1;
  for (size_t i = 0; i < 0x10000; ++i) {
    x = x * 1664525u + 1013904223u;
    dram[i] = static_cast<uint8_t>(x >> 24);
  }
  return dram;
}

TEST_CASE("SystemC computes the functional model's bytes") {
  for (const char* name : {"tiny-4", "edge-8", "edge-16", "wide-8x32"}) {
    INFO(name);
    const HwConfig hw = machine(name);
    const Program program = small_network(hw);
    REQUIRE(verify_program(program, hw) == std::vector<std::string>{});
    const std::vector<uint8_t> image = image_with_data(program);
    std::vector<uint8_t> expected = image, dram = image;
    make_functional_device(hw)->run(program, expected, {});
    make_systemc_device(hw)->run(program, dram, {});
    CHECK(expected != image);
    CHECK(dram == expected);
  }
}

TEST_CASE("a timing-only run has the same cycles and leaves DRAM alone") {
  const HwConfig hw = machine("edge-16");
  const Program program = small_network(hw);
  const std::vector<uint8_t> image = image_with_data(program);
  std::vector<uint8_t> dram = image;
  RunOptions options;
  options.values = false;
  const auto device = make_systemc_device(hw);
  const RunResult without = device->run(program, dram, options);
  CHECK(dram == image);
  const RunResult with = device->run(program, dram, {});
  CHECK(with.total_cycles == without.total_cycles);
  CHECK(with.times == without.times);
  CHECK(with.engines == without.engines);
}

TEST_CASE("devices of different configurations take turns in one process, each run like its first") {
  std::vector<HwConfig> configs;
  for (const char* name : {"tiny-4", "edge-16", "wide-8x32"}) configs.push_back(machine(name));
  std::vector<std::unique_ptr<Device>> devices;
  for (const HwConfig& hw : configs) devices.push_back(make_systemc_device(hw));
  std::vector<RunResult> first(configs.size());
  for (int round = 0; round < 200; ++round) {
    for (size_t i = 0; i < configs.size(); ++i) {
      const Program program = small_network(configs[i]);
      std::vector<uint8_t> dram;
      RunOptions options;
      options.values = false;
      const RunResult result = devices[i]->run(program, dram, options);
      if (round == 0) first[i] = result;
      REQUIRE(result.total_cycles == first[i].total_cycles);
      REQUIRE(result.times == first[i].times);
    }
  }
}

TEST_CASE("a program whose waits can never be met ends with the stuck instructions' names") {
  const Program program = program_of({load(0, 64), matrix(1, 1, {0, 0, 1, 0}), vector(1, {0, 1, 0, 0})});
  const auto device = make_systemc_device(machine());
  std::vector<uint8_t> dram(kDramBytes);
  std::string message;
  try {
    device->run(program, dram, {});
  } catch (const UserError& error) {
    message = error.what();
  }
  CHECK(message.find("deadlock") != std::string::npos);
  CHECK(message.find("matrix: instruction 1 waits for vector to retire 1 (it has retired 0)") !=
        std::string::npos);
  CHECK(message.find("vector: instruction 2 waits for matrix to retire 1 (it has retired 0)") !=
        std::string::npos);
  // and the next program runs
  CHECK(device->run(program_of({load(0, 64)}), dram, {}).total_cycles > 0);
}

TEST_CASE("a queue that never drains is named as what FETCH waits for") {
  std::vector<isa::Instruction> instructions(6, matrix(1, 1, {1, 0, 0, 0}));
  instructions.push_back(load(0, 64));
  std::vector<uint8_t> dram(kDramBytes);
  std::string message;
  try {
    make_systemc_device(machine())->run(program_of(instructions), dram, {});
  } catch (const UserError& error) {
    message = error.what();
  }
  CHECK(message.find("fetch: instruction 4 waits for room in the queue of matrix") != std::string::npos);
}

TEST_CASE("a run beyond max_cycles is an error, one of exactly max_cycles is not") {
  const HwConfig hw = machine();
  const Program program = small_network(hw);
  const auto device = make_systemc_device(hw);
  std::vector<uint8_t> dram = image_with_data(program);
  const int64_t total = device->run(program, dram, {}).total_cycles;
  RunOptions options;
  for (const int64_t limit : {int64_t{1}, total / 2, total - 1}) {
    options.max_cycles = limit;
    CHECK_THROWS_AS(device->run(program, dram, options), UserError);
  }
  options.max_cycles = total;
  CHECK(device->run(program, dram, options).total_cycles == total);
}

TEST_CASE("an empty loop or program is refused") {
  const auto device = make_systemc_device(machine());
  std::vector<uint8_t> dram(kDramBytes);
  CHECK_THROWS_AS(device->run(program_of({}), dram, {}), UserError);
  CHECK_THROWS_AS(device->run(program_of({vector(0)}), dram, {}), UserError);
  CHECK_THROWS_AS(device->run(program_of({load(0, 0)}), dram, {}), UserError);
}

TEST_CASE("progress rises to one and its exception ends the run, not the process") {
  const HwConfig hw = machine();
  const Program program = small_network(hw);
  const auto device = make_systemc_device(hw);
  std::vector<uint8_t> dram = image_with_data(program);
  std::vector<double> reports;
  RunOptions options;
  options.progress = [&](double fraction) { reports.push_back(fraction); };
  const int64_t total = device->run(program, dram, options).total_cycles;
  REQUIRE(!reports.empty());
  CHECK(std::is_sorted(reports.begin(), reports.end()));
  CHECK(reports.back() == 1.0);
  options.progress = [](double) { throw std::runtime_error("stop"); };
  CHECK_THROWS_WITH(device->run(program, dram, options), "stop");
  CHECK(device->run(program, dram, {}).total_cycles == total);
}

}  // namespace
}  // namespace dlc
