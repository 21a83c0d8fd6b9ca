// Faults that one instruction has whatever the rest of the program does.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <unordered_set>

#include "isa/numerics.h"
#include "isa/verifier_access.h"

namespace dlc::verifier {
namespace {

// Bounds on the work of one instruction, so that 64-bit cycle arithmetic holds for any program.
constexpr int64_t kMaxSteps = int64_t{1} << 32;
constexpr int64_t kMaxSelfCheckSteps = int64_t{1} << 22;
constexpr int64_t kMaxTaps = (int64_t{1} << 14) * 16;  // PAR addresses have 14 bits

std::string needs_feature(const std::string& what, const char* feature) {
  return fmt::format("{} needs feature {}, which this machine does not have", what, feature);
}

template <size_t N>
std::vector<Loop> loops_of(const std::array<uint32_t, N>& count, const std::array<int32_t, N>& stride) {
  std::vector<Loop> loops;
  for (size_t i = 0; i < N; ++i) loops.push_back({count[i], stride[i]});
  return loops;
}

template <size_t N>
std::string count_fault(const char* name, const std::array<uint32_t, N>& count) {
  for (size_t i = 0; i < N; ++i) {
    if (count[i] == 0) return fmt::format("{}[{}] is 0, expected at least 1", name, i);
  }
  return "";
}

template <size_t N>
int64_t product(const std::array<uint32_t, N>& count) {  // saturated at kMaxSteps
  int64_t result = 1;
  for (const uint32_t c : count) result = std::min(kMaxSteps, result * static_cast<int64_t>(c));
  return result;
}

std::string range_fault(const char* what, const Interval& range, int64_t size, const char* unit) {
  if (range.low >= 0 && range.high <= size) return "";
  return fmt::format("{} touches {} {}..{}, expected 0..{}", what, unit, range.low, range.high - 1, size - 1);
}

const char* name_of(Memory memory) {
  static constexpr const char* kNames[] = {"ACT", "WGT", "ACC", "PAR", "LUT"};
  return kNames[static_cast<int>(memory)];
}

// First non-empty message; the later checks run only if the earlier ones hold.
template <class... Checks>
std::string first_fault(Checks&&... checks) {
  std::string fault;
  (void)((fault = checks(), fault.empty()) && ...);
  return fault;
}

template <class Transfer>
std::string transfer_fault(const Transfer& t, const HwConfig& hw, uint64_t dram_bytes) {
  const auto aligned = [](int64_t value, int64_t unit) { return value % unit == 0; };
  return first_fault(
      [&] { return count_fault("count", t.count); },
      [&]() -> std::string {
        const int word = hw.word_bytes(t.memory), chunk = hw.chunk_bytes(t.memory);
        if (t.row_bytes == 0 || !aligned(t.row_bytes, word)) {
          return fmt::format("row_bytes is {}, expected a positive multiple of the {} word, {} bytes",
                             t.row_bytes, name_of(t.memory), word);
        }
        if (!aligned(static_cast<int64_t>(t.dram_address), chunk)) {
          return fmt::format("dram_address is {}, expected a multiple of the chunk, {} bytes", t.dram_address,
                             chunk);
        }
        for (size_t i = 0; i < t.count.size(); ++i) {
          if (t.count[i] > 1 && !aligned(t.dram_stride[i], chunk)) {
            return fmt::format("dram_stride[{}] is {}, expected a multiple of the chunk, {} bytes", i,
                               t.dram_stride[i], chunk);
          }
        }
        if (product(t.count) >= kMaxSteps)
          return fmt::format("count: expected fewer than {} rows", kMaxSteps);
        return "";
      },
      [&] {
        return range_fault(
            name_of(t.memory),
            bounds(t.address, t.row_bytes / hw.word_bytes(t.memory), loops_of(t.count, t.stride)),
            hw.words(t.memory), "words");
      },
      [&] {
        return range_fault(
            "DRAM",
            bounds(static_cast<int64_t>(t.dram_address), t.row_bytes, loops_of(t.count, t.dram_stride)),
            static_cast<int64_t>(dram_bytes), "bytes");
      });
}

std::string fault_of(const isa::Load& load, const HwConfig& hw, uint64_t dram_bytes) {
  if (load.memory == Memory::lut && !hw.has_lut()) return needs_feature("memory lut", "lut");
  if (load.mode == isa::LoadMode::fill) return needs_feature("mode fill", "fill");
  if (load.mode != isa::LoadMode::dram) return needs_feature("a local copy", "copy");
  return transfer_fault(load, hw, dram_bytes);
}

std::string fault_of(const isa::Store& store, const HwConfig& hw, uint64_t dram_bytes) {
  if (store.memory != Memory::act && store.memory != Memory::acc) {
    return fmt::format("STORE from {}, expected act or acc", name_of(store.memory));
  }
  return transfer_fault(store, hw, dram_bytes);
}

std::string fault_of(const isa::Matrix& m, const HwConfig& hw, uint64_t) {
  if (m.wgt_type != isa::WeightType::int8) return needs_feature("wgt_type int4", "weight_int4");
  return first_fault(
      [&] { return count_fault("tile_count", m.tile_count); },
      [&] { return count_fault("step_count", m.step_count); },
      [&]() -> std::string {
        const int64_t period = std::max<int64_t>(product(m.step_count), hw.tile_words());
        if (product(m.tile_count) < kMaxSteps / period) return "";
        return fmt::format("tile_count and step_count: expected fewer than {} steps", kMaxSteps);
      },
      [&] {
        std::vector<Loop> loops = loops_of(m.tile_count, m.act_tile_stride);
        for (const Loop& loop : loops_of(m.step_count, m.act_step_stride)) loops.push_back(loop);
        return range_fault("ACT operand", bounds(m.act_address, 1, loops), hw.words(Memory::act), "words");
      },
      [&] {
        return range_fault("WGT operand",
                           bounds(m.wgt_address, hw.tile_words(), loops_of(m.tile_count, m.wgt_tile_stride)),
                           hw.words(Memory::wgt), "words");
      },
      [&] {
        std::vector<Loop> loops = loops_of(m.step_count, m.acc_step_stride);
        loops.push_back({m.tile_count[0], m.acc_tile_stride});
        return range_fault("ACC operand", bounds(m.acc_address, 1, loops), hw.words(Memory::acc), "words");
      });
}

std::string feature_fault(const isa::Vector& v, const HwConfig& hw) {
  const auto wide_source = [](isa::VectorSource s) {
    return s == isa::VectorSource::act16 || s == isa::VectorSource::act32;
  };
  if (wide_source(v.a_source)) return needs_feature("a_source", "wide_activations");
  if (v.combine != isa::Combine::none && wide_source(v.b_source))
    return needs_feature("b_source", "wide_activations");
  if (v.destination == isa::VectorDestination::act16 || v.destination == isa::VectorDestination::act32) {
    return needs_feature("destination", "wide_activations");
  }
  if (v.premultiply == isa::Premultiply::self) return needs_feature("premultiply self", "norm");
  if (v.premultiply == isa::Premultiply::operand_b) return needs_feature("premultiply operand_b", "norm");
  if (v.lut == isa::Lut::none) return "";
  if (!hw.has_lut()) return needs_feature("lut", "lut");
  if (v.destination != isa::VectorDestination::act8) return "lut with destination acc, expected act8: a table holds bytes";
  return "";
}

std::string reduction_fault(const isa::Vector& v) {
  if (v.reduce_loops > 5) return fmt::format("reduce_loops is {}, expected 0..5", v.reduce_loops);
  for (size_t i = 5 - v.reduce_loops; i < 5; ++i) {
    if (v.d_stride[i] != 0)
      return fmt::format("d_stride[{}] is {}, expected 0: the loop reduces", i, v.d_stride[i]);
    if (v.b_stride[i] != 0)
      return fmt::format("b_stride[{}] is {}, expected 0: the loop reduces", i, v.b_stride[i]);
    if (v.rescale == isa::Rescale::parameter && i < 2 && v.par_stride[i] != 0) {
      return fmt::format("par_stride[{}] is {}, expected 0: the loop reduces", i, v.par_stride[i]);
    }
  }
  return "";
}

std::string group_fault(const char* operand, bool in_acc, uint32_t address, const isa::Vector& v,
                        const std::array<int32_t, 5>& stride, const HwConfig& hw) {
  const Memory memory = in_acc ? Memory::acc : Memory::act;
  return range_fault(operand, bounds(address, 1, loops_of(v.count, stride)),
                     hw.words(memory) * units_per_word(hw, memory), in_acc ? "ACC groups" : "ACT groups");
}

std::string parameter_fault(const isa::Vector& v, const HwConfig& hw) {
  if (v.rescale == isa::Rescale::parameter) {
    const Loop loops[] = {{v.count[0], v.par_stride[0]}, {v.count[1], v.par_stride[1]}};
    const std::string fault = range_fault("rescale parameters", bounds(v.par_address, 1, loops),
                                          hw.words(Memory::par), "PAR words");
    if (!fault.empty()) return fault;
  }
  if (v.premultiply == isa::Premultiply::tap) {
    int64_t taps = 1;
    for (size_t i = 5 - v.reduce_loops; i < 5; ++i) taps *= v.count[i];
    if (taps > kMaxTaps) return fmt::format("{} taps, more than PAR can hold", taps);
    const IntervalList words = tap_words(v);
    return range_fault("taps", {words.front().low, words.back().high}, hw.words(Memory::par), "PAR words");
  }
  return "";
}

// An output is written cycles after its operands are read, so an instruction must not read a group that an
// earlier output of its own has written. In place, each output over its own operand, is fine.
class SelfHazard {
 public:
  SelfHazard(const isa::Vector& v, const HwConfig& hw) : v_(v), access_(access_of(v, hw)) {}

  std::string fault() const {
    for (const ScratchpadAccess& access : access_.scratchpad) {
      const ScratchpadAccess& destination = access_.scratchpad.back();
      if (access.writes || access.memory != destination.memory || !overlaps(access.units, destination.units))
        continue;
      const bool is_a = access.port == Port::vector_a;
      const std::array<int32_t, 5>& stride = is_a ? v_.a_stride : v_.b_stride;
      if (in_place(is_a ? v_.a_address : v_.b_address, stride)) continue;
      if (product(v_.count) > kMaxSelfCheckSteps || reads_own_result(is_a)) {
        return fmt::format("operand {} reads a group that an earlier output of this instruction writes",
                           is_a ? "A" : "B");
      }
    }
    return "";
  }

 private:
  bool in_place(uint32_t address, const std::array<int32_t, 5>& stride) const {
    if (address != v_.d_address) return false;
    int64_t outputs = 1;
    for (size_t i = 0; i < 5; ++i) {
      if (v_.count[i] > 1 && stride[i] != v_.d_stride[i]) return false;
      if (i + v_.reduce_loops < 5) outputs *= v_.count[i];
    }
    return element_count(access_.scratchpad.back().units) == outputs;
  }

  // Walks all steps in order.
  bool reads_own_result(bool is_a) const {
    const uint32_t address = is_a ? v_.a_address : v_.b_address;
    const std::array<int32_t, 5>& stride = is_a ? v_.a_stride : v_.b_stride;
    std::unordered_set<int64_t> written;
    std::array<uint32_t, 5> i{};
    while (true) {
      int64_t read = address, output = v_.d_address;
      bool last_of_output = true;
      for (size_t n = 0; n < 5; ++n) {
        read += int64_t{stride[n]} * i[n];
        output += int64_t{v_.d_stride[n]} * i[n];
        if (n + v_.reduce_loops >= 5) last_of_output = last_of_output && i[n] + 1 == v_.count[n];
      }
      if (written.contains(read)) return true;
      if (last_of_output) written.insert(output);
      int n = 4;
      while (n >= 0 && ++i[static_cast<size_t>(n)] == v_.count[static_cast<size_t>(n)])
        i[static_cast<size_t>(n--)] = 0;
      if (n < 0) return false;
    }
  }

  const isa::Vector& v_;
  InstructionAccess access_;
};

std::string fault_of(const isa::Vector& v, const HwConfig& hw, uint64_t) {
  const bool has_b = v.combine != isa::Combine::none;
  return first_fault(
      [&] { return feature_fault(v, hw); }, [&] { return count_fault("count", v.count); },
      [&] { return reduction_fault(v); },
      [&]() -> std::string {
        if (product(v.count) >= kMaxSteps)
          return fmt::format("count: expected fewer than {} steps", kMaxSteps);
        if (v.shift > numerics::kMaxShift)
          return fmt::format("shift is {}, expected 0..{}", v.shift, numerics::kMaxShift);
        if (v.out_shift > numerics::kMaxShift) {
          return fmt::format("out_shift is {}, expected 0..{}", v.out_shift, numerics::kMaxShift);
        }
        return "";
      },
      [&] {
        return group_fault("operand A", v.a_source == isa::VectorSource::acc, v.a_address, v, v.a_stride, hw);
      },
      [&] {
        return has_b ? group_fault("operand B", v.b_source == isa::VectorSource::acc, v.b_address, v,
                                   v.b_stride, hw)
                     : std::string();
      },
      [&] {
        return group_fault("destination", v.destination == isa::VectorDestination::acc, v.d_address, v,
                           v.d_stride, hw);
      },
      [&] { return parameter_fault(v, hw); },
      [&] {
        const bool to_acc = v.destination == isa::VectorDestination::acc;
        const bool same_memory = (v.a_source == isa::VectorSource::acc) == to_acc ||
                                 (has_b && (v.b_source == isa::VectorSource::acc) == to_acc);
        return same_memory ? SelfHazard(v, hw).fault() : std::string();
      });
}

}  // namespace

std::string static_fault(const isa::Instruction& instruction, const HwConfig& hw, uint64_t dram_bytes) {
  const std::string fields = isa::check_fields(instruction);
  if (!fields.empty()) return fields;
  return std::visit([&](const auto& i) { return fault_of(i, hw, dram_bytes); }, instruction);
}

}  // namespace dlc::verifier
