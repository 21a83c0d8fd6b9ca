// The DRAM as a TLM-2.0 target: MemoryModel's times (isa/README.md §4), the caller's bytes by DMI.
#pragma once
#include <tlm_utils/simple_target_socket.h>

#include <optional>
#include <span>
#include <vector>

#include "simulator/systemc/clocked_module.h"
#include "simulator/systemc/memory_extension.h"

namespace dlc::systemc_model {

class MemoryTarget final : public ClockedModule {
 public:
  explicit MemoryTarget(sc_core::sc_module_name name);

  tlm_utils::simple_target_socket<MemoryTarget> socket;

  // Starts a run with this memory timing and these bytes.
  void reset(const MemoryModel& model, std::span<uint8_t> dram);

 private:
  tlm::tlm_sync_enum request(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                             sc_core::sc_time& delay);
  bool direct_memory(tlm::tlm_generic_payload& transaction, tlm::tlm_dmi& dmi);
  // Runs a delta cycle after the requests of a cycle, so that it sees them all: reads go before writes.
  void evaluate() override;
  void serve(tlm::tlm_generic_payload& transaction);

  std::optional<MemoryModel> model_;
  std::span<uint8_t> dram_;
  std::vector<tlm::tlm_generic_payload*> reads_, writes_;  // accepted in this cycle
};

}  // namespace dlc::systemc_model
