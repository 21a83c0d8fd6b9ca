// STORE: reads bursts from the scratchpad into two buffers, sends them, retires with the last response
// (isa/README.md §4, "STORE"). Reads and sends are closed forms of earlier ones; what is dynamic is when the
// memory answers.
#pragma once
#include <array>
#include <deque>
#include <vector>

#include "simulator/systemc/burst_splitter.h"
#include "simulator/systemc/bus_port.h"
#include "simulator/systemc/scoreboard.h"

namespace dlc::systemc_model {

class Store final : public ClockedModule, public BurstSink {
 public:
  Store(sc_core::sc_module_name name, Scoreboard& scoreboard, BusPort& bus);
  void reset();

  void burst_served(const BurstTimes& times) override;

 private:
  static constexpr int kBuffers = 2;

  struct Planned {
    Burst burst;
    int64_t read_end = 0;  // first cycle after the burst's scratchpad reads
    int64_t last_w = 0;    // cycle of the last W beat, once the send is planned
  };

  void evaluate() override;
  bool start();
  bool plan_read();
  bool plan_send();
  void issue();
  // burst_served() is to wake the module.
  bool wait_for_service() {
    waits_for_service_ = true;
    return false;
  }

  Scoreboard& scoreboard_;
  BusPort& bus_;
  BurstSplitter bursts_;    // what is left of the instruction that is being read
  int64_t front_free_ = 0;  // r_last + n_last - 1 of the previous instruction
  int64_t next_read_ = 0;   // earliest r of the next burst: after the start and the burst before
  // Bursts are numbered through the run: responses_ <= issued_ <= sends_ <= reads_.
  int64_t reads_ = 0, sends_ = 0, responses_ = 0;
  std::array<int64_t, kBuffers> buffer_free_{};  // a_k + n_k of burst k, by k modulo kBuffers
  bool waits_for_service_ = false;
  int64_t channel_free_ = 0;      // a + n of the last planned send
  std::deque<Planned> to_send_;   // read planned, send not
  std::deque<Planned> to_issue_;  // send planned, last W beat not reached
  // By burst number modulo max_outstanding.
  std::vector<int64_t> response_;
  std::vector<bool> is_last_;
};

}  // namespace dlc::systemc_model
