// A small network in QOperator form, as text right after the import: what composite operators become. After
// an intended change: DLC_UPDATE_GOLDEN=1 rewrites the expectation.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/onnx/import_onnx.h"
#include "tests/unit/onnx_model.h"

using dlc::test::OnnxModel;

namespace {

OnnxModel network() {
  OnnxModel m;
  auto* opset = m.proto().add_opset_import();
  opset->set_domain("com.microsoft");
  opset->set_version(1);
  m.input("x", {1, 2, 4, 4}).output("y");
  m.constant<float>("x_s", {}, {0.5f}).constant<uint8_t>("x_z", {}, {3});
  m.constant<float>("c_s", {}, {0.125f}).constant<uint8_t>("c_z", {}, {0});
  m.constant<float>("w_s", {2}, {0.25f, 0.5f}).constant<int8_t>("w_z", {2}, {0, 0});
  m.constant<int8_t>("w", {2, 2, 1, 1}, {1, -2, 3, 4}).constant<int32_t>("b", {2}, {8, -16});
  m.node("QuantizeLinear", "quantise", {"x", "x_s", "x_z"}, {"x_q"});
  m.node("QLinearConv", "conv", {"x_q", "x_s", "x_z", "w", "w_s", "w_z", "c_s", "c_z", "b"}, {"c"});
  m.node("QLinearAdd", "add", {"c", "c_s", "c_z", "x_q", "x_s", "x_z", "c_s", "c_z"}, {"a"})
      .set_domain("com.microsoft");
  m.node("QLinearGlobalAveragePool", "pool", {"a", "c_s", "c_z", "c_s", "c_z"}, {"p"})
      .set_domain("com.microsoft");
  m.node("DequantizeLinear", "dequantise", {"p", "c_s", "c_z"}, {"y"});
  return m;
}

}  // namespace

TEST_CASE("A QOperator network is imported as the Q/DQ graph that is written down") {
  const std::string text =
      dlc::ir::print(dlc::onnx_import::import_onnx_bytes(network().bytes(), "network.onnx"));
  const std::string path = std::string(DLC_SOURCE_DIR) + "/tests/golden/qoperator_import.ir";
  if (std::getenv("DLC_UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream in(path);
  REQUIRE(in);
  std::stringstream expected;
  expected << in.rdbuf();
  CHECK(text == expected.str());
}
