// The shared library with the Verilated RTL of a configuration: built on first use, then taken from the
// cache.
//
// Cache: $DLC_CACHE_DIR, else $XDG_CACHE_HOME/dlc, else ~/.cache/dlc; a sub-folder rtl-<hash> each, named
// after everything that goes into it (RTL, packages, harness, tools, CPU). Two processes may ask at once: a
// lock file makes one build (in a temporary folder, renamed at the end) and the other wait.
#pragma once
#include <memory>
#include <string>

#include "isa/hwconfig.h"
#include "rtl/cosim/harness.h"

namespace dlc {

// $DLC_RTL_COVERAGE: the folder into which every run writes its line coverage (scripts/rtl-coverage); else "".
std::string coverage_folder();

class RtlLibrary {
 public:
  // Builds if need be (half a minute to a few). With DLC_RTL_COVERAGE set, a library that counts lines (coverage_folder).
  // Errors: UserError (bad_input) naming the build's log.
  RtlLibrary(const HwConfig& hw, bool waveform);
  ~RtlLibrary();
  RtlLibrary(const RtlLibrary&) = delete;
  RtlLibrary& operator=(const RtlLibrary&) = delete;

  void run(const RtlJob& job, RtlResult& result) const { run_(&job, &result); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  void* handle_ = nullptr;
  void (*run_)(const RtlJob*, RtlResult*) = nullptr;
};

}  // namespace dlc
