#include "simulator/systemc/read_arbiter.h"

namespace dlc::systemc_model {

void ReadArbiter::reset() {
  reset_clock();
  ar_cycle_ = kUnknown;
  for (Port& port : ports_) port.loaded = kUnknown;
}

void ReadArbiter::request(Channel channel, uint64_t address, int beats) {
  Port& port = ports_[static_cast<int>(channel)];
  assert(port.loaded == kUnknown);
  port.loaded = now();
  port.address = address;
  port.beats = beats;
  wake(now() + 1);
}

void ReadArbiter::evaluate() {
  if (ar_cycle_ <= now()) {
    ar_cycle_ = kUnknown;
    bus_.issue(ar_channel_, ar_address_, ar_beats_);
  }
  // A request loaded in this very cycle is not visible yet. The AR register is free here: always accepted.
  for (int i = 0; i < kPorts && ar_cycle_ == kUnknown; ++i) {
    if (ports_[i].loaded < now()) take(static_cast<Channel>(i));
  }
  bool pending = ar_cycle_ != kUnknown;
  for (const Port& port : ports_) pending |= port.loaded != kUnknown;
  if (pending) wake(now() + 1);
}

void ReadArbiter::take(Channel channel) {
  Port& port = ports_[static_cast<int>(channel)];
  ar_cycle_ = now() + 1;
  ar_channel_ = channel;
  ar_address_ = port.address;
  ar_beats_ = port.beats;
  port.loaded = kUnknown;
  port.owner->request_taken();
}

}  // namespace dlc::systemc_model
