#include "compiler/driver/calibration_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/driver/input_formats.h"
#include "compiler/driver/inputs.h"
#include "compiler/quantize/complete_qdq.h"
#include "compiler/quantize/post_training.h"
#include "isa/error.h"

namespace dlc {
namespace {

// A file's array as the examples of one graph input.
struct Source {
  const ir::Tensor* input = nullptr;
  NpyArray array;
  std::string path;
  int64_t batch = 1;  // rows of the array in one example
  int64_t examples = 1;
};

std::vector<int64_t> without_ones(const std::vector<int64_t>& shape) {
  std::vector<int64_t> s;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(s), [](int64_t d) { return d != 1; });
  return s;
}

NpyArray rows_of(const NpyArray& array, int64_t first, int64_t count) {
  NpyArray part;
  part.dtype = array.dtype;
  part.shape = array.shape;
  const size_t row = array.bytes.size() / static_cast<size_t>(array.shape[0]);
  part.shape[0] = count;
  const auto begin = array.bytes.begin() + static_cast<std::ptrdiff_t>(row * static_cast<size_t>(first));
  part.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(row * static_cast<size_t>(count)));
  return part;
}

Source make_source(const ir::Tensor& input, NpyArray array, const std::string& path) {
  Source s{&input, std::move(array), path};
  const std::vector<int64_t>& shape = s.array.shape;
  if (shape.empty() || shape[0] == 0)
    throw UserError(ErrorKind::bad_input, path, "expected an array of rows, got a scalar or no row");
  if (without_ones(shape) == without_ones(input.shape) &&
      shape[0] == (input.shape.empty() ? 1 : input.shape[0])) {
    s.batch = shape[0];
    return s;
  }
  s.batch = input.shape.empty() ? 1 : input.shape[0];
  s.examples = shape[0] / s.batch;
  if (s.examples == 0) {
    throw UserError(
        ErrorKind::bad_input, path,
        fmt::format("has {} rows; input '{}' takes batches of {}", shape[0], input.name, s.batch));
  }
  return s;
}

const ir::Tensor& find_input(const std::vector<ir::Tensor>& signature, const std::string& name,
                             const std::string& argument) {
  std::string names;
  for (const ir::Tensor& t : signature) {
    if (t.name == name) return t;
    names += (names.empty() ? "" : ", ") + t.name;
  }
  if (name.empty()) {
    throw UserError(
        ErrorKind::bad_input, argument,
        fmt::format("the network has {} inputs ({}); write --calibrate NAME=FILE", signature.size(), names));
  }
  throw UserError(ErrorKind::bad_input, argument,
                  fmt::format("the network has no input '{}'; its inputs are: {}", name, names));
}

std::vector<Source> load_sources(const std::vector<std::string>& arguments,
                                 const std::vector<ir::Tensor>& signature, const std::string& option) {
  std::vector<Source> sources;
  for (const std::string& argument : arguments) {
    const size_t eq = argument.find('=');
    const std::string name = eq == std::string::npos ? "" : argument.substr(0, eq);
    const std::string path = eq == std::string::npos ? argument : argument.substr(eq + 1);
    for (auto& [entry, array] : load_input_file(path)) {
      const std::string target = !name.empty() ? name : signature.size() == 1 ? signature[0].name : entry;
      sources.push_back(
          make_source(find_input(signature, target, option + " " + argument), std::move(array), path));
    }
  }
  for (const ir::Tensor& t : signature) {
    const auto count =
        std::count_if(sources.begin(), sources.end(), [&](const Source& s) { return s.input == &t; });
    if (count != 1)
      throw UserError(ErrorKind::bad_input, option,
                      fmt::format("input '{}' is given {} times; expected once", t.name, count));
  }
  for (const Source& s : sources) {
    if (s.examples == sources[0].examples) continue;
    throw UserError(ErrorKind::bad_input, s.path,
                    fmt::format("holds {} examples, {} holds {}; the rows of all inputs belong together",
                                s.examples, sources[0].path, sources[0].examples));
  }
  return sources;
}

CalibrationRows from_files(const Options& options, const std::vector<std::string>& arguments,
                           const std::string& option, const std::vector<ir::Tensor>& signature,
                           int64_t limit) {
  const std::vector<Source> sources = load_sources(arguments, signature, option);
  const int64_t count = std::min(sources[0].examples, limit > 0 ? limit : kDefaultCalibrationRows);
  const InputScaling scaling{options.input_scale, options.input_zero};
  CalibrationRows result;
  for (int64_t i = 0; i < count; ++i) {
    TensorMap row;
    for (const Source& s : sources) {
      row[s.input->name] =
          to_input(rows_of(s.array, i * s.batch, s.batch), *s.input, scaling, s.path, nullptr);
    }
    result.rows.push_back(std::move(row));
  }
  const bool all = count == sources[0].examples;
  result.source =
      fmt::format("{}{} row{} of {}", all ? "" : "the first ", count, count == 1 ? "" : "s", sources[0].path);
  return result;
}

}  // namespace

CalibrationRows calibration_rows(const Options& options, const std::vector<ir::Tensor>& signature,
                                 int64_t limit) {
  if (!options.calibrate.empty())
    return from_files(options, options.calibrate, "--calibrate", signature, limit);
  if (!options.dataset.empty()) return from_files(options, {options.dataset}, "--dataset", signature, limit);
  CalibrationRows result;
  if (!options.inputs.empty()) {
    result.rows.push_back(gather_inputs(options, signature, nullptr));
    result.source = "the given --input";
    return result;
  }
  // Random values say little about ranges however many there are: few where a network is likely to be large.
  int64_t elements = 0;
  for (const ir::Tensor& t : signature) elements += t.size();
  const uint64_t rows = elements > 32768 ? 4 : 16;
  result.random = true;
  result.source = fmt::format("seeded random data (--seed {})", options.seed);
  for (uint64_t i = 0; i < rows; ++i) {
    TensorMap row;
    for (const ir::Tensor& t : signature) row[t.name] = random_input(t, options.seed + i);
    result.rows.push_back(std::move(row));
  }
  return result;
}

std::vector<ir::Tensor> graph_signature(const ir::Graph& graph) {
  std::vector<ir::Tensor> signature;
  for (ir::ValueId v : graph.inputs()) {
    ir::Tensor t;
    t.name = graph.value(v).name;
    t.type = graph.value(v).type;
    t.shape = graph.value(v).shape;
    signature.push_back(std::move(t));
  }
  return signature;
}

quantize::CalibrationOptions calibration_options(const Options& options) {
  quantize::CalibrationOptions result;
  const auto method = quantize::parse_range_method(options.calibration_method);
  if (!method) {
    throw UserError(ErrorKind::bad_input, "--calibration-method " + options.calibration_method,
                    "expected minmax, percentile or mse");
  }
  result.method = *method;
  result.percentile = options.calibration_percentile;
  if (!(result.percentile > 50 && result.percentile <= 100)) {
    throw UserError(ErrorKind::bad_input, fmt::format("--calibration-percentile {}", result.percentile),
                    "expected more than 50, at most 100");
  }
  return result;
}

namespace {

constexpr const char* kMeaningless = "; outputs are meaningless on real data, give some with --calibrate DATA.npy";

// Layers with quantised operands and a float result.
std::string complete_if_partly_quantized(ir::Graph& graph, const Options& options) {
  const std::vector<std::string> layers = quantize::unfinished_layers(graph);
  if (layers.empty()) return "";
  const CalibrationRows data = calibration_rows(options, graph_signature(graph));
  quantize::complete_quantization(graph, quantize::calibrate(graph, data.rows, calibration_options(options)));
  return fmt::format("{}float results of {} quantised layer{} ('{}'{}) are rounded to int8 with ranges from {}{}",
                     data.random ? "warning: " : "", layers.size(), layers.size() == 1 ? "" : "s", layers[0],
                     layers.size() == 1 ? "" : ", ...", data.source, data.random ? kMeaningless : "");
}

}  // namespace

std::string quantize_if_float(ir::Graph& graph, const Options& options) {
  if (!quantize::needs_quantization(graph)) return complete_if_partly_quantized(graph, options);
  const quantize::PostTrainingOptions post_training{calibration_options(options)};
  const CalibrationRows data = calibration_rows(options, graph_signature(graph));
  quantize::quantize_graph(graph, data.rows, post_training);
  if (!data.random) return "float network: quantised to int8 with ranges from " + data.source;
  return "warning: float network quantised with ranges from " + data.source + kMeaningless;
}

}  // namespace dlc
