// The machine-readable report (--report FILE.json); keys as in ../shared/design/cli.md.
#pragma once
#include <string>
#include <vector>

#include "compiler/driver/compare.h"
#include "compiler/driver/partition.h"
#include "compiler/driver/profile.h"

namespace dlc {

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
};

std::string report_json(const Report& report);

}  // namespace dlc
