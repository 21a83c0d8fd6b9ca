#include "simulator/systemc/bus_port.h"

namespace dlc::systemc_model {

BusPort::BusPort(sc_core::sc_module_name name) : sc_module(name), socket("socket") {
  socket.register_nb_transport_bw(this, &BusPort::respond);
}

void BusPort::reset(const HwConfig& hw, uint64_t base) {
  bus_bytes_ = hw.bus_bytes;
  base_ = base;
  bytes_read_ = bytes_written_ = 0;
  // An aborted run leaves transactions in flight; the memory has forgotten them by now.
  free_.clear();
  for (auto& transaction : all_) {
    while (transaction->get_ref_count() > 0) transaction->release();
  }
  free_.clear();
  for (auto& transaction : all_) free_.push_back(transaction.get());
}

tlm::tlm_generic_payload& BusPort::allocate() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<tlm::tlm_generic_payload>(this));
    all_.back()->set_extension(new MemoryExtension);  // the payload owns it, for good
    free_.push_back(all_.back().get());
  }
  tlm::tlm_generic_payload* transaction = free_.back();
  free_.pop_back();
  return *transaction;
}

void BusPort::free(tlm::tlm_generic_payload* transaction) { free_.push_back(transaction); }

void BusPort::issue(Channel channel, uint64_t address, int beats) {
  tlm::tlm_generic_payload& transaction = allocate();
  transaction.acquire();
  const int64_t bytes = int64_t{beats} * bus_bytes_;
  const bool write = channel == Channel::store;
  (write ? bytes_written_ : bytes_read_) += bytes;
  transaction.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  transaction.set_address(address);
  transaction.set_data_ptr(nullptr);
  transaction.set_data_length(static_cast<unsigned>(bytes));
  transaction.set_streaming_width(static_cast<unsigned>(bytes));
  transaction.set_byte_enable_ptr(nullptr);
  transaction.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  auto* extension = transaction.get_extension<MemoryExtension>();
  extension->channel = channel;
  extension->beats = beats;
  extension->timed = false;

  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  if (socket->nb_transport_fw(transaction, phase, delay) != tlm::TLM_UPDATED || phase != tlm::END_REQ) {
    SC_REPORT_FATAL("dlc", "the memory must accept a request at once (TLM_UPDATED, END_REQ)");
  }
}

tlm::tlm_sync_enum BusPort::respond(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                                    sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  auto* extension = transaction.get_extension<MemoryExtension>();
  BurstTimes times = extension->times;
  if (!extension->timed) {
    const auto cycle = static_cast<int64_t>((sc_core::sc_time_stamp() + delay).value() - base_);
    const bool write = extension->channel == Channel::store;
    times = BurstTimes(write ? cycle - extension->beats : cycle, 1, 1, extension->beats);
  }
  BurstSink& sink = *sinks_[static_cast<int>(extension->channel)];
  transaction.release();
  sink.burst_served(times);
  return tlm::TLM_COMPLETED;
}

}  // namespace dlc::systemc_model
