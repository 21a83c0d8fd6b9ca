// A device that runs a program in a random one of the orders that its waits allow.
//
// Engines start and retire in order, as early or late as chance will have it; VECTOR and LOAD read when they
// start and write when they retire, MATRIX and STORE do all of their work at either end. So what a program
// leaves to chance shows as a difference from program order, and two uses of one bank's port at a time, if
// they are possible, are found by counting. It knows happens-before only from the waits: a witness for the
// verifier that shares none of its reasoning.
#pragma once
#include <memory>

#include "isa/device.h"

namespace dlc {

// run() throws std::logic_error if more ports of a bank are in use at a time than it has.
std::unique_ptr<Device> make_any_order_device(const HwConfig& hw, uint64_t seed);

}  // namespace dlc
