#include "compiler/driver/host_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "compiler/driver/calibration_data.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/file_io.h"
#include "compiler/driver/inputs.h"
#include "compiler/driver/outputs.h"
#include "compiler/passes/passes.h"
#include "isa/error.h"

namespace dlc {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Elements of `a` that are not close to those of `b`; the largest difference goes to *largest.
int64_t float_mismatches(const ir::Tensor& a, const ir::Tensor& b, double* largest, size_t* first) {
  const auto x = a.data<float>(), y = b.data<float>();
  double scale = 0;
  for (float v : y)
    if (std::isfinite(v)) scale = std::max(scale, std::abs(static_cast<double>(v)));
  int64_t count = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double d = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    if (std::isfinite(d)) *largest = std::max(*largest, d);
    if (d <= 1e-3 * std::abs(static_cast<double>(y[i])) + 1e-4 * scale) continue;
    if (count++ == 0) *first = i;
  }
  return count;
}

void write_outputs(const Options& o, const TensorMap& outputs) { write_tensors(o, outputs, {}, Program{}); }

void refuse_machine_options(const Options& o) {
  const std::pair<bool, const char*> given[] = {{!o.dataset.empty(), "--dataset"}, {!o.trace.empty(), "--trace"},
                                                {!o.trace_text.empty(), "--trace-text"}, {!o.tensors_dir.empty(), "--dump-tensors"},
                                                {o.compare_graph || !o.compare_folder.empty(), "--compare-tensors"}, {o.no_fallback, "--no-fallback"}};
  for (const auto& [is, name] : given)
    if (is) throw UserError(ErrorKind::bad_input, name, "needs a hardware description: add --hw HW.yaml");
}

}  // namespace

bool is_host_engine(const std::string& engine) { return engine == "cpu" || engine == "reference"; }

bool only_host_engines(const std::vector<std::string>& engines) {
  return !engines.empty() && std::all_of(engines.begin(), engines.end(), is_host_engine);
}

cpu::CpuOptions cpu_options(const Options& options) {
  cpu::CpuOptions o;
  o.jobs = options.jobs;
  return o;
}

CpuReport cpu_report(const ir::Graph& graph, const cpu::Executable& e, const Options& options) {
  CpuReport r;
  const cpu::JitStatistics& s = e.jit_statistics();
  r.kernels = static_cast<int64_t>(s.kernels);
  r.from_cache = static_cast<int64_t>(s.from_cache);
  r.jit_seconds = s.compile_seconds + s.link_seconds;
  r.arena_bytes = e.arena_bytes();
  r.threads = options.jobs;
  for (ir::NodeId n : e.fallback_nodes()) r.fallback.push_back({graph.node(n).name, graph.node(n).op, "the CPU backend has no loop nest for it; runs on the reference backend"});
  return r;
}

std::string cpu_text(const CpuReport& r, bool verbose) {
  std::string text = fmt::format("cpu: {} kernels ({} from the cache) in {:.3f} s, {:.2f} MiB of tensors, {} thread{}, {} operator{} on the reference backend\n",
                                 r.kernels, r.from_cache, r.jit_seconds, static_cast<double>(r.arena_bytes) / (1 << 20), r.threads, r.threads == 1 ? "" : "s",
                                 r.fallback.size(), r.fallback.size() == 1 ? "" : "s");
  if (verbose)
    for (const HostNode& h : r.fallback) text += fmt::format("  reference: {} ({}): {}\n", h.node, h.op, h.reason);
  return text;
}

Check compare_values(const std::string& engine, const TensorMap& tensors, const std::string& against, const TensorMap& expected) {
  Check check{engine, against, 0, 0, 0, 0, ""};
  for (const auto& [name, t] : tensors) {
    const ir::Tensor& e = expected.at(name);
    check.elements += t.size();
    if (t.type != ir::ElementType::float32) {
      const Check exact = compare_tensors(Program{}, engine, {{name, t}}, against, expected);
      check.mismatches += exact.mismatches;
      check.max_abs_error = std::max(check.max_abs_error, exact.max_abs_error);
      if (check.first.empty()) check.first = exact.first;
      continue;
    }
    size_t first = 0;
    const int64_t wrong = float_mismatches(t, e, &check.max_float_error, &first);
    check.mismatches += wrong;
    if (wrong > 0 && check.first.empty())
      check.first = fmt::format("tensor '{}' element {}: {} in {}, {} in {}", name, first, t.data<float>()[first], engine, e.data<float>()[first], against);
  }
  return check;
}

int run_on_host(const Options& o) {
  refuse_machine_options(o);
  Prepared p = prepare_model(o, false);
  passes::fold_all_constants(p.graph);
  std::string note;
  const TensorMap inputs = gather_inputs(o, graph_signature(p.graph), &note);
  if (!note.empty() && !o.quiet) std::printf("%s\n", note.c_str());
  Report report;
  report.model = o.model;
  report.compile_seconds = p.seconds;
  std::map<std::string, TensorMap> results;
  for (const std::string& engine : o.engines) {
    if (results.count(engine)) continue;
    const auto timed = [&](const auto& evaluate) {
      double best = 0;
      for (int i = 0; i < o.repeat; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        results[engine] = evaluate(inputs);
        const double seconds = seconds_since(begin);
        if (i == 0 || seconds < best) best = seconds;
      }
      report.run_seconds[engine] = best;
      if (!o.quiet) std::printf("%s: %.3f ms%s\n", engine.c_str(), best * 1e3, o.repeat > 1 ? fmt::format(", best of {}", o.repeat).c_str() : "");
    };
    if (engine == "reference") {
      const reference::Evaluator evaluator(p.graph);
      timed([&](const TensorMap& x) { return evaluator.evaluate(x); });
      continue;
    }
    const cpu::Executable executable(p.graph, cpu_options(o));
    report.cpu = cpu_report(p.graph, executable, o);
    if (!o.quiet) std::fputs(cpu_text(*report.cpu, o.verbose > 0).c_str(), stdout);
    timed([&](const TensorMap& x) { return executable.evaluate(x); });
    if (o.verbose > 0) {
      std::vector<cpu::StepTime> times;
      executable.evaluate_timed(inputs, &times);
      for (const cpu::StepTime& t : times) std::printf("%10.1f us  %-22s %s%s\n", t.seconds * 1e6, t.op.c_str(), t.name.c_str(), t.fallback ? " (reference)" : "");
    }
  }
  int status = 0;
  if (results.size() == 2) {
    Check check = compare_values("cpu", results.at("cpu"), "reference", results.at("reference"));
    if (!o.quiet)
      std::printf("cpu = reference: %zu outputs, %lld elements, %lld mismatches, largest float difference %.3g\n", results.at("cpu").size(),
                  static_cast<long long>(check.elements), static_cast<long long>(check.mismatches), check.max_float_error);
    if (!check.passed()) std::fprintf(stderr, "mismatch: %s\n", check.first.c_str());
    status = check.passed() ? 0 : 1;
    report.checks.push_back(std::move(check));
  }
  write_outputs(o, results.count("cpu") ? results.at("cpu") : results.at("reference"));
  if (!o.report.empty()) write_file(o.report, host_report_json(report));
  return status;
}

}  // namespace dlc
