// FETCH: reads the program in bursts, cuts it into 16-byte units and pushes whole instructions into the
// engines' queues, one unit a cycle (isa/README.md §4, "FETCH").
#pragma once
#include <array>

#include "isa/timing.h"
#include "simulator/systemc/bus_port.h"
#include "simulator/systemc/read_arbiter.h"
#include "simulator/systemc/scoreboard.h"

namespace dlc::systemc_model {

class Fetch final : public ClockedModule, public BurstSink, public ReadArbiter::Requester {
 public:
  Fetch(sc_core::sc_module_name name, Scoreboard& scoreboard, ReadArbiter& arbiter);
  void reset();

  bool done() const { return pushed_ == instructions_; }
  size_t pushed() const { return pushed_; }
  int64_t last_consumed() const { return last_consumed_; }
  // Cycles in [0, last_consumed]: they are exhaustive.
  EngineCounters counters() const { return counters_; }

  void burst_served(const BurstTimes& times) override;
  void request_taken() override {}  // the next burst's conditions are never stricter than its register's

 private:
  static constexpr int kBuffers = timing::kFetchBuffers;

  void evaluate() override;
  void consume();
  bool consume_unit();
  void request();

  Scoreboard& scoreboard_;
  ReadArbiter& arbiter_;
  int burst_bytes_ = 0;
  int64_t bursts_ = 0;  // of the whole program
  size_t instructions_ = 0;

  // Bursts are numbered; only the kBuffers newest are remembered, by number modulo kBuffers.
  int64_t requested_ = 0, served_ = 0, consumed_ = 0;
  std::array<BurstTimes, kBuffers> times_{};
  std::array<int64_t, kBuffers> consumed_cycle_{};
  int64_t last_request_ = -1;

  size_t pushed_ = 0;   // instructions
  int64_t unit_ = 0;    // next unit of the program
  int units_left_ = 0;  // of the instruction being read
  int64_t last_consumed_ = -1;
  EngineCounters counters_;
};

}  // namespace dlc::systemc_model
