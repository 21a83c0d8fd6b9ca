// Two devices run one program: do they agree?
#pragma once
#include <string>

#include "isa/device.h"

namespace dlc {

// Runs `program` on both devices from equal DRAM images. Empty if they agree, otherwise the first difference:
// a DRAM byte, with the tensor that holds it and the last STORE that writes it; or, if compare_times, an
// instruction's start or retire cycle, a counter, the number of cycles or the DRAM traffic.
std::string compare_devices(const Program& program, const HwConfig& hw, Device& a, Device& b,
                            bool compare_times);

// As above with options for the run on b (waveform, initial state of the RTL).
std::string compare_devices(const Program& program, const HwConfig& hw, Device& a, Device& b,
                            bool compare_times, const RunOptions& options_of_b);

}  // namespace dlc
