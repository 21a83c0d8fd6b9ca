// Fresh random programs on the functional model, SystemC and RTL, until the time or the number is up. What
// scripts/cosim-random runs. Prints every configuration's seeds; a failure is shrunk and kept as assembly.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "isa/program_file.h"
#include "tests/fuzz/compare.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/random_program.h"

namespace dlc {
namespace {

constexpr uint64_t kRound = 25;  // programs of one configuration before the next has its turn

struct Settings {
  double minutes = 0;
  uint64_t programs = 0, seed = 0;
  std::vector<std::string> configs;
  std::string kept = std::string(DLC_SOURCE_DIR) + "/tests/fuzz/kept";
};

// One program on all witnesses; "" if they agree.
std::string check(const Program& program, const HwConfig& hw, uint64_t seed) {
  const auto attempt = [&](Device& a, Device& b, bool times, const RunOptions& options) -> std::string {
    try {
      return compare_devices(program, hw, a, b, times, options);
    } catch (const RunFailure& failure) {
      return failure.what();
    }
  };
  const auto functional = make_functional_device(hw), systemc = make_systemc_device(hw), rtl = make_rtl_device(hw);
  RunOptions options;
  options.initial_state = seed % 4 == 0 ? seed + 1 : 0;  // random registers and memories at power-up
  std::string fault = attempt(*systemc, *rtl, true, options);
  if (fault.empty()) fault = attempt(*functional, *systemc, false, {});
  if (fault.empty() && seed % 8 == 1) {  // READY that falls at random: only the bytes count
    options.stall_seed = seed;
    fault = attempt(*functional, *rtl, false, options);
  }
  return fault;
}

void keep(const Settings& settings, const HwConfig& hw, uint64_t seed, const Program& program, const std::string& fault) {
  std::fprintf(stderr, "MISMATCH %s, seed %llu: %s\n", hw.name.c_str(), static_cast<unsigned long long>(seed), fault.c_str());
  const Program small = shrink(program, hw, [&](const Program& p) { return !check(p, hw, seed).empty(); }, 300);
  std::filesystem::create_directories(settings.kept);
  const std::string file = fmt::format("{}/{}-{}.s", settings.kept, hw.name, seed);
  std::ofstream(file) << disassemble(small);
  std::fprintf(stderr, "shrunk to %zu instructions: %s\n  %s\n", small.instructions.size(), file.c_str(), check(small, hw, seed).c_str());
}

int run(const Settings& settings) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double, std::ratio<60>>(settings.minutes);
  std::vector<HwConfig> machines;
  for (const std::string& file : settings.configs) machines.push_back(load_hwconfig(file));
  uint64_t count = 0, instructions = 0, failures = 0, next = settings.seed;
  const auto finished = [&] {
    return settings.programs ? count >= settings.programs : std::chrono::steady_clock::now() >= end;
  };
  for (size_t m = 0; !finished(); m = (m + 1) % machines.size()) {
    const uint64_t first = next;
    for (uint64_t k = 0; k < kRound && !finished(); ++k, ++count) {
      const uint64_t seed = next++;
      const HwConfig hw = vary_memory(machines[m], seed);
      const Program program = random_program(hw, seed, random_options(seed));
      instructions += program.instructions.size();
      const std::string fault = check(program, hw, seed);
      if (fault.empty()) continue;
      ++failures;
      keep(settings, hw, seed, program, fault);
    }
    std::printf("%s: seeds %llu to %llu; %llu programs, %llu instructions, %llu mismatches\n", machines[m].name.c_str(),
                static_cast<unsigned long long>(first), static_cast<unsigned long long>(next - 1),
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(instructions),
                static_cast<unsigned long long>(failures));
    std::fflush(stdout);
  }
  return failures ? 1 : 0;
}

}  // namespace
}  // namespace dlc

int main(int argc, char** argv) {
  dlc::Settings settings;
  CLI::App app("Random programs on the functional model, SystemC and RTL");
  settings.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) / 1000 % 1000000000;
  auto* minutes = app.add_option("--minutes", settings.minutes, "how long")->check(CLI::PositiveNumber);
  app.add_option("--programs", settings.programs, "how many, instead")->excludes(minutes);
  app.add_option("--seed", settings.seed, "of the first program (default: from the clock; printed)");
  app.add_option("--config", settings.configs, "hardware descriptions")->required()->check(CLI::ExistingFile);
  app.add_option("--keep", settings.kept, "folder for what failed, shrunk");
  CLI11_PARSE(app, argc, argv);
  if (settings.minutes == 0 && settings.programs == 0) settings.minutes = 1;
  try {
    return dlc::run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
