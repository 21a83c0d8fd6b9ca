// dlc quantize: a float ONNX network into the same network with QuantizeLinear/DequantizeLinear.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compiler/driver/calibration_data.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/compile.h"
#include "compiler/onnx/export_onnx.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/quantize/post_training.h"
#include "isa/error.h"

namespace dlc {
namespace {

// Signal over quantisation noise of every float output, on the first rows of the calibration data.
std::string output_quality(const ir::Graph& original, const ir::Graph& quantized,
                           const std::vector<TensorMap>& rows) {
  constexpr size_t kRows = 16;
  const reference::Evaluator before(original), after(quantized);
  std::map<std::string, std::pair<double, double>> sums;  // output -> signal, noise
  for (size_t i = 0; i < std::min(kRows, rows.size()); ++i) {
    const TensorMap expected = before.evaluate(rows[i]), got = after.evaluate(rows[i]);
    for (const auto& [name, t] : expected) {
      if (t.type != ir::ElementType::float32) continue;
      auto& [signal, noise] = sums[name];
      for (size_t k = 0; k < t.data<float>().size(); ++k) {
        const double x = t.data<float>()[k], error = x - got.at(name).data<float>()[k];
        signal += x * x;
        noise += error * error;
      }
    }
  }
  std::string text;
  for (const auto& [name, sum] : sums) {
    const auto& [signal, noise] = sum;
    text += noise == 0 ? fmt::format("output '{}': exact\n", name)
                       : fmt::format("output '{}': SQNR {:.1f} dB against the float network\n", name,
                                     10 * std::log10(signal / noise));
  }
  return text;
}

void require_float(const ir::Graph& graph) {
  if (quantize::needs_quantization(graph)) return;
  for (ir::NodeId n : graph.nodes()) {
    if (graph.node(n).op.find("Quantize") == std::string::npos &&
        graph.node(n).op.find("QLinear") == std::string::npos)
      continue;
    throw UserError(ErrorKind::bad_input, graph.node(n).where(),
                    "the network is quantised already; give dlc quantize a float network");
  }
  throw UserError(ErrorKind::unsupported, graph.file, "no convolution or fully connected layer to quantise");
}

}  // namespace

int command_quantize(const Options& options) {
  onnx_import::ImportOptions import;
  import.dims = parse_dims(options.dims);
  const ir::Graph original = onnx_import::import_onnx(options.model, import);
  refuse_other_floats(original);
  require_float(original);
  const quantize::PostTrainingOptions post_training{calibration_options(options)};
  const CalibrationRows data = calibration_rows(options, graph_signature(original), options.limit);
  ir::Graph graph = original.clone();
  quantize::quantize_graph(graph, data.rows, post_training);
  onnx_export::export_onnx(graph, options.output);
  if (options.quiet) return 0;
  std::printf("%s -> %s: int8, %s ranges from %s\n%s", options.model.c_str(), options.output.c_str(),
              options.calibration_method.c_str(), data.source.c_str(),
              output_quality(original, graph, data.rows).c_str());
  return 0;
}

}  // namespace dlc
