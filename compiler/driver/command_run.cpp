// dlc run: compile, run on the chosen engines, compare with the reference, profile; or a whole data set.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "compiler/driver/commands.h"
#include "compiler/driver/compare.h"
#include "compiler/driver/compare_graph.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/file_io.h"
#include "compiler/driver/host_run.h"
#include "compiler/driver/inputs.h"
#include "compiler/driver/outputs.h"
#include "compiler/driver/progress.h"
#include "compiler/driver/report.h"
#include "isa/error.h"

namespace dlc {
namespace {

struct Context {
  const Options& options;
  Compiled compiled;
  Session session;
  reference::Evaluator reference;
  Report report;
  std::unique_ptr<cpu::Executable> cpu;  // made when --engine cpu asks for it

  explicit Context(const Options& o)
      : options(o), compiled(compile_model(o)), session(compiled.program, compiled.hw), reference(compiled.graph) {
    report.model = o.model;
    report.hw = compiled.hw;
    report.fallback = compiled.parts.host_nodes;
    report.host_macs = compiled.parts.host_macs;
    report.compile_seconds = compiled.seconds;
  }
};

void say(const Options& options, const std::string& text) {
  if (!options.quiet) std::fputs(text.c_str(), stdout);
}

std::vector<std::string> chosen_engines(const Options& options) {
  std::vector<std::string> engines = options.engines;
  if (engines.empty()) engines = {"systemc"};
  return engines;
}

void print_header(const Context& c) {
  const Program& p = c.compiled.program;
  std::string host;
  for (const HostNode& h : c.compiled.parts.host_nodes) host += fmt::format("  host: {} ({}): {}\n", h.node, h.op, h.reason);
  say(c.options, fmt::format("{} on {} ({}): {} layers, {} instructions, {:.2f} MiB of DRAM, compiled in {:.2f} s\n{}", c.options.model,
                             c.compiled.hw.name, c.options.hw, p.layers.size(), p.instructions.size(),
                             static_cast<double>(p.dram_bytes) / (1 << 20), c.compiled.seconds, host));
}

// Every engine's tensors against the reference, and its times against those of the engine before it.
bool compare_all(Context& c, const std::vector<std::pair<std::string, Inference>>& results, const TensorMap& expected) {
  bool ok = true;
  for (size_t i = 0; i < results.size(); ++i) {
    TensorMap tensors = results[i].second.device_tensors;
    for (const auto& [name, t] : results[i].second.outputs) tensors[name] = t;
    Check check = compare_tensors(c.compiled.program, results[i].first, tensors, "reference", expected);
    say(c.options, fmt::format("{} = reference: {} tensors, {} elements, {} mismatches\n", check.engine, tensors.size(), check.elements, check.mismatches));
    if (!check.passed()) std::fprintf(stderr, "mismatch: %s\n", check.first.c_str());
    ok &= check.passed();
    c.report.checks.push_back(std::move(check));
    for (size_t j = 0; j < i; ++j) {
      const auto& [name_a, a] = results[j];
      const auto& [name_b, b] = results[i];
      if (a.run.times.empty() || b.run.times.empty() || a.run.total_cycles == 0 || b.run.total_cycles == 0) continue;
      const std::string difference = compare_times(c.compiled.program, name_a, a.run, name_b, b.run);
      if (!difference.empty()) std::fprintf(stderr, "mismatch: %s\n", difference.c_str());
      else say(c.options, fmt::format("{} = {}: {} cycles, every counter, start and retire of {} instructions\n", name_a, name_b,
                                      a.run.total_cycles, a.run.times.size()));
      ok &= difference.empty();
    }
  }
  return ok;
}

// The lowered graph on the CPU backend: an independent witness of the values.
bool run_cpu(Context& c, const TensorMap& inputs, const TensorMap& expected) {
  if (!c.cpu) {
    c.cpu = std::make_unique<cpu::Executable>(c.compiled.graph, cpu_options(c.options));
    c.report.cpu = cpu_report(c.compiled.graph, *c.cpu, c.options);
    say(c.options, cpu_text(*c.report.cpu, c.options.verbose > 0));
  }
  const auto begin = std::chrono::steady_clock::now();
  const TensorMap outputs = c.cpu->evaluate(inputs);
  c.report.run_seconds["cpu"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Check check = compare_values("cpu", outputs, "reference", expected);
  say(c.options, fmt::format("cpu = reference: {} tensors, {} elements, {} mismatches\n", outputs.size(), check.elements, check.mismatches));
  if (!check.passed()) std::fprintf(stderr, "mismatch: %s\n", check.first.c_str());
  const bool passed = check.passed();
  c.report.checks.push_back(std::move(check));
  return passed;
}

// One inference on every engine. The timed run (systemc or rtl, the first given) makes the profile.
bool run_once(Context& c, const TensorMap& inputs, TensorMap* outputs) {
  TensorMap expected = c.reference.evaluate(inputs, true);
  for (const auto& [name, t] : inputs) expected.emplace(name, t);
  std::vector<std::pair<std::string, Inference>> results;
  const RunResult* timed = nullptr;
  bool ok = true;
  for (const std::string& engine : chosen_engines(c.options)) {
    if (engine == "reference") continue;
    if (engine == "cpu") {
      ok &= run_cpu(c, inputs, expected);
      continue;
    }
    auto device = make_device(engine, c.compiled.hw);
    Progress progress("simulating on " + engine, !c.options.quiet);
    RunOptions run_options;
    run_options.progress = [&](double f) { progress.update(f); };
    results.emplace_back(engine, c.session.infer(*device, inputs, run_options));
  }
  ok &= compare_all(c, results, expected);
  *outputs = TensorMap{};
  for (const std::string& name : c.compiled.program.outputs) (*outputs)[name] = expected.at(name);
  for (const auto& [engine, inference] : results) {
    *outputs = inference.outputs;
    if (!timed && inference.run.total_cycles > 0) timed = &inference.run;
  }
  if (c.options.compare_graph) {
    const TensorMap oracle = reference::Evaluator(c.compiled.original).evaluate(inputs, true);
    std::printf("against the graph as imported\n%s", format_deviations(compare_with_graph(c.compiled.graph, expected, oracle, c.compiled.original)).c_str());
  } else if (!c.options.compare_folder.empty()) {
    std::printf("against %s\n%s", c.options.compare_folder.c_str(), format_deviations(compare_with_folder(c.compiled.graph, expected, c.options.compare_folder)).c_str());
  }
  const TensorMap& tensors = results.empty() ? expected : results.front().second.device_tensors;
  write_tensors(c.options, *outputs, tensors, c.compiled.program);
  if (!c.compiled.parts.has_accelerator())
    say(c.options, "no operator of this network runs on the accelerator: nothing to profile\n");
  if (timed) {
    c.report.profile = make_profile(c.compiled.program, c.compiled.hw, *timed);
    c.report.simulate_seconds = timed->seconds;
    c.report.host_seconds = results.front().second.host_seconds;
    say(c.options, "\n" + format_profile(c.report.profile, c.compiled.hw));
    if (c.compiled.parts.host_macs > 0)
      say(c.options, fmt::format("{:.2f} % of the MACs are on the accelerator\n", 100.0 * static_cast<double>(c.report.profile.macs) /
                                 static_cast<double>(c.report.profile.macs + c.compiled.parts.host_macs)));
    say(c.options, fmt::format("simulated in {:.3f} s ({:.1f} M cycles/s); host segments {:.4f} s\n", timed->seconds,
                               static_cast<double>(timed->total_cycles) / timed->seconds * 1e-6, c.report.host_seconds));
    write_traces(c.options, c.compiled.program, *timed);
  }
  return ok;
}

int64_t arg_max(const ir::Tensor& t) {
  const NpyArray a = to_npy(t);
  const std::vector<float> v = npy_as_float(a);
  return std::max_element(v.begin(), v.end()) - v.begin();
}

int run_dataset(Context& c) {
  const Options& o = c.options;
  const std::vector<ir::Tensor> signature = c.session.input_signature();
  if (signature.size() != 1 || c.compiled.program.outputs.size() != 1)
    throw UserError(ErrorKind::unsupported, o.model, "--dataset needs a network with one input and one output");
  const NpyArray data = load_npy(o.dataset);
  if (data.shape.empty() || data.shape[0] < 1) throw UserError(ErrorKind::bad_input, o.dataset, "expected an array of rows, got a scalar or no row");
  std::vector<int64_t> labels;
  if (!o.labels.empty()) {
    const NpyArray array = load_npy(o.labels);
    if (array.dtype[0] == 'f') throw UserError(ErrorKind::bad_input, o.labels, "holds floating-point values; expected integer class labels");
    labels = npy_as_int64(array);
    if (static_cast<int64_t>(labels.size()) != data.shape[0])
      throw UserError(ErrorKind::bad_input, o.labels, fmt::format("has {} labels; {} has {} rows", labels.size(), o.dataset, data.shape[0]));
  }
  const int64_t rows = o.limit > 0 ? std::min(o.limit, data.shape[0]) : data.shape[0];
  std::string note;
  const InputScaling scaling{o.input_scale, o.input_zero};
  auto input = [&](int64_t row) {
    return TensorMap{{signature[0].name, to_input(npy_row(data, row), signature[0], scaling, o.dataset, &note)}};
  };
  TensorMap outputs;
  bool ok = true;
  Progress progress("data set", !o.quiet);
  const std::string engine = chosen_engines(o).front();
  auto device = is_host_engine(engine) ? nullptr : make_device(engine, c.compiled.hw);
  int64_t correct = 0, differing = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (row == 0) {
      ok = run_once(c, input(0), &outputs);
      if (!note.empty()) say(o, note + "\n");
    } else {
      const TensorMap inputs = input(row);
      TensorMap expected = c.reference.evaluate(inputs, false);
      outputs = device ? c.session.infer(*device, inputs, {}).outputs : c.cpu ? c.cpu->evaluate(inputs) : expected;
      if (c.cpu && !device) differing += compare_values(engine, outputs, "reference", expected).passed() ? 0 : 1;
      else for (const auto& [name, t] : outputs) differing += t.bytes != expected.at(name).bytes;
    }
    if (!labels.empty()) correct += arg_max(outputs.begin()->second) == labels[static_cast<size_t>(row)];
    progress.update(static_cast<double>(row + 1) / static_cast<double>(rows), fmt::format("{}/{}", row + 1, rows));
  }
  c.report.dataset_rows = rows;
  c.report.dataset_correct = correct;
  c.report.has_labels = !labels.empty();
  std::printf("data set: %lld rows on %s, %lld outputs differ from the reference\n", static_cast<long long>(rows), engine.c_str(), static_cast<long long>(differing));
  if (!labels.empty())
    std::printf("accuracy: %.2f %% top-1 (%lld of %lld)\n", 100.0 * static_cast<double>(correct) / static_cast<double>(rows),
                static_cast<long long>(correct), static_cast<long long>(rows));
  return ok && differing == 0 ? 0 : 1;
}

}  // namespace

int command_run(const Options& options) {
  if (!options.labels.empty() && options.dataset.empty()) throw UserError(ErrorKind::bad_input, "--labels", "needs --dataset");
  if (!options.dataset.empty() && !options.inputs.empty()) throw UserError(ErrorKind::bad_input, "--dataset", "cannot be used together with --input");
  if (options.hw.empty()) {
    if (only_host_engines(options.engines)) return run_on_host(options);
    throw UserError(ErrorKind::bad_input, "", "--hw is required (only --engine cpu and --engine reference run without it); see dlc --help");
  }
  Context c(options);
  print_header(c);
  int status = 0;
  if (!options.dataset.empty()) {
    status = run_dataset(c);
  } else {
    std::string note;
    const TensorMap inputs = gather_inputs(options, c.session.input_signature(), &note);
    if (!note.empty()) say(options, note + "\n");
    TensorMap outputs;
    status = run_once(c, inputs, &outputs) ? 0 : 1;
  }
  if (!options.report.empty()) write_file(options.report, report_json(c.report));
  return status;
}

}  // namespace dlc
