// Commands around program files: compile, simulate, cosim, disasm, asm.
#include <fmt/format.h>

#include <cstdio>

#include "compiler/driver/commands.h"
#include "compiler/driver/compare.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/file_io.h"
#include "compiler/driver/inputs.h"
#include "compiler/driver/outputs.h"
#include "compiler/driver/profile.h"
#include "compiler/driver/progress.h"
#include "compiler/driver/report.h"
#include "isa/error.h"
#include "isa/program_file.h"

namespace dlc {
namespace {

struct Loaded {
  Program program;
  HwConfig hw;
};

// A program file with the configuration it was compiled for; --hw must be the same machine.
Loaded load_for_run(const Options& options) {
  Loaded l;
  l.program = load_program(options.model);
  l.hw = parse_hwconfig(l.program.hw_yaml, options.model + " (embedded hardware description)");
  if (!options.hw.empty()) {
    const HwConfig given = load_hwconfig(options.hw);
    if (hwconfig_hash(given) != l.program.hw_hash)
      throw UserError(ErrorKind::bad_input, options.model,
                      fmt::format("was compiled for '{}' (hash {:016x}), not for {} (hash {:016x}); compile it again for that machine",
                                  l.program.hw_name, l.program.hw_hash, options.hw, hwconfig_hash(given)));
    l.hw = given;
  }
  const std::vector<std::string> faults = verify_segments(l.program, l.hw);
  if (!faults.empty()) {
    std::string all;
    for (const std::string& f : faults) all += "\n  " + f;
    throw UserError(ErrorKind::bad_input, options.model, "is not a valid program for '" + l.hw.name + "':" + all);
  }
  return l;
}

Inference run_on(const std::string& engine, const Session& session, const HwConfig& hw, const TensorMap& inputs, bool quiet,
                 RunOptions run_options = {}) {
  auto device = make_device(engine, hw);
  Progress progress("simulating on " + engine, !quiet);
  run_options.progress = [&](double f) { progress.update(f); };
  return session.infer(*device, inputs, run_options);
}

bool is_program(const std::string& path) { return path.ends_with(".dlp"); }

// Bytes of the whole DRAM image, then times. Prints the verdict; `at` becomes the cycle around which the runs part.
bool equal_runs(const Program& program, const HwConfig& hw, const std::string& name_a, const Inference& a,
                const std::string& name_b, const Inference& b, bool quiet, std::vector<Check>* checks, int64_t* at) {
  Check check = compare_tensors(program, name_b, b.device_tensors, name_a, a.device_tensors);
  const auto stored = first_stored_difference(program, hw, a.dram, b.dram);
  if (stored) {
    check.mismatches = std::max<int64_t>(1, check.mismatches);
    check.first = fmt::format("DRAM byte {:#x}: {} in {}, {} in {}; {}{}", stored->byte, a.dram[stored->byte], name_a,
                              b.dram[stored->byte], name_b,
                              stored->instruction == SIZE_MAX ? "no STORE writes it"
                                                              : "stored by instruction " + describe_instruction(program, stored->instruction),
                              check.first.empty() ? "" : "; " + check.first);
    if (stored->instruction < a.run.times.size()) *at = a.run.times[stored->instruction].start;
  }
  std::string difference;
  if (a.run.total_cycles > 0 && b.run.total_cycles > 0) difference = compare_times(program, name_a, a.run, name_b, b.run);
  if (const auto i = first_time_difference(a.run, b.run); i && !difference.empty()) {
    const InstructionTimes &x = a.run.times[*i], &y = b.run.times[*i];
    *at = x.start != y.start ? std::min(x.start, y.start) : std::min(x.retire, y.retire);
  }
  if (!check.passed()) std::fprintf(stderr, "mismatch: %s\n", check.first.c_str());
  if (!difference.empty()) std::fprintf(stderr, "mismatch: %s\n", difference.c_str());
  const bool ok = check.passed() && difference.empty();
  if (ok && !quiet)
    std::printf("%s = %s: %zu DRAM bytes, %lld cycles, every counter, start and retire of %zu instructions\n", name_a.c_str(),
                name_b.c_str(), a.dram.size(), static_cast<long long>(b.run.total_cycles), program.instructions.size());
  checks->push_back(std::move(check));
  return ok;
}

// --fst: the RTL once more, with a waveform of the cycles around the first difference, or those asked for.
void write_waveform(const Options& options, const Session& session, const HwConfig& hw, const TensorMap& inputs, bool differ, int64_t at) {
  constexpr int64_t kBefore = 500, kAfter = 200;
  RunOptions run_options;
  if (!options.fst_window.empty()) {
    long long first = 0, last = 0;
    if (std::sscanf(options.fst_window.c_str(), "%lld:%lld", &first, &last) != 2 || first < 0 || last < first)
      throw UserError(ErrorKind::bad_input, "--fst-window", "expected FIRST:LAST in cycles, as in 1000:1500, got '" + options.fst_window + "'");
    run_options.waveform_first = first;
    run_options.waveform_last = last;
  } else if (differ) {
    run_options.waveform_first = std::max<int64_t>(0, at - kBefore);
    run_options.waveform_last = at + kAfter;
  } else {
    return;
  }
  run_options.waveform = options.fst;
  try {
    run_on("rtl", session, hw, inputs, options.quiet, run_options);
  } catch (const RunFailure&) {
    // Reported by the first run; the waveform ends there.
  }
  std::fprintf(stderr, "waveform: %s, cycles %lld to %lld\n", options.fst.c_str(), static_cast<long long>(run_options.waveform_first),
               static_cast<long long>(run_options.waveform_last));
}

int run_and_report(const Options& options, const Program& program, const HwConfig& hw, const std::vector<std::string>& engines,
                   std::vector<HostNode> fallback, double compile_seconds) {
  const Session session(program, hw);
  std::string note;
  const TensorMap inputs = gather_inputs(options, session.input_signature(), &note);
  if (!options.quiet && !note.empty()) std::printf("%s\n", note.c_str());
  std::vector<std::pair<std::string, Inference>> results;
  Report report;
  bool ok = true;
  int64_t at = 0;  // where two runs part
  for (const std::string& engine : engines) {
    try {
      results.emplace_back(engine, run_on(engine, session, hw, inputs, options.quiet));
    } catch (const RunFailure& failure) {
      if (results.empty()) throw;
      std::fprintf(stderr, "mismatch: %s finishes, %s does not: %s\n", results[0].first.c_str(), engine.c_str(), failure.what());
      ok = false;
      at = failure.cycle;
      continue;
    }
    if (results.size() > 1)
      ok &= equal_runs(program, hw, results[0].first, results[0].second, engine, results.back().second, options.quiet, &report.checks, &at);
  }
  if (!options.fst.empty()) write_waveform(options, session, hw, inputs, !ok, at);
  write_tensors(options, results[0].second.outputs, results[0].second.device_tensors, program);
  report.model = options.model;
  report.hw = hw;
  report.fallback = std::move(fallback);
  report.compile_seconds = compile_seconds;
  for (const auto& [engine, inference] : results) {
    if (inference.run.total_cycles == 0) continue;
    report.profile = make_profile(program, hw, inference.run);
    report.simulate_seconds = inference.run.seconds;
    report.host_seconds = inference.host_seconds;
    if (!options.quiet) std::printf("\n%s", format_profile(report.profile, hw).c_str());
    write_traces(options, program, inference.run);
    break;
  }
  if (!options.quiet)
    for (const auto& [engine, inference] : results)
      if (inference.run.total_cycles > 0)
        std::printf("%s: %.3f s, %.2f M cycles/s\n", engine.c_str(), inference.run.seconds,
                    static_cast<double>(inference.run.total_cycles) / inference.run.seconds * 1e-6);
  if (!options.report.empty()) write_file(options.report, report_json(report));
  return ok ? 0 : 1;
}

}  // namespace

int command_compile(const Options& options) {
  const Compiled c = compile_model(options);
  save_program(c.program, options.output);
  if (!options.quiet)
    std::printf("%s: %zu layers, %zu instructions, %.2f MiB of DRAM for %s, compiled in %.2f s\n", options.output.c_str(),
                c.program.layers.size(), c.program.instructions.size(), static_cast<double>(c.program.dram_bytes) / (1 << 20),
                c.hw.name.c_str(), c.seconds);
  return 0;
}

int command_simulate(const Options& options) {
  const Loaded l = load_for_run(options);
  std::vector<std::string> engines = options.engines;
  if (engines.empty()) engines = {"systemc"};
  return run_and_report(options, l.program, l.hw, engines, {}, 0);
}

int command_cosim(const Options& options) {
  const std::vector<std::string> engines = {"systemc", "rtl"};
  if (is_program(options.model)) {
    const Loaded l = load_for_run(options);
    return run_and_report(options, l.program, l.hw, engines, {}, 0);
  }
  if (options.hw.empty()) throw UserError(ErrorKind::bad_input, "--hw", "is needed to compile " + options.model);
  const Compiled c = compile_model(options);
  return run_and_report(options, c.program, c.hw, engines, c.parts.host_nodes, c.seconds);
}

int command_disassemble(const Options& options) {
  const std::string text = disassemble(load_program(options.model));
  if (options.output.empty()) std::fputs(text.c_str(), stdout);
  else write_file(options.output, text);
  return 0;
}

int command_assemble(const Options& options) {
  const Program program = assemble(read_text_file(options.model), options.model);
  const HwConfig hw = parse_hwconfig(program.hw_yaml, options.model + " (.hw)");
  const std::vector<std::string> faults = verify_segments(program, hw);
  if (!faults.empty()) throw UserError(ErrorKind::bad_input, options.model, "is not a valid program for '" + hw.name + "': " + faults.front());
  save_program(program, options.output);
  return 0;
}

}  // namespace dlc
