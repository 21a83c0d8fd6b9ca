#include "simulator/systemc/read_arbiter.h"

namespace dlc::systemc_model {

void ReadArbiter::reset() {
  reset_clock();
  ar_ = {};
  for (Port& port : ports_) port.shown = port.following = {};
}

void ReadArbiter::request(Channel channel, uint64_t address, int beats) {
  Port& port = ports_[static_cast<int>(channel)];
  assert(port.following.loaded == kUnknown);
  (port.shown.loaded == kUnknown ? port.shown : port.following) = {now(), address, beats};
  wake(now() + 1);
}

void ReadArbiter::evaluate() {
  if (ar_.loaded < now()) {
    bus_.issue(ar_channel_, ar_.address, ar_.beats);
    ar_ = {};
  }
  // A request loaded in this very cycle is not visible yet. The AR register is free here: always accepted.
  for (int i = 0; i < kPorts && ar_.loaded == kUnknown; ++i) {
    if (ports_[i].shown.loaded < now()) take(static_cast<Channel>(i));
  }
  bool pending = ar_.loaded != kUnknown;
  for (const Port& port : ports_) pending |= port.shown.loaded != kUnknown;
  if (pending) wake(now() + 1);
}

void ReadArbiter::take(Channel channel) {
  Port& port = ports_[static_cast<int>(channel)];
  ar_channel_ = channel;
  ar_ = port.shown;
  ar_.loaded = now();
  port.shown = port.following;
  port.following = {};
  port.owner->request_taken();
}

}  // namespace dlc::systemc_model
