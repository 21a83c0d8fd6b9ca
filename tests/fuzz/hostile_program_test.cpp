// Programs that no compiler would make: the verifier answers, quickly, whatever the fields hold.
#include <catch2/catch.hpp>

#include <chrono>

#include "isa/program_file.h"
#include "tests/fuzz/random.h"

namespace dlc {
namespace {

// Every element of every field: often small, sometimes any value of its bits, seldom beyond them.
template <class I>
I hostile(Random& random) {
  I instruction;
  for_each_field(instruction, [&](const isa::FieldInfo& info, auto& member) {
    const auto draw = [&]() -> int64_t {
      const int kind = static_cast<int>(random.range(0, 19));
      if (info.enumeration) return kind < 19 ? random.range(0, 1) : random.range(0, 7);
      if (kind < 9) return info.initial;
      if (kind < 15) return random.range(0, 40);
      const int64_t low = info.is_signed ? -(int64_t{1} << (info.bits - 1)) : 0;
      const int64_t high = low + (int64_t{1} << info.bits) - 1;
      if (kind < 17) return random.range(low, high);
      return kind < 19 ? (random.flag() != 0 ? low : high) : high + 1;
    };
    if constexpr (requires { member.size(); }) {
      for (auto& element : member) element = static_cast<std::remove_cvref_t<decltype(element)>>(draw());
    } else {
      member = static_cast<std::remove_cvref_t<decltype(member)>>(draw());
    }
  });
  return instruction;
}

TEST_CASE("verifier: arbitrary fields are judged in bounded time and never trusted") {
  Random random(11);
  int accepted = 0;
  for (const char* name : {"tiny-4", "edge-16"}) {
    const HwConfig hw = load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/" + name + ".yaml");
    for (int n = 0; n < 3000; ++n) {
      Program program;
      program.dram_bytes = 1 << 20;
      program.program_address = 1 << 16;
      for (int64_t i = random.range(1, 6); i > 0; --i) {
        switch (random.range(0, 3)) {
          case 0: program.instructions.push_back(hostile<isa::Load>(random)); break;
          case 1: program.instructions.push_back(hostile<isa::Matrix>(random)); break;
          case 2: program.instructions.push_back(hostile<isa::Vector>(random)); break;
          default: program.instructions.push_back(hostile<isa::Store>(random)); break;
        }
      }
      const auto begin = std::chrono::steady_clock::now();
      accepted += verify_program(program, hw).empty();
      INFO(hw.name << ", program " << n);
      REQUIRE(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 2.0);
    }
  }
  CHECK(accepted < 600);
}

}  // namespace
}  // namespace dlc
