#include "simulator/systemc/core.h"

namespace dlc::systemc_model {

Core::Core(sc_core::sc_module_name name) : sc_module(name) {
  bus_.connect(Channel::fetch, fetch_);
  bus_.connect(Channel::load, load_);
}

void Core::reset(const RunContext& context) {
  scoreboard_.reset(context);
  bus_.reset(*context.hw, sc_core::sc_time_stamp().value());
  arbiter_.reset();
  fetch_.reset();
  load_.reset();
  matrix_.reset();
  vector_.reset();
  store_.reset();
}

}  // namespace dlc::systemc_model
