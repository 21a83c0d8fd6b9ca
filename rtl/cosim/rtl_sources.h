// The RTL of a configuration as files and texts (dlc rtl, and the Verilator build).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "isa/hwconfig.h"

namespace dlc {

// The folder with the SystemVerilog sources: $DLC_RTL_DIR, else the source tree that dlc was built from.
// Errors: UserError if there is no dlc_rtl.f in it.
std::string rtl_directory();

// Absolute paths of the modules, in compilation order, without the two generated packages. These go first:
// dlc_config_pkg (hwconfig_verilog_package() in isa/hwconfig_sv.h), then dlc_isa_pkg (isa_verilog_package()).
std::vector<std::string> rtl_sources();

// The text of the generated dlc_isa_pkg.sv.
std::string isa_verilog_package();

// The whole design of a configuration as (file name, text), in compilation order: packages, modules. Numbers
// stand in dlc_pkg instead of references to dlc_config_pkg, so that yosys reads it.
std::vector<std::pair<std::string, std::string>> rtl_design(const HwConfig& hw);

// What `dlc rtl` puts beside the design, as (path, text): test bench, Makefile, README. From the folder export/.
std::vector<std::pair<std::string, std::string>> rtl_bench();

}  // namespace dlc
