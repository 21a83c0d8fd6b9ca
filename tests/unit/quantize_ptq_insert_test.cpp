#include "compiler/onnx/export_onnx.h"
#include "tests/unit/quantize_ptq_harness.h"

using namespace dlc;
using namespace dlc::ptq_test;
using test::Dims;
using test::set;

namespace {

ir::Graph quantised(const ir::Graph& original, double least_sqnr = 25) {
  ir::Graph g = original.clone();
  quantize::quantize_graph(g, random_rows(original, 5, 8));
  CHECK(sqnr(original, g, random_rows(original, 5, 8)) > least_sqnr);
  return g;
}

const ir::Quantization& scale_of(const ir::Graph& g, const std::string& stored) {
  return *g.value(*g.find_value(stored)).quantization;
}

// Two convolutions around a residual connection, pooled and classified.
test::OnnxModel residual_model() {
  test::OnnxModel m;
  m.input("x", {1, 3, 8, 8}).output("probability");
  add_conv(m, "conv1", "x", "c1", 3, 8, 1);
  m.node("Relu", "relu1", {"c1"}, {"r1"});
  add_conv(m, "conv2", "r1", "c2", 8, 8, 2);
  m.node("Add", "add", {"c2", "r1"}, {"a"});
  m.node("Relu", "relu2", {"a"}, {"r2"});
  set(m.node("MaxPool", "pool", {"r2"}, {"p"}), "kernel_shape", Dims{2, 2});
  m.node("GlobalAveragePool", "mean", {"p"}, {"g"});
  m.node("Flatten", "flat", {"g"}, {"f"});
  m.constant<float>("fc.w", {8, 5}, random_floats(3, 40)).constant<float>("fc.b", {5}, random_floats(4, 5));
  m.node("Gemm", "fc", {"f", "fc.w", "fc.b"}, {"logits"});
  m.node("Softmax", "softmax", {"logits"}, {"probability"});
  return m;
}

const std::vector<std::string> kEndsOnly{"QuantizeLinear", "DequantizeLinear"};

}  // namespace

TEST_CASE("a residual network is quantised as exporters do, and lowers to integers whole") {
  const ir::Graph original = import(residual_model());
  CHECK(quantize::needs_quantization(original));
  ir::Graph g = quantised(original);
  CHECK_FALSE(quantize::needs_quantization(g));
  for (const char* name : {"x_q", "r1_q", "c2_q", "r2_q", "p_q", "g_q", "f_q", "logits_q"}) {
    INFO(name);
    REQUIRE(g.find_value(name));
    CHECK(g.value(*g.find_value(name)).type == ir::ElementType::int8);
  }
  CHECK(count_op(g, "QuantizeLinear") == 8);            // none between a layer and its Relu
  CHECK(count_op(g, "DequantizeLinear") == 8 + 3 * 2);  // weights and biases too
  CHECK(scale_of(g, "p_q") == scale_of(g, "r2_q"));     // maximum and views keep the scale
  CHECK(scale_of(g, "f_q") == scale_of(g, "g_q"));
  CHECK_FALSE(scale_of(g, "g_q") == scale_of(g, "p_q"));  // an average has its own
  CHECK(scale_of(g, "conv1.w_q").scale.size() == 8);
  CHECK(scale_of(g, "fc.w_q").axis == 0);
  CHECK(g.value(g.outputs()[0]).name == "probability");

  const ir::Graph before = g.clone();
  CHECK(host_operators(g) == std::vector<std::string>{"QuantizeLinear", "DequantizeLinear", "Softmax"});
  CHECK(sqnr(before, g, random_rows(before, 5, 3)) > 40);  // ties apart, the same integers
}

TEST_CASE("quantisation is deterministic") {
  const ir::Graph original = import(residual_model());
  CHECK(ir::print(quantised(original)) == ir::print(quantised(original)));
}

TEST_CASE("a graph output keeps its name, and the float value before it gets another") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  add_conv(m, "conv", "x", "y", 2, 3, 1);
  ir::Graph g = quantised(import(m));
  CHECK(g.value(g.outputs()[0]).name == "y");
  CHECK(g.node(g.producer(g.outputs()[0])).op == "DequantizeLinear");
  CHECK(g.find_value("y_float"));
  CHECK(g.find_value("y_q"));
  CHECK(host_operators(g) == kEndsOnly);
}

TEST_CASE("post-processing behind the last layer stays float") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  add_conv(m, "conv", "x", "c", 2, 4, 1);
  m.constant<int64_t>("shape", {2}, {1, 64}).constant<float>("prior", {1, 64}, random_floats(2, 64));
  m.node("Reshape", "reshape", {"c", "shape"}, {"r"});
  m.node("Mul", "decode", {"r", "prior"}, {"d"});
  m.node("Add", "centre", {"d", "prior"}, {"y"});
  const ir::Graph g = quantised(import(m));
  CHECK(g.find_value("r_q"));
  CHECK_FALSE(g.find_value("d_q"));
  CHECK_FALSE(g.find_value("y_q"));
}

TEST_CASE("an addition of two layers at the end of the network is quantised") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  add_conv(m, "a", "x", "ca", 2, 4, 1);
  add_conv(m, "b", "x", "cb", 2, 4, 2);
  m.node("Add", "add", {"ca", "cb"}, {"s"});
  m.node("Relu", "relu", {"s"}, {"y"});
  ir::Graph g = quantised(import(m));
  CHECK(g.find_value("y_q"));
  CHECK_FALSE(g.find_value("s_q"));
  CHECK(host_operators(g) == kEndsOnly);
}

TEST_CASE("a Relu that is not alone keeps its input's scale") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  add_conv(m, "a", "x", "c", 2, 4, 1);
  m.node("Relu", "relu", {"c"}, {"r"});
  m.node("Add", "add", {"c", "r"}, {"s"});
  add_conv(m, "b", "s", "y", 4, 4, 2);
  const ir::Graph g = quantised(import(m));
  CHECK(scale_of(g, "r_q") == scale_of(g, "c_q"));
}

TEST_CASE("parts of a concatenation share its scale unless theirs is much finer and read elsewhere") {
  for (const bool elsewhere : {false, true}) {
    test::OnnxModel m;
    m.input("x", {1, 2, 4, 4}).output("y").output("z");
    add_conv(m, "a", "x", "ca", 2, 4, 1);
    add_conv(m, "b", "x", "cb", 2, 4, 2);
    m.constant<float>("small.w", {4, 2, 1, 1}, random_floats(3, 8, 0.01f));
    m.node("Conv", "small", {"x", "small.w"}, {"cs"});
    set(m.node("Concat", "join", {"ca", "cb", "cs"}, {"j"}), "axis", int64_t{1});
    add_conv(m, "last", "j", "y", 12, 2, 4);
    add_conv(m, "other", elsewhere ? "cs" : "ca", "z", 4, 2, 5);
    ir::Graph g = quantised(import(m));
    CHECK(scale_of(g, "ca_q") == scale_of(g, "j_q"));
    CHECK(scale_of(g, "cb_q") == scale_of(g, "j_q"));
    if (elsewhere) {
      CHECK(scale_of(g, "cs_q").scale[0] < 0.1f * scale_of(g, "j_q").scale[0]);
      CHECK(scale_of(g, "join_part2_q") == scale_of(g, "j_q"));
    } else {
      CHECK(scale_of(g, "cs_q") == scale_of(g, "j_q"));
    }
    passes::run_pipeline(g);
    CHECK(count_op(g, "QuantizeLinear") == 1);  // the input's: the concatenation is one of integers
  }
}

TEST_CASE("constant operands between layers are stored as integers") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  add_conv(m, "a", "x", "c", 2, 4, 1);
  m.constant<float>("map", {1, 4, 4, 4}, random_floats(9, 64));
  m.node("Add", "add", {"c", "map"}, {"s"});
  add_conv(m, "b", "s", "y", 4, 4, 2);
  ir::Graph g = quantised(import(m));
  CHECK(g.value(*g.find_value("map_q")).is_constant());
  CHECK_FALSE(g.find_value("map"));
  CHECK(host_operators(g) == kEndsOnly);
}

TEST_CASE("a layer whose activations are all zero is quantised without harm") {
  test::OnnxModel m;
  m.input("x", {1, 1, 4, 4}).output("y");
  m.constant<float>("w", {2, 1, 1, 1}, {0.0f, 0.0f}).constant<float>("b", {2}, {-1.0f, -2.0f});
  m.node("Conv", "dead", {"x", "w", "b"}, {"d"});
  m.node("Relu", "relu", {"d"}, {"r"});
  add_conv(m, "next", "r", "y", 2, 2, 1);
  ir::Graph g = quantised(import(m));
  CHECK(host_operators(g) == kEndsOnly);
}

TEST_CASE("networks that are quantised already, or have no layers, need no quantisation") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  m.node("Relu", "relu", {"x"}, {"y"});
  CHECK_FALSE(quantize::needs_quantization(import(m)));

  test::OnnxModel half;
  half.input("x", {1, 2, 4, 4}).output("y");
  add_conv(half, "a", "x", "c", 2, 4, 1);
  half.constant<float>("s", {}, {0.1f}).constant<int8_t>("z", {}, {0});
  half.node("QuantizeLinear", "q", {"c", "s", "z"}, {"cq"});
  half.node("DequantizeLinear", "dq", {"cq", "s", "z"}, {"y"});
  CHECK_FALSE(quantize::needs_quantization(import(half)));
}
