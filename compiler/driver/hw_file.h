// Hardware descriptions by name: `--hw edge-16`.
#pragma once
#include <string>
#include <vector>

namespace dlc {

// The folder with the shipped descriptions: $DLC_HWCONFIG_DIR, else hwconfigs/ of the source tree that dlc was built
// from. It need not exist.
std::string hw_directory();

// "edge-16", ...: the shipped descriptions, in name order.
std::vector<std::string> shipped_hw_names();

// `argument` where it is a file or folder; else the file of the shipped description of that name (with or without
// ".yaml"). UserError(bad_input) with the shipped names when there is neither.
std::string find_hw_file(const std::string& argument);

}  // namespace dlc
