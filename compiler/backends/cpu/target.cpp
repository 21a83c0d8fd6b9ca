#include "compiler/backends/cpu/target.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "isa/error.h"

namespace dlc::cpu {
namespace {

std::string take(char* text) {
  std::string s(text);
  LLVMDisposeMessage(text);
  return s;
}

bool has(const std::string& features, const std::string& name) {
  return ("," + features + ",").find(",+" + name + ",") != std::string::npos;
}

}  // namespace

Target make_target(const std::string& name) {
  const std::string host = take(LLVMGetHostCPUFeatures());
  const bool avx2 = has(host, "avx2") && has(host, "fma");
  Target t;
  if (name == "native") {
    t.cpu = take(LLVMGetHostCPUName());
    t.features = host;
    const bool avx512 = has(host, "avx512f") && has(host, "avx512bw") && has(host, "avx512dq") && has(host, "avx512vl");
    t.machine.lanes = avx512 ? 16 : avx2 ? 8 : 4;
    t.machine.registers = avx512 ? 32 : 16;
    t.machine.has_dot4 = avx512 ? has(host, "avx512vnni") : avx2 && has(host, "avxvnni");
  } else if (name == "avx2") {
    if (!avx2) throw UserError(ErrorKind::bad_input, "CPU target avx2", "this machine has no AVX2 and FMA");
    t.cpu = "haswell";
    t.machine = {8, 16, false};
  } else if (name == "portable") {
    t.cpu = "";
    t.machine = {4, 16, false};
  } else {
    throw UserError(ErrorKind::bad_input, "CPU target '" + name + "'", "expected native, avx2 or portable");
  }
  return t;
}

}  // namespace dlc::cpu
