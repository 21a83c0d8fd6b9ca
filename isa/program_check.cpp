#include "isa/program_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "isa/error.h"
#include "isa/program_file.h"

namespace dlc {
namespace {

struct Interval {
  uint64_t begin, end;
  std::string what;
};

std::optional<int64_t> element_bytes(const std::string& element) {
  if (element == "int8" || element == "uint8") return 1;
  if (element == "int16" || element == "uint16") return 2;
  if (element == "int32" || element == "float32") return 4;
  if (element == "int64") return 8;
  return std::nullopt;
}

std::string check_hw(const Program& p, HwConfig& hw) {
  try {
    hw = parse_hwconfig(p.hw_yaml, "hardware description in the program");
  } catch (const UserError& e) {
    return e.what();
  }
  if (canonical_yaml(hw) != p.hw_yaml) return "the hardware description is not in canonical form";
  if (hw.name != p.hw_name) return fmt::format("hardware name '{}', expected '{}'", p.hw_name, hw.name);
  if (hwconfig_hash(hw) != p.hw_hash) {
    return fmt::format("hardware hash {:016x}, expected {:016x} (that of the description)", p.hw_hash,
                       hwconfig_hash(hw));
  }
  return {};
}

std::string check_tables(const Program& p) {
  const size_t n = p.instructions.size();
  if (p.layer_of.size() != n)
    return fmt::format("{} layer indices, expected one an instruction, {}", p.layer_of.size(), n);
  if (!p.notes.empty() && p.notes.size() != n)
    return fmt::format("{} notes, expected {} or none", p.notes.size(), n);
  for (size_t i = 0; i < n; ++i) {
    if (p.layer_of[i] >= std::max<size_t>(p.layers.size(), 1)) {
      return fmt::format("instruction {}: layer {}, expected below {}", i, p.layer_of[i], p.layers.size());
    }
    const std::string fault = isa::check_fields(p.instructions[i]);
    if (!fault.empty())
      return fmt::format("instruction {}: {}: {}", i, isa::info_of(p.instructions[i]).name, fault);
  }
  uint64_t next = 0;
  for (size_t i = 0; i < p.segments.size(); ++i) {
    const Segment& s = p.segments[i];
    const uint64_t end = uint64_t{s.first_instruction} + s.instruction_count;
    if (s.kind == Segment::Kind::host && s.instruction_count != 0) {
      return fmt::format("segment {}: a host segment with {} instructions, expected none", i,
                         s.instruction_count);
    }
    if (s.kind == Segment::Kind::host) continue;
    if (s.first_instruction < next || end > n) {
      return fmt::format("segment {}: instructions {}..{}, expected inside {}..{}", i, s.first_instruction,
                         end, next, n);
    }
    next = end;
  }
  return {};
}

std::string check_interval(const std::string& what, uint64_t address, uint64_t bytes, uint64_t limit) {
  if (address <= limit && bytes <= limit - address) return {};
  return fmt::format("{}: {} bytes at {:#x} lie beyond the DRAM image of {:#x} bytes", what, bytes, address,
                     limit);
}

std::string check_tensor(const Program& p, const TensorInfo& t) {
  const std::string what = fmt::format("tensor '{}'", t.name);
  const auto size = element_bytes(t.element);
  if (!size) return fmt::format("{}: unknown element type '{}'", what, t.element);
  if (!std::isfinite(t.scale)) return what + ": scale is not a finite number";
  uint64_t needed = static_cast<uint64_t>(*size);
  for (const int64_t d : t.shape) {
    if (d < 1 || static_cast<uint64_t>(d) > p.dram_bytes ||
        needed > p.dram_bytes / static_cast<uint64_t>(d)) {
      return fmt::format("{}: dimension {} does not fit the DRAM image", what, d);
    }
    needed *= static_cast<uint64_t>(d);
  }
  if (t.bytes < needed)
    return fmt::format("{}: {} bytes, expected at least {} for its shape", what, t.bytes, needed);
  return check_interval(what, t.address, t.bytes, p.dram_bytes);
}

std::string check_dram(const Program& p, const HwConfig& hw) {
  if (p.dram_bytes > hw.memory_bytes) {
    return fmt::format("DRAM image of {:#x} bytes, expected at most the memory size {:#x}", p.dram_bytes,
                       hw.memory_bytes);
  }
  if (p.program_address % 4096 != 0)
    return fmt::format("program address {:#x}, expected a multiple of 4096", p.program_address);
  std::vector<Interval> used;
  const uint64_t code = (program_units(p) * isa::kUnitBytes + 255) / 256 * 256;
  used.push_back({p.program_address, code, "program"});
  for (const Constant& c : p.constants)
    used.push_back({c.address, c.bytes.size(), fmt::format("constant '{}'", c.name)});
  for (Interval& i : used) {
    const std::string fault = check_interval(i.what, i.begin, i.end, p.dram_bytes);
    if (!fault.empty()) return fault;
    i.end += i.begin;  // a size so far
  }
  std::stable_sort(used.begin(), used.end(),
                   [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < used.size(); ++i) {
    if (used[i].begin < used[i - 1].end && used[i].begin < used[i].end) {
      return fmt::format("{} and {} overlap in DRAM at {:#x}", used[i - 1].what, used[i].what, used[i].begin);
    }
  }
  for (const TensorInfo& t : p.tensors) {
    const std::string fault = check_tensor(p, t);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace

std::string check_program(const Program& program) {
  HwConfig hw;
  std::string fault = check_hw(program, hw);
  if (fault.empty()) fault = check_tables(program);
  if (fault.empty()) fault = check_dram(program, hw);
  return fault;
}

}  // namespace dlc
