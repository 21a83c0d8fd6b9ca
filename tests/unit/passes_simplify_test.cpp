#include <catch2/catch.hpp>
#include <cmath>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
using test::OnnxModel;

namespace {

ir::Graph import(const OnnxModel& m) { return onnx_import::import_onnx_bytes(m.bytes(), "m.onnx"); }

// After the passes: the operators in order, and the same values as before (to float rounding).
std::vector<std::string> operators_after(const OnnxModel& m, std::vector<std::string> passes) {
  const ir::Graph before = import(m);
  ir::Graph after = import(m);
  passes::run_pipeline(after, {.passes = std::move(passes)});
  reference::TensorMap inputs;
  for (ir::ValueId v : before.inputs()) {
    ir::Tensor t(ir::ElementType::float32, before.value(v).shape);
    for (size_t i = 0; i < t.data<float>().size(); ++i) t.data<float>()[i] = std::sin(static_cast<float>(i) * 1.7f) * 3;
    inputs[before.value(v).name] = t;
  }
  const auto expected = reference::evaluate(before, inputs), actual = reference::evaluate(after, inputs);
  CHECK(expected.size() == actual.size());
  for (const auto& [name, tensor] : expected) {
    REQUIRE(actual.contains(name));
    CHECK(actual.at(name).shape == tensor.shape);
    for (size_t i = 0; i < tensor.data<float>().size(); ++i)
      CHECK(actual.at(name).data<float>()[i] == Approx(tensor.data<float>()[i]).margin(1e-5));
  }
  std::vector<std::string> ops;
  for (ir::NodeId n : after.topological_order()) ops.push_back(after.node(n).op);
  return ops;
}

using Ops = std::vector<std::string>;
const Ops kSimplify{"simplify-algebra", "remove-dead-code"};
const Ops kRecognize{"common-subexpressions", "recognize-functions"};

void gelu_constants(OnnxModel& m) {
  m.constant<float>("half", {}, {0.5f}).constant<float>("one", {}, {1});
  m.constant<float>("root2", {}, {std::sqrt(2.0f)}).constant<float>("inv_root2", {1}, {1 / std::sqrt(2.0f)});
}

}  // namespace

TEST_CASE("simplify-algebra removes neutral operations and keeps those that broadcast") {
  OnnxModel m;
  m.input("x", {2, 3}).output("y");
  m.constant<float>("zero", {}, {0}).constant<float>("one", {3}, {1, 1, 1}).constant<float>("wide", {4, 1, 1}, {0, 0, 0, 0});
  m.node("Add", "a", {"zero", "x"}, {"b"});
  m.node("Mul", "c", {"b", "one"}, {"d"});
  m.node("Sub", "e", {"d", "zero"}, {"f"});
  m.node("Div", "g", {"f", "one"}, {"h"});
  m.node("Tanh", "t", {"h"}, {"i"});
  m.node("Add", "broadcasts", {"i", "wide"}, {"y"});
  CHECK(operators_after(m, kSimplify) == Ops{"Tanh", "Add"});
}

TEST_CASE("simplify-algebra does not take 0 - x and 1 / x for x") {
  OnnxModel m;
  m.input("x", {2, 3}).output("y").output("z");
  m.constant<float>("zero", {}, {0}).constant<float>("one", {}, {1});
  m.node("Sub", "a", {"zero", "x"}, {"y"});
  m.node("Div", "b", {"one", "x"}, {"z"});
  CHECK(operators_after(m, kSimplify) == Ops{"Sub", "Div"});
}

TEST_CASE("simplify-algebra removes what is done twice") {
  OnnxModel m;
  m.input("x", {2, 3}).output("y");
  m.node("Neg", "a", {"x"}, {"b"});
  m.node("Neg", "c", {"b"}, {"d"});
  m.node("Relu", "e", {"d"}, {"f"});
  m.node("Relu", "g", {"f"}, {"h"});
  m.node("Max", "i", {"h", "h"}, {"j"});
  m.node("Concat", "k", {"j"}, {"l"}).add_attribute()->set_name("axis");
  m.graph().mutable_node(5)->mutable_attribute(0)->set_type(onnx::AttributeProto::INT);
  m.node("Tanh", "t", {"l"}, {"y"});
  CHECK(operators_after(m, kSimplify) == Ops{"Relu", "Tanh"});
}

TEST_CASE("simplify-algebra joins scalar factors and terms, but not where the result between is used") {
  OnnxModel m;
  m.input("x", {2, 3}).output("y").output("z");
  m.constant<float>("two", {}, {2}).constant<float>("three", {1}, {3});
  m.node("Mul", "a", {"x", "two"}, {"b"});
  m.node("Mul", "c", {"three", "b"}, {"y"});
  m.node("Add", "d", {"x", "two"}, {"e"});
  m.node("Add", "f", {"e", "three"}, {"g"});
  m.node("Mul", "h", {"g", "e"}, {"z"});
  CHECK(operators_after(m, kSimplify) == Ops{"Mul", "Add", "Add", "Mul"});
}

TEST_CASE("simplify-algebra makes one view of a chain of views") {
  OnnxModel m;
  m.input("x", {2, 3, 4}).output("y");
  m.constant<int64_t>("s", {2}, {6, -1}).constant<int64_t>("axes", {1}, {0}).constant<int64_t>("t", {2}, {0, -1});
  m.node("Reshape", "a", {"x", "s"}, {"b"});
  m.node("Unsqueeze", "c", {"b", "axes"}, {"d"});
  m.node("Flatten", "e", {"d"}, {"f"});
  m.node("Reshape", "g", {"f", "t"}, {"y"});
  CHECK(operators_after(m, kSimplify) == Ops{"Reshape"});
}

TEST_CASE("common-subexpressions merges equal nodes on equal constants, chains of them too") {
  OnnxModel m;
  m.input("x", {2, 3}).output("y");
  m.constant<float>("c1", {}, {2}).constant<float>("c2", {}, {2});
  m.node("Mul", "a", {"x", "c1"}, {"b"});
  m.node("Mul", "c", {"x", "c2"}, {"d"});
  m.node("Tanh", "e", {"b"}, {"f"});
  m.node("Tanh", "g", {"d"}, {"h"});
  m.node("Sub", "i", {"f", "h"}, {"y"});
  CHECK(operators_after(m, {"common-subexpressions"}) == Ops{"Mul", "Tanh", "Sub"});
}

TEST_CASE("common-subexpressions tells attributes, input order and graph outputs apart") {
  OnnxModel m;
  m.input("x", {2, 3}).input("w", {2, 3}).output("y").output("z").output("p").output("q");
  m.node("Sub", "a", {"x", "w"}, {"y"});
  m.node("Sub", "b", {"w", "x"}, {"z"});
  test::set(m.node("LeakyRelu", "c", {"x"}, {"p"}), "alpha", 0.1f);
  test::set(m.node("LeakyRelu", "d", {"x"}, {"q"}), "alpha", 0.2f);
  CHECK(operators_after(m, {"common-subexpressions"}).size() == 4);
}

TEST_CASE("two graph outputs that are the same keep both names") {
  OnnxModel m;
  m.input("x", {2, 3}).output("y").output("z");
  m.node("Tanh", "a", {"x"}, {"y"});
  m.node("Tanh", "b", {"x"}, {"z"});
  operators_after(m, {"common-subexpressions"});
}

TEST_CASE("recognize-functions finds GELU with erf, however its factors stand") {
  const int form = GENERATE(0, 1, 2);
  OnnxModel m;
  m.input("x", {2, 8}).output("y");
  gelu_constants(m);
  if (form == 1) m.node("Mul", "s", {"x", "inv_root2"}, {"scaled"});
  else m.node("Div", "s", {"x", "root2"}, {"scaled"});
  m.node("Erf", "erf", {"scaled"}, {"e"});
  m.node("Add", "plus", {"e", "one"}, {"gate"});
  if (form == 0) {
    m.node("Mul", "p", {"x", "gate"}, {"q"});
    m.node("Mul", "last", {"q", "half"}, {"y"});
  } else if (form == 1) {
    m.node("Mul", "p", {"half", "x"}, {"q"});
    m.node("Mul", "last", {"q", "gate"}, {"y"});
  } else {
    m.node("Mul", "p", {"gate", "half"}, {"q"});
    m.node("Mul", "last", {"x", "q"}, {"y"});
  }
  CHECK(operators_after(m, kRecognize) == Ops{"Gelu"});
}

TEST_CASE("recognize-functions leaves alone what only looks like GELU") {
  OnnxModel m;
  m.input("x", {2, 8}).input("z", {2, 8}).output("y");
  gelu_constants(m);
  m.node("Div", "s", {"x", "root2"}, {"scaled"});
  m.node("Erf", "erf", {"scaled"}, {"e"});
  m.node("Add", "plus", {"e", "one"}, {"gate"});
  m.node("Mul", "p", {"z", "gate"}, {"q"});  // another tensor
  m.node("Mul", "last", {"q", "half"}, {"y"});
  CHECK(operators_after(m, kRecognize).size() == 5);
}

TEST_CASE("recognize-functions finds GELU with tanh, the cube as a power or as products") {
  const bool power = GENERATE(true, false);
  OnnxModel m;
  m.input("x", {2, 8}).output("y");
  gelu_constants(m);
  m.constant<float>("k", {}, {0.044715f}).constant<float>("c", {}, {0.7978845608f}).constant<float>("three", {}, {3});
  if (power) {
    m.node("Pow", "pow", {"x", "three"}, {"x3"});
  } else {
    m.node("Mul", "xx", {"x", "x"}, {"x2"});
    m.node("Mul", "xxx", {"x2", "x"}, {"x3"});
  }
  m.node("Mul", "kx", {"x3", "k"}, {"kx3"});
  m.node("Add", "sum", {"x", "kx3"}, {"s"});
  m.node("Mul", "cs", {"s", "c"}, {"t"});
  m.node("Tanh", "tanh", {"t"}, {"h"});
  m.node("Add", "plus", {"h", "one"}, {"gate"});
  m.node("Mul", "p", {"x", "half"}, {"q"});
  m.node("Mul", "last", {"q", "gate"}, {"y"});
  CHECK(operators_after(m, kRecognize) == Ops{"Gelu"});
}

TEST_CASE("recognize-functions finds layer normalisation, with and without scale and offset") {
  const int form = GENERATE(0, 1, 2);
  OnnxModel m;
  m.input("x", {2, 3, 8}).output("y");
  m.constant<float>("two", {}, {2}).constant<float>("epsilon", {}, {1e-5f});
  m.constant<float>("gamma", {8}, {1, 2, 3, 4, 5, 6, 7, 8}).constant<float>("beta", {8}, {8, 7, 6, 5, 4, 3, 2, 1});
  test::set(m.node("ReduceMean", "mean", {"x"}, {"mu"}), "axes", test::Dims{-1});
  m.node("Sub", "d1", {"x", "mu"}, {"d"});
  m.node("Sub", "d2", {"x", "mu"}, {"again"});  // as PyTorch's exporter writes it
  m.node("Pow", "pow", {"again", "two"}, {"sq"});
  test::set(m.node("ReduceMean", "var", {"sq"}, {"v"}), "axes", test::Dims{-1});
  m.node("Add", "eps", {"v", "epsilon"}, {"ve"});
  m.node("Sqrt", "root", {"ve"}, {"r"});
  m.node("Div", "div", {"d", "r"}, {form == 0 ? "y" : "n"});
  if (form > 0) m.node("Mul", "scale", {"gamma", "n"}, {form == 1 ? "y" : "g"});
  if (form > 1) m.node("Add", "shift", {"g", "beta"}, {"y"});
  CHECK(operators_after(m, kRecognize) == Ops{"LayerNormalization"});
}

TEST_CASE("recognize-functions finds softmax with and without the maximum") {
  const bool shifted = GENERATE(true, false);
  OnnxModel m;
  m.input("x", {2, 3, 8}).output("y");
  m.constant<int64_t>("axes", {1}, {1});
  if (shifted) {
    test::set(m.node("ReduceMax", "max", {"x"}, {"top"}), "axes", test::Dims{1});
    m.node("Sub", "sub", {"x", "top"}, {"s"});
  }
  m.node("Exp", "exp", {shifted ? "s" : "x"}, {"e"});
  m.node("ReduceSum", "sum", {"e", "axes"}, {"total"});
  m.node("Div", "div", {"e", "total"}, {"y"});
  CHECK(operators_after(m, kRecognize) == Ops{"Softmax"});
}
