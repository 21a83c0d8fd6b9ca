// What dlc's transactions carry besides the generic payload: who asked, and the beats' timing.
//
// Protocol on the core's initiator socket (non-blocking transport):
//   nb_transport_fw(BEGIN_REQ)  in the cycle of the AR handshake, or of a write's last W beat. The target
//                               accepts at once: it returns TLM_UPDATED with phase END_REQ.
//   nb_transport_bw(BEGIN_RESP) as soon as the target knows when the burst is served, which may be long
//   before:
//                               `delay` is the time of the first R beat (read) or the B response (write), and
//                               the extension, if `timed`, has the cycle of every beat. Otherwise beats
//                               follow one a cycle. The core returns TLM_COMPLETED.
// Transactions are about time: their data pointer is null. Bytes move when the LOAD or STORE retires, through
// the target's direct memory interface.
#pragma once
#include <cstdint>
#include <tlm>

#include "simulator/memory/memory_model.h"

namespace dlc::systemc_model {

enum class Channel { fetch = 0, load = 1, store = 2 };

struct MemoryExtension : tlm::tlm_extension<MemoryExtension> {
  Channel channel = Channel::fetch;
  int beats = 0;
  bool timed = false;
  BurstTimes times;  // cycles of the run; valid if timed

  tlm::tlm_extension_base* clone() const override { return new MemoryExtension(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const MemoryExtension&>(other);
  }
};

}  // namespace dlc::systemc_model
