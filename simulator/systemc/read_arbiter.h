// The read address channel: FETCH's and LOAD's request registers, the fixed-priority arbiter (FETCH first)
// and the AR register (isa/README.md §4, "Read channel").
#pragma once
#include <array>

#include "simulator/systemc/bus_port.h"
#include "simulator/systemc/clocked_module.h"

namespace dlc::systemc_model {

class ReadArbiter final : public ClockedModule {
 public:
  // Told that the arbiter takes its request in this cycle, so that its register can be loaded again in it.
  class Requester {
   public:
    virtual ~Requester() = default;
    virtual void request_taken() = 0;
  };

  ReadArbiter(sc_core::sc_module_name name, BusPort& bus) : ClockedModule(name), bus_(bus) {}

  void connect(Channel channel, Requester& requester) {
    ports_[static_cast<int>(channel)].owner = &requester;
  }
  void reset();

  // Loads the channel's request register in this cycle; it must be empty or being taken in this cycle. FETCH
  // has the first priority, so what it loads is always taken in the next cycle.
  void request(Channel channel, uint64_t address, int beats);

 private:
  static constexpr int kPorts = 2;  // fetch, load: index = priority

  struct Request {
    int64_t loaded = kUnknown;  // cycle; kUnknown: none
    uint64_t address = 0;
    int beats = 0;
  };
  struct Port {
    Requester* owner = nullptr;
    Request shown;  // in the request register, seen by the arbiter after the cycle in which it was loaded
    // Loaded in the very cycle in which `shown` is taken, but by a module that ran before the arbiter.
    Request following;
  };

  void evaluate() override;
  void take(Channel channel);

  BusPort& bus_;
  std::array<Port, kPorts> ports_;
  // The AR register. `loaded` + 1 is the cycle in which ARVALID is seen; ARREADY is 1 then.
  Channel ar_channel_ = Channel::fetch;
  Request ar_;
};

}  // namespace dlc::systemc_model
