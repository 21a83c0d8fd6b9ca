#include <filesystem>
#include <fstream>

#include "compiler/onnx/export_onnx.h"
#include "isa/error.h"
#include "tests/unit/quantize_ptq_harness.h"

using namespace dlc;
using namespace dlc::ptq_test;
using test::Dims;
using test::set;

namespace {

// Exports and reads back; results must be equal bit for bit.
ir::Graph round_trip(const ir::Graph& g) {
  const std::string bytes = onnx_export::export_onnx_bytes(g);
  CHECK(bytes == onnx_export::export_onnx_bytes(g));
  ir::Graph back = onnx_import::import_onnx_bytes(bytes, "exported.onnx");
  CHECK(sqnr(g, back, random_rows(g, 11, 2)) == 300);
  CHECK(back.value(back.inputs()[0]).name == g.value(g.inputs()[0]).name);
  CHECK(back.value(back.outputs()[0]).name == g.value(g.outputs()[0]).name);
  return back;
}

int64_t opset_of(const ir::Graph& g) {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(onnx_export::export_onnx_bytes(g)));
  return model.opset_import(0).version();
}

}  // namespace

TEST_CASE("a quantised network survives export and import bit for bit, names included") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  add_conv(m, "a", "x", "c", 2, 4, 1);
  m.node("Relu", "relu", {"c"}, {"r"});
  add_conv(m, "b", "r", "y", 4, 4, 2);
  ir::Graph g = import(m);
  quantize::quantize_graph(g, random_rows(g, 3, 4));
  const ir::Graph back = round_trip(g);
  CHECK(back.node_count() == g.node_count());
  CHECK(back.find_value("r_q"));
  CHECK(back.value(*back.find_value("r_q")).quantization == g.value(*g.find_value("r_q")).quantization);
  CHECK(opset_of(g) == 13);
}

TEST_CASE("operators of old opsets are written in their opset 13 form") {
  test::OnnxModel m(9);
  m.input("x", {1, 4, 6, 6}).output("y");
  auto& clip = m.node("Clip", "clip", {"x"}, {"c"});
  set(clip, "min", -0.5f);
  set(clip, "max", 0.25f);
  set(m.node("Pad", "pad", {"c"}, {"p"}), "pads", Dims{0, 0, 1, 1, 0, 0, 0, 1});
  auto& slice = m.node("Slice", "slice", {"p"}, {"s"});
  set(slice, "starts", Dims{1, 0});
  set(slice, "ends", Dims{3, 5});
  set(slice, "axes", Dims{1, 3});
  auto& pool = m.node("AveragePool", "pool", {"s"}, {"v"});
  set(pool, "kernel_shape", Dims{2, 2});
  set(m.node("Unsqueeze", "unsqueeze", {"v"}, {"u"}), "axes", Dims{0});
  set(m.node("Squeeze", "squeeze", {"u"}, {"q"}), "axes", Dims{0, 1});
  set(m.node("Softmax", "softmax", {"q"}, {"o"}), "axis", int64_t{1});  // a row is everything from axis 1 on
  m.node("Dropout", "drop", {"o"}, {"d"});
  set(m.node("Flatten", "flat", {"d"}, {"y"}), "axis", int64_t{1});
  const ir::Graph g = import(m);
  CHECK(opset_of(g) == 13);
  round_trip(g);
}

TEST_CASE("one-sided limits, strided slices and reshapes keep their meaning") {
  test::OnnxModel m(15);
  m.input("x", {1, 4, 7, 6}).output("y");
  m.constant<float>("high", {}, {0.25f});
  m.node("Clip", "clip", {"x", "", "high"}, {"c"});
  m.constant<int64_t>("starts", {2}, {1, 0})
      .constant<int64_t>("ends", {2}, {7, 6})
      .constant<int64_t>("axes", {2}, {2, 3});
  m.constant<int64_t>("steps", {2}, {3, 4}).constant<int64_t>("shape", {2}, {0, -1});
  m.node("Slice", "slice", {"c", "starts", "ends", "axes", "steps"}, {"s"});
  m.node("Reshape", "reshape", {"s", "shape"}, {"r"});
  m.node("LogSoftmax", "softmax", {"r"}, {"y"});
  const ir::Graph g = import(m);
  CHECK(opset_of(g) == 15);
  round_trip(g);
}

TEST_CASE("names that the export makes up do not clash with the network's") {
  test::OnnxModel m;
  m.input("x", {1, 4}).output("y");
  m.constant<float>("clip_min", {1, 4}, {1, 2, 3, 4}).constant<float>("low", {}, {-0.5f});
  m.node("Clip", "clip", {"x", "low"}, {"c"});
  m.node("Add", "add", {"c", "clip_min"}, {"y"});
  round_trip(import(m));
}

TEST_CASE("graphs with integer operators are refused by node, unwritable files by path") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  add_conv(m, "conv", "x", "y", 2, 4, 1);
  ir::Graph g = import(m);
  CHECK_THROWS_WITH(onnx_export::export_onnx(g, "/nowhere/model.onnx"),
                    Catch::Contains("/nowhere/model.onnx") && Catch::Contains("cannot be written"));
  quantize::quantize_graph(g, random_rows(g, 3, 4));
  passes::run_pipeline(g);
  CHECK_THROWS_WITH(onnx_export::export_onnx_bytes(g),
                    Catch::Contains("conv") && Catch::Contains("no ONNX form"));
}

TEST_CASE("the exported file appears whole") {
  test::OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  add_conv(m, "conv", "x", "y", 2, 4, 1);
  const ir::Graph g = import(m);
  const auto path = std::filesystem::temp_directory_path() / "dlc_export_test.onnx";
  onnx_export::export_onnx(g, path.string());
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  CHECK(bytes == onnx_export::export_onnx_bytes(g));
  CHECK_FALSE(std::filesystem::exists(path.string() + ".tmp"));
  std::filesystem::remove(path);
}
