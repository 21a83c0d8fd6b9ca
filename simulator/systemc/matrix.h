// MATRIX: an instruction's times are a closed form of its start (isa/timing.h); one event an instruction.
#pragma once
#include "simulator/systemc/scoreboard.h"

namespace dlc::systemc_model {

class Matrix final : public ClockedModule {
 public:
  Matrix(sc_core::sc_module_name name, Scoreboard& scoreboard);
  void reset();

 private:
  void evaluate() override;
  void start();

  Scoreboard& scoreboard_;
  int64_t front_free_ = 0;    // earliest start of the next instruction
  int64_t previous_end_ = 0;  // first cycle after the last step
};

}  // namespace dlc::systemc_model
