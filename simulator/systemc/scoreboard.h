// What the engines know of each other: instruction queues and retire counters, kept as cycles.
//
// lane(e).visible[k], .start[k], .retire[k] is the cycle in which the k-th instruction of engine e can first
// be seen at the queue's head, starts, retires. Each vector is as long as what is known; a retire is known
// before it happens (the engines' times are closed forms), which is harmless: others act on it from retire +
// 1 on.
//
// The module itself runs in the retire cycles: there the instruction's values are computed, engines in fixed
// order on a tie. Valid programs have no race between an unretired instruction and any other, so that order
// of effects is the machine's.
#pragma once
#include <array>
#include <exception>
#include <span>
#include <vector>

#include "isa/device.h"
#include "simulator/systemc/clocked_module.h"

namespace dlc {
struct MachineState;
}

namespace dlc::systemc_model {

// What every module of a run may read.
struct RunContext {
  const HwConfig* hw = nullptr;
  const Program* program = nullptr;
  const RunOptions* options = nullptr;
  MachineState* state = nullptr;  // null: timing only
  std::span<uint8_t> dram;
};

// An engine's queue and history. Vectors are indexed by the engine's own instruction number.
struct Lane {
  std::vector<uint32_t> program_index;  // all of the program's instructions of this engine
  std::vector<int64_t> visible, start, retire;
  std::vector<int64_t> active_end;  // last active cycle (LOAD, STORE: the retire cycle)
  int64_t beats = 0;                // LOAD, STORE: data beats
  size_t retired = 0;               // retires that have happened (values computed)

  size_t size() const { return program_index.size(); }
};

class Scoreboard final : public ClockedModule {
 public:
  explicit Scoreboard(sc_core::sc_module_name name) : ClockedModule(name) {}

  // Who is woken by what: set once, before the first run.
  void connect(isa::Engine engine, ClockedModule& module) { engines_[static_cast<int>(engine)] = &module; }
  void connect_fetch(ClockedModule& module) { fetch_ = &module; }

  void reset(const RunContext& context);

  const RunContext& context() const { return context_; }
  const HwConfig& hw() const { return *context_.hw; }
  Lane& lane(isa::Engine engine) { return lanes_[static_cast<int>(engine)]; }
  const Lane& lane(isa::Engine engine) const { return lanes_[static_cast<int>(engine)]; }
  // The engine's k-th instruction; Instruction is its type (isa::Load, ...).
  template <class Instruction>
  const Instruction& instruction(isa::Engine engine, size_t k) const {
    return std::get<Instruction>(context_.program->instructions[lane(engine).program_index[k]]);
  }

  // FETCH: the engine's next instruction can be started from `cycle` on.
  void push(isa::Engine engine, int64_t cycle);
  // FETCH wants to be woken by the engine's next start.
  void wake_fetch_on_start(isa::Engine engine) { fetch_waits_for_[static_cast<int>(engine)] = true; }

  // Earliest cycle ≥ front_free in which the engine's next instruction starts: visible and all waits met.
  // kUnknown while a fact is missing; the engine is woken when it comes.
  int64_t next_start(isa::Engine engine, int64_t front_free);
  // The engine's next instruction starts in this cycle.
  void start(isa::Engine engine);
  // The engine's next retire is in `cycle`; it was last active in `active_end`.
  void retire(isa::Engine engine, int64_t cycle, int64_t active_end);

  bool all_retired() const;
  // The first exception of this run (values, progress callback); the run is over then.
  std::exception_ptr failure() const { return failure_; }

 private:
  void evaluate() override;
  void retire_values(Lane& lane);

  RunContext context_;
  std::array<Lane, isa::kEngineCount> lanes_;
  std::array<ClockedModule*, isa::kEngineCount> engines_{};
  ClockedModule* fetch_ = nullptr;
  std::array<bool, isa::kEngineCount> fetch_waits_for_{};
  std::array<bool, isa::kEngineCount> waits_for_push_{};
  // needs_[e][x] = n: engine e waits for engine x's n-th retire to become known; 0: it does not.
  std::array<std::array<size_t, isa::kEngineCount>, isa::kEngineCount> needs_{};
  bool watch_retires_ = false;  // somebody looks: values or progress
  size_t retired_ = 0, report_at_ = 0;
  std::exception_ptr failure_;
};

}  // namespace dlc::systemc_model
