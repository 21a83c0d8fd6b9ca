// The accelerator as a SystemC module tree: engines, arbiter, bus port with the TLM-2.0 initiator socket.
//
//   Fetch ──push──► Scoreboard (queues, retire counters) ◄──start/retire── Load, Matrix, Vector, Store
//     └─requests─► ReadArbiter ◄─requests─ Load          Store ─────┐
//                      └────────► BusPort.socket ◄──────────────────┘ ══TLM══► memory
//
// Nothing in it depends on a hardware configuration at construction: sizes are data of a run, so one
// elaborated core serves every HwConfig (SystemC allows one elaboration a process).
#pragma once
#include "simulator/systemc/bus_port.h"
#include "simulator/systemc/fetch.h"
#include "simulator/systemc/load.h"
#include "simulator/systemc/matrix.h"
#include "simulator/systemc/read_arbiter.h"
#include "simulator/systemc/scoreboard.h"
#include "simulator/systemc/store.h"
#include "simulator/systemc/vector.h"

namespace dlc::systemc_model {

class Core final : public sc_core::sc_module {
 public:
  explicit Core(sc_core::sc_module_name name);

  tlm_utils::simple_initiator_socket<BusPort>& socket() { return bus_.socket; }

  // Sets every module to cycle 0 of a run of context's program.
  void reset(const RunContext& context);
  bool done() const { return fetch_.done() && scoreboard_.all_retired(); }
  std::exception_ptr failure() const { return scoreboard_.failure(); }

  // After the run: total cycles, counters, per-instruction times (result.cpp).
  RunResult result() const;
  // After a run that stopped early: what every engine waits for, one line each.
  std::string describe_stuck() const;

 private:
  EngineCounters lane_counters(isa::Engine engine, int64_t total) const;

  Scoreboard scoreboard_{"scoreboard"};
  BusPort bus_{"bus"};
  ReadArbiter arbiter_{"read_arbiter", bus_};
  Fetch fetch_{"fetch", scoreboard_, arbiter_};
  Load load_{"load", scoreboard_, arbiter_};
  Matrix matrix_{"matrix", scoreboard_};
  Vector vector_{"vector", scoreboard_};
  Store store_{"store", scoreboard_, bus_};
};

}  // namespace dlc::systemc_model
