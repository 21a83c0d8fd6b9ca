// Runs the compiler's tools (verilator, g++) for the RTL build.
#pragma once
#include <string>
#include <vector>

namespace dlc {

using Command = std::vector<std::string>;  // program (looked up in PATH) and arguments

// Runs the commands, at most `jobs` at a time, in `directory`; stdout and stderr are appended to `log`.
// False as soon as one fails (the others are waited for).
bool run_commands(const std::vector<Command>& commands, const std::string& directory, const std::string& log,
                  int jobs);

// Standard output of a command; empty if it cannot be run or fails.
std::string output_of(const Command& command);

// Whether a program of this name is in PATH.
bool in_path(const std::string& program);

}  // namespace dlc
