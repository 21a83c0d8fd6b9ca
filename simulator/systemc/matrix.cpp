#include "simulator/systemc/matrix.h"

#include "isa/timing.h"
#include "simulator/systemc/loop_product.h"

namespace dlc::systemc_model {

Matrix::Matrix(sc_core::sc_module_name name, Scoreboard& scoreboard)
    : ClockedModule(name), scoreboard_(scoreboard) {
  scoreboard_.connect(isa::Engine::matrix, *this);
}

void Matrix::reset() {
  reset_clock();
  front_free_ = previous_end_ = 0;
}

void Matrix::evaluate() {
  const int64_t cycle = scoreboard_.next_start(isa::Engine::matrix, front_free_);
  if (cycle == now()) {
    start();
    wake(front_free_);
  } else if (cycle != kUnknown) {
    wake(cycle);
  }
}

void Matrix::start() {
  const size_t k = scoreboard_.lane(isa::Engine::matrix).start.size();
  const auto& instruction = scoreboard_.instruction<isa::Matrix>(isa::Engine::matrix, k);
  scoreboard_.start(isa::Engine::matrix);
  const timing::MatrixTimes times =
      timing::matrix_times(scoreboard_.hw(), now(), previous_end_, loop_product(instruction.tile_count),
                           loop_product(instruction.step_count));
  front_free_ = times.front_free;
  previous_end_ = times.end;
  scoreboard_.retire(isa::Engine::matrix, times.retire, times.end - 1);
}

}  // namespace dlc::systemc_model
