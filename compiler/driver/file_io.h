// Whole-file reading and writing for the driver. Errors: UserError (bad_input) with the path.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

std::vector<uint8_t> read_file(const std::string& path);
std::string read_text_file(const std::string& path);
// Writes to a temporary file in the same directory, then renames it: never half a file.
void write_file(const std::string& path, std::string_view content);

}  // namespace dlc
