// Random programs: valid, reproducible, and all devices agree on them.
#include "tests/fuzz/random_program.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>

#include "isa/program_file.h"
#include "tests/fuzz/any_order_device.h"
#include "tests/fuzz/compare.h"
#include "tests/fuzz/random_hwconfig.h"

namespace dlc {
namespace {

constexpr uint64_t kPrograms = 60;        // per configuration
constexpr uint64_t kCosimPrograms = 170;  // per configuration, on RTL: on six machines

std::vector<HwConfig> configurations() {
  std::vector<HwConfig> all;
  for (const char* name : {"tiny-4", "edge-8", "edge-16", "wide-8x32", "narrow-32x8", "vta-16"}) {
    all.push_back(load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/" + name + ".yaml"));
  }
  return all;
}

TEST_CASE("random programs pass the verifier and use every engine") {
  for (const HwConfig& hw : configurations()) {
    std::array<int, isa::kEngineCount> used{};
    for (uint64_t seed = 0; seed < kPrograms; ++seed) {
      INFO(hw.name << ", seed " << seed);
      const Program program = random_program(hw, seed, random_options(seed));
      const std::vector<std::string> faults = verify_program(program, hw);
      REQUIRE(faults == std::vector<std::string>());
      for (const isa::Instruction& i : program.instructions) ++used[static_cast<size_t>(isa::engine_of(i))];
    }
    for (const int count : used) CHECK(count > 300);
  }
}

TEST_CASE(
    "random programs wait for no more than they must: a lower wait is a fault that the verifier names") {
  const HwConfig hw = configurations().front();
  RandomProgramOptions options;
  options.superfluous_waits = 0;
  int noticed = 0, waits = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Program program = random_program(hw, seed, options);
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      for (uint32_t& wait : isa::wait_of(program.instructions[i])) {
        if (wait == 0) continue;
        ++waits;
        --wait;
        noticed += !verify_program(program, hw, 1).empty();
        ++wait;
      }
    }
  }
  CHECK(waits > 200);
  CHECK(noticed == waits);
}

TEST_CASE("random programs: one seed, one program") {
  const HwConfig hw = configurations().front();
  CHECK(encode_program(random_program(hw, 5)) == encode_program(random_program(hw, 5)));
  CHECK(encode_program(random_program(hw, 5)) != encode_program(random_program(hw, 6)));
}

TEST_CASE("shrink keeps the failure and little else") {
  const HwConfig hw = configurations().front();
  const auto fails = [](const Program& p) {
    return std::any_of(p.instructions.begin(), p.instructions.end(), [](const isa::Instruction& i) {
      const auto* m = std::get_if<isa::Matrix>(&i);
      return m && m->accumulate != 0 && m->zero_activation == 0;
    });
  };
  uint64_t seed = 0;
  while (!fails(random_program(hw, seed))) ++seed;
  const Program small = shrink(random_program(hw, seed), hw, fails);
  CHECK(fails(small));
  CHECK(verify_program(small, hw).empty());
  // Loads of activations, weights and accumulators (or a MATRIX that writes these), and the MATRIX itself.
  CHECK(small.instructions.size() <= 5);
}

TEST_CASE("random programs give the same bytes in every order that their waits allow") {
  for (const HwConfig& hw : configurations()) {
    const auto functional = make_functional_device(hw);
    for (uint64_t seed = 0; seed < kPrograms; ++seed) {
      const Program program = random_program(hw, seed, random_options(seed));
      for (uint64_t order = 0; order < 3; ++order) {
        const auto any_order = make_any_order_device(hw, seed * 100 + order);
        INFO(hw.name << ", seed " << seed << ", order " << order);
        REQUIRE(compare_devices(program, hw, *functional, *any_order, false) == "");
      }
    }
  }
}

void require_agreement(const HwConfig& base, uint64_t programs,
                       const std::function<std::unique_ptr<Device>(const HwConfig&)>& a,
                       const std::function<std::unique_ptr<Device>(const HwConfig&)>& b, bool times) {
  for (uint64_t seed = 0; seed < programs; ++seed) {
    const HwConfig hw = vary_memory(base, seed);
    const Program program = random_program(hw, seed, random_options(seed));
    INFO(hw.name << ", seed " << seed);
    REQUIRE(compare_devices(program, hw, *a(hw), *b(hw), times) == "");
  }
}

TEST_CASE("functional and SystemC models agree on random programs") {
  for (const HwConfig& hw : configurations())
    require_agreement(hw, kPrograms, make_functional_device, make_systemc_device, false);
}

TEST_CASE(
    "functional and SystemC models agree on random programs for machines that RTL takes minutes to build") {
  for (const char* name : {"gemmini-16", "large-64", "starved-16"}) {
    const HwConfig hw = load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/" + name + ".yaml");
    require_agreement(hw, kPrograms, make_functional_device, make_systemc_device, false);
  }
}

TEST_CASE("functional and SystemC models agree on random machines") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    require_agreement(random_hwconfig(seed), 8, make_functional_device, make_systemc_device, false);
  }
}

// Values from the functional model's engine, times from closed forms, against the hardware: every byte, every
// start and retire cycle, every counter.
TEST_CASE("SystemC and RTL agree on random programs in every byte and cycle") {
  for (const HwConfig& hw : configurations()) {
    require_agreement(hw, kCosimPrograms, make_systemc_device, make_rtl_device, true);
    require_agreement(hw, kCosimPrograms, make_functional_device, make_systemc_device, false);
  }
}

}  // namespace
}  // namespace dlc
