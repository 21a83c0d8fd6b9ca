// The command line (../shared/design/cli.md): declarations only; the work is in command_*.cpp.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "compiler/driver/commands.h"
#include "compiler/driver/hw_file.h"
#include "compiler/driver/progress.h"
#include "isa/error.h"
#include "isa/near_name.h"

namespace dlc {
namespace {

struct Parser {
  Options options;
  std::function<int(const Options&)> command;
};

void add_verbosity(CLI::App& app, Options& o) {
  app.add_flag("-q,--quiet", o.quiet, "print errors and results only");
  app.add_flag("-v,--verbose", o.verbose, "print what each step does and how long it takes");
}

void add_compile_options(CLI::App& app, Options& o) {
  app.add_option("--hw", o.hw, "hardware description: a YAML file, or the name of a shipped one (edge-16)")->required()->type_name("HW");
  app.add_option("--dim", o.dims, "bind a symbolic dimension (else the shapes of the --input files do)")->type_name("NAME=VALUE");
  app.add_option("--dump-ir", o.dump_ir, "write the Graph IR after each pass into this folder")->type_name("DIR");
  app.add_option("--skip-pass", o.skip_passes, "leave a pass out (repeatable; see dlc passes)")->type_name("NAME");
  app.add_option("--passes", o.passes, "run exactly these passes, comma separated")->type_name("LIST");
  app.add_option("--passes-bisect-limit", o.passes_bisect_limit, "run only the first N passes")->type_name("N");
  app.add_flag("--no-residency", o.no_residency, "every layer's output goes to DRAM, even if it would fit in the scratchpad");
  app.add_option("--schedule", o.schedule, "tile sizes, loop orders, engines and residency that you choose; the rest is searched")->type_name("FILE.yaml");
  app.add_option("--emit-schedule", o.emit_schedule, "write what was chosen, in the form of --schedule")->type_name("FILE.yaml");
  app.add_flag("--no-packing", o.no_packing, "first layers with few channels stay one pixel a word");
  app.add_flag("--no-fallback", o.no_fallback, "refuse networks that need operators on the host");
  app.add_option("-j,--jobs", o.jobs, "worker threads (results do not depend on it)")->check(CLI::Range(1, 1024));
}

void add_scaling_options(CLI::App& app, Options& o) {
  app.add_option("--input-scale", o.input_scale, "real value = (file's value - zero) * scale, for quantised data files");
  app.add_option("--input-zero", o.input_zero, "see --input-scale");
}

void add_calibration_options(CLI::App& app, Options& o, const std::string& method = "--calibration-method") {
  app.add_option("--calibrate", o.calibrate, "example inputs of a float network, which sets its int8 ranges: .npy, .npz or .pb")
      ->type_name("[NAME=]FILE");
  app.add_option(method, o.calibration_method, "how ranges follow from the values seen: minmax, percentile or mse")
      ->type_name("NAME");
  app.add_option("--calibration-percentile", o.calibration_percentile, "what method percentile keeps at each end")->type_name("P");
}

void add_input_options(CLI::App& app, Options& o) {
  app.add_option("--input", o.inputs, "graph input: .npy, .npz or .pb (TensorProto), without names in the graph's order; without any, seeded random values")
      ->type_name("[NAME=]FILE");
  app.add_option("--seed", o.seed, "seed of random inputs");
  add_scaling_options(app, o);
  app.add_option("--output-dir", o.output_dir, "write the outputs as .npy under the graph's own names")->type_name("DIR");
  app.add_option("--dump-tensors", o.tensors_dir, "write every layer's tensors as .npy, with index.json (implies --no-residency)")
      ->type_name("DIR");
}

void add_result_options(CLI::App& app, Options& o) {
  app.add_option("--report", o.report, "machine-readable results")->type_name("FILE.json");
  app.add_option("--trace", o.trace, "Chrome/Perfetto trace events")->type_name("FILE.json");
  app.add_option("--trace-text", o.trace_text, "one line an instruction, with start and retire cycle")->type_name("FILE");
}

void add_run(CLI::App& app, Parser& p) {
  Options& o = p.options;
  CLI::App* run = app.add_subcommand("run", "compile, simulate, check against the reference, print the profile (the default command)");
  run->add_option("model", o.model, "network")->required()->type_name("MODEL.onnx");
  add_compile_options(*run, o);
  add_calibration_options(*run, o);
  add_input_options(*run, o);
  add_result_options(*run, o);
  run->add_option("--engine", o.engines, "reference, functional, systemc, rtl (repeatable; several are compared)")
      ->check(CLI::IsMember({"reference", "functional", "systemc", "rtl"}))->type_name("NAME");
  run->add_option_function<std::vector<std::string>>("--compare-tensors", [&o](const std::vector<std::string>& folder) {
       o.compare_graph = folder.empty() || folder[0].empty();
       if (!folder.empty()) o.compare_folder = folder[0];
     }, "every quantised tensor against the float graph, or against a folder of .npy files: SQNR, first deviation")
      ->expected(0, 1)->type_name("[DIR]");
  run->add_option("--dataset", o.dataset, "inputs, a row at a time")->type_name("X.npy");
  run->add_option("--labels", o.labels, "labels of the dataset: prints the accuracy")->type_name("Y.npy");
  run->add_option("--limit", o.limit, "only the first N rows")->check(CLI::PositiveNumber)->type_name("N");
  add_verbosity(*run, o);
  run->callback([&p] { p.command = command_run; });
}

void add_compile(CLI::App& app, Parser& p) {
  Options& o = p.options;
  CLI::App* compile = app.add_subcommand("compile", "compile a network into a program file");
  compile->add_option("model", o.model, "network")->required()->type_name("MODEL.onnx");
  compile->add_option("-o,--output", o.output, "program file")->required()->type_name("PROGRAM.dlp");
  add_compile_options(*compile, o);
  add_calibration_options(*compile, o);
  add_scaling_options(*compile, o);
  add_verbosity(*compile, o);
  compile->callback([&p] { p.command = command_compile; });
}

void add_simulate(CLI::App& app, Parser& p) {
  Options& o = p.options;
  CLI::App* simulate = app.add_subcommand("simulate", "run a program file on the SystemC model");
  simulate->add_option("program", o.model, "program")->required()->type_name("PROGRAM.dlp");
  simulate->add_option("--hw", o.hw, "check that the program is for this hardware")->type_name("HW.yaml");
  simulate->add_option("--engine", o.engines, "functional, systemc, rtl (repeatable; several are compared)")
      ->check(CLI::IsMember({"functional", "systemc", "rtl"}))->type_name("NAME");
  add_input_options(*simulate, o);
  add_result_options(*simulate, o);
  add_verbosity(*simulate, o);
  simulate->callback([&p] { p.command = command_simulate; });
}

void add_cosim(CLI::App& app, Parser& p) {
  Options& o = p.options;
  CLI::App* cosim = app.add_subcommand("cosim", "SystemC against Verilated RTL: every output byte and every cycle");
  cosim->add_option("model", o.model, "network or program")->required()->type_name("MODEL.onnx|PROGRAM.dlp");
  add_compile_options(*cosim, o);
  cosim->get_option("--hw")->required(false);
  add_calibration_options(*cosim, o);
  add_input_options(*cosim, o);
  add_result_options(*cosim, o);
  add_verbosity(*cosim, o);
  cosim->add_option("--fst", o.fst, "on a mismatch: waveform of the RTL around the first difference (builds a second model)")->type_name("FILE.fst");
  cosim->add_option("--fst-window", o.fst_window, "the waveform's cycles, mismatch or not")->type_name("FIRST:LAST");
  cosim->callback([&p] { p.command = command_cosim; });
}

void add_quantize(CLI::App& app, Parser& p) {
  Options& o = p.options;
  CLI::App* quantize = app.add_subcommand("quantize", "quantise a float network to int8 (ONNX with QuantizeLinear/DequantizeLinear)");
  quantize->add_option("model", o.model, "float network")->required()->type_name("MODEL.onnx");
  quantize->add_option("-o,--output", o.output, "quantised network")->required()->type_name("MODEL.int8.onnx");
  add_calibration_options(*quantize, o, "--method,--calibration-method");
  quantize->get_option("--calibrate")->required();
  quantize->add_option("--limit", o.limit, "only the first N examples (default 200)")->check(CLI::PositiveNumber)->type_name("N");
  add_scaling_options(*quantize, o);
  quantize->add_option("--dim", o.dims, "bind a symbolic dimension")->type_name("NAME=VALUE");
  add_verbosity(*quantize, o);
  quantize->callback([&p] { p.command = command_quantize; });
}

void add_small_commands(CLI::App& app, Parser& p) {
  Options& o = p.options;
  CLI::App* disasm = app.add_subcommand("disasm", "print a program file as assembly");
  disasm->add_option("program", o.model, "program")->required()->type_name("PROGRAM.dlp");
  disasm->add_option("-o,--output", o.output, "file instead of standard output")->type_name("FILE.s");
  disasm->callback([&p] { p.command = command_disassemble; });

  CLI::App* assemble = app.add_subcommand("asm", "assemble a program file");
  assemble->add_option("source", o.model, "assembly")->required()->type_name("FILE.s");
  assemble->add_option("-o,--output", o.output, "program file")->required()->type_name("PROGRAM.dlp");
  assemble->callback([&p] { p.command = command_assemble; });

  CLI::App* check = app.add_subcommand("check-hw", "check a hardware description and print what follows from it");
  check->add_option("hw", o.hw, "hardware description")->required()->type_name("HW.yaml");
  check->callback([&p] { p.command = command_check_hw; });

  CLI::App* ops = app.add_subcommand("ops", "list the operators and where they run");
  ops->callback([&p] { p.command = command_ops; });

  CLI::App* passes = app.add_subcommand("passes", "list the compiler's passes in their order");
  passes->callback([&p] { p.command = command_passes; });

  CLI::App* diff = app.add_subcommand("diff", "compare two reports, layer by layer");
  diff->add_option("a", o.model, "report")->required()->type_name("A.json");
  diff->add_option("b", o.second, "report")->required()->type_name("B.json");
  diff->callback([&p] { p.command = command_diff; });

  CLI::App* report = app.add_subcommand("report", "a report as one self-contained HTML page");
  report->add_option("result", o.model, "report of dlc run --report")->required()->type_name("RESULT.json");
  report->add_option("-o,--output", o.output, "page")->required()->type_name("FILE.html");
  report->add_flag("-q,--quiet", o.quiet, "print errors only");
  report->callback([&p] { p.command = command_report; });

  CLI::App* rtl = app.add_subcommand("rtl", "write the configured SystemVerilog and its file list");
  rtl->add_option("--hw", o.hw, "hardware description")->required()->type_name("HW.yaml");
  rtl->add_option("-o,--output", o.output, "folder")->required()->type_name("DIR");
  rtl->callback([&p] { p.command = command_rtl; });
}

// `dlc --hw X MODEL` is short for `dlc run --hw X MODEL`.
std::vector<std::string> with_default_command(int argc, char** argv, const CLI::App& app) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return arguments;
  const std::string& first = arguments.front();
  if (first == "-h" || first == "--help" || first == "--version") return arguments;
  for (const CLI::App* sub : app.get_subcommands({}))
    if (sub->get_name() == first) return arguments;
  const bool option_or_file = first[0] == '-' || first.find('.') != std::string::npos || first.find('/') != std::string::npos;
  if (!option_or_file) {
    std::vector<std::string> known;
    for (const CLI::App* sub : app.get_subcommands({})) known.push_back(sub->get_name());
    throw UserError(ErrorKind::bad_input, "", "unknown command '" + first + "';" + did_you_mean(first, known) + " see dlc --help");
  }
  arguments.insert(arguments.begin(), "run");
  return arguments;
}

void print_error(const std::string& message) {
  const bool colour = colour_allowed(2);
  std::fprintf(stderr, "%serror:%s %s\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "", message.c_str());
}

}  // namespace

int guarded(const std::function<int()>& work) {
  try {
    return work();
  } catch (const UserError& e) {
    print_error(e.what());
    return e.exit_code();
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
  } catch (const std::exception& e) {
    print_error(std::string("internal error: ") + e.what() + "; this is a fault of dlc, please report it with the command line and the model");
  }
  return kInternalError;
}

int dlc_main(int argc, char** argv) {
  Parser parser;
  CLI::App app{"dlc: one YAML file describes a tensor accelerator; compile networks for it, simulate it, build its RTL.\n"
               "dlc --hw HW.yaml MODEL.onnx is short for dlc run.", "dlc"};
  app.set_version_flag("--version", "dlc " DLC_VERSION);
  app.require_subcommand(1);
  add_run(app, parser);
  add_compile(app, parser);
  add_simulate(app, parser);
  add_cosim(app, parser);
  add_quantize(app, parser);
  add_small_commands(app, parser);
  return guarded([&] {
    try {
      std::vector<std::string> arguments = with_default_command(argc, argv, app);
      std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
      app.parse(arguments);
    } catch (const CLI::ParseError& e) {
      if (e.get_exit_code() == 0) return app.exit(e);
      print_error(std::string(e.what()) + "; see dlc --help");
      return 2;
    }
    if (!parser.options.hw.empty()) parser.options.hw = find_hw_file(parser.options.hw);
    return parser.command(parser.options);
  });
}

}  // namespace dlc
