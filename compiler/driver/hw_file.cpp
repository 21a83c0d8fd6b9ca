#include "compiler/driver/hw_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "isa/error.h"
#include "isa/near_name.h"

namespace dlc {

namespace fs = std::filesystem;

std::string hw_directory() {
  const char* from_environment = std::getenv("DLC_HWCONFIG_DIR");
  return from_environment && *from_environment ? from_environment : DLC_HWCONFIG_DIR;
}

std::vector<std::string> shipped_hw_names() {
  std::vector<std::string> names;
  std::error_code none;  // an absent folder is an empty one
  for (const auto& entry : fs::directory_iterator(hw_directory(), none)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string find_hw_file(const std::string& argument) {
  std::error_code none;
  if (fs::exists(argument, none)) return argument;
  const std::vector<std::string> names = shipped_hw_names();
  const std::string name = argument.ends_with(".yaml") ? argument.substr(0, argument.size() - 5) : argument;
  if (std::find(names.begin(), names.end(), name) != names.end())
    return (fs::path(hw_directory()) / (name + ".yaml")).string();
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
  throw UserError(ErrorKind::bad_input, argument,
                  "no such file;" + did_you_mean(name, names) +
                      " expected a hardware description (YAML file) or the name of a shipped one: " + list);
}

}  // namespace dlc
