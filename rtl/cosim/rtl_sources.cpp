#include "rtl/cosim/rtl_sources.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "isa/error.h"
#include "isa/hwconfig_sv.h"

namespace dlc {

namespace fs = std::filesystem;

extern const char* const kIsaVerilogPackage;  // generated: isa_package_text.cpp

namespace {

std::string read_source(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw UserError(ErrorKind::bad_input, path, "cannot be read, but dlc_rtl.f names it");
  return text.str();
}

// Numbers in place of dlc_config_pkg::NAME: yosys cannot resolve a package inside a package.
std::string with_numbers(const std::string& text, const std::string& config_package) {
  std::map<std::string, std::string> value;
  std::istringstream lines(config_package);
  for (std::string word, name, equals, number; lines >> word;) {
    if (word != "localparam" || !(lines >> word >> name >> equals >> number)) continue;
    value[name] = number.substr(0, number.find(';'));
  }
  const std::string prefix = "dlc_config_pkg::";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t found = std::min(text.find(prefix, at), text.size());
    out += text.substr(at, found - at);
    if (found == text.size()) break;
    size_t end = found + prefix.size();
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    out += value.at(text.substr(found + prefix.size(), end - found - prefix.size()));
    at = end;
  }
  return out;
}

}  // namespace

std::string rtl_directory() {
  const char* from_environment = std::getenv("DLC_RTL_DIR");
  const std::string directory = from_environment && *from_environment ? from_environment : DLC_RTL_DIR;
  if (!fs::exists(fs::path(directory) / "dlc_rtl.f")) {
    throw UserError(
        ErrorKind::bad_input, "RTL",
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
  std::vector<std::pair<std::string, std::string>> design = {
      {"dlc_config_pkg.sv", hwconfig_verilog_package(hw)}, {"dlc_isa_pkg.sv", isa_verilog_package()}};
  const std::string config_package = design.front().second;
  for (const std::string& source : rtl_sources()) {
    const std::string name = fs::path(source).filename().string(), text = read_source(source);
    design.emplace_back(name, name == "dlc_pkg.sv" ? with_numbers(text, config_package) : text);
  }
  return design;
}

std::vector<std::pair<std::string, std::string>> rtl_bench() {
  std::vector<std::pair<std::string, std::string>> files;
  for (const char* name : {"tb/dlc_tb.sv", "Makefile", "README.md", "waivers.vlt"}) {
    const bool shared = std::string(name) == "waivers.vlt";
    files.emplace_back(name, read_source(rtl_directory() + (shared ? "/lint/" : "/export/") + name));
  }
  return files;
}

}  // namespace dlc
