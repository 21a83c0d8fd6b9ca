// The CPU that code is generated for, and what the kernel generators need to know of it.
#pragma once
#include <string>

#include "compiler/loop/machine.h"

namespace dlc::cpu {

struct Target {
  std::string cpu, features;  // as LLVM names them
  loop::Machine machine;      // vector width, registers, dot product instruction
};

// "native": this machine, all its features. "avx2": AVX2 and FMA without AVX-512 and VNNI. "portable": the
// base of the architecture (SSE2 on x86-64). UserError(bad_input) for other names and for one that this
// machine lacks.
Target make_target(const std::string& name = "native");

}  // namespace dlc::cpu
