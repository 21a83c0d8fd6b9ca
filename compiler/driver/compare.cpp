#include "compiler/driver/compare.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "isa/verifier_access.h"

namespace dlc {
namespace {

int64_t element_at(const ir::Tensor& t, size_t i) {
  switch (t.type) {
    case ir::ElementType::int8: return t.data<int8_t>()[i];
    case ir::ElementType::uint8: return t.data<uint8_t>()[i];
    case ir::ElementType::int32: return t.data<int32_t>()[i];
    default: return t.bytes[i];
  }
}

std::string index_text(size_t flat, const ir::Shape& shape) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    const auto extent = static_cast<size_t>(std::max<int64_t>(1, shape[d]));
    text = std::to_string(flat % extent) + (text.empty() ? "" : ",") + text;
    flat /= extent;
  }
  return "[" + text + "]";
}

// The last STORE that wrote into the tensor: where to start looking.
std::string storing_instruction(const Program& program, const std::string& tensor) {
  for (const TensorInfo& t : program.tensors) {
    if (t.name != tensor) continue;
    for (size_t i = program.instructions.size(); i-- > 0;) {
      const auto* s = std::get_if<isa::Store>(&program.instructions[i]);
      if (s && s->dram_address >= t.address && s->dram_address < t.address + t.bytes)
        return "; stored by " + describe_instruction(program, i);
    }
  }
  return "";
}

}  // namespace

std::string describe_instruction(const Program& program, size_t index) {
  static const char* const kNames[] = {"load", "matrix", "vector", "store"};
  const isa::Instruction& instruction = program.instructions.at(index);
  std::string text = fmt::format("#{} {}", index, kNames[static_cast<int>(isa::engine_of(instruction))]);
  if (index < program.layer_of.size() && program.layer_of[index] < program.layers.size())
    text += fmt::format(" of '{}'", program.layers[program.layer_of[index]].name);
  if (index < program.notes.size() && !program.notes[index].empty()) text += " (" + program.notes[index] + ")";
  return text + ": " + isa::to_string(instruction);
}

Check compare_tensors(const Program& program, const std::string& engine, const TensorMap& tensors,
                      const std::string& against, const TensorMap& expected) {
  Check check{engine, against, 0, 0, 0, ""};
  for (const auto& [name, tensor] : tensors) {
    const auto it = expected.find(name);
    if (it == expected.end() || it->second.bytes.size() != tensor.bytes.size() || it->second.type != tensor.type) {
      check.mismatches += tensor.size();
      if (check.first.empty()) check.first = fmt::format("tensor '{}' has no equal counterpart in {}", name, against);
      continue;
    }
    check.elements += tensor.size();
    if (it->second.bytes == tensor.bytes) continue;
    const size_t count = ir::element_name(tensor.type).find("int") != std::string_view::npos ? static_cast<size_t>(tensor.size()) : tensor.bytes.size();
    for (size_t i = 0; i < count; ++i) {
      const int64_t a = element_at(tensor, i), b = element_at(it->second, i);
      if (a == b) continue;
      ++check.mismatches;
      check.max_abs_error = std::max(check.max_abs_error, std::abs(a - b));
      if (check.first.empty())
        check.first = fmt::format("tensor '{}' element {}: {} in {}, {} in {}{}", name, index_text(i, tensor.shape), a,
                                  engine, b, against, storing_instruction(program, name));
    }
  }
  return check;
}

std::optional<StoredDifference> first_stored_difference(const Program& program, const HwConfig& hw,
                                                        const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  std::set<int64_t> bytes;  // those that differ and have no owner yet
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] != b[i]) bytes.insert(static_cast<int64_t>(i));
  if (bytes.empty()) return std::nullopt;
  StoredDifference first{SIZE_MAX, static_cast<uint64_t>(*bytes.begin())};
  for (size_t i = program.instructions.size(); i-- > 0 && !bytes.empty();) {
    if (!std::holds_alternative<isa::Store>(program.instructions[i])) continue;
    for (const auto& range : verifier::access_of(program.instructions[i], hw).dram_writes) {
      const auto from = bytes.lower_bound(range.low), to = bytes.lower_bound(range.high);
      if (from == to) continue;
      first = {i, static_cast<uint64_t>(*from)};
      bytes.erase(from, to);
    }
  }
  return first;
}

std::optional<size_t> first_time_difference(const RunResult& a, const RunResult& b) {
  for (size_t i = 0; i < std::min(a.times.size(), b.times.size()); ++i)
    if (!(a.times[i] == b.times[i])) return i;
  return std::nullopt;
}

std::string compare_times(const Program& program, const std::string& name_a, const RunResult& a,
                          const std::string& name_b, const RunResult& b) {
  if (a.times.size() != b.times.size())
    return fmt::format("{} recorded {} instructions, {} recorded {}", name_a, a.times.size(), name_b, b.times.size());
  for (size_t i = 0; i < a.times.size(); ++i) {
    if (a.times[i] == b.times[i]) continue;
    const bool start = a.times[i].start != b.times[i].start;
    return fmt::format("instruction {}: {} in cycle {} in {}, in cycle {} in {}", describe_instruction(program, i),
                       start ? "starts" : "retires", start ? a.times[i].start : a.times[i].retire, name_a,
                       start ? b.times[i].start : b.times[i].retire, name_b);
  }
  if (a.total_cycles != b.total_cycles)
    return fmt::format("total cycles: {} in {}, {} in {}", a.total_cycles, name_a, b.total_cycles, name_b);
  static const char* const kStates[] = {"busy", "wait_dependency", "wait_memory", "idle"};
  for (size_t e = 0; e < kEngines; ++e) {
    const EngineCounters &x = a.engines[e], &y = b.engines[e];
    const int64_t xs[] = {x.busy, x.wait_dependency, x.wait_memory, x.idle};
    const int64_t ys[] = {y.busy, y.wait_dependency, y.wait_memory, y.idle};
    for (int s = 0; s < 4; ++s)
      if (xs[s] != ys[s])
        return fmt::format("counter {}.{}_cycles: {} in {}, {} in {}", kEngineNames[e], kStates[s], xs[s], name_a, ys[s], name_b);
  }
  if (a.dram_read_bytes != b.dram_read_bytes || a.dram_write_bytes != b.dram_write_bytes)
    return fmt::format("DRAM traffic: {}+{} bytes in {}, {}+{} in {}", a.dram_read_bytes, a.dram_write_bytes, name_a,
                       b.dram_read_bytes, b.dram_write_bytes, name_b);
  return "";
}

}  // namespace dlc
