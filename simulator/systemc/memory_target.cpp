#include "simulator/systemc/memory_target.h"

namespace dlc::systemc_model {

MemoryTarget::MemoryTarget(sc_core::sc_module_name name) : ClockedModule(name), socket("socket") {
  socket.register_nb_transport_fw(this, &MemoryTarget::request);
  socket.register_get_direct_mem_ptr(this, &MemoryTarget::direct_memory);
}

void MemoryTarget::reset(const MemoryModel& model, std::span<uint8_t> dram) {
  reset_clock();
  model_ = model;
  model_->reset();
  dram_ = dram;
  reads_.clear();
  writes_.clear();
}

tlm::tlm_sync_enum MemoryTarget::request(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                                         sc_core::sc_time&) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  (transaction.is_read() ? reads_ : writes_).push_back(&transaction);
  wake(now());
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

bool MemoryTarget::direct_memory(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  dmi.init();
  if (dram_.empty()) return false;
  dmi.set_dmi_ptr(dram_.data());
  dmi.set_start_address(0);
  dmi.set_end_address(dram_.size() - 1);
  dmi.allow_read_write();
  return true;
}

void MemoryTarget::evaluate() {
  for (auto* transaction : reads_) serve(*transaction);
  for (auto* transaction : writes_) serve(*transaction);
  reads_.clear();
  writes_.clear();
}

void MemoryTarget::serve(tlm::tlm_generic_payload& transaction) {
  auto* extension = transaction.get_extension<MemoryExtension>();
  extension->times = model_->accept(now(), extension->beats);
  extension->timed = true;
  transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  const int64_t cycle = transaction.is_read() ? extension->times.beat(0) : extension->times.response();
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = sc_core::sc_time::from_value(static_cast<uint64_t>(cycle - now()));
  socket->nb_transport_bw(transaction, phase, delay);
}

}  // namespace dlc::systemc_model
