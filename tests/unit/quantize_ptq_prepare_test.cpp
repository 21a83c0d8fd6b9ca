#include "compiler/quantize/post_training_prepare.h"
#include "tests/unit/quantize_ptq_harness.h"

using namespace dlc;
using namespace dlc::ptq_test;
using test::Dims;
using test::set;

namespace {

// Every rewrite must keep the results up to float rounding.
ir::Graph prepared(const ir::Graph& original) {
  ir::Graph g = original.clone();
  quantize::prepare_for_quantization(g);
  CHECK(sqnr(original, g, random_rows(original, 77, 2)) > 100);
  return g;
}

void add_norm(test::OnnxModel& m, const std::string& name, const std::string& in, const std::string& out,
              int64_t channels) {
  const auto n = static_cast<size_t>(channels);
  m.constant<float>(name + ".g", {channels}, random_floats(1, n, 0.5f, 1.0f))
      .constant<float>(name + ".b", {channels}, random_floats(2, n));
  m.constant<float>(name + ".m", {channels}, random_floats(3, n))
      .constant<float>(name + ".v", {channels}, random_floats(4, n, 0.4f, 1.0f));
  m.node("BatchNormalization", name, {in, name + ".g", name + ".b", name + ".m", name + ".v"}, {out});
}

}  // namespace

TEST_CASE("batch normalisation, scales and offsets behind a convolution become its weights and bias") {
  test::OnnxModel m;
  m.input("x", {1, 3, 6, 6}).output("y");
  add_conv(m, "conv", "x", "c", 3, 4, 10, false);
  add_norm(m, "norm", "c", "n", 4);
  m.constant<float>("scale", {4, 1, 1}, random_floats(5, 4))
      .constant<float>("offset", {1, 4, 1, 1}, random_floats(6, 4));
  m.constant<float>("half", {}, {2.0f}).constant<float>("one", {1}, {1.0f});
  m.node("Mul", "mul", {"n", "scale"}, {"m"});
  m.node("Add", "add", {"offset", "m"}, {"a"});
  m.node("Div", "div", {"a", "half"}, {"d"});
  m.node("Sub", "sub", {"one", "d"}, {"s"});
  m.node("Relu", "relu", {"s"}, {"y"});
  const ir::Graph g = prepared(import(m));
  CHECK(g.node_count() == 2);
  CHECK(g.node(*g.find_node("conv")).onnx_nodes ==
        std::vector<std::string>{"conv", "norm", "mul", "add", "div", "sub"});
  CHECK(g.find_value("conv.w"));  // the changed weight keeps its name
}

TEST_CASE("a batch normalisation in front of a convolution becomes a depthwise one") {
  test::OnnxModel m;
  m.input("x", {1, 3, 6, 6}).output("y");
  add_norm(m, "norm", "x", "n", 3);
  m.node("Relu", "relu", {"n"}, {"r"});
  add_conv(m, "conv", "r", "y", 3, 4, 10);
  const ir::Graph g = prepared(import(m));
  const ir::Node& norm = g.node(*g.find_node("norm"));
  CHECK(norm.op == "Conv");
  CHECK(norm.attribute<int64_t>("group") == 3);
}

TEST_CASE("scales behind the last layer's other readers and per-pixel constants are left alone") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y").output("c");
  add_conv(m, "conv", "x", "c", 2, 2, 10);
  m.constant<float>("map", {1, 1, 4, 4}, random_floats(5, 16)).constant<float>("k", {}, {3.0f});
  m.node("Mul", "mul", {"c", "k"}, {"t"});
  m.node("Add", "add", {"t", "map"}, {"y"});
  const ir::Graph g = prepared(import(m));
  CHECK(g.node_count() == 3);
}

TEST_CASE("products with their biases become Gemm in one form") {
  test::OnnxModel m;
  m.input("x", {1, 6}).output("y");
  m.constant<float>("w1", {6, 5}, random_floats(1, 30)).constant<float>("b1", {1, 5}, random_floats(2, 5));
  m.constant<float>("w2", {5, 4}, random_floats(3, 20)).constant<float>("b2", {1}, {0.5f});
  m.node("MatMul", "fc1", {"x", "w1"}, {"p"});
  m.node("Add", "bias1", {"p", "b1"}, {"q"});
  auto& gemm = m.node("Gemm", "fc2", {"q", "w2", "b2"}, {"y"});
  set(gemm, "alpha", 0.5f);
  set(gemm, "beta", 2.0f);
  const ir::Graph g = prepared(import(m));
  REQUIRE(g.node_count() == 2);
  for (const char* name : {"fc1", "fc2"}) {
    const ir::Node& node = g.node(*g.find_node(name));
    CHECK(node.op == "Gemm");
    CHECK(node.attribute<int64_t>("transB") == 1);
    CHECK(node.attribute<float>("alpha") == 1.0f);
    REQUIRE(node.inputs.size() == 3);
    CHECK(g.value(node.inputs[2]).shape == ir::Shape{g.value(node.outputs[0]).shape[1]});
  }
}

TEST_CASE("Relu and Clip move in front of pooling and data movement, towards their layer") {
  test::OnnxModel m;
  m.input("x", {1, 3, 6, 6}).output("y");
  add_conv(m, "conv", "x", "c", 3, 4, 10);
  auto& pool = m.node("MaxPool", "pool", {"c"}, {"p"});
  set(pool, "kernel_shape", Dims{2, 2});
  set(pool, "strides", Dims{2, 2});
  set(m.node("Transpose", "turn", {"p"}, {"t"}), "perm", Dims{0, 2, 3, 1});
  m.constant<float>("low", {}, {-0.25f}).constant<float>("high", {}, {0.5f});
  m.node("Clip", "clip", {"t", "low", "high"}, {"y"});
  const ir::Graph g = prepared(import(m));
  CHECK(g.node(g.producer(g.node(*g.find_node("clip")).inputs[0])).name == "conv");
  CHECK(g.value(g.outputs()[0]).name == "y");
}

TEST_CASE("zero padding of the image becomes the convolution's, other padding stays") {
  for (const float value : {0.0f, 1.0f}) {
    test::OnnxModel m;
    m.input("x", {1, 2, 5, 5}).output("y");
    m.constant<int64_t>("pads", {8}, {0, 0, 1, 2, 0, 0, 0, 3}).constant<float>("value", {}, {value});
    m.node("Pad", "pad", {"x", "pads", "value"}, {"p"});
    add_conv(m, "conv", "p", "y", 2, 3, 10);
    const ir::Graph g = prepared(import(m));
    CHECK(count_op(g, "Pad") == (value == 0.0f ? 0u : 1u));
    if (value == 0.0f) CHECK(g.node(*g.find_node("conv")).attribute<Dims>("pads") == Dims{2, 3, 1, 4});
  }
}

TEST_CASE("weights that are stored as integers become float again before they are quantised anew") {
  test::OnnxModel m;
  m.input("x", {1, 1, 4, 4}).output("y");
  m.constant<int8_t>("wq", {2, 1, 1, 1}, {50, -100})
      .constant<float>("ws", {}, {0.01f})
      .constant<int8_t>("wz", {}, {0});
  m.node("DequantizeLinear", "dq", {"wq", "ws", "wz"}, {"w"});
  m.node("Conv", "conv", {"x", "w"}, {"y"});
  ir::Graph g = import(m);
  CHECK(quantize::needs_quantization(g));
  g = prepared(g);
  CHECK(g.node_count() == 1);
  CHECK(g.value(*g.find_value("w")).constant<float>()[1] == -1.0f);
}
