// A small program for the test bench that `dlc rtl` writes: every engine, every scratchpad but LUT, fixed data.
#pragma once
#include "isa/program.h"

namespace dlc {

// LOAD activations, weights and rescale parameters; MATRIX over two tiles; VECTOR rescales ACC into ACT; STORE both.
// Errors: UserError where the machine's scratchpads are too small for it (a few dozen words).
Program rtl_example(const HwConfig& hw);

}  // namespace dlc
