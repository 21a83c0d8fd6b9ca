// The machine-readable report (--report FILE.json); keys as in ../shared/design/cli.md.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/compare.h"
#include "compiler/driver/partition.h"
#include "compiler/driver/profile.h"

namespace dlc {

// --engine cpu.
struct CpuReport {
  int64_t kernels = 0, from_cache = 0, arena_bytes = 0;
  int threads = 1;
  double jit_seconds = 0;            // compiling and linking kernels
  std::vector<HostNode> fallback;    // operators left to the reference backend
};

struct Report {
  std::string model;
  HwConfig hw;
  Profile profile;
  std::vector<HostNode> fallback;
  int64_t host_macs = 0;
  std::vector<Check> checks;
  double host_seconds = 0, compile_seconds = 0, simulate_seconds = 0;
  // Dataset runs only.
  int64_t dataset_rows = 0, dataset_correct = 0;
  bool has_labels = false;
  std::optional<CpuReport> cpu;
  std::map<std::string, double> run_seconds;  // of engines on this computer: one inference, the best of --repeat
};

std::string report_json(const Report& report);
// Of a run without hardware: model, run_seconds, cpu, checks, compile_seconds.
std::string host_report_json(const Report& report);

}  // namespace dlc
