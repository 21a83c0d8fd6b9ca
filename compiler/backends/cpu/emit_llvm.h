// Loop IR -> LLVM IR -> object code, one kernel at a time. All uses of LLVM's builder are in emit_llvm.cpp
// (through its C interface: small headers, stable across versions).
#pragma once
#include <string>
#include <vector>

#include "compiler/backends/cpu/target.h"
#include "compiler/loop/loop_ir.h"

namespace dlc::cpu {

// The generated function: `void symbol(void** buffers, int64_t begin, int64_t end)`. buffers in the kernel's
// order, which must not overlap where one of them is written; begin, end: iterations of the parallel loop
// (ignored without one).
using KernelFunction = void (*)(void* const* buffers, int64_t begin, int64_t end);

struct EmittedCode {
  std::string object;  // ELF relocatable object
  std::string ir;      // optimised LLVM IR, only if asked for
};

// Re-entrant: several kernels may be compiled at once. Throws std::logic_error if LLVM's verifier refuses.
EmittedCode emit(const loop::Kernel& kernel, const std::string& symbol, const Target& target, bool want_ir = false);

// Makes LLVM know this machine; emit() does it by itself. Re-entrant.
void initialize_llvm();

// "19.1.7 1": LLVM's version and that of this generator; part of the code cache's key.
std::string emitter_version();

}  // namespace dlc::cpu
