// Float networks of the families that users bring, small: quantised by dlc itself they run on the machine
// whole.
#include "tests/unit/quantize_ptq_harness.h"

using namespace dlc;
using namespace dlc::ptq_test;
using test::Dims;
using test::set;

namespace {

const std::vector<std::string> kEndsOnly{"QuantizeLinear", "DequantizeLinear"};

// Quantises, compares with the float network, lowers; everything but the ends is an operator of the machine.
ir::Graph lands_whole(const test::OnnxModel& m, double least_sqnr = 18) {
  const ir::Graph original = import(m);
  ir::Graph g = original.clone();
  quantize::quantize_graph(g, random_rows(original, 5, 6));
  CHECK(sqnr(original, g, random_rows(original, 5, 6)) > least_sqnr);
  CHECK(host_operators(g) == kEndsOnly);
  return g;
}

// 1x1 convolution of a map; depthwise 3x3.
void pointwise(test::OnnxModel& m, const std::string& name, const std::string& in, const std::string& out,
               int64_t from, int64_t to, uint64_t seed) {
  m.constant<float>(name + ".w", {to, from, 1, 1}, random_floats(seed, static_cast<size_t>(from * to), 0.6f));
  m.constant<float>(name + ".b", {to}, random_floats(seed + 7, static_cast<size_t>(to), 0.5f));
  m.node("Conv", name, {in, name + ".w", name + ".b"}, {out});
}
void depthwise(test::OnnxModel& m, const std::string& name, const std::string& in, const std::string& out,
               int64_t c, uint64_t seed) {
  m.constant<float>(name + ".w", {c, 1, 3, 3}, random_floats(seed, static_cast<size_t>(9 * c), 0.5f));
  auto& n = m.node("Conv", name, {in, name + ".w"}, {out});
  set(n, "pads", Dims{1, 1, 1, 1});
  set(n, "group", c);
}

// x * Clip(x + 3, 0, 6) / 6 in parts, as PyTorch exports it at opset 13.
void hard_swish(test::OnnxModel& m, const std::string& in, const std::string& out) {
  m.constant<float>(out + ".3", {}, {3})
      .constant<float>(out + ".0", {}, {0})
      .constant<float>(out + ".6", {}, {6});
  m.node("Add", out + ".add", {in, out + ".3"}, {out + ".a"});
  m.node("Clip", out + ".clip", {out + ".a", out + ".0", out + ".6"}, {out + ".c"});
  m.node("Mul", out + ".mul", {in, out + ".c"}, {out + ".m"});
  m.node("Div", out + ".div", {out + ".m", out + ".6"}, {out});
}

}  // namespace

TEST_CASE("a MobileNetV3-like block: hard-swish in parts, squeeze and excite, a residual") {
  test::OnnxModel m;
  m.input("x", {1, 3, 12, 12}).output("y");
  add_conv(m, "stem", "x", "s", 3, 8, 1);
  hard_swish(m, "s", "h");
  pointwise(m, "expand", "h", "e", 8, 16, 2);
  hard_swish(m, "e", "eh");
  depthwise(m, "dw", "eh", "d", 16, 3);
  hard_swish(m, "d", "dh");
  m.node("GlobalAveragePool", "squeeze", {"dh"}, {"q"});
  pointwise(m, "fc1", "q", "f1", 16, 4, 4);
  m.node("Relu", "relu", {"f1"}, {"r1"});
  pointwise(m, "fc2", "r1", "f2", 4, 16, 5);
  m.node("HardSigmoid", "gate", {"f2"}, {"g"});
  m.node("Mul", "excite", {"dh", "g"}, {"ex"});
  pointwise(m, "project", "ex", "p", 16, 8, 6);
  m.node("Add", "add", {"p", "h"}, {"a"});
  pointwise(m, "head", "a", "y", 8, 5, 7);
  const ir::Graph g = lands_whole(m);
  CHECK(count_op(g, "qlut") == 4);  // three hard-swishes, one hard-sigmoid
  CHECK(count_op(g, "qbinary") == 1);
}

TEST_CASE("an EfficientNet-like block: SiLU in parts, squeeze and excite with Sigmoid") {
  test::OnnxModel m;
  m.input("x", {1, 3, 10, 10}).output("y");
  add_conv(m, "stem", "x", "s", 3, 8, 1);
  m.node("Sigmoid", "sig", {"s"}, {"ss"});
  m.node("Mul", "silu", {"s", "ss"}, {"h"});
  m.node("GlobalAveragePool", "squeeze", {"h"}, {"q"});
  pointwise(m, "fc1", "q", "f1", 8, 4, 4);
  m.node("Sigmoid", "sig1", {"f1"}, {"s1"});
  m.node("Mul", "silu1", {"f1", "s1"}, {"r1"});
  pointwise(m, "fc2", "r1", "f2", 4, 8, 5);
  m.node("Sigmoid", "gate", {"f2"}, {"g"});
  m.node("Mul", "excite", {"h", "g"}, {"ex"});
  pointwise(m, "head", "ex", "y", 8, 5, 7);
  const ir::Graph g = lands_whole(m);
  CHECK(count_op(g, "qlut") == 3);
}

TEST_CASE(
    "a UNet-like network: ConvTranspose with batch normalisation, skips, linear Resize, PRelu, Sigmoid at "
    "the end") {
  test::OnnxModel m(16);
  m.input("x", {1, 3, 16, 16}).output("y");
  add_conv(m, "down1", "x", "d1", 3, 6, 1);
  m.constant<float>("slope", {6, 1, 1}, random_floats(9, 6, 0.3f));
  m.node("PRelu", "prelu", {"d1", "slope"}, {"p1"});
  set(m.node("MaxPool", "pool", {"p1"}, {"m1"}), "kernel_shape", Dims{2, 2});
  set(*m.graph().mutable_node(m.graph().node_size() - 1), "strides", Dims{2, 2});
  add_conv(m, "down2", "m1", "d2", 6, 12, 2);
  m.node("Relu", "relu2", {"d2"}, {"r2"});
  m.constant<float>("up.w", {12, 6, 2, 2}, random_floats(3, 288, 0.5f));
  set(m.node("ConvTranspose", "up", {"r2", "up.w"}, {"u"}), "strides", Dims{2, 2});
  for (const char* name : {"gamma", "beta", "mean"})
    m.constant<float>(name, {6}, random_floats(11, 6, 0.5f, 0.8f));
  m.constant<float>("variance", {6}, random_floats(12, 6, 0.3f, 1.0f));
  m.node("BatchNormalization", "bn", {"u", "gamma", "beta", "mean", "variance"}, {"ub"});
  m.node("Relu", "relu3", {"ub"}, {"ur"});
  set(m.node("Concat", "skip", {"ur", "p1"}, {"c"}), "axis", int64_t{1});
  add_conv(m, "fuse", "c", "f", 12, 6, 4);
  m.node("Max", "max", {"f", "p1"}, {"mx"});
  add_conv(m, "out", "mx", "o", 6, 2, 5);
  m.constant<float>("scales", {4}, {1, 1, 2, 2});
  test::set_text(m.node("Resize", "resize", {"o", "", "scales"}, {"z"}), "mode", "linear");
  m.node("Sigmoid", "probability", {"z"}, {"y"});
  const ir::Graph g = lands_whole(m);
  CHECK(count_op(g, "BatchNormalization") == 0);
}

TEST_CASE("activation functions of every kind between layers, from float") {
  for (const char* op : {"Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish", "Elu", "Selu", "Celu",
                         "Softplus", "Softsign", "Mish", "Gelu", "ThresholdedRelu", "Erf", "Abs"}) {
    INFO(op);
    test::OnnxModel m(20);
    m.input("x", {1, 3, 8, 8}).output("y");
    add_conv(m, "a", "x", "c", 3, 6, 1);
    m.node(op, "f", {"c"}, {"h"});
    add_conv(m, "b", "h", "y", 6, 4, 2);
    const ir::Graph g = lands_whole(m);
    CHECK(count_op(g, "qlut") == 1);
  }
}
