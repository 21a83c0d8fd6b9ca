// Real float networks through our own quantisation, evaluated as integers. Accuracies are of the first rows
// only: the whole data sets are for scripts/bench.
#include <filesystem>

#include "compiler/driver/npy.h"
#include "tests/unit/quantize_ptq_harness.h"

using namespace dlc;
using namespace dlc::ptq_test;

namespace {

const std::string kRoot = DLC_SOURCE_DIR;
const std::string kAssets = kRoot + "/../shared/assets";

// Row `index` as the network's input; images in NHWC are turned.
TensorMap row_of(const ir::Graph& g, const NpyArray& data, int64_t index, float scale, float zero) {
  const ir::Value& input = g.value(g.inputs()[0]);
  const NpyArray row = npy_row(data, index);
  const std::vector<float> values = npy_as_float(row);
  ir::Tensor t(ir::ElementType::float32, input.shape);
  const auto channels = static_cast<size_t>(input.shape[1]);
  const bool nhwc = row.shape.size() == 4 && row.shape[3] == input.shape[1] && row.shape[1] != input.shape[1];
  REQUIRE(values.size() == static_cast<size_t>(t.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t to = nhwc ? i % channels * (values.size() / channels) + i / channels : i;
    t.data<float>()[to] = (values[i] - zero) * scale;
  }
  return {{input.name, t}};
}

size_t arg_max(const TensorMap& outputs) {
  const ir::Tensor& t = outputs.begin()->second;
  return static_cast<size_t>(std::max_element(t.data<float>().begin(), t.data<float>().end()) -
                             t.data<float>().begin());
}

// Quantises with `calibration` rows, lowers, and returns on how many of the other `rows` both networks agree.
int agreements(const std::string& model, const NpyArray& data, float scale, float zero, int calibration,
               int rows) {
  const ir::Graph original = onnx_import::import_onnx(model);
  ir::Graph g = original.clone();
  std::vector<TensorMap> examples;
  for (int i = 0; i < calibration; ++i) examples.push_back(row_of(g, data, i, scale, zero));
  quantize::quantize_graph(g, examples);
  for (const std::string& op : host_operators(g)) {
    CHECK((op == "QuantizeLinear" || op == "DequantizeLinear" || op == "Softmax" || op == "LogSoftmax"));
  }
  const reference::Evaluator exact(original), integer(g);
  int same = 0;
  for (int i = calibration; i < calibration + rows; ++i) {
    const TensorMap row = row_of(original, data, i, scale, zero);
    same += arg_max(exact.evaluate(row)) == arg_max(integer.evaluate(row));
  }
  return same;
}

}  // namespace

TEST_CASE("the project's own float network, quantised, classifies its images as before") {
  const NpyArray images = load_npy(kRoot + "/tests/models/cifar_images.npy");
  CHECK(agreements(kRoot + "/tests/models/cifar_resnet.onnx", images, 1, 0, 8, 8) >= 7);
}

TEST_CASE("float networks of MLPerf Tiny, quantised, agree with themselves") {
  if (!std::filesystem::exists(kAssets + "/models")) {
    WARN("skipped: " << kAssets << " is not there");
    return;
  }
  const std::string models = kAssets + "/models/mlperf_tiny_onnx/";
  const NpyArray kws = load_npy(kAssets + "/data/kws/kws01_mfcc_int8_1000x49x10.npy");
  CHECK(agreements(models + "kws_dscnn_f32.onnx", kws, 0.5847029f, 83, 100, 100) >= 96);
  const NpyArray cifar = load_npy(kAssets + "/data/cifar10/test1000_u8_nhwc.npy");
  CHECK(agreements(models + "ic_resnet8_f32.onnx", cifar, 1, 0, 32, 50) >= 48);
}
