// Reading the files that dlc run --report writes.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace dlc {

// Throws UserError (bad_input) naming the file where it is no report.
nlohmann::json load_report(const std::string& path);

}  // namespace dlc
