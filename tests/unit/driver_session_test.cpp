// Partition and sessions: networks whose host operators lie between accelerator operators.
#include <catch2/catch.hpp>
#include <fstream>
#include <unistd.h>

#include <filesystem>

#include "compiler/driver/compare.h"
#include "compiler/driver/compare_graph.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/file_io.h"
#include "compiler/driver/inputs.h"
#include "compiler/driver/outputs.h"
#include "isa/program_file.h"
#include "tests/unit/onnx_model.h"

namespace dlc {
namespace {

// x -> Q -> conv1 -> Q -> Softmax(host) -> Q -> conv2 -> Q; conv1's tensor also feeds the last addition.
std::string islands_model() {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  m.constant<float>("s", {}, {0.02f}).constant<int8_t>("z", {}, {-3});
  m.constant<float>("ws", {}, {0.01f}).constant<int8_t>("wz", {}, {0});
  m.constant<int8_t>("w", {2, 2, 1, 1}, {50, -70, 90, 11});
  m.node("DequantizeLinear", "wdq", {"w", "ws", "wz"}, {"wf"});
  auto quantised = [&](const std::string& from, const std::string& to) {
    m.node("QuantizeLinear", to + ".q", {from, "s", "z"}, {to + "_q"});
    m.node("DequantizeLinear", to + ".dq", {to + "_q", "s", "z"}, {to});
  };
  quantised("x", "a");
  m.node("Conv", "conv1", {"a", "wf"}, {"b0"});
  quantised("b0", "b");
  auto* axis = m.node("Softmax", "middle", {"b"}, {"c0"}).add_attribute();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(1);
  quantised("c0", "c");
  m.node("Conv", "conv2", {"c", "wf"}, {"d0"});
  quantised("d0", "d");
  m.node("Add", "sum", {"d", "b"}, {"e0"});
  quantised("e0", "y");
  return m.bytes();
}

struct Fixture {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("dlc-session-" + std::to_string(getpid()));
  Options options;
  Fixture() {
    std::filesystem::create_directories(folder);
    options.hw = DLC_SOURCE_DIR "/hwconfigs/tiny-4.yaml";
    options.model = (folder / "islands.onnx").string();
    options.quiet = true;
    write_file(options.model, islands_model());
  }
  ~Fixture() { std::filesystem::remove_all(folder); }
};

TEST_CASE_METHOD(Fixture, "a host operator between two accelerator regions makes a program of several segments") {
  const Compiled c = compile_model(options);
  std::vector<Segment::Kind> kinds;
  for (const Segment& s : c.program.segments) kinds.push_back(s.kind);
  const auto host = Segment::Kind::host, machine = Segment::Kind::accelerator;
  CHECK(kinds == std::vector{host, machine, host, machine, host});
  CHECK(verify_segments(c.program, c.hw).empty());
}

TEST_CASE_METHOD(Fixture, "a network of several segments equals the reference on every simulator, tensor shared between segments included") {
  const Compiled c = compile_model(options);
  const Session session(c.program, c.hw);
  TensorMap inputs;
  for (const ir::Tensor& t : session.input_signature()) inputs[t.name] = random_input(t, 3);
  const TensorMap expected = reference::Evaluator(c.graph).evaluate(inputs, true);
  for (const std::string engine : {"functional", "systemc"}) {
    auto device = make_device(engine, c.hw);
    const Inference r = session.infer(*device, inputs, {});
    const Check check = compare_tensors(c.program, engine, r.device_tensors, "reference", expected);
    INFO(engine << " " << check.first);
    CHECK(check.passed());
    CHECK(r.outputs.at("y").bytes == expected.at("y").bytes);
    if (engine == "systemc") CHECK(r.run.times.size() == c.program.instructions.size());
  }
}

TEST_CASE_METHOD(Fixture, "a saved program of several segments runs to the same outputs") {
  const Compiled c = compile_model(options);
  const std::string file = (folder / "p.dlp").string();
  save_program(c.program, file);
  const Program loaded = load_program(file);
  TensorMap inputs;
  const Session a(c.program, c.hw), b(loaded, c.hw);
  for (const ir::Tensor& t : b.input_signature()) inputs[t.name] = random_input(t, 5);
  auto device = make_device("systemc", c.hw);
  const Inference x = a.infer(*device, inputs, {}), y = b.infer(*device, inputs, {});
  CHECK(x.outputs.at("y").bytes == y.outputs.at("y").bytes);
  CHECK(x.run.total_cycles == y.run.total_cycles);
}

TEST_CASE_METHOD(Fixture, "compiling a network twice gives the same program") {
  CHECK(disassemble(compile_model(options).program) == disassemble(compile_model(options).program));
}

TEST_CASE_METHOD(Fixture, "comparing tensors finds the first layer that deviates from the imported graph") {
  options.compare_graph = true;
  const Compiled c = compile_model(options);
  const Session session(c.program, c.hw);
  TensorMap inputs;
  for (const ir::Tensor& t : session.input_signature()) inputs[t.name] = random_input(t, 4);
  const TensorMap oracle = reference::Evaluator(c.original).evaluate(inputs, true);
  TensorMap values = reference::Evaluator(c.graph).evaluate(inputs, true);
  auto deviations = compare_with_graph(c.graph, values, oracle, c.original);
  REQUIRE(deviations.size() == 4);  // a_q, b_q, c_q, y_q; d_q is inside the fused addition
  for (const TensorDeviation& d : deviations) CHECK(d.max_steps <= 1.0001);
  values.at("b_q").bytes[3] ^= 0x40;
  deviations = compare_with_graph(c.graph, values, oracle, c.original);
  CHECK(deviations[1].name == "b_q");
  CHECK(deviations[1].max_steps > 60);
  CHECK(format_deviations(deviations).find("first tensor that deviates by more than one step: 'b_q'") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "a host operator is refused by name with --no-fallback") {
  options.no_fallback = true;
  CHECK_THROWS_WITH(compile_model(options), Catch::Contains("middle") && Catch::Contains("Softmax"));
}

}  // namespace
}  // namespace dlc

namespace dlc {
TEST_CASE("a half-precision network is refused by tensor and type, not misread") {
  test::OnnxModel m;
  m.input("x", {1, 3, 8, 8}, onnx::TensorProto::FLOAT16).output("y");
  m.node("Relu", "r", {"x"}, {"y"});
  const std::string path = (std::filesystem::temp_directory_path() / ("dlc_half_" + std::to_string(::getpid()) + ".onnx")).string();
  std::ofstream(path, std::ios::binary) << m.bytes();
  Options options;
  options.model = path;
  CHECK_THROWS_WITH(prepare_model(options), Catch::Contains("tensor 'x' is float16") && Catch::Contains("convert the model to float32"));
  std::filesystem::remove(path);
}

}  // namespace dlc
