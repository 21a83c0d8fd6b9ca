#include "tests/fuzz/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/program_file.h"
#include "isa/verifier_access.h"

namespace dlc {
namespace {

std::string owner_of_byte(const Program& program, const HwConfig& hw, uint64_t byte) {
  std::string text;
  for (const TensorInfo& t : program.tensors) {
    if (byte >= t.address && byte < t.address + t.bytes) {
      text += fmt::format(", tensor {} + {}", t.name, byte - t.address);
      break;
    }
  }
  for (size_t i = program.instructions.size(); i-- > 0;) {
    const isa::Instruction& instruction = program.instructions[i];
    if (!std::holds_alternative<isa::Store>(instruction)) continue;
    const auto at = static_cast<int64_t>(byte);
    if (verifier::overlaps(verifier::access_of(instruction, hw).dram_writes, {{at, at + 1}})) {
      return text + fmt::format(", written by instruction {} ({})", i, isa::to_string(instruction));
    }
  }
  return text + ", which no STORE writes";
}

std::string bytes_difference(const Program& program, const HwConfig& hw, const Device& a, const Device& b,
                             const std::vector<uint8_t>& dram_a, const std::vector<uint8_t>& dram_b) {
  const auto [at, other] = std::mismatch(dram_a.begin(), dram_a.end(), dram_b.begin(), dram_b.end());
  if (at == dram_a.end()) return "";
  const auto byte = static_cast<uint64_t>(at - dram_a.begin());
  return fmt::format("DRAM byte {}: {} has {}, {} has {}{}", byte, a.name(), *at, b.name(), *other,
                     owner_of_byte(program, hw, byte));
}

std::string times_difference(const Program& program, const Device& a, const Device& b, const RunResult& x,
                             const RunResult& y) {
  const auto differ = [&](const std::string& what, int64_t in_a, int64_t in_b) {
    return in_a == in_b ? std::string()
                        : fmt::format("{}: {} says {}, {} says {}", what, a.name(), in_a, b.name(), in_b);
  };
  std::string fault = differ("instructions with times", static_cast<int64_t>(x.times.size()),
                             static_cast<int64_t>(y.times.size()));
  for (size_t i = 0; fault.empty() && i < x.times.size(); ++i) {
    const std::string which = fmt::format("instruction {} ({})", i, isa::to_string(program.instructions[i]));
    fault = differ(which + " start", x.times[i].start, y.times[i].start);
    if (fault.empty()) fault = differ(which + " retire", x.times[i].retire, y.times[i].retire);
  }
  if (fault.empty()) fault = differ("total cycles", x.total_cycles, y.total_cycles);
  for (size_t e = 0; fault.empty() && e < kEngines; ++e) {
    const EngineCounters& p = x.engines[e];
    const EngineCounters& q = y.engines[e];
    const std::string engine = kEngineNames[e];
    fault = differ(engine + " busy", p.busy, q.busy);
    if (fault.empty()) fault = differ(engine + " wait_dependency", p.wait_dependency, q.wait_dependency);
    if (fault.empty()) fault = differ(engine + " wait_memory", p.wait_memory, q.wait_memory);
    if (fault.empty()) fault = differ(engine + " idle", p.idle, q.idle);
  }
  if (fault.empty()) fault = differ("DRAM bytes read", x.dram_read_bytes, y.dram_read_bytes);
  if (fault.empty()) fault = differ("DRAM bytes written", x.dram_write_bytes, y.dram_write_bytes);
  return fault;
}

}  // namespace

std::string compare_devices(const Program& program, const HwConfig& hw, Device& a, Device& b,
                            bool compare_times, const RunOptions& options_of_b) {
  std::vector<uint8_t> dram_a = dram_image(program), dram_b = dram_a;
  const RunResult x = a.run(program, dram_a, {});
  const RunResult y = b.run(program, dram_b, options_of_b);
  std::string fault;
  if (compare_times) fault = times_difference(program, a, b, x, y);
  // A difference in time often explains one in bytes, but not the other way round: both are said.
  const std::string bytes = bytes_difference(program, hw, a, b, dram_a, dram_b);
  if (!fault.empty() && !bytes.empty()) return fault + "; " + bytes;
  return fault + bytes;
}

std::string compare_devices(const Program& program, const HwConfig& hw, Device& a, Device& b,
                            bool compare_times) {
  return compare_devices(program, hw, a, b, compare_times, {});
}

}  // namespace dlc
