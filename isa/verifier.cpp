// verify_program: the program as a whole, then every instruction on its own, then hazards in program order.
#include <fmt/format.h>

#include <algorithm>

#include "isa/program_file.h"
#include "isa/verifier_hazards.h"

namespace dlc {
namespace {

using verifier::Clock;
using verifier::EngineIndex;
using verifier::Hazard;
using verifier::Interval;
using verifier::IntervalList;

constexpr uint32_t kMaxPerEngine = (1u << 24) - 1;  // retire counters have 24 bits
constexpr uint64_t kProgramAlignment = 4096;
constexpr int64_t kProgramPadding = 256;  // largest fetch burst

const char* const kEngineName[] = {"LOAD", "MATRIX", "VECTOR", "STORE"};
const char* const kMemoryName[] = {"ACT", "WGT", "ACC", "PAR", "LUT"};

class Verification {
 public:
  Verification(const Program& program, const HwConfig& hw, size_t limit)
      : program_(program), hw_(hw), limit_(limit), tracker_(hw) {}

  std::vector<std::string> run() {
    check_dram();
    for (size_t i = 0; i < program_.instructions.size() && !full(); ++i) check_instruction(i);
    return std::move(faults_);
  }

 private:
  bool full() const { return faults_.size() >= limit_; }
  void fault(std::string message) {
    if (!full()) faults_.push_back(std::move(message));
  }
  void fault_at(size_t index, const std::string& message) {
    fault(fmt::format("{}: {}", describe(index), message));
  }

  std::string layer_of(size_t index) const {
    if (index >= program_.layer_of.size() || program_.layer_of[index] >= program_.layers.size()) return "";
    return fmt::format(", layer {}", program_.layers[program_.layer_of[index]].name);
  }
  std::string describe(size_t index) const {
    return fmt::format("instruction {} ({}{})", index, isa::to_string(program_.instructions[index]),
                       layer_of(index));
  }
  std::string describe(EngineIndex other) const {
    const size_t engine = static_cast<size_t>(other.engine);
    return fmt::format("{} number {}, {}", kEngineName[engine], other.index,
                       describe(positions_[engine][other.index]));
  }

  // Program, constants and tensors lie in DRAM, the first two not on top of one another.
  void check_dram() {
    if (program_.dram_bytes > hw_.memory_bytes) {
      fault(fmt::format("the DRAM image has {} bytes, expected at most the memory's {}", program_.dram_bytes,
                        hw_.memory_bytes));
    }
    if (program_.program_address % kProgramAlignment != 0) {
      fault(fmt::format("program_address is {}, expected a multiple of {}", program_.program_address,
                        kProgramAlignment));
    }
    int64_t bytes = 0;
    for (const isa::Instruction& i : program_.instructions) bytes += isa::units(i) * isa::kUnitBytes;
    bytes = (bytes + kProgramPadding - 1) / kProgramPadding * kProgramPadding;
    add_region("the program", program_.program_address, static_cast<uint64_t>(bytes), true);
    for (const Constant& c : program_.constants)
      add_region("constant " + c.name, c.address, c.bytes.size(), true);
    for (const TensorInfo& t : program_.tensors) add_region("tensor " + t.name, t.address, t.bytes, false);
    std::sort(regions_.begin(), regions_.end(),
              [](const Region& a, const Region& b) { return a.range.low < b.range.low; });
    for (size_t i = 1; i < regions_.size(); ++i) {
      if (regions_[i].range.low < regions_[i - 1].range.high) {
        fault(fmt::format("{} at {} overlaps {} at {} in DRAM", regions_[i].name, regions_[i].range.low,
                          regions_[i - 1].name, regions_[i - 1].range.low));
      }
    }
  }

  void add_region(std::string name, uint64_t address, uint64_t bytes, bool is_protected) {
    if (address > program_.dram_bytes || bytes > program_.dram_bytes - address) {
      fault(fmt::format("{} at {} with {} bytes, expected within the DRAM image of {} bytes", name, address,
                        bytes, program_.dram_bytes));
      return;
    }
    if (!is_protected || bytes == 0) return;
    const auto low = static_cast<int64_t>(address);
    regions_.push_back({{low, low + static_cast<int64_t>(bytes)}, std::move(name)});
  }

  void check_instruction(size_t index) {
    const isa::Instruction& instruction = program_.instructions[index];
    const isa::Engine engine = isa::engine_of(instruction);
    const std::string own = verifier::static_fault(instruction, hw_, program_.dram_bytes);
    if (!own.empty()) fault_at(index, own);
    if (tracker_.count(engine) == kMaxPerEngine) {
      fault_at(index, fmt::format("more than {} instructions of one engine", kMaxPerEngine));
    }
    // A faulty instruction still counts as one of its engine, but what it would touch is unknown.
    verifier::InstructionAccess access;
    access.engine = engine;
    if (own.empty()) access = verifier::access_of(instruction, hw_);
    const Clock clock = tracker_.clock_of(engine, checked_waits(index));
    for (const Hazard& hazard : tracker_.hazards(access, clock)) fault_at(index, describe(hazard, clock));
    check_protected(index, access.dram_writes);
    tracker_.commit(access, clock);
    positions_[static_cast<size_t>(engine)].push_back(index);
  }

  // Waits name earlier instructions only; what does not is reported and taken as the largest possible.
  std::array<uint32_t, isa::kEngineCount> checked_waits(size_t index) {
    auto wait = isa::wait_of(program_.instructions[index]);
    for (size_t e = 0; e < wait.size(); ++e) {
      const uint32_t earlier = tracker_.count(static_cast<isa::Engine>(e));
      if (wait[e] <= earlier) continue;
      fault_at(index, fmt::format("waits for {} {} instructions, but only {} are earlier in the program",
                                  wait[e], kEngineName[e], earlier));
      wait[e] = earlier;
    }
    return wait;
  }

  void check_protected(size_t index, const IntervalList& writes) {
    for (const Interval& write : writes) {
      auto it = std::upper_bound(regions_.begin(), regions_.end(), write.low,
                                 [](int64_t low, const Region& r) { return low < r.range.high; });
      if (it == regions_.end() || it->range.low >= write.high) continue;
      fault_at(index,
               fmt::format("writes DRAM bytes {}..{}, which hold {}", write.low, write.high - 1, it->name));
      return;
    }
  }

  std::string place(const Hazard& hazard) const {
    const int64_t units = verifier::units_per_word(hw_, hazard.memory);
    const char* memory = kMemoryName[static_cast<size_t>(hazard.memory)];
    if (units == 1) return fmt::format("{} word {}", memory, hazard.where);
    return fmt::format("{} word {} group {}", memory, hazard.where / units, hazard.where % units);
  }

  std::string describe(const Hazard& hazard, const Clock& clock) const {
    const auto expected = [&](EngineIndex other) {
      return fmt::format("expected a wait for {} {} instructions, has {}", other.index + 1,
                         kEngineName[static_cast<size_t>(other.engine)],
                         clock[static_cast<size_t>(other.engine)]);
    };
    if (hazard.kind == Hazard::Kind::unwritten) {
      return fmt::format("reads {}, which no earlier instruction has written", place(hazard));
    }
    if (hazard.kind == Hazard::Kind::bank_ports) return describe_ports(hazard, clock);
    const EngineIndex other = hazard.others.front();
    const char* what = "";
    std::string where = place(hazard);
    switch (hazard.kind) {
      case Hazard::Kind::read_after_write:
        what = "reads {} before it is surely written by {}";
        break;
      case Hazard::Kind::write_after_write:
        what = "writes {} before it is surely written by {}";
        break;
      case Hazard::Kind::write_after_read:
        what = "writes {} before it is surely read by {}";
        break;
      case Hazard::Kind::dram_read_after_write:
        what = "reads {} before it is surely written by {}";
        break;
      default:
        what = "writes {} before it is surely read by {}";
        break;
    }
    if (hazard.kind == Hazard::Kind::dram_read_after_write ||
        hazard.kind == Hazard::Kind::dram_write_after_read) {
      where = fmt::format("DRAM byte {}", hazard.where);
    }
    return fmt::format(fmt::runtime(what), where, describe(other)) + "; " + expected(other);
  }

  std::string describe_ports(const Hazard& hazard, const Clock& clock) const {
    const ScratchpadConfigText text{hw_, hazard.memory};
    std::string message =
        fmt::format("uses {} bank {} ", kMemoryName[static_cast<size_t>(hazard.memory)], hazard.where);
    if (hazard.others.empty()) return message + fmt::format("twice at a time, but it has {}", text.ports());
    for (size_t i = 0; i < hazard.others.size(); ++i) {
      message += (i == 0 ? "possibly at the same time as " : " and ") + describe(hazard.others[i]);
    }
    message += fmt::format(", but it has {}; expected a wait for ", text.ports());
    for (size_t i = 0; i < hazard.others.size(); ++i) {
      const EngineIndex o = hazard.others[i];
      message +=
          fmt::format("{}{} {} instructions, has {}", i == 0 ? "" : " or ", o.index + 1,
                      kEngineName[static_cast<size_t>(o.engine)], clock[static_cast<size_t>(o.engine)]);
    }
    return message;
  }

  struct ScratchpadConfigText {
    const HwConfig& hw;
    Memory memory;
    std::string ports() const {
      const int reads = memory == Memory::act ? hw.activation.read_ports : 1;
      return fmt::format("one write port and {} read port{}", reads, reads == 1 ? "" : "s");
    }
  };
  struct Region {
    Interval range;
    std::string name;
  };

  const Program& program_;
  const HwConfig& hw_;
  size_t limit_;
  verifier::HazardTracker tracker_;
  std::array<std::vector<size_t>, isa::kEngineCount> positions_;  // engine, number -> index in the program
  std::vector<Region> regions_;  // DRAM that must not be overwritten, ascending
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> verify_program(const Program& program, const HwConfig& hw, size_t limit) {
  return Verification(program, hw, limit).run();
}

}  // namespace dlc
