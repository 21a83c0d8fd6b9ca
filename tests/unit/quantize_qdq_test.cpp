// The integer graph against the float Q/DQ graph it came from, both evaluated by the reference. Scales are
// crooked on purpose: with round ones many real values lie exactly between two steps, where the float
// graph's own rounding errors decide.
#include <catch2/catch.hpp>
#include <random>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
using test::OnnxModel;

namespace {

std::mt19937 random_engine(5);

std::vector<int8_t> random_weights(size_t n) {
  std::vector<int8_t> w(n);
  for (auto& v : w) v = static_cast<int8_t>(random_engine());
  return w;
}

struct Lowered {
  ir::Graph graph;
  passes::PipelineResult result;
};

Lowered lower(const OnnxModel& m, std::vector<std::string> passes = passes::default_pipeline()) {
  Lowered l{onnx_import::import_onnx_bytes(m.bytes(), "m.onnx"), {}};
  l.result = passes::run_pipeline(l.graph, {.passes = std::move(passes)});
  return l;
}

size_t count(const ir::Graph& g, const std::string& op) {
  size_t n = 0;
  for (ir::NodeId id : g.nodes()) n += g.node(id).op == op;
  return n;
}

// Every 8-bit tensor of the integer graph: at most one step off, in at least 99.5 % not at all.
void agrees(const OnnxModel& m, const ir::Graph& integer) {
  const ir::Graph original = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  size_t elements = 0, different = 0;
  for (int trial = 0; trial < 4; ++trial) {
    reference::TensorMap inputs;
    for (ir::ValueId v : original.inputs()) {
      ir::Tensor t(original.value(v).type, original.value(v).shape);
      std::normal_distribution<float> normal(0, 40);
      for (float& f : t.data<float>()) f = normal(random_engine);
      inputs[original.value(v).name] = t;
    }
    const auto want = reference::evaluate(original, inputs, true);
    for (const auto& [name, t] : reference::evaluate(integer, inputs, true)) {
      if (!ir::is_8bit(t.type) || !want.contains(name)) continue;
      for (size_t i = 0; i < t.bytes.size(); ++i) {
        const int a = t.type == ir::ElementType::int8 ? static_cast<int8_t>(t.bytes[i]) : t.bytes[i];
        const uint8_t raw = want.at(name).bytes[i];
        const int b = t.type == ir::ElementType::int8 ? static_cast<int8_t>(raw) : raw;
        REQUIRE(std::abs(a - b) <= 1);
        different += a != b;
        ++elements;
      }
    }
  }
  REQUIRE(elements > 0);
  CHECK(static_cast<double>(different) <= 0.005 * static_cast<double>(elements));
}

// x_dq -> Conv -> `name`, weights per channel.
onnx::NodeProto& add_conv(OnnxModel& m, const std::string& name, const std::string& x, int64_t oc,
                          int64_t icg, int64_t k, bool bias) {
  m.constant<int8_t>(name + ".w_q", {oc, icg, k, k}, random_weights(static_cast<size_t>(oc * icg * k * k)));
  std::vector<float> scales, bias_scales;
  std::vector<int32_t> biases;
  for (int64_t c = 0; c < oc; ++c) {
    scales.push_back(0.002f + 0.0001f * static_cast<float>(c));
    bias_scales.push_back(scales.back() * 0.5f);
    biases.push_back(static_cast<int32_t>(random_engine() % 4000) - 2000);
  }
  m.constant<float>(name + ".w_s", {oc}, scales);
  m.constant<int8_t>(name + ".w_z", {oc}, std::vector<int8_t>(static_cast<size_t>(oc), 0));
  test::set(m.node("DequantizeLinear", name + ".w.DQ", {name + ".w_q", name + ".w_s", name + ".w_z"},
                   {name + ".w"}),
            "axis", int64_t{0});
  std::vector<std::string> inputs{x, name + ".w"};
  if (bias) {
    m.constant<int32_t>(name + ".b_q", {oc}, biases);
    m.constant<float>(name + ".b_s", {oc}, bias_scales);
    test::set(m.node("DequantizeLinear", name + ".b.DQ", {name + ".b_q", name + ".b_s"}, {name + ".b"}),
              "axis", int64_t{0});
    inputs.push_back(name + ".b");
  }
  return m.node("Conv", name, inputs, {name});
}

}  // namespace

TEST_CASE("Conv, Relu, Clip: one qconv under the QuantizeLinear's tensor name, clamp from the activation") {
  OnnxModel m;
  m.input("x", {2, 6, 7, 9}).output("out");
  test::quantise<uint8_t>(m, "x", "x", 0.5f, 120);
  auto& conv = add_conv(m, "conv", "x_dq", 4, 3, 3, true);
  test::set(conv, "group", int64_t{2});
  test::set(conv, "pads", {1, 0, 1, 2});
  test::set(conv, "strides", {2, 1});
  m.node("Relu", "relu", {"conv"}, {"r"});
  m.constant<float>("six", {}, {6.0f});
  m.node("Clip", "clip", {"r", "", "six"}, {"c"});
  test::quantise<int8_t>(m, "c", "y", 0.1f, -20);
  m.node("Relu", "last", {"y_dq"}, {"out"});
  const Lowered l = lower(m);
  const auto y = l.graph.find_value("y_q");
  REQUIRE(y);
  const ir::Node& n = l.graph.node(l.graph.producer(*y));
  CHECK(n.op == "qconv");
  CHECK(n.name == "conv");
  const auto& q = std::get<ir::QConv>(n.payload);
  CHECK(q.rescale.low == -20);
  CHECK(q.rescale.high == 40);
  CHECK(q.x_zero == 120);
  CHECK(n.onnx_nodes ==
        std::vector<std::string>{"x.DQ", "conv.w.DQ", "conv.b.DQ", "conv", "relu", "clip", "y.Q"});
  CHECK(l.graph.value(*y).quantization->scale[0] == 0.1f);
  agrees(m, l.graph);
}

TEST_CASE("A residual block: the convolution's own quantisation is kept, the addition becomes its residual") {
  OnnxModel m;
  m.input("x", {1, 4, 6, 6}).output("out");
  test::quantise<int8_t>(m, "x", "x", 0.5f, 3);
  test::set(add_conv(m, "conv", "x_dq", 4, 4, 3, true), "pads", {1, 1, 1, 1});
  test::quantise<int8_t>(m, "conv", "t", 0.37f, -5);
  const bool swapped = GENERATE(false, true);
  m.node("Add", "add",
         swapped ? std::vector<std::string>{"t_dq", "x_dq"} : std::vector<std::string>{"x_dq", "t_dq"},
         {"sum"});
  m.node("Relu", "relu", {"sum"}, {"r"});
  test::quantise<uint8_t>(m, "r", "y", 0.61f, 0);
  m.node("Relu", "last", {"y_dq"}, {"out"});
  const Lowered unfused = lower(m, {"quantize-qdq", "remove-dead-code"});
  CHECK(count(unfused.graph, "qadd") == 1);
  agrees(m, unfused.graph);
  const Lowered l = lower(m);
  CHECK(count(l.graph, "qadd") == 0);
  const ir::Node& n = l.graph.node(*l.graph.find_node("conv"));
  REQUIRE(std::get<ir::QConv>(n.payload).residual);
  CHECK(l.graph.value(n.inputs[2]).name == "x_q");
  // Fusion changes no byte.
  ir::Tensor x(ir::ElementType::float32, {1, 4, 6, 6});
  for (float& f : x.data<float>()) f = static_cast<float>(static_cast<int>(random_engine() % 120) - 60);
  CHECK(reference::evaluate(l.graph, {{"x", x}}).at("out").bytes ==
        reference::evaluate(unfused.graph, {{"x", x}}).at("out").bytes);
}

TEST_CASE("Two quantised convolutions added: the later one takes the other as residual") {
  OnnxModel m;
  m.input("x", {1, 4, 6, 6}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.5f, 0);
  add_conv(m, "a", "x_dq", 4, 4, 1, false);
  test::quantise<int8_t>(m, "a", "ta", 0.4f, 0);
  add_conv(m, "b", "x_dq", 4, 4, 1, false);
  test::quantise<int8_t>(m, "b", "tb", 0.3f, 7);
  m.node("Sub", "sub", {"tb_dq", "ta_dq"}, {"d"});
  test::quantise<int8_t>(m, "d", "y", 0.5f, 1);
  const Lowered l = lower(m);
  CHECK(count(l.graph, "qconv") == 2);
  CHECK(count(l.graph, "qadd") == 0);
  agrees(m, l.graph);
}

TEST_CASE("Gemm and MatMul + Add become 1x1 qconvs; behind a flattened map they read the map") {
  OnnxModel m;
  m.input("x", {1, 3, 2, 4}).output("out");
  test::quantise<int8_t>(m, "x", "x", 0.5f, -7);
  const bool channels_last = GENERATE(false, true);
  if (channels_last) test::set(m.node("Transpose", "nhwc", {"x_dq"}, {"moved"}), "perm", {0, 2, 3, 1});
  m.node("Flatten", "flat", {channels_last ? "moved" : "x_dq"}, {"f"});
  m.constant<int8_t>("w1_q", {24, 5}, random_weights(120));
  m.constant<float>("w1_s", {5}, {0.01f, 0.02f, 0.03f, 0.01f, 0.02f});
  test::set(m.node("DequantizeLinear", "w1.DQ", {"w1_q", "w1_s"}, {"w1"}), "axis", int64_t{1});
  m.node("MatMul", "fc1", {"f", "w1"}, {"p"});
  m.constant<float>("b1", {5}, {1, 2, 3, -4, 5});
  m.node("Add", "bias", {"p", "b1"}, {"s"});
  test::quantise<uint8_t>(m, "s", "h", 0.9f, 100);
  m.constant<int8_t>("w2_q", {6, 5}, random_weights(30));
  m.constant<float>("w2_s", {}, {0.01f});
  m.node("DequantizeLinear", "w2.DQ", {"w2_q", "w2_s"}, {"w2"});
  auto& gemm = m.node("Gemm", "fc2", {"h_dq", "w2", "b2"}, {"g"});
  m.constant<float>("b2", {6}, {1, 2, 3, 4, 5, 6});
  test::set(gemm, "transB", int64_t{1});
  test::set(gemm, "alpha", 0.5f);
  test::quantise<int8_t>(m, "g", "y", 0.7f, 0);
  m.node("Relu", "last", {"y_dq"}, {"out"});
  const Lowered l = lower(m);
  CHECK(count(l.graph, "qconv") == 2);
  CHECK(count(l.graph, "reshape") + count(l.graph, "Transpose") == 0);
  const auto& fc1 = std::get<ir::QConv>(l.graph.node(*l.graph.find_node("fc1")).payload);
  CHECK(fc1.kernel == std::array<int64_t, 2>{2, 4});
  agrees(m, l.graph);
}

TEST_CASE("Pools: maxima on stored tensors, averages with a factor per number of valid elements") {
  OnnxModel m;
  m.input("x", {1, 2, 9, 7}).output("out");
  test::quantise<int8_t>(m, "x", "x", 0.5f, 10);
  auto& max = m.node("MaxPool", "max", {"x_dq"}, {"mx"});
  test::set(max, "kernel_shape", {3, 3});
  test::set(max, "strides", {2, 2});
  test::set(max, "pads", {1, 1, 1, 1});
  test::set(max, "ceil_mode", int64_t{1});
  test::quantise<int8_t>(m, "mx", "m", 0.5f, 10);
  auto& average = m.node("AveragePool", "avg", {"m_dq"}, {"av"});
  test::set(average, "kernel_shape", {3, 2});
  test::set(average, "pads", {1, 1, 1, 0});
  if (GENERATE(false, true)) test::set(average, "count_include_pad", int64_t{1});
  test::quantise<uint8_t>(m, "av", "a", 0.4173f, 128);
  m.node("GlobalAveragePool", "gap", {"a_dq"}, {"g"});
  test::quantise<int8_t>(m, "g", "y", 0.3319f, 0);
  m.node("Relu", "last", {"y_dq"}, {"out"});
  const Lowered l = lower(m);
  CHECK(count(l.graph, "qpool") == 3);
  CHECK(l.graph.find_value("m_q"));
  agrees(m, l.graph);
}

TEST_CASE("A change of scale, with and without an activation, is a qadd; none at all is nothing") {
  OnnxModel m;
  m.input("x", {1, 2, 3, 3}).output("b_q").output("c_q");
  test::quantise<int8_t>(m, "x", "x", 0.5f, 10);
  test::quantise<int8_t>(m, "x_dq", "same", 0.5f, 10);
  m.node("Relu", "relu", {"same_dq"}, {"r"});
  test::quantise<uint8_t>(m, "r", "b", 0.2037f, 3);
  test::quantise<int8_t>(m, "x_dq", "c", 0.5f, 10);
  const Lowered l = lower(m);
  CHECK(count(l.graph, "qadd") == 1);
  CHECK(count(l.graph, "QuantizeLinear") == 1);
  CHECK(l.graph.value(l.graph.outputs()[0]).name == "b_q");
  CHECK(l.graph.value(l.graph.outputs()[1]).name == "c_q");
  agrees(m, l.graph);
}

TEST_CASE("Addition of a constant is expanded to the tensor's shape") {
  OnnxModel m;
  m.input("x", {1, 3, 2, 2}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.5f, 10);
  m.constant<int8_t>("k_q", {3, 1, 1}, {-100, 0, 100});
  m.constant<float>("k_s", {}, {0.3071f});
  m.node("DequantizeLinear", "k.DQ", {"k_q", "k_s"}, {"k"});
  m.node("Add", "add", {"k", "x_dq"}, {"s"});
  test::quantise<int8_t>(m, "s", "y", 0.6113f, 0);
  const Lowered l = lower(m);
  CHECK(count(l.graph, "qadd") == 1);
  agrees(m, l.graph);
}

TEST_CASE("What cannot be exact stays in float, with the reason") {
  OnnxModel m;
  m.input("x", {1, 2, 3, 3}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.5f, 10);
  m.constant<int8_t>("w_q", {2, 2, 1, 1}, {1, 2, 3, 4});
  m.constant<float>("w_s", {2}, {0.1f, 0.2f});
  std::string reason;
  SECTION("weight zero points that differ") {
    m.constant<int8_t>("w_z", {2}, {0, 1});
    test::set(m.node("DequantizeLinear", "w.DQ", {"w_q", "w_s", "w_z"}, {"w"}), "axis", int64_t{0});
    m.node("Conv", "conv", {"x_dq", "w"}, {"c"});
    reason = "zero points differ";
  }
  SECTION("a result that is read in float too") {
    test::set(m.node("DequantizeLinear", "w.DQ", {"w_q", "w_s"}, {"w"}), "axis", int64_t{0});
    m.node("Conv", "conv", {"x_dq", "w"}, {"c"});
    m.output("c");
    reason = "not quantised to 8 bits";
  }
  SECTION("scales along the input channels") {
    test::set(m.node("DequantizeLinear", "w.DQ", {"w_q", "w_s"}, {"w"}), "axis", int64_t{1});
    m.node("Conv", "conv", {"x_dq", "w"}, {"c"});
    reason = "axis 1";
  }
  test::quantise<int8_t>(m, "c", "y", 0.6f, 0);
  const Lowered l = lower(m);
  CHECK(count(l.graph, "Conv") == 1);
  REQUIRE(l.result.notes.size() == 1);
  CHECK(l.result.notes[0].node == "conv");
  CHECK(l.result.notes[0].text.find(reason) != std::string::npos);
}
