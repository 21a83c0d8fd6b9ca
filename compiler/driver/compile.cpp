#include "compiler/driver/compile.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <sstream>

#include "compiler/accel/compile.h"
#include "compiler/accel/pack_pixels.h"
#include "compiler/accel/user_schedule.h"
#include "compiler/driver/calibration_data.h"
#include "compiler/driver/file_io.h"
#include "compiler/driver/inputs.h"
#include "compiler/onnx/import_onnx.h"
#include "isa/error.h"
#include "isa/program_file.h"

namespace dlc {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

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

onnx_import::ImportOptions import_options(const Options& options) {
  onnx_import::ImportOptions import;
  import.dims = parse_dims(options.dims);
  if (!options.inputs.empty())
    import.given = [&options](const std::vector<std::string>& names) { return given_shapes(options.inputs, names); };
  return import;
}

void refuse_other_floats(const ir::Graph& graph) {
  using ir::ElementType;
  for (ir::ValueId v : graph.values()) {
    const ir::Value& value = graph.value(v);
    const std::string_view name = ir::element_name(value.type);
    const bool narrow = name.starts_with("float") || name.starts_with("bfloat") || name.starts_with("int4") || name.starts_with("uint4") ||
                        name.starts_with("int2") || name.starts_with("uint2");
    if (!narrow || value.type == ElementType::float32) continue;
    throw UserError(ErrorKind::unsupported, graph.file,
                    fmt::format("tensor '{}' is {}; dlc compiles networks of float32 and integers of 8 to 64 bits: convert the model to float32", value.name, name));
  }
}

Prepared prepare_model(const Options& options, bool quantise) {
  const auto begin = Clock::now();
  Prepared p;
  p.graph = onnx_import::import_onnx(options.model, import_options(options));               // ONNX -> Graph IR
  refuse_other_floats(p.graph);
  if (options.compare_graph) p.original = p.graph.clone();
  if (quantise) p.quantised = quantize_if_float(p.graph, options);                    // float -> Q/DQ
  p.pipeline = passes::run_pipeline(p.graph, pipeline_options(options));   // Q/DQ -> integer operators, fusion
  p.seconds = seconds_since(begin);
  return p;
}

Prepared Prepared::clone() const { return {original.clone(), graph.clone(), pipeline, quantised, seconds}; }

Compiled compile_for(const HwConfig& hw, Prepared prepared, const Options& options) {
  const auto begin = Clock::now();
  Compiled c;
  c.hw = hw;
  c.original = std::move(prepared.original);
  c.graph = std::move(prepared.graph);
  c.pipeline = std::move(prepared.pipeline);
  c.quantised = std::move(prepared.quantised);
  if (!options.no_packing) c.packed = accel::pack_pixels(c.graph, hw);     // first layers with few channels
  HostReasons reasons;
  for (const auto& note : c.pipeline.notes) reasons.emplace(note.node, note.text);
  c.parts = partition(c.graph, hw, options.no_fallback, reasons);          // accelerator | host segments
  accel::AccelOptions accel = accel_options(options);
  std::optional<accel::UserSchedule> schedule;
  if (!options.schedule.empty()) accel.schedule = &schedule.emplace(accel::load_schedule(options.schedule));
  std::vector<Program> regions;
  std::vector<accel::ChosenSchedule> chosen;
  for (const Partition::Part& part : c.parts.parts)
    if (part.kind == Segment::Kind::accelerator)                           // tiles, schedule, allocation, encoding; verified
      regions.push_back(accel::compile_accelerator(c.graph, part.nodes, hw, accel, &chosen.emplace_back()));
  if (schedule) accel::check_names(*schedule, chosen);
  if (!options.emit_schedule.empty()) write_file(options.emit_schedule, accel::schedule_text(chosen));
  c.program = assemble_program(c.graph, c.parts, std::move(regions));      // one program, DRAM map
  c.program.model = options.model.substr(options.model.find_last_of('/') + 1);
  c.program.hw_name = hw.name;
  c.program.hw_yaml = canonical_yaml(hw);
  c.program.hw_hash = hwconfig_hash(hw);
  c.program.dram_bytes = c.program.program_address + encode_program(c.program).size();
  if (c.program.dram_bytes > hw.memory_bytes)
    throw UserError(ErrorKind::unsupported, options.model, fmt::format("needs {} bytes of DRAM; '{}' has memory.size: {} bytes", c.program.dram_bytes, hw.name, hw.memory_bytes));
  c.seconds = prepared.seconds + seconds_since(begin);
  return c;
}

Compiled compile_model(const Options& options) {
  const HwConfig hw = load_hwconfig(options.hw);                           // YAML -> machine
  Compiled c = compile_for(hw, prepare_model(options), options);
  const bool warning = c.quantised.starts_with("warning");  // is said even with --quiet
  if (!c.quantised.empty() && (warning || !options.quiet)) std::fprintf(stderr, "%s\n", c.quantised.c_str());
  if (options.verbose > 0) {
    for (const auto& t : c.pipeline.times)
      std::fprintf(stderr, "pass %-28s %8.3f ms  %4zu -> %zu nodes\n", t.name.c_str(), t.seconds * 1e3, t.nodes_before, t.nodes_after);
    for (const std::string& line : c.packed) std::fprintf(stderr, "packed %s\n", line.c_str());
    for (const auto& n : c.pipeline.notes) std::fprintf(stderr, "note %s: '%s': %s\n", n.pass.c_str(), n.node.c_str(), n.text.c_str());
  }
  return c;
}

}  // namespace dlc
