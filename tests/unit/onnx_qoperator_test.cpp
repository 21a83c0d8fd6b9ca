// QOperator forms and other composite operators: the same graph as their Q/DQ form.
#include <catch2/catch.hpp>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "isa/error.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
using test::OnnxModel;

namespace {

ir::Graph import(const OnnxModel& m) { return onnx_import::import_onnx_bytes(m.bytes(), "m.onnx"); }

OnnxModel with_microsoft(OnnxModel m) {
  auto* opset = m.proto().add_opset_import();
  opset->set_domain("com.microsoft");
  opset->set_version(1);
  return m;
}

// Scales and zero points x_s, x_z, w_s, w_z, y_s, y_z and a 1x1 weight for 2 -> 2 channels.
OnnxModel parameters(int64_t opset = 13) {
  OnnxModel m = with_microsoft(OnnxModel(opset));
  m.input("x", {1, 2, 2, 2}, onnx::TensorProto::UINT8).output("y");
  m.constant<float>("x_s", {}, {0.5f}).constant<uint8_t>("x_z", {}, {3});
  m.constant<float>("w_s", {2}, {0.25f, 0.5f}).constant<int8_t>("w_z", {2}, {0, 0});
  m.constant<float>("y_s", {}, {0.125f}).constant<uint8_t>("y_z", {}, {7});
  m.constant<int8_t>("w", {2, 2, 1, 1}, {1, -2, 3, 4}).constant<int32_t>("b", {2}, {8, -16});
  return m;
}

std::vector<uint8_t> evaluate(const ir::Graph& g) {
  auto x = ir::make_tensor<uint8_t>({1, 2, 2, 2}, {0, 3, 5, 9, 4, 2, 1, 3});
  const ir::Tensor y = reference::evaluate(g, {{"x", x}}).at("y");
  return y.bytes;
}

void microsoft(onnx::NodeProto& n) { n.set_domain("com.microsoft"); }

}  // namespace

TEST_CASE("QLinearConv is imported as its Q/DQ pattern, and lowers to one qconv of the same values") {
  OnnxModel m = parameters();
  m.node("QLinearConv", "conv1", {"x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z", "b"}, {"y"});
  ir::Graph g = import(m);
  const std::vector<uint8_t> pattern = evaluate(g);
  CHECK(g.node_count() == 5);  // three DequantizeLinear, Conv, QuantizeLinear
  passes::run_pipeline(g);
  REQUIRE(g.node_count() == 1);
  const ir::Node& conv = g.node(g.nodes()[0]);
  CHECK(conv.op == "qconv");
  CHECK(conv.onnx_nodes == std::vector<std::string>{"conv1"});
  CHECK(std::get<ir::QConv>(conv.payload).rescale.bias == std::vector<int32_t>{8, -16});
  CHECK(evaluate(g) == pattern);
}

TEST_CASE("com.microsoft's element-wise and pooling operators equal the float operator between Q and DQ") {
  OnnxModel m = parameters();
  SECTION("QLinearAdd") {
    microsoft(m.node("QLinearAdd", "n", {"x", "x_s", "x_z", "x", "x_s", "x_z", "y_s", "y_z"}, {"y"}));
    // (0 - 3) * 0.5 * 2 / 0.125 + 7 saturates at 0; (5 - 3) * 8 + 7 = 23; (9 - 3) * 8 + 7 = 55
    CHECK(evaluate(import(m)) == std::vector<uint8_t>{0, 7, 23, 55, 15, 0, 0, 7});
  }
  SECTION("QLinearMul") {
    microsoft(m.node("QLinearMul", "n", {"x", "x_s", "x_z", "x", "x_s", "x_z", "y_s", "y_z"}, {"y"}));
    CHECK(evaluate(import(m)) == std::vector<uint8_t>{25, 7, 15, 79, 9, 9, 15, 7});
  }
  SECTION("QLinearLeakyRelu keeps its slope") {
    auto& n = m.node("QLinearLeakyRelu", "n", {"x", "x_s", "x_z", "y_s", "y_z"}, {"y"});
    microsoft(n);
    test::set(n, "alpha", 0.5f);
    CHECK(evaluate(import(m)) == std::vector<uint8_t>{1, 7, 15, 31, 11, 5, 3, 7});
  }
  SECTION("QLinearGlobalAveragePool") {
    microsoft(m.node("QLinearGlobalAveragePool", "n", {"x", "x_s", "x_z", "y_s", "y_z"}, {"y"}));
    CHECK(evaluate(import(m)) == std::vector<uint8_t>{12, 5});  // means 0.625 and -0.25
  }
  SECTION("QLinearConcat") {
    auto& n = m.node("QLinearConcat", "n", {"y_s", "y_z", "x", "x_s", "x_z", "x", "x_s", "x_z"}, {"y"});
    microsoft(n);
    test::set(n, "axis", int64_t{1});
    CHECK(evaluate(import(m)).size() == 16);
  }
}

TEST_CASE(
    "A pool with channels_last is transposed around, which move-transposes cannot undo at the borders") {
  OnnxModel m = parameters();
  auto& n = m.node("QLinearGlobalAveragePool", "n", {"x", "x_s", "x_z", "y_s", "y_z"}, {"y"});
  microsoft(n);
  test::set(n, "channels_last", int64_t{1});
  const ir::Graph g = import(m);
  CHECK(g.value(*g.find_value("y")).shape == ir::Shape{1, 1, 1, 2});
}

TEST_CASE("QGemm without an output scale stays float") {
  OnnxModel m = with_microsoft(OnnxModel(13));
  m.input("x", {1, 2}, onnx::TensorProto::UINT8).output("y");
  m.constant<float>("x_s", {}, {0.5f}).constant<uint8_t>("x_z", {}, {1});
  m.constant<float>("w_s", {}, {0.25f}).constant<int8_t>("w_z", {}, {0});
  m.constant<int8_t>("w", {3, 2}, {1, 2, 3, 4, 5, 6}).constant<int32_t>("c", {3}, {8, 0, -8});
  auto& n = m.node("QGemm", "g", {"x", "x_s", "x_z", "w", "w_s", "w_z", "c"}, {"y"});
  microsoft(n);
  test::set(n, "transB", int64_t{1});
  const auto x = ir::make_tensor<uint8_t>({1, 2}, {3, 5});  // 1, 2
  const ir::Tensor y = reference::evaluate(import(m), {{"x", x}}).at("y");
  REQUIRE(y.type == ir::ElementType::float32);
  CHECK(y.data<float>()[0] == Approx(0.25f * (1 + 4) + 1));
  CHECK(y.data<float>()[1] == Approx(0.25f * (3 + 8)));
  CHECK(y.data<float>()[2] == Approx(0.25f * (5 + 12) - 1));
}

TEST_CASE("Sum of n inputs becomes additions, Mean their mean") {
  OnnxModel m;
  m.input("x", {2}).output("s").output("m").output("one");
  m.constant<float>("a", {2}, {1, 2}).constant<float>("b", {2}, {10, 20});
  m.node("Sum", "sum", {"x", "a", "b", "x"}, {"s"});
  m.node("Mean", "mean", {"x", "a"}, {"m"});
  m.node("Sum", "single", {"x"}, {"one"});
  const auto out = reference::evaluate(import(m), {{"x", ir::make_tensor<float>({2}, {3, 4})}});
  CHECK(out.at("s").data<float>()[1] == 30);
  CHECK(out.at("m").data<float>()[0] == 2);
  CHECK(out.at("one").data<float>()[0] == 3);
}

TEST_CASE("FusedConv's activation follows the convolution") {
  OnnxModel m = with_microsoft(OnnxModel(13));
  m.input("x", {1, 1, 1, 2}).output("y");
  m.constant<float>("w", {1, 1, 1, 1}, {2});
  auto& n = m.node("FusedConv", "c", {"x", "w"}, {"y"});
  microsoft(n);
  test::set_text(n, "activation", "Relu");
  const auto y =
      reference::evaluate(import(m), {{"x", ir::make_tensor<float>({1, 1, 1, 2}, {-1, 3})}}).at("y");
  CHECK(y.data<float>()[0] == 0);
  CHECK(y.data<float>()[1] == 6);
}

TEST_CASE("Composite operators with missing inputs are refused with their own name") {
  OnnxModel m = parameters();
  m.node("QLinearConv", "conv1", {"x", "x_s", "x_z", "w"}, {"y"});
  try {
    import(m);
    FAIL("imported");
  } catch (const UserError& e) {
    CHECK(e.exit_code() == 2);
    CHECK(std::string(e.what()).find("'conv1' (QLinearConv)") != std::string::npos);
  }
}
