#include "simulator/systemc/vector.h"

#include "isa/timing.h"
#include "simulator/systemc/loop_product.h"

namespace dlc::systemc_model {

Vector::Vector(sc_core::sc_module_name name, Scoreboard& scoreboard)
    : ClockedModule(name), scoreboard_(scoreboard) {
  scoreboard_.connect(isa::Engine::vector, *this);
}

void Vector::reset() {
  reset_clock();
  front_free_ = 0;
}

void Vector::evaluate() {
  const int64_t cycle = scoreboard_.next_start(isa::Engine::vector, front_free_);
  if (cycle == now()) {
    start();
    wake(front_free_);
  } else if (cycle != kUnknown) {
    wake(cycle);
  }
}

void Vector::start() {
  const size_t k = scoreboard_.lane(isa::Engine::vector).start.size();
  const auto& instruction = scoreboard_.instruction<isa::Vector>(isa::Engine::vector, k);
  scoreboard_.start(isa::Engine::vector);
  const timing::VectorTimes times = timing::vector_times(now(), loop_product(instruction.count));
  front_free_ = times.front_free;
  scoreboard_.retire(isa::Engine::vector, times.retire, times.front_free);
}

}  // namespace dlc::systemc_model
