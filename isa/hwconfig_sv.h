// The RTL's view of a hardware configuration.
#pragma once
#include <cstdint>
#include <string>

#include "isa/hwconfig.h"

namespace dlc {

// `package dlc_config_pkg;` with everything that shapes the RTL as localparam int: array, vector, scratchpad,
// DMA and queue parameters, FETCH_BURST_BYTES, and the limits and depths of timing.h.
std::string hwconfig_verilog_package(const HwConfig& hw);

// Equal for configurations that share one RTL build: memory size, latency and bandwidth, clock, technology
// and name do not count.
uint64_t hwconfig_structural_hash(const HwConfig& hw);

}  // namespace dlc
