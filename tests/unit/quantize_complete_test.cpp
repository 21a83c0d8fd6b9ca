// Networks that are quantised in part, and functions on tensors of other ranks than the machine's.
#include <catch2/catch.hpp>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/quantize/complete_qdq.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
using test::OnnxModel;

namespace {

size_t count(const ir::Graph& g, const std::string& op) {
  size_t n = 0;
  for (ir::NodeId id : g.nodes()) n += g.node(id).op == op;
  return n;
}

ir::Tensor ramp(const ir::Shape& shape) {
  ir::Tensor x(ir::ElementType::float32, shape);
  for (size_t i = 0; i < x.data<float>().size(); ++i) x.data<float>()[i] = static_cast<float>(i % 97) / 48 - 1;
  return x;
}

// x -> Q/DQ -> Conv with a quantised weight -> Relu -> y
OnnxModel conv_with_float_result() {
  OnnxModel m;
  m.input("x", {1, 2, 6, 6});
  test::quantise<uint8_t>(m, "x", "x", 1.0f / 127, 127);
  std::vector<int8_t> weights;
  for (int i = 0; i < 3 * 2 * 3 * 3; ++i) weights.push_back(static_cast<int8_t>(i * 37 % 255 - 127));
  m.constant<int8_t>("w", {3, 2, 3, 3}, weights).constant<float>("w_s", {}, {0.01f});
  m.node("DequantizeLinear", "w.DQ", {"w", "w_s"}, {"w_dq"});
  m.node("Conv", "conv", {"x_dq", "w_dq"}, {"c"});
  m.node("Relu", "relu", {"c"}, {"y"});
  m.output("y");
  return m;
}

void lower(ir::Graph& g) {
  passes::run_pipeline(g, {.passes = passes::default_pipeline()});
  ir::verify(g);
}

}  // namespace

TEST_CASE("a quantised layer with a float result gets a quantised one and is lowered") {
  const ir::Graph original = onnx_import::import_onnx_bytes(conv_with_float_result().bytes(), "m.onnx");
  CHECK(quantize::unfinished_layers(original) == std::vector<std::string>{"conv"});
  const reference::TensorMap row{{"x", ramp({1, 2, 6, 6})}};
  ir::Graph g = original.clone();
  quantize::complete_quantization(g, quantize::calibrate(g, {row}));
  CHECK(quantize::unfinished_layers(g).empty());
  CHECK(g.value(g.outputs()[0]).name == "y");
  lower(g);
  CHECK(count(g, "qconv") == 1);
  CHECK(count(g, "Conv") == 0);
  const auto want = reference::evaluate(original, row).at("y"), got = reference::evaluate(g, row).at("y");
  float largest = 0, error = 0;
  for (size_t i = 0; i < want.data<float>().size(); ++i) {
    largest = std::max(largest, want.data<float>()[i]);
    error = std::max(error, std::abs(want.data<float>()[i] - got.data<float>()[i]));
  }
  CHECK(error <= largest / 255 * 0.51f);  // half a step of 8 bits
}

TEST_CASE("a layer's result that is quantised for one use is read through it by the float uses") {
  OnnxModel m = conv_with_float_result();
  test::quantise<uint8_t>(m, "y", "z", 0.05f, 0);
  m.output("z_dq");
  ir::Graph g = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  REQUIRE(quantize::unfinished_layers(g).size() == 1);
  quantize::complete_quantization(g, {});
  lower(g);
  CHECK(count(g, "qconv") == 1);
  CHECK(count(g, "QuantizeLinear") == 1);  // the input's
  const auto result = reference::evaluate(g, {{"x", ramp({1, 2, 6, 6})}});
  CHECK(result.at("y").bytes == result.at("z_dq").bytes);
}

TEST_CASE("functions on tensors of any rank are looked up as N,C and equal the Q/DQ graph") {
  for (const ir::Shape& shape : {ir::Shape{}, ir::Shape{12}, ir::Shape{2, 3, 4}, ir::Shape{2, 1, 3, 2, 2}}) {
    INFO(ir::shape_text(shape));
    OnnxModel m(20);
    m.input("x", shape);
    test::quantise<uint8_t>(m, "x", "x", 1.0f / 127, 127);
    m.node("Sigmoid", "s", {"x_dq"}, {"s"});
    test::quantise<uint8_t>(m, "s", "t", 0.004f, 0);
    m.node("Tanh", "u", {"t_dq"}, {"u"});
    test::quantise<uint8_t>(m, "u", "y", 0.004f, 0);
    m.output("t_dq").output("y_dq");
    const ir::Graph original = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
    ir::Graph g = original.clone();
    lower(g);
    CHECK(count(g, "qlut") == 2);
    const reference::TensorMap row{{"x", ramp(shape)}};
    const auto want = reference::evaluate(original, row), got = reference::evaluate(g, row);
    for (const auto& [name, t] : want) CHECK(got.at(name).bytes == t.bytes);
  }
}
