// `dlc run` on this computer alone: --engine cpu, --engine reference, without a hardware description.
#pragma once
#include <string>

#include "compiler/backends/cpu/executable.h"
#include "compiler/driver/compare.h"
#include "compiler/driver/options.h"
#include "compiler/driver/report.h"

namespace dlc {

// Engines that need no hardware description.
bool is_host_engine(const std::string& engine);
bool only_host_engines(const std::vector<std::string>& engines);  // at least one

// Imports, optimises (float networks stay float) and runs the network on the engines given; with both, the
// outputs are compared. Exit status 0 or 1.
int run_on_host(const Options& options);

cpu::CpuOptions cpu_options(const Options& options);

// What --engine cpu did, for the report and (a few lines) for the terminal.
CpuReport cpu_report(const ir::Graph& graph, const cpu::Executable& executable, const Options& options);
std::string cpu_text(const CpuReport& report, bool verbose);

// Values of two backends: integers in every bit; floats within 1e-3 of the value plus 1e-4 of the tensor's largest.
Check compare_values(const std::string& engine, const TensorMap& tensors, const std::string& against, const TensorMap& expected);

}  // namespace dlc
