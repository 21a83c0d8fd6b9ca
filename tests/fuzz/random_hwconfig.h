// Random small machines: every parameter that changes the hardware or its timing.
#pragma once
#include <cstdint>

#include "isa/hwconfig.h"

namespace dlc {

// Valid (checked by parse_hwconfig) and small enough to be verilated in seconds: rows * cols <= 256.
HwConfig random_hwconfig(uint64_t seed);

}  // namespace dlc
