// Consistency of a Program apart from what its instructions do (that is the verifier's, verify_program).
#pragma once
#include <string>

#include "isa/program.h"

namespace dlc {

// Hardware description present and of the stated hash; sizes and indices of the per-instruction tables; DRAM
// map inside memory, program and constants apart; tensors' bytes cover their shapes; segments in order.
// Empty if fine; else what was found and what was expected.
std::string check_program(const Program& program);

}  // namespace dlc
