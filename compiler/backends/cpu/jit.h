// Kernels to callable functions: equal kernels are compiled once, compiled objects are kept in a cache
// folder, all are linked into the process by LLVM's ORC.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/backends/cpu/emit_llvm.h"

namespace dlc::cpu {

struct JitStatistics {
  size_t kernels = 0, compiled = 0, from_cache = 0;  // different kernels; of these
  double compile_seconds = 0, link_seconds = 0;
};

class Jit {
 public:
  // cache_folder: "" for none. Files there are named after a hash of the kernel's text, the CPU, its features
  // and the emitter's version, and hold that key: a file of another key is compiled anew and replaced.
  Jit(Target target, std::string cache_folder);
  ~Jit();
  size_t add(const loop::Kernel& kernel);  // a handle; the same for an equal kernel
  // Compiles what was added, `jobs` kernels at a time. Once.
  void build(int jobs);
  KernelFunction function(size_t handle) const;
  const JitStatistics& statistics() const { return statistics_; }

  // $XDG_CACHE_HOME/dlc or ~/.cache/dlc; "" where neither variable is set.
  static std::string default_cache_folder();

 private:
  struct Entry {
    loop::Kernel kernel;
    std::string text, symbol, object;
    KernelFunction function = nullptr;
  };
  struct Linker;  // owns LLVM's LLJIT
  bool read_cached(Entry& e) const;
  void write_cached(const Entry& e) const;
  std::string key(const Entry& e) const;

  Target target_;
  std::string folder_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t> by_text_;
  std::unique_ptr<Linker> linker_;
  JitStatistics statistics_;
};

}  // namespace dlc::cpu
