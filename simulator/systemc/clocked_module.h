// Base of every module of the SystemC model: one SC_METHOD that runs in the cycles it asked for.
//
// Time: one sc_time quantum is one clock cycle of the accelerator. The kernel's time never goes back, so each
// run has a base, and a module counts cycles from there.
//
// Order within a cycle: modules exchange *facts with a cycle attached* ("burst 7 has its last beat in cycle
// 812"), published in or before that cycle and never usable before the next one, exactly like the registers
// of the RTL. So the order in which the kernel runs the modules of one cycle cannot change any result.
#pragma once
#include <cassert>
#include <cstdint>
#include <limits>
#include <systemc>

namespace dlc::systemc_model {

inline constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

class ClockedModule : public sc_core::sc_module {
 public:
  // Makes the module's evaluate() run in `cycle` (now or later). An earlier wish stays; a later one is
  // replaced, so evaluate() always asks again for what it still needs.
  void wake(int64_t cycle) {
    const int64_t current = now();
    assert(cycle >= current);
    if (cycle == current) {
      event_.notify(sc_core::SC_ZERO_TIME);
    } else {
      event_.notify(sc_core::sc_time::from_value(static_cast<uint64_t>(cycle - current)));
    }
  }

  // The run's current cycle.
  int64_t now() const { return static_cast<int64_t>(sc_core::sc_time_stamp().value()) - base_; }

 protected:
  explicit ClockedModule(sc_core::sc_module_name name) : sc_module(name) {
    SC_HAS_PROCESS(ClockedModule);
    SC_METHOD(evaluate);
    sensitive << event_;
    dont_initialize();
  }

  // Forgets wishes of an earlier (perhaps aborted) run; cycle 0 is the kernel's present time.
  void reset_clock() {
    event_.cancel();
    base_ = static_cast<int64_t>(sc_core::sc_time_stamp().value());
  }

 private:
  virtual void evaluate() = 0;

  sc_core::sc_event event_;
  int64_t base_ = 0;
};

}  // namespace dlc::systemc_model
