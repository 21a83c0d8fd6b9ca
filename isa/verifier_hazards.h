// Happens-before analysis of a program, one instruction after another in program order.
//
// Clocks: clock[e] of an instruction is the number of instructions of engine e that have certainly retired
// before it starts, from its own waits, its predecessor on the same engine (in-order start) and,
// transitively, from the instructions that it waits for. Two instructions are concurrent if neither has
// certainly retired before the other starts; engines start and retire in order.
//
// The tracker keeps for every scratchpad unit its last writer and the last readers since, for DRAM the last
// STORE and LOAD by byte range, and for every bank who used which port. Time and memory are linear in the
// number of distinct units that the instructions touch.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "isa/isa_generated.h"
#include "isa/verifier_access.h"

namespace dlc::verifier {

using Clock = std::array<uint32_t, isa::kEngineCount>;

struct EngineIndex {  // instruction number `index` of an engine, from 0
  isa::Engine engine = isa::Engine::load;
  uint32_t index = 0;
};

struct Hazard {
  enum class Kind {
    unwritten,         // reads a scratchpad unit that nobody has written
    read_after_write,  // in a scratchpad
    write_after_write,
    write_after_read,
    dram_read_after_write,  // LOAD of what a STORE may not have written yet
    dram_write_after_read,
    bank_ports,  // more ports of a bank in use at a time than it has
  } kind = Kind::unwritten;
  Memory memory = Memory::act;
  int64_t where = 0;  // unit, byte (DRAM) or bank
  // The hazard is gone if the instruction waits for any one of these (unwritten: none; bank_ports of one
  // instruction against itself: none).
  std::vector<EngineIndex> others;
};

// Ranges of DRAM with the largest value assigned to any of their bytes most recently.
class RangeMap {
 public:
  void assign(const Interval& range, uint32_t value);
  // Largest value in the range (0: nothing assigned); its first byte in *where.
  uint32_t maximum(const Interval& range, int64_t* where) const;

 private:
  struct Part {
    int64_t high;
    uint32_t value;
  };
  void split(int64_t at);
  std::map<int64_t, Part> parts_;  // by low end; disjoint
};

class HazardTracker {
 public:
  explicit HazardTracker(const HwConfig& hw);

  // Clock of the next instruction of `engine` if it carries these waits (each at most the number of earlier
  // instructions of its engine).
  Clock clock_of(isa::Engine engine, const std::array<uint32_t, isa::kEngineCount>& wait) const;
  uint32_t count(isa::Engine engine) const {
    return static_cast<uint32_t>(clocks_[static_cast<int>(engine)].size());
  }

  bool is_written(Memory memory, int64_t unit) const {
    return cells(memory)[static_cast<size_t>(unit)].writer != 0;
  }

  // What goes wrong if an instruction with these accesses and this clock comes next.
  std::vector<Hazard> hazards(const InstructionAccess& access, const Clock& clock) const;
  void commit(const InstructionAccess& access, const Clock& clock);

 private:
  struct Cell {
    uint32_t writer = 0;                               // (number in its engine + 1) * 4 + engine; 0: nobody
    std::array<uint32_t, isa::kEngineCount> reader{};  // number + 1 of the last reader since the last write
  };
  struct Bank {
    std::array<std::vector<uint32_t>, kPorts> users;  // engine numbers, ascending
  };
  struct PortUse {  // bank -> ports that the instruction uses
    Memory memory;
    std::vector<uint8_t> ports;  // bit mask by bank
  };

  void read_hazards(const ScratchpadAccess& a, isa::Engine engine, const Clock& clock,
                    std::vector<Hazard>& out) const;
  void write_hazards(const ScratchpadAccess& a, isa::Engine engine, const Clock& clock,
                     std::vector<Hazard>& out) const;
  void dram_hazards(const InstructionAccess& access, const Clock& clock, std::vector<Hazard>& out) const;
  void bank_hazards(const PortUse& use, isa::Engine engine, const Clock& clock,
                    std::vector<Hazard>& out) const;
  void triple_hazards(const PortUse& use, size_t bank, isa::Engine engine, const Clock& clock,
                      std::vector<Hazard>& out) const;
  std::array<PortUse, 2> port_use(const InstructionAccess& access) const;
  bool conflict(Memory memory, int port, int other) const;
  bool concurrent(EngineIndex x, EngineIndex y) const;
  const std::vector<Cell>& cells(Memory memory) const { return cells_[static_cast<size_t>(memory)]; }
  const std::vector<Bank>& banks(Memory memory) const { return banks_[memory == Memory::acc]; }

  HwConfig hw_;
  std::array<std::vector<Cell>, 5> cells_;  // by memory
  std::array<std::vector<Bank>, 2> banks_;  // ACT, ACC
  std::array<std::vector<Clock>, isa::kEngineCount> clocks_;
  std::array<std::vector<uint32_t>, isa::kEngineCount> order_;  // position in the program
  uint32_t position_ = 0;
  RangeMap stored_, loaded_;  // number + 1 of the last STORE and LOAD
};

}  // namespace dlc::verifier
