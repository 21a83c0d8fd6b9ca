#include "rtl/cosim/rtl_sources.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isa/error.h"
#include "isa/hwconfig_sv.h"

namespace dlc {

namespace fs = std::filesystem;

extern const char* const kIsaVerilogPackage;  // generated: isa_package_text.cpp

std::string rtl_directory() {
  const char* from_environment = std::getenv("DLC_RTL_DIR");
  const std::string directory = from_environment && *from_environment ? from_environment : DLC_RTL_DIR;
  if (!fs::exists(fs::path(directory) / "dlc_rtl.f")) {
    throw UserError(ErrorKind::bad_input, "RTL",
                    "no dlc_rtl.f in '" + directory + "': set DLC_RTL_DIR to the folder with dlc's SystemVerilog");
  }
  return fs::absolute(directory).lexically_normal().string();
}

std::vector<std::string> rtl_sources() {
  const fs::path directory = rtl_directory();
  std::ifstream list(directory / "dlc_rtl.f");
  std::vector<std::string> sources;
  for (std::string line; std::getline(list, line);) {
    if (!line.empty()) sources.push_back((directory / line).string());
  }
  return sources;
}

std::string isa_verilog_package() { return kIsaVerilogPackage; }

std::vector<std::pair<std::string, std::string>> rtl_design(const HwConfig& hw) {
  std::vector<std::pair<std::string, std::string>> design = {{"dlc_config_pkg.sv", hwconfig_verilog_package(hw)},
                                                             {"dlc_isa_pkg.sv", isa_verilog_package()}};
  for (const std::string& source : rtl_sources()) {
    std::ifstream in(source, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw UserError(ErrorKind::bad_input, source, "cannot be read, but dlc_rtl.f names it");
    design.emplace_back(fs::path(source).filename().string(), text.str());
  }
  return design;
}

}  // namespace dlc
