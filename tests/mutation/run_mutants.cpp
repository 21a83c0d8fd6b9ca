// Runs the mutants of one RTL build (scripts/mutate) against random programs on one machine.
//
//   dlc_run_mutants HW.yaml PROGRAMS SECONDS < ids
//
// DLC_RTL_DIR names the mutated sources, in which the environment variable DLC_MUTANT selects a mutant (0:
// none). The expected bytes and times come from SystemC, computed once. Each mutant runs in a process of its
// own until a program shows a difference, an assertion fires, the run does not end, or SECONDS of processor
// time have passed. Each program runs twice: with the contract's memory (bytes and times), and with one that
// stalls (bytes). Output, one line a mutant: `ID killed SEED REASON` or `ID survived`. Mutant 0 must survive:
// exit status 1 if not.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

#include "isa/device.h"
#include "isa/program_file.h"
#include "tests/fuzz/random_program.h"

namespace dlc {
namespace {

constexpr uint64_t kMemories = 6;  // latencies, bandwidths and outstanding limits that the programs share

struct Case {
  uint64_t seed;
  Program program;
  std::vector<uint8_t> image, dram;  // before, after
  RunResult result;
  Device* rtl;
};

class Regression {
 public:
  Regression(const std::string& file, uint64_t programs) {
    const HwConfig base = load_hwconfig(file);
    std::vector<std::unique_ptr<Device>> systemc;
    for (uint64_t m = 0; m < kMemories; ++m) {
      const HwConfig hw = vary_memory(base, m);
      systemc.push_back(make_systemc_device(hw));
      rtl_.push_back(make_rtl_device(hw));
    }
    for (uint64_t seed = 0; seed < programs; ++seed) {
      Case c{
          seed, random_program(base, seed, random_options(seed)), {}, {}, {}, rtl_[seed % kMemories].get()};
      c.image = c.dram = dram_image(c.program);
      c.result = systemc[seed % kMemories]->run(c.program, c.dram, {});
      cases_.push_back(std::move(c));
    }
  }

  // "survived" or "killed SEED REASON", by a child process: a mutant may crash or hang.
  std::string judge(int mutant, unsigned seconds) const {
    int channel[2];
    if (pipe(channel) != 0) throw std::runtime_error("no pipe for a mutant's verdict");
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process for a mutant");
    if (child == 0) {
      close(channel[0]);
      const rlimit limit{seconds, seconds};  // of processor time: the machine may be busy
      setrlimit(RLIMIT_CPU, &limit);
      setenv("DLC_MUTANT", std::to_string(mutant).c_str(), 1);
      const std::string verdict = run();
      const bool told = write(channel[1], verdict.data(), verdict.size()) >= 0;
      _exit(told ? 0 : 1);
    }
    close(channel[1]);
    std::string verdict;
    char buffer[512];
    for (ssize_t n; (n = read(channel[0], buffer, sizeof buffer)) > 0;)
      verdict.append(buffer, static_cast<size_t>(n));
    close(channel[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) return verdict;
    return WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL ? "killed - still running"
                                                                      : "killed - crashed";
  }

 private:
  std::string run() const {
    for (const Case& c : cases_) {
      const std::string difference = difference_of(c);
      if (!difference.empty()) return fmt::format("killed {} {}", c.seed, difference);
    }
    if (!stops_at_garbage(cases_.front())) return "killed - an unknown instruction does not stop the core";
    return "survived";
  }

  // An opcode that does not exist is an error that the core reports, not a hang.
  static bool stops_at_garbage(const Case& c) {
    std::vector<uint8_t> dram = c.image;
    dram.at(c.program.program_address) |= 0x0F;
    try {
      c.rtl->run(c.program, dram, {});
    } catch (const std::exception& error) {
      return std::string(error.what()).find("the core reports an error") != std::string::npos;
    }
    return false;
  }

  static std::string difference_of(const Case& c) {
    std::vector<uint8_t> dram = c.image, stalled = c.image;
    RunResult r;
    try {
      // Registers and memories start with random bits, other ones for each program.
      RunOptions options;
      options.initial_state = c.seed + 1;
      r = c.rtl->run(c.program, dram, options);
      options.stall_seed = c.seed + 1;
      c.rtl->run(c.program, stalled, options);
    } catch (const std::exception& error) {
      return std::string(error.what()).substr(0, 100);
    }
    if (r.times != c.result.times) return "start or retire";
    if (r.total_cycles != c.result.total_cycles) return "total cycles";
    if (r.engines != c.result.engines) return "counters";
    if (r.dram_read_bytes != c.result.dram_read_bytes || r.dram_write_bytes != c.result.dram_write_bytes)
      return "DRAM traffic";
    if (dram != c.dram) return "bytes";
    return stalled == c.dram ? "" : "bytes with stalls";
  }

  std::vector<std::unique_ptr<Device>> rtl_;
  std::vector<Case> cases_;
};

int run_mutants(const std::vector<std::string>& args) {
  const Regression regression(args.at(0), std::stoull(args.at(1)));
  const auto seconds = static_cast<unsigned>(std::stoul(args.at(2)));
  for (int mutant; std::cin >> mutant;) {
    const std::string verdict = regression.judge(mutant, seconds);
    std::cout << mutant << ' ' << verdict << std::endl;
    if (mutant == 0 && verdict != "survived") return 1;
  }
  return 0;
}

}  // namespace
}  // namespace dlc

int main(int argc, char** argv) {
  try {
    return dlc::run_mutants({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "dlc_run_mutants: " << error.what() << '\n';
    return 2;
  }
}
