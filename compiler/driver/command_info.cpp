// Commands that only tell: check-hw, ops, passes.
#include <fmt/format.h>

#include <cstdio>

#include "compiler/driver/commands.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/quantize/quantize_qdq.h"
#include "isa/error.h"
#include "isa/program_file.h"

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

int command_ops(const Options&) {
  // Which ONNX operators the Q/DQ lowering turns into integer operators of the machine.
  std::printf("%-24s %-8s %-12s %s\n", "operator", "opset", "accelerator", "notes");
  for (const onnx_import::OperatorInfo& o : onnx_import::known_operators()) {
    const char* machine = quantize::lowers_to(o.op);
    std::printf("%-24s %-8d %-12s %s\n", o.op.c_str(), o.first_opset, o.composite ? "its parts" : machine ? machine : "host", o.note.c_str());
  }
  std::printf("\nAccelerator operators need 8-bit operands (QuantizeLinear/DequantizeLinear around them, or a float network\n"
              "that dlc quantises itself); in float they run on the host.\n");
  return 0;
}

int command_passes(const Options&) {
  for (const passes::Pass& p : passes::all_passes()) std::printf("%-28s %s\n", p.name, p.summary);
  return 0;
}

}  // namespace dlc
