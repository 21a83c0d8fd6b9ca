// Commands that only tell: check-hw, passes, rtl.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "compiler/driver/commands.h"
#include "compiler/driver/file_io.h"
#include "compiler/passes/pass_manager.h"
#include "isa/error.h"
#include "isa/program_file.h"
#include "rtl/cosim/rtl_sources.h"

namespace dlc {

int command_check_hw(const Options& options) {
  const HwConfig hw = load_hwconfig(options.hw);
  std::printf("%s: valid, name '%s', hash %016llx\n\n", options.hw.c_str(), hw.name.c_str(),
              static_cast<unsigned long long>(hwconfig_hash(hw)));
  std::printf("array        %d x %d = %d MACs a cycle, %.3f TOPS peak at %g MHz\n", hw.rows, hw.cols, hw.rows * hw.cols,
              2e-6 * hw.rows * hw.cols * hw.clock_mhz, hw.clock_mhz);
  std::printf("weight tile  %d bytes, preloaded in %d cycles\n", hw.rows * hw.cols, hw.tile_words());
  std::printf("vector       %d lanes: %d groups in an ACT word, %d in an ACC word\n", hw.lanes, hw.act_groups(), hw.acc_groups());
  std::printf("DRAM         %g bytes a cycle = %.2f GB/s, latency %d cycles\n\n",
              static_cast<double>(hw.bandwidth_num) / static_cast<double>(hw.bandwidth_den),
              static_cast<double>(hw.bandwidth_num) / static_cast<double>(hw.bandwidth_den) * hw.clock_mhz * 1e-3, hw.memory_latency);
  std::printf("%-12s %10s %10s %8s %6s %12s\n", "scratchpad", "bytes", "word", "words", "banks", "words/bank");
  const std::pair<const char*, Memory> memories[] = {
      {"activation", Memory::act}, {"weight", Memory::wgt}, {"accumulator", Memory::acc}, {"parameter", Memory::par}};
  for (const auto& [name, m] : memories)
    std::printf("%-12s %10llu %10d %8lld %6d %12lld\n", name, static_cast<unsigned long long>(hw.scratchpad(m).size_bytes),
                hw.word_bytes(m), static_cast<long long>(hw.words(m)), hw.scratchpad(m).banks, static_cast<long long>(hw.bank_words(m)));
  return 0;
}

int command_passes(const Options&) {
  for (const passes::Pass& p : passes::all_passes()) std::printf("%-28s %s\n", p.name, p.summary);
  return 0;
}

int command_rtl(const Options& options) {
  const HwConfig hw = load_hwconfig(options.hw);
  std::error_code code;
  std::filesystem::create_directories(options.output, code);
  if (code) throw UserError(ErrorKind::bad_input, options.output, "the folder cannot be made: " + code.message());
  std::string list;
  for (const auto& [name, text] : rtl_design(hw)) {
    write_file(options.output + "/" + name, text);
    list += name + "\n";
  }
  write_file(options.output + "/files.f", list);
  std::printf("%s: the RTL of '%s', top module dlc_top; file list files.f\n", options.output.c_str(), hw.name.c_str());
  return 0;
}

}  // namespace dlc
