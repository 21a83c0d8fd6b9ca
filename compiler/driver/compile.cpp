#include "compiler/driver/compile.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <sstream>

#include "compiler/accel/compile.h"
#include "compiler/driver/calibration_data.h"
#include "compiler/onnx/import_onnx.h"
#include "isa/error.h"
#include "isa/program_file.h"

namespace dlc {
namespace {

passes::PipelineOptions pipeline_options(const Options& options) {
  passes::PipelineOptions p;
  if (!options.passes.empty()) {
    p.passes.clear();
    std::stringstream list(options.passes);
    for (std::string name; std::getline(list, name, ',');) p.passes.push_back(name);
  }
  p.skip = options.skip_passes;
  p.bisect_limit = options.passes_bisect_limit;
  p.dump_directory = options.dump_ir;
  return p;
}

accel::AccelOptions accel_options(const Options& options) {
  accel::AccelOptions a;
  a.keep_resident = !options.no_residency && options.tensors_dir.empty();
  return a;
}

}  // namespace

std::map<std::string, int64_t> parse_dims(const std::vector<std::string>& dims) {
  std::map<std::string, int64_t> result;
  for (const std::string& d : dims) {
    const size_t eq = d.rfind('=');
    int64_t value = 0;
    const char* end = nullptr;
    if (eq != std::string::npos) {
      char* stop = nullptr;
      value = std::strtoll(d.c_str() + eq + 1, &stop, 10);
      end = stop;
    }
    if (eq == std::string::npos || eq == 0 || eq + 1 == d.size() || *end != '\0' || value < 1)
      throw UserError(ErrorKind::bad_input, "--dim " + d, "expected NAME=VALUE with a value of at least 1, e.g. --dim batch=1");
    result[d.substr(0, eq)] = value;
  }
  return result;
}

Compiled compile_model(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  Compiled c;
  c.hw = load_hwconfig(options.hw);                                                     // YAML -> machine
  onnx_import::ImportOptions import;
  import.dims = parse_dims(options.dims);
  c.graph = onnx_import::import_onnx(options.model, import);                            // ONNX -> Graph IR
  if (options.compare_graph) c.original = c.graph.clone();
  const std::string quantised = quantize_if_float(c.graph, options);                    // float -> Q/DQ
  c.pipeline = passes::run_pipeline(c.graph, pipeline_options(options));                // Q/DQ -> integer operators, fusion
  c.parts = partition(c.graph, c.hw, options.no_fallback);                              // accelerator | host segments
  std::vector<Program> regions;
  for (const Partition::Part& part : c.parts.parts)
    if (part.kind == Segment::Kind::accelerator)
      regions.push_back(accel::compile_accelerator(c.graph, part.nodes, c.hw, accel_options(options)));  // tiles, schedule, allocation, encoding; verified
  c.program = assemble_program(c.graph, c.parts, std::move(regions));                   // one program, DRAM map
  c.program.model = options.model.substr(options.model.find_last_of('/') + 1);
  c.program.hw_name = c.hw.name;
  c.program.hw_yaml = canonical_yaml(c.hw);
  c.program.hw_hash = hwconfig_hash(c.hw);
  c.program.dram_bytes = c.program.program_address + encode_program(c.program).size();
  if (c.program.dram_bytes > c.hw.memory_bytes)
    throw UserError(ErrorKind::unsupported, options.model, fmt::format("needs {} bytes of DRAM; '{}' has memory.size: {} bytes", c.program.dram_bytes, c.hw.name, c.hw.memory_bytes));
  c.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool warning = quantised.starts_with("warning");  // is said even with --quiet
  if (!quantised.empty() && (warning || !options.quiet)) std::fprintf(stderr, "%s\n", quantised.c_str());
  if (options.verbose > 0) {
    for (const auto& t : c.pipeline.times)
      std::fprintf(stderr, "pass %-28s %8.3f ms  %4zu -> %zu nodes\n", t.name.c_str(), t.seconds * 1e3, t.nodes_before, t.nodes_after);
    for (const auto& n : c.pipeline.notes) std::fprintf(stderr, "note %s: '%s': %s\n", n.pass.c_str(), n.node.c_str(), n.text.c_str());
  }
  return c;
}

}  // namespace dlc
