// Element-wise functions of one quantised tensor become one look-up, equal to the float Q/DQ graph in every
// byte.
#include <catch2/catch.hpp>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
using test::OnnxModel;

namespace {

constexpr const char* kStored = "x_q";

// x -> Q -> DQ under the names x_q and x_dq.
OnnxModel model(int64_t opset = 20) {
  OnnxModel m(opset);
  m.input("x", {1, 4, 8, 8});
  test::quantise<uint8_t>(m, "x", "x", 0.0613f, 131);
  return m;
}

void finish(OnnxModel& m, const std::string& y) {
  test::quantise<int8_t>(m, y, "y", 0.0371f, -17);
  m.output("y_dq");
}

ir::Graph lower(const OnnxModel& m) {
  ir::Graph g = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  passes::run_pipeline(g, {.passes = passes::default_pipeline()});
  ir::verify(g);
  return g;
}

size_t count(const ir::Graph& g, const std::string& op) {
  size_t n = 0;
  for (ir::NodeId id : g.nodes()) n += g.node(id).op == op;
  return n;
}

// All 256 stored values of x, and both graphs' outputs.
void equal_everywhere(const OnnxModel& m, const ir::Graph& integer) {
  const ir::Graph original = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  ir::Tensor x(ir::ElementType::float32, {1, 4, 8, 8});
  for (size_t i = 0; i < 256; ++i) x.data<float>()[i] = 0.0613f * (static_cast<float>(i) - 131);
  const auto want = reference::evaluate(original, {{"x", x}}), got = reference::evaluate(integer, {{"x", x}});
  for (const auto& [name, t] : want) CHECK(got.at(name).bytes == t.bytes);
}

void becomes_one_look_up(const OnnxModel& m) {
  const ir::Graph g = lower(m);
  INFO(ir::print(g, {.full_constants = false}));
  CHECK(count(g, "qlut") == 1);
  CHECK(g.node_count() == 3);  // quantise, look up, dequantise
  equal_everywhere(m, g);
}

}  // namespace

TEST_CASE("functions: each activation function becomes a look-up") {
  for (const char* op : {"Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish", "Elu", "Selu", "Celu",
                         "Softplus", "Softsign", "Mish", "Gelu", "ThresholdedRelu"}) {
    INFO(op);
    OnnxModel m = model();
    m.node(op, "f", {"x_dq"}, {"f"});
    finish(m, "f");
    becomes_one_look_up(m);
  }
  OnnxModel m = model();
  test::set_text(m.node("Gelu", "f", {"x_dq"}, {"f"}), "approximate", "tanh");
  finish(m, "f");
  becomes_one_look_up(m);
}

TEST_CASE("functions: SiLU and hard-swish in parts become one look-up, with Q/DQ between their parts too") {
  SECTION("x * Sigmoid(x)") {
    OnnxModel m = model();
    m.node("Sigmoid", "s", {"x_dq"}, {"s"});
    m.node("Mul", "m", {"x_dq", "s"}, {"m"});
    finish(m, "m");
    becomes_one_look_up(m);
  }
  SECTION("x * Sigmoid(x), the sigmoid quantised") {
    OnnxModel m = model();
    m.node("Sigmoid", "s", {"x_dq"}, {"s"});
    test::quantise<uint8_t>(m, "s", "t", 0.0039f, 0);
    m.node("Mul", "m", {"x_dq", "t_dq"}, {"m"});
    finish(m, "m");
    becomes_one_look_up(m);
  }
  SECTION("x * Clip(x + 3, 0, 6) / 6") {
    OnnxModel m = model();
    m.constant<float>("three", {}, {3.0f})
        .constant<float>("six", {1}, {6.0f})
        .constant<float>("zero", {}, {0.0f});
    m.constant<float>("top", {}, {6.0f});
    m.node("Add", "a", {"x_dq", "three"}, {"a"});
    m.node("Clip", "c", {"a", "zero", "top"}, {"c"});
    m.node("Mul", "m", {"x_dq", "c"}, {"m"});
    m.node("Div", "d", {"m", "six"}, {"d"});
    finish(m, "d");
    becomes_one_look_up(m);
  }
}

TEST_CASE("functions: what others read between two functions stays a tensor of its own") {
  OnnxModel m = model();
  m.node("Sigmoid", "s", {"x_dq"}, {"s"});
  test::quantise<uint8_t>(m, "s", "t", 0.0039f, 0);
  m.output("t_dq");
  m.node("Tanh", "h", {"t_dq"}, {"h"});
  finish(m, "h");
  const ir::Graph g = lower(m);
  CHECK(count(g, "qlut") == 2);
  equal_everywhere(m, g);
}

TEST_CASE("functions: clamps, changes of scale and single additions need no table") {
  OnnxModel relu = model();
  relu.node("Relu", "r", {"x_dq"}, {"r"});
  finish(relu, "r");
  CHECK(count(lower(relu), "qlut") == 0);
  OnnxModel add = model();
  add.node("Add", "a", {"x_dq", "x_dq"}, {"a"});
  finish(add, "a");
  CHECK(count(lower(add), "qlut") == 0);
}

TEST_CASE("functions: two tensors, or a constant a channel, are no function of one byte") {
  OnnxModel m = model();
  m.constant<float>("k", {1, 4, 1, 1}, {0.1f, 0.2f, 0.3f, 0.4f});
  m.node("Sigmoid", "s", {"x_dq"}, {"s"});
  m.node("Mul", "m", {"s", "k"}, {"m"});
  finish(m, "m");
  const ir::Graph g = lower(m);
  CHECK(count(g, "qlut") == 0);
  equal_everywhere(m, g);
}

TEST_CASE("functions: a Celu of alpha 0 and an unknown form of Gelu are refused") {
  OnnxModel celu = model();
  test::set(celu.node("Celu", "f", {"x_dq"}, {"f"}), "alpha", 0.0f);
  finish(celu, "f");
  CHECK_THROWS_WITH(onnx_import::import_onnx_bytes(celu.bytes(), "m.onnx"), Catch::Contains("alpha is 0"));
  OnnxModel gelu = model();
  test::set_text(gelu.node("Gelu", "f", {"x_dq"}, {"f"}), "approximate", "sin");
  finish(gelu, "f");
  CHECK_THROWS_WITH(onnx_import::import_onnx_bytes(gelu.bytes(), "m.onnx"),
                    Catch::Contains("expected none or tanh"));
}
