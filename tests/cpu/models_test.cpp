// Whole networks of the assets on the CPU backend against the reference backend.
#include <catch2/catch.hpp>
#include <filesystem>

#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/passes/passes.h"
#include "tests/cpu/cpu_harness.h"

using namespace dlc;
namespace fs = std::filesystem;

namespace {

void check_model(const std::string& name) {
  const fs::path file = fs::path(DLC_SOURCE_DIR) / "../shared/assets/models" / name;
  if (!fs::exists(file)) {
    WARN("skipped: " + file.string() + " is absent");
    return;
  }
  ir::Graph g = onnx_import::import_onnx(file.string());
  passes::run_pipeline(g, {});
  passes::fold_all_constants(g);
  INFO(name);
  const cpu::Executable e(g, test::options_for("native"));
  for (ir::NodeId n : e.fallback_nodes()) UNSCOPED_INFO("reference: " + g.node(n).where());
  const reference::TensorMap inputs = test::random_inputs(g, 1, 0, 1);
  CHECK(test::difference(e.evaluate(inputs), reference::evaluate(g, inputs)) == "");
  CHECK(e.fallback_nodes().empty());
}

}  // namespace

TEST_CASE("mnist12 gives the reference's values on the CPU backend") { check_model("mnist12/model.onnx"); }
TEST_CASE("ic_resnet8_f32 gives the reference's values on the CPU backend") { check_model("mlperf_tiny_onnx/ic_resnet8_f32.onnx"); }
TEST_CASE("ic_resnet8_int8 gives the reference's bytes on the CPU backend") { check_model("mlperf_tiny_onnx/ic_resnet8_int8_qdq.onnx"); }
TEST_CASE("kws_dscnn_f32 with stored int8 weights runs without the reference backend") { check_model("mlperf_tiny_onnx/kws_dscnn_f32.onnx"); }
TEST_CASE("kws_dscnn_int8 gives the reference's bytes on the CPU backend") { check_model("mlperf_tiny_onnx/kws_dscnn_int8_qdq.onnx"); }
