// Transformers of ../shared/assets on the reference backend alone, against ONNX Runtime's outputs.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "compiler/backends/reference/reference.h"
#include "compiler/driver/calibration_data.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/inputs.h"
#include "compiler/onnx/import_onnx.h"

using namespace dlc;
namespace fs = std::filesystem;

namespace {

const std::string kModels = std::string(DLC_SOURCE_DIR) + "/../shared/assets/models/";

std::string pair_file(const std::string& model, const std::string& kind, int i) {
  return kModels + model.substr(0, model.size() - 5) + ".ref/" + kind + std::to_string(i) + ".npy";
}

void matches_onnx_runtime(const std::string& model) {
  if (!fs::exists(kModels + model)) {
    WARN("skipped: " << model << " is absent");
    return;
  }
  INFO(model);
  Options options;
  options.model = kModels + model;
  for (int i = 0; fs::exists(pair_file(model, "in", i)); ++i) options.inputs.push_back(pair_file(model, "in", i));
  const std::string archive = fs::path(options.model).parent_path() / "inputs.npz";
  if (options.inputs.empty()) options.inputs.push_back(archive);
  const ir::Graph graph = onnx_import::import_onnx(options.model, import_options(options));
  const TensorMap outputs = reference::evaluate(graph, gather_inputs(options, graph_signature(graph), nullptr));
  for (size_t i = 0; i < graph.outputs().size() &&
                     fs::exists(pair_file(model, "out", static_cast<int>(i))); ++i) {
    const ir::Tensor& got = outputs.at(graph.value(graph.outputs()[i]).name);
    const std::vector<float> want = npy_as_float(load_npy(pair_file(model, "out", static_cast<int>(i))));
    REQUIRE(want.size() == got.data<float>().size());
    float scale = 0;
    for (float v : want) scale = std::max(scale, std::abs(v));
    for (size_t k = 0; k < want.size(); ++k)
      REQUIRE(std::abs(got.data<float>()[k] - want[k]) <= 1e-3f * std::abs(want[k]) + 1e-4f * scale);
  }
}

}  // namespace

TEST_CASE("transformers run on the reference backend and match ONNX Runtime") {
  matches_onnx_runtime("tiny_gpt2/model.onnx");  // com.microsoft's fused operators, symbolic dimensions, an empty past
  matches_onnx_runtime("ort_bert_toy/model.onnx");
  matches_onnx_runtime("deeploy_CCT_FP32_CCT_1_16_16_64/network.onnx");
  matches_onnx_runtime("deeploy_TinyViT_Demo/network.onnx");
}
