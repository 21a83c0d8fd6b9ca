// Q/DQ patterns of elementwise operators and of data movement -> the integer operators that the machine has;
// the integer graph against the float graph it came from.
#include <catch2/catch.hpp>

#include "tests/unit/quantize_harness.h"

using namespace dlc;
using test::agrees;
using test::lower;
using test::Names;
using test::operators;
using test::OnnxModel;

TEST_CASE("Mul of a map with one factor per channel: a qbinary with broadcasting, Relu as its clamp") {
  OnnxModel m;
  m.input("x", {2, 5, 6, 7}).input("s", {2, 5, 1, 1}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  test::quantise<uint8_t>(m, "s", "s", 0.31f, 100);
  m.node("Mul", "mul", {"x_dq", "s_dq"}, {"p"});
  m.node("Relu", "relu", {"p"}, {"r"});
  test::quantise<uint8_t>(m, "r", "y", 17.3f, 0);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{"qbinary"});
  agrees(m, g);
}

TEST_CASE("Max and Min of tensors with equal scales compare them, with others after a change of scale") {
  const bool equal = GENERATE(true, false);
  const std::string op = GENERATE("Max", "Min");
  OnnxModel m;
  m.input("a", {1, 3, 5, 5}).input("b", {1, 3, 5, 5}).output("y_q");
  test::quantise<int8_t>(m, "a", "a", 0.53f, 7);
  test::quantise<int8_t>(m, "b", "b", equal ? 0.53f : 0.37f, -4);
  m.node(op, "extreme", {"a_dq", "b_dq"}, {"e"});
  test::quantise<int8_t>(m, "e", "y", 0.71f, 2);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == (equal ? Names{"qbinary"} : Names{"qadd", "qadd", "qbinary"}));
  agrees(m, g);
}

TEST_CASE("Add of an operand with one channel repeats it") {
  OnnxModel m;
  m.input("a", {1, 3, 4, 5}).input("b", {1, 1, 4, 5}).output("y_q");
  test::quantise<int8_t>(m, "a", "a", 0.53f, 7);
  test::quantise<int8_t>(m, "b", "b", 0.37f, -4);
  m.node("Add", "add", {"a_dq", "b_dq"}, {"s"});
  test::quantise<int8_t>(m, "s", "y", 0.71f, 2);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{"qtake", "qadd"});
  agrees(m, g);
}

TEST_CASE("Concat: the stored tensors side by side, after a change of scale where they differ") {
  const bool equal = GENERATE(true, false);
  const int64_t axis = GENERATE(1, 2, -1);
  OnnxModel m;
  m.input("a", {1, 3, 4, 4}).input("b", {1, 3, 4, 4}).output("y_q");
  test::quantise<int8_t>(m, "a", "a", 0.53f, 7);
  test::quantise<int8_t>(m, "b", "b", equal ? 0.53f : 0.37f, equal ? 7 : -4);
  test::set(m.node("Concat", "concat", {"a_dq", "b_dq"}, {"c"}), "axis", axis);
  test::quantise<int8_t>(m, "c", "y", 0.53f, 7);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == (equal ? Names{"qplace"} : Names{"qadd", "qplace"}));
  agrees(m, g);
}

TEST_CASE("Reshape, Transpose, Reshape that shuffles channels: one qtake") {
  OnnxModel m;
  m.input("x", {1, 12, 3, 5}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  m.constant<int64_t>("s1", {5}, {1, 3, 4, 3, 5});
  m.constant<int64_t>("s2", {4}, {1, 12, 3, 5});
  m.node("Reshape", "split", {"x_dq", "s1"}, {"r"});
  test::set(m.node("Transpose", "transpose", {"r"}, {"t"}), "perm", {0, 2, 1, 3, 4});
  m.node("Reshape", "join", {"t", "s2"}, {"j"});
  test::quantise<int8_t>(m, "j", "y", 0.53f, 7);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{"qtake"});
  agrees(m, g, 0);
}

TEST_CASE("Split, Slice and Gather of channels: qtake") {
  OnnxModel m;
  m.input("x", {1, 6, 5, 4}).output("a_q").output("b_q").output("c_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  m.constant<int64_t>("parts", {2}, {2, 4});
  test::set(m.node("Split", "split", {"x_dq", "parts"}, {"l", "r"}), "axis", int64_t{1});
  test::quantise<int8_t>(m, "l", "a", 0.53f, 7);
  m.constant<int64_t>("starts", {2}, {1, 0});
  m.constant<int64_t>("ends", {2}, {5, 3});
  m.constant<int64_t>("axes", {2}, {2, 3});
  m.constant<int64_t>("steps", {2}, {2, 1});
  m.node("Slice", "slice", {"r", "starts", "ends", "axes", "steps"}, {"s"});
  test::quantise<int8_t>(m, "s", "b", 0.53f, 7);
  m.constant<int64_t>("order", {3}, {2, 0, -1});
  test::set(m.node("Gather", "gather", {"x_dq", "order"}, {"g"}), "axis", int64_t{1});
  test::quantise<int8_t>(m, "g", "c", 0.53f, 7);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names(4, "qtake"));
  agrees(m, g, 0);
}

TEST_CASE("Nearest Resize by integer factors: the map placed once per phase") {
  OnnxModel m;
  m.input("x", {1, 3, 4, 5}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  m.constant<float>("scales", {4}, {1, 1, 2, 3});
  test::set_text(m.node("Resize", "resize", {"x_dq", "", "scales"}, {"r"}), "mode", "nearest");
  test::quantise<int8_t>(m, "r", "y", 0.53f, 7);
  const ir::Graph g = lower(m);
  CHECK(operators(g) == Names{"qplace"});
  agrees(m, g, 0);
}

TEST_CASE("Linear Resize stays in float, between the two nearest elements") {
  OnnxModel m;
  m.input("x", {1, 1, 1, 2}).output("y");
  m.constant<float>("scales", {4}, {1, 1, 1, 2});
  test::set_text(m.node("Resize", "resize", {"x", "", "scales"}, {"y"}), "mode", "linear");
  const ir::Graph g = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  ir::Tensor x(ir::ElementType::float32, {1, 1, 1, 2});
  x.data<float>()[1] = 8;
  const ir::Tensor y = reference::evaluate(g, {{"x", x}}).at("y");
  const auto got = y.data<float>();
  CHECK(std::vector<float>(got.begin(), got.end()) == std::vector<float>{0, 2, 6, 8});
}

TEST_CASE("DepthToSpace and SpaceToDepth: slices and placements, and each undoes the other") {
  const std::string mode = GENERATE("DCR", "CRD");
  OnnxModel m;
  m.input("x", {1, 12, 3, 4}).output("y_q").output("z_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  auto& d = m.node("DepthToSpace", "d2s", {"x_dq"}, {"d"});
  test::set(d, "blocksize", int64_t{2});
  test::set_text(d, "mode", mode);
  test::quantise<int8_t>(m, "d", "y", 0.53f, 7);
  test::set(m.node("SpaceToDepth", "s2d", {"d"}, {"s"}), "blocksize", int64_t{2});
  test::quantise<int8_t>(m, "s", "z", 0.53f, 7);
  const ir::Graph g = lower(m);
  CHECK(operators(g).size() == 10);  // two times four phases and their placement
  agrees(m, g, 0);
  if (mode == "CRD") return;
  ir::Tensor x(ir::ElementType::float32, {1, 12, 3, 4});
  for (size_t i = 0; i < 144; ++i) x.data<float>()[i] = static_cast<float>(i % 100);
  const auto all = reference::evaluate(g, {{"x", x}}, true);
  CHECK(all.at("z_q").bytes == all.at("x_q").bytes);
}

TEST_CASE("ConvTranspose of the reference adds each input element's kernel") {
  OnnxModel m;
  m.input("x", {1, 1, 2, 2}).output("y");
  m.constant<float>("w", {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  auto& n = m.node("ConvTranspose", "up", {"x", "w"}, {"y"});
  test::set(n, "strides", {2, 2});
  test::set(n, "pads", {1, 1, 1, 1});
  test::set(n, "output_padding", {1, 1});
  const ir::Graph g = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  ir::Tensor x(ir::ElementType::float32, {1, 1, 2, 2});
  x.data<float>()[0] = 1;
  x.data<float>()[3] = 10;
  const auto y = reference::evaluate(g, {{"x", x}}).at("y");
  CHECK(y.shape == ir::Shape{1, 1, 4, 4});
  const std::vector<float> want{5, 6, 0, 0, 8, 19, 20, 30, 0, 40, 50, 60, 0, 70, 80, 90};
  const auto got = y.data<float>();
  CHECK(std::vector<float>(got.begin(), got.end()) == want);
}
