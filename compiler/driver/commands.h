// One function a command. They return the exit status (0 or 1) and throw UserError for 2 and 3.
#pragma once
#include <functional>

#include "compiler/driver/options.h"

namespace dlc {

int command_run(const Options& options);        // compile, simulate, check, profile
int command_compile(const Options& options);    // MODEL.onnx -> PROGRAM.dlp
int command_simulate(const Options& options);   // PROGRAM.dlp
int command_cosim(const Options& options);      // SystemC against RTL
int command_disassemble(const Options& options);
int command_assemble(const Options& options);
int command_check_hw(const Options& options);
int command_ops(const Options& options, bool markdown);  // operators, where they run, limits
int command_passes(const Options& options);
int command_quantize(const Options& options);   // MODEL.onnx -> MODEL.int8.onnx
int command_report(const Options& options);     // a report as one self-contained HTML page
int command_diff(const Options& options);       // two reports, layer by layer
int command_rtl(const Options& options);        // the configured SystemVerilog

// Exit status for what no user can mend: a fault of dlc itself, or no memory left.
inline constexpr int kInternalError = 4;

// work(), whatever it throws turned into one line on standard error and an exit status: UserErrors into their own,
// anything else into kInternalError.
int guarded(const std::function<int()>& work);

// Parses argv, runs the command, prints errors; the process's exit status.
int dlc_main(int argc, char** argv);

}  // namespace dlc
