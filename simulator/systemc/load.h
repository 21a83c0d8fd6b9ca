// LOAD: starts instructions, generates their bursts into the request register, retires with the last beat
// (isa/README.md §4, "LOAD").
#pragma once
#include <vector>

#include "simulator/systemc/burst_splitter.h"
#include "simulator/systemc/read_arbiter.h"
#include "simulator/systemc/scoreboard.h"

namespace dlc::systemc_model {

class Load final : public ClockedModule, public BurstSink, public ReadArbiter::Requester {
 public:
  Load(sc_core::sc_module_name name, Scoreboard& scoreboard, ReadArbiter& arbiter);
  void reset();

  void burst_served(const BurstTimes& times) override;
  void request_taken() override;

 private:
  void evaluate() override;
  bool start();
  bool generate();
  // burst_served() is to wake the module.
  bool wait_for_service() {
    waits_for_service_ = true;
    return false;
  }

  Scoreboard& scoreboard_;
  ReadArbiter& arbiter_;
  BurstSplitter bursts_;    // what is left of the instruction in the issue unit
  int64_t front_free_ = 0;  // g_last of the previous instruction
  int64_t next_burst_ = 0;  // earliest g of the next burst: after the start and the burst before
  bool register_full_ = false;
  bool waits_for_service_ = false;
  // Bursts are numbered through the run; the newest max_outstanding are remembered, by number modulo that.
  int64_t generated_ = 0, served_ = 0;
  std::vector<int64_t> last_beat_;
  std::vector<bool> is_last_;  // of its instruction
};

}  // namespace dlc::systemc_model
