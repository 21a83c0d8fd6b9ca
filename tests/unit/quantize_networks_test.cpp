// Real networks: import, lower, evaluate; against pairs computed with ONNX Runtime and against the float
// graph. Skipped, with a message, where ../shared/assets is absent.
#include <catch2/catch.hpp>
#include <filesystem>

#include "compiler/backends/reference/reference.h"
#include "compiler/driver/npy.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"

using namespace dlc;

namespace {

const std::filesystem::path kAssets =
    std::filesystem::path(DLC_SOURCE_DIR) / ".." / "shared" / "assets" / "models";

ir::Tensor tensor(const NpyArray& array, const ir::Value& value) {
  ir::Tensor t(value.type, value.shape);
  REQUIRE(t.bytes.size() == array.bytes.size());
  t.bytes = array.bytes;
  return t;
}

struct Deviation {
  size_t elements = 0, different = 0;
  int largest = 0;
};

// All 8-bit tensors of the integer graph against the float graph's.
Deviation compare(const ir::Graph& original, const ir::Graph& integer, const reference::TensorMap& inputs) {
  Deviation d;
  const auto want = reference::evaluate(original, inputs, true);
  for (const auto& [name, t] : reference::evaluate(integer, inputs, true)) {
    if (!ir::is_8bit(t.type) || !want.contains(name)) continue;
    for (size_t i = 0; i < t.bytes.size(); ++i) {
      const uint8_t raw = want.at(name).bytes[i];
      const int e = t.type == ir::ElementType::int8
                        ? static_cast<int8_t>(t.bytes[i]) - static_cast<int8_t>(raw)
                        : t.bytes[i] - raw;
      d.different += e != 0;
      d.largest = std::max(d.largest, std::abs(e));
      ++d.elements;
    }
  }
  return d;
}

}  // namespace

TEST_CASE("Quantised networks give ONNX Runtime's output, in integers") {
  const std::string name =
      GENERATE("mlperf_tiny_onnx/ic_resnet8_int8_qdq", "mlperf_tiny_onnx/kws_dscnn_int8_qdq",
               "mlperf_tiny_onnx/ad_autoencoder_int8_qdq", "mlperf_tiny_onnx/vww_mobilenetv1_int8_qdq",
               "ort_qdq/conv_qdq_u8u8", "ort_qdq/qdq_with_multi_consumer_dq_nodes");
  if (!std::filesystem::exists(kAssets / (name + ".onnx"))) {
    WARN("skipped: no " << (kAssets / (name + ".onnx")).string());
    return;
  }
  INFO(name);
  const ir::Graph original = onnx_import::import_onnx((kAssets / (name + ".onnx")).string());
  ir::Graph integer = original.clone();
  passes::run_pipeline(integer);
  const ir::Value& x = original.value(original.inputs()[0]);
  const reference::TensorMap inputs{
      {x.name, tensor(load_npy((kAssets / (name + ".ref") / "in0.npy").string()), x)}};
  const auto outputs = reference::evaluate(integer, inputs);
  const std::string y = original.value(original.outputs()[0]).name;
  CHECK(outputs.at(y).bytes == load_npy((kAssets / (name + ".ref") / "out0.npy").string()).bytes);
  const Deviation d = compare(original, integer, inputs);
  CHECK(static_cast<double>(d.different) <= 0.005 * static_cast<double>(d.elements));
}

TEST_CASE("The project's own network lowers to integers but for its ends") {
  const std::string path = std::string(DLC_SOURCE_DIR) + "/tests/models/cifar_resnet_int8.onnx";
  const ir::Graph original = onnx_import::import_onnx(path);
  ir::Graph integer = original.clone();
  const auto result = passes::run_pipeline(integer);
  CHECK(result.notes.empty());
  for (ir::NodeId id : integer.nodes()) {
    const ir::Node& n = integer.node(id);
    INFO(n.where());
    CHECK((n.domain == ir::kDlcDomain || n.is("QuantizeLinear") || n.is("DequantizeLinear") ||
           n.is("Softmax")));
  }
  const std::string text = ir::print(integer);
  CHECK(ir::print(ir::parse_graph(text, "cifar.ir")) == text);
}
