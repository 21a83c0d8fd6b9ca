// The core's side of the memory bus: one TLM-2.0 initiator socket for the AXI4 master's five channels.
// FETCH and LOAD bursts come through the read arbiter, STORE bursts directly; responses go back to who asked.
#pragma once
#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <memory>
#include <vector>

#include "isa/hwconfig.h"
#include "simulator/systemc/memory_extension.h"

namespace dlc::systemc_model {

// Told when the memory has accepted one of its bursts. Bursts of a channel are served in order.
class BurstSink {
 public:
  virtual ~BurstSink() = default;
  virtual void burst_served(const BurstTimes& times) = 0;
};

class BusPort final : public sc_core::sc_module, public tlm::tlm_mm_interface {
 public:
  explicit BusPort(sc_core::sc_module_name name);

  tlm_utils::simple_initiator_socket<BusPort> socket;

  void connect(Channel channel, BurstSink& sink) { sinks_[static_cast<int>(channel)] = &sink; }
  // `base`: the kernel time of cycle 0, for targets that do not time their beats.
  void reset(const HwConfig& hw, uint64_t base);

  // Hands a burst to the memory: a read (FETCH, LOAD) in its AR cycle, a write (STORE) in its last W cycle.
  void issue(Channel channel, uint64_t address, int beats);

  // tlm_mm_interface: a transaction that nobody refers to any more.
  void free(tlm::tlm_generic_payload* transaction) override;

  int64_t bytes_read() const { return bytes_read_; }
  int64_t bytes_written() const { return bytes_written_; }

 private:
  tlm::tlm_sync_enum respond(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                             sc_core::sc_time& delay);
  tlm::tlm_generic_payload& allocate();

  std::array<BurstSink*, 3> sinks_{};
  std::vector<std::unique_ptr<tlm::tlm_generic_payload>> all_;  // every transaction ever made
  std::vector<tlm::tlm_generic_payload*> free_;
  int bus_bytes_ = 1;
  uint64_t base_ = 0;
  int64_t bytes_read_ = 0, bytes_written_ = 0;
};

}  // namespace dlc::systemc_model
