#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "isa/error.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
using test::OnnxModel;

namespace {

ir::Graph run(const OnnxModel& m, std::vector<std::string> passes) {
  ir::Graph g = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  passes::run_pipeline(g, {.passes = std::move(passes)});
  return g;
}

}  // namespace

TEST_CASE("fold-constants computes what is constant, but leaves stored weights stored") {
  OnnxModel m;
  m.input("x", {1, 2}).output("y");
  m.constant<float>("a", {2}, {-1, 2});
  m.constant<int8_t>("w_q", {2}, {4, 6});
  m.constant<float>("w_s", {}, {0.5f});
  m.node("Relu", "relu", {"a"}, {"b"});
  m.node("DequantizeLinear", "dq", {"w_q", "w_s"}, {"w"});
  m.node("Add", "add", {"b", "w"}, {"c"});
  m.node("Add", "last", {"x", "c"}, {"y"});
  const ir::Graph g = run(m, {"fold-constants"});
  CHECK(!g.find_node("relu"));
  CHECK(g.find_node("dq"));
  CHECK(g.find_node("add"));
}

TEST_CASE("remove-identity keeps the names of graph outputs") {
  OnnxModel m;
  m.input("x", {1, 2}).output("y").output("z");
  m.node("Relu", "relu", {"x"}, {"h"});
  m.node("Identity", "id1", {"h"}, {"y"});
  m.node("Identity", "id2", {"x"}, {"z"});  // an input straight to an output: nothing to rename
  const ir::Graph g = run(m, {"remove-identity"});
  CHECK(!g.find_node("id1"));
  CHECK(g.find_node("id2"));
  CHECK(g.value(g.outputs()[0]).name == "y");
  CHECK(g.producer(*g.find_value("y")) == *g.find_node("relu"));
}

TEST_CASE("fold-batch-norm gives the same values with one node less") {
  OnnxModel m;
  m.input("x", {1, 2, 3, 3}).output("y");
  m.constant<float>("w", {2, 2, 1, 1}, {1, -2, 3, 0.5f});
  for (const char* p : {"scale", "shift", "mean"}) m.constant<float>(p, {2}, {0.7f, -1.3f});
  m.constant<float>("var", {2}, {0.2f, 4.0f});
  m.node("Conv", "conv", {"x", "w"}, {"c"});
  m.node("BatchNormalization", "bn", {"c", "scale", "shift", "mean", "var"}, {"y"});
  const ir::Graph before = run(m, {}), after = run(m, {"fold-batch-norm"});
  CHECK(after.node_count() == 1);
  CHECK(after.node(*after.find_node("conv")).onnx_nodes == std::vector<std::string>{"conv", "bn"});
  ir::Tensor x(ir::ElementType::float32, {1, 2, 3, 3});
  for (size_t i = 0; i < 18; ++i) x.data<float>()[i] = static_cast<float>(i) - 7.5f;
  const auto a = reference::evaluate(before, {{"x", x}}).at("y"),
             b = reference::evaluate(after, {{"x", x}}).at("y");
  for (size_t i = 0; i < 18; ++i) CHECK(b.data<float>()[i] == Approx(a.data<float>()[i]).margin(1e-5));
}

TEST_CASE("The pipeline is data: skip, bisect limit, unknown names, dumps") {
  OnnxModel m;
  m.input("x", {1, 2}).output("y");
  m.node("Identity", "id", {"x"}, {"h"});
  m.node("Relu", "relu", {"h"}, {"y"});
  ir::Graph g = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  SECTION("skip") {
    const auto r = passes::run_pipeline(g, {.skip = {"remove-identity"}});
    CHECK(g.node_count() == 2);
    for (const auto& t : r.times) CHECK(t.name != "remove-identity");
  }
  SECTION("bisect limit") {
    CHECK(passes::run_pipeline(g, {.bisect_limit = 1}).times.size() == 1);
    CHECK(g.node_count() == 2);
    CHECK(passes::run_pipeline(g, {.bisect_limit = 2}).times.back().nodes_after == 1);
  }
  SECTION("unknown names") {
    CHECK_THROWS_WITH(passes::run_pipeline(g, {.passes = {"fold-constant"}}),
                      Catch::Contains("did you mean 'fold-constants'"));
    CHECK_THROWS_AS(passes::run_pipeline(g, {.skip = {"x"}}), UserError);
  }
  SECTION("dumps read back") {
    const auto dir = std::filesystem::temp_directory_path() / "dlc_pass_dump";
    passes::run_pipeline(g, {.passes = {"remove-identity"}, .dump_directory = dir.string()});
    std::ifstream in(dir / "01-remove-identity.ir");
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    CHECK(text == ir::print(g, {.full_constants = false}));
    std::filesystem::remove_all(dir);
  }
}
