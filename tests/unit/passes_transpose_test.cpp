#include <catch2/catch.hpp>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
using test::OnnxModel;

namespace {

constexpr const char* kPass = "move-transposes";

size_t count(const ir::Graph& g, const std::string& op) {
  size_t n = 0;
  for (ir::NodeId id : g.nodes()) n += g.node(id).op == op;
  return n;
}

// Runs the pass and checks that no value of the outputs changed.
ir::Graph moved(const OnnxModel& m, const ir::Shape& x, const std::vector<std::string>& passes = {kPass}) {
  ir::Graph g = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  ir::Tensor in(ir::ElementType::float32, x);
  for (size_t i = 0; i < in.data<float>().size(); ++i)
    in.data<float>()[i] = static_cast<float>(i % 13) - 6.0f;
  const auto before = reference::evaluate(g, {{"x", in}});
  passes::run_pipeline(g, {.passes = passes});
  const auto after = reference::evaluate(g, {{"x", in}});
  for (const auto& [name, tensor] : before) {
    INFO(name);
    CHECK(after.at(name).shape == tensor.shape);
    CHECK(after.at(name).bytes == tensor.bytes);
  }
  return g;
}

void transpose(OnnxModel& m, const std::string& from, const std::string& to,
               const std::vector<int64_t>& perm) {
  test::set(m.node("Transpose", "t_" + to, {from}, {to}), "perm", perm);
}

const std::vector<int64_t> kToLast{0, 2, 3, 1}, kToFirst{0, 3, 1, 2};

}  // namespace

TEST_CASE("Transpositions around element-wise operators and Q/DQ cancel") {
  OnnxModel m;
  m.input("x", {1, 2, 3, 4}).output("y");
  m.constant<float>("c", {2}, {10, 20});  // a channel each, NHWC
  transpose(m, "x", "a", kToLast);
  m.node("Relu", "relu", {"a"}, {"b"});
  m.node("Add", "add", {"b", "c"}, {"d"});
  test::quantise<uint8_t>(m, "d", "e", 0.25f, 2);
  transpose(m, "e_dq", "f", kToFirst);
  m.node("Relu", "relu2", {"f"}, {"y"});
  CHECK(count(moved(m, {1, 2, 3, 4}), "Transpose") == 0);
}

TEST_CASE("An addition of two equally transposed branches is transposed once, behind") {
  OnnxModel m;
  m.input("x", {1, 2, 3, 4}).output("y");
  transpose(m, "x", "a", kToLast);
  m.node("Relu", "relu", {"a"}, {"b"});
  m.node("Add", "add", {"a", "b"}, {"y"});
  const ir::Graph g = moved(m, {1, 2, 3, 4});
  CHECK(count(g, "Transpose") == 1);
  CHECK(g.node(g.producer(*g.find_value("y"))).op == "Transpose");
}

TEST_CASE("Concat, Pad, Slice and means keep the dimension that they are about") {
  OnnxModel m;
  m.input("x", {1, 2, 3, 4}).output("y");
  m.constant<int64_t>("pads", {8}, {0, 1, 0, 0, 0, 0, 2, 0});
  m.constant<int64_t>("starts", {1}, {1})
      .constant<int64_t>("ends", {1}, {4})
      .constant<int64_t>("axes", {1}, {2});
  transpose(m, "x", "a", kToLast);
  test::set(m.node("Concat", "cat", {"a", "a"}, {"b"}), "axis", int64_t{3});
  m.node("Pad", "pad", {"b", "pads"}, {"c"});
  m.node("Slice", "slice", {"c", "starts", "ends", "axes"}, {"d"});
  test::set(m.node("ReduceMax", "max", {"d"}, {"e"}), "axes", std::vector<int64_t>{1});
  transpose(m, "e", "y", kToFirst);
  const ir::Graph g = moved(m, {1, 2, 3, 4});
  CHECK(count(g, "Transpose") == 0);
}

TEST_CASE("A transposed weight becomes a transposed constant, its scales moving along") {
  OnnxModel m;
  m.input("x", {1, 2, 4, 4}).output("y");
  m.constant<int8_t>("w", {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});  // HWIO
  m.constant<float>("s", {3}, {0.5f, 1, 2});
  test::set(m.node("DequantizeLinear", "dq", {"w", "s"}, {"wf"}), "axis", int64_t{3});
  transpose(m, "wf", "wt", {3, 2, 0, 1});
  m.node("Conv", "conv", {"x", "wt"}, {"y"});
  const ir::Graph g = moved(m, {1, 2, 4, 4});
  CHECK(count(g, "Transpose") == 0);
  const ir::Node& dq = g.node(*g.find_node("dq.transposed"));
  CHECK(dq.attribute<int64_t>("axis") == 0);
}

TEST_CASE("A transposition that is needed stays: before a Reshape, and at a graph output") {
  OnnxModel m;
  m.input("x", {1, 2, 3, 4}).output("y").output("z");
  m.constant<int64_t>("shape", {2}, {1, -1});
  transpose(m, "x", "a", kToLast);
  m.node("Reshape", "flat", {"a", "shape"}, {"y"});
  m.node("Relu", "relu", {"a"}, {"z"});
  CHECK(count(moved(m, {1, 2, 3, 4}), "Transpose") == 2);
}

TEST_CASE("A mean over the spatial dimensions is a global average pool") {
  for (int64_t keepdims : {0, 1}) {
    OnnxModel m;
    m.input("x", {1, 2, 3, 4}).output("y");
    auto& n = m.node("ReduceMean", "mean", {"x"}, {"y"});
    test::set(n, "axes", std::vector<int64_t>{-2, -1});
    test::set(n, "keepdims", keepdims);
    ir::Graph g = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
    passes::run_pipeline(g, {.passes = {"mean-to-pool"}});
    CHECK(count(g, "GlobalAveragePool") == 1);
    CHECK(count(g, "Reshape") == (keepdims ? 0 : 1));
    ir::Tensor x(ir::ElementType::float32, {1, 2, 3, 4});
    for (size_t i = 0; i < 24; ++i) x.data<float>()[i] = static_cast<float>(i);
    CHECK(reference::evaluate(g, {{"x", x}}).at("y").data<float>()[1] == Approx(17.5f));
  }
}
