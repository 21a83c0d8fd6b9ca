#include "tests/fuzz/any_order_device.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <deque>
#include <stdexcept>

#include "isa/verifier_access.h"
#include "simulator/functional/execute.h"
#include "tests/fuzz/random.h"

namespace dlc {
namespace {

using isa::Engine;
using verifier::InstructionAccess;
using verifier::Interval;
using verifier::Port;
using verifier::ScratchpadAccess;

constexpr size_t kMostInflight = 6;

class AnyOrderDevice final : public Device {
 public:
  AnyOrderDevice(const HwConfig& hw, uint64_t seed) : hw_(hw), random_(seed) {}
  std::string name() const override { return "any order"; }

  RunResult run(const Program& program, std::vector<uint8_t>& dram, const RunOptions&) override {
    Run(*this, program, dram).run();
    return {};
  }

 private:
  struct Active {
    const isa::Instruction* instruction;
    InstructionAccess access;
    std::vector<uint8_t> results;  // of VECTOR and LOAD, written when it retires
  };
  struct EngineState {
    std::vector<const isa::Instruction*> program;
    size_t started = 0;
    uint32_t retired = 0;
    std::deque<Active> active;
  };

  struct Run {
    Run(AnyOrderDevice& device, const Program& program, std::vector<uint8_t>& image)
        : hw(device.hw_), random(device.random_), state(device.hw_), dram(image) {
      for (const isa::Instruction& i : program.instructions)
        engines[index(isa::engine_of(i))].program.push_back(&i);
      early = {random.flag() != 0, random.flag() != 0};
      eagerness = static_cast<int>(random.range(20, 95));
    }

    static size_t index(Engine e) { return static_cast<size_t>(e); }

    void run() {
      while (true) {
        bool done = true, moved = false;
        for (const EngineState& e : engines) done = done && e.retired == e.program.size();
        if (done) return;
        // Mostly starts when eager, mostly retires otherwise; any order of engines.
        const size_t first = static_cast<size_t>(random.range(0, 3));
        const bool starts = random.chance(eagerness);
        for (size_t k = 0; k < 4 && !moved; ++k)
          moved = starts ? start((first + k) % 4) : retire((first + k) % 4);
        for (size_t k = 0; k < 4 && !moved; ++k)
          moved = starts ? retire((first + k) % 4) : start((first + k) % 4);
        if (!moved) throw std::logic_error("deadlock: no engine can start or retire");
      }
    }

    bool start(size_t engine) {
      EngineState& e = engines[engine];
      if (e.started == e.program.size() || e.active.size() >= kMostInflight) return false;
      const isa::Instruction& instruction = *e.program[e.started];
      const auto& wait = isa::wait_of(instruction);
      for (size_t other = 0; other < wait.size(); ++other) {
        if (engines[other].retired < wait[other]) return false;
      }
      ++e.started;
      e.active.push_back({&instruction, verifier::access_of(instruction, hw), {}});
      check_ports();
      Active& active = e.active.back();
      switch (static_cast<Engine>(engine)) {
        case Engine::matrix:
        case Engine::store:
          if (early[engine == index(Engine::store)]) execute(state, instruction, dram);
          break;
        default: {
          MachineState copy = state;
          execute(copy, instruction, dram);
          active.results = transfer(copy, active.access, nullptr);
        }
      }
      return true;
    }

    bool retire(size_t engine) {
      EngineState& e = engines[engine];
      if (e.active.empty()) return false;
      Active& active = e.active.front();
      const bool is_store = engine == index(Engine::store);
      if (is_store || engine == index(Engine::matrix)) {
        if (!early[is_store]) execute(state, *active.instruction, dram);
      } else {
        transfer(state, active.access, active.results.data());
      }
      e.active.pop_front();
      ++e.retired;
      return true;
    }

    // The bytes of all units that the access writes: copied from the state, or to it if `from` is given.
    std::vector<uint8_t> transfer(MachineState& s, const InstructionAccess& access,
                                  const uint8_t* from) const {
      std::vector<uint8_t> bytes;
      size_t done = 0;
      for (const ScratchpadAccess& a : access.scratchpad) {
        if (!a.writes) continue;
        const int64_t unit = hw.word_bytes(a.memory) / verifier::units_per_word(hw, a.memory);
        for (const Interval& range : a.units) {
          uint8_t* at = s.bytes(a.memory) + range.low * unit;
          const size_t size = static_cast<size_t>((range.high - range.low) * unit);
          if (from) {
            std::memcpy(at, from + done, size);
          } else {
            bytes.insert(bytes.end(), at, at + size);
          }
          done += size;
        }
      }
      return bytes;
    }

    void check_ports() const {
      for (const Memory memory : {Memory::act, Memory::acc}) {
        for (int bank = 0; bank < hw.scratchpad(memory).banks; ++bank) check_bank(memory, bank);
      }
    }

    // Bit mask of the ports that an instruction uses in the bank.
    unsigned ports(const Active& active, Memory memory, int bank) const {
      const int64_t units = hw.bank_words(memory) * verifier::units_per_word(hw, memory);
      unsigned mask = 0;
      for (const ScratchpadAccess& a : active.access.scratchpad) {
        if (a.memory != memory) continue;
        if (verifier::overlaps(a.units, {{bank * units, (bank + 1) * units}}))
          mask |= 1u << static_cast<int>(a.port);
      }
      return mask;
    }

    void check_bank(Memory memory, int bank) const {
      const auto bit = [](Port p) { return 1u << static_cast<int>(p); };
      const unsigned reads = bit(Port::matrix) | bit(Port::vector_a) | bit(Port::vector_b) | bit(Port::store);
      int readers = 0, writers = 0, users = 0;
      bool matrix = false;
      for (size_t e = 0; e < engines.size(); ++e) {
        int most_reads = 0;  // steps of one engine are in order: its busiest instruction counts
        bool any_write = false;
        for (const Active& active : engines[e].active) {
          const unsigned mask = ports(active, memory, bank);
          most_reads = std::max(most_reads, std::popcount(mask & reads));
          any_write = any_write || (mask & ~reads) != 0;
        }
        readers += most_reads, writers += any_write ? 1 : 0, users += most_reads > 0 || any_write ? 1 : 0;
        matrix = matrix || (e == index(Engine::matrix) && most_reads > 0);
      }
      const int limit = memory == Memory::act ? hw.activation.read_ports : 1;
      if (readers > limit || writers > 1 || (memory == Memory::acc && matrix && users > 1)) {
        throw std::logic_error(fmt::format("{} bank {}: {} readers, {} writers at a time",
                                           memory == Memory::act ? "ACT" : "ACC", bank, readers, writers));
      }
    }

    const HwConfig& hw;
    Random& random;
    MachineState state;
    std::vector<uint8_t>& dram;
    std::array<EngineState, isa::kEngineCount> engines;
    std::array<bool, 2> early{};  // MATRIX, STORE: work is done at the start
    int eagerness = 50;           // per cent of moves that are starts
  };

  const HwConfig hw_;
  Random random_;
};

}  // namespace

std::unique_ptr<Device> make_any_order_device(const HwConfig& hw, uint64_t seed) {
  return std::make_unique<AnyOrderDevice>(hw, seed);
}

}  // namespace dlc
