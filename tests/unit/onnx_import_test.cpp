#include <catch2/catch.hpp>
#include <random>

#include "compiler/onnx/import_onnx.h"
#include "isa/error.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
using test::OnnxModel;

namespace {

ir::Graph import(const OnnxModel& m, const onnx_import::ImportOptions& options = {}) {
  return onnx_import::import_onnx_bytes(m.bytes(), "m.onnx", options);
}

ir::Shape shape_of(const ir::Graph& g, const std::string& value) {
  return g.value(*g.find_value(value)).shape;
}

// The message must hold every part of `parts`.
void refuses(const OnnxModel& m, int exit_code, const std::vector<std::string>& parts) {
  try {
    import(m);
    FAIL("imported");
  } catch (const UserError& e) {
    INFO(e.what());
    CHECK(e.exit_code() == exit_code);
    for (const std::string& part : parts) CHECK(std::string(e.what()).find(part) != std::string::npos);
  }
}

OnnxModel conv_model(const test::Dims& x, const test::Dims& w) {
  OnnxModel m;
  m.input("x", x).output("y");
  int64_t n = 1;
  for (int64_t d : w) n *= d;
  m.constant<float>("w", w, std::vector<float>(static_cast<size_t>(n), 1.0f));
  m.node("Conv", "conv1", {"x", "w"}, {"y"});
  return m;
}

}  // namespace

TEST_CASE("Convolution shapes follow strides, pads, dilations and auto_pad") {
  OnnxModel m = conv_model({1, 3, 11, 8}, {4, 3, 3, 3});
  CHECK(shape_of(import(m), "y") == ir::Shape{1, 4, 9, 6});
  auto& node = *m.graph().mutable_node(0);
  test::set(node, "strides", {2, 2});
  SECTION("explicit pads") {
    test::set(node, "pads", {1, 0, 2, 1});
    CHECK(shape_of(import(m), "y") == ir::Shape{1, 4, 6, 4});
  }
  SECTION("dilations") {
    test::set(node, "dilations", {2, 3});
    CHECK(shape_of(import(m), "y") == ir::Shape{1, 4, 4, 1});
  }
  SECTION("SAME_UPPER puts the odd element behind, and becomes explicit pads") {
    test::set_text(node, "auto_pad", "SAME_UPPER");
    const ir::Graph g = import(m);
    CHECK(shape_of(g, "y") == ir::Shape{1, 4, 6, 4});
    const ir::Node& n = g.node(*g.find_node("conv1"));
    CHECK(n.attribute<std::vector<int64_t>>("pads") == std::vector<int64_t>{1, 0, 1, 1});
    CHECK(!n.attributes.contains("auto_pad"));
  }
}

TEST_CASE("A ceil-mode pool keeps its last window only where it begins inside the input") {
  OnnxModel m;
  m.input("x", {1, 1, 5, 4}).output("y");
  auto& node = m.node("MaxPool", "pool", {"x"}, {"y"});
  test::set(node, "kernel_shape", {2, 2});
  test::set(node, "strides", {2, 3});
  test::set(node, "ceil_mode", int64_t{1});
  CHECK(shape_of(import(m), "y") == ir::Shape{1, 1, 3, 2});
}

TEST_CASE("An unknown first dimension is 1 unless bound; others must be bound by name or place") {
  OnnxModel m;
  m.input("x", {-1, 3, -1}).output("y");
  auto* shape = m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("batch");
  m.node("Relu", "r", {"x"}, {"y"});
  refuses(m, 2, {"m.onnx: input 'x'", "dimension 2", "--dim x[2]=VALUE"});
  CHECK(shape_of(import(m, {.dims = {{"x[2]", 7}}}), "y") == ir::Shape{1, 3, 7});
  CHECK(shape_of(import(m, {.dims = {{"batch", 4}, {"x[2]", 7}}}), "y") == ir::Shape{4, 3, 7});
  CHECK_THROWS_WITH(import(m, {.dims = {{"x[2]", 7}, {"bach", 2}}}),
                    Catch::Contains("no symbolic dimension 'bach'"));
}

TEST_CASE("Shape arithmetic of exporters is folded while importing") {
  OnnxModel m;
  m.input("x", {1, 8, 2, 3}).output("y");
  m.constant<int64_t>("zero", {}, {0});
  m.constant<int64_t>("axes", {1}, {0});
  m.constant<int64_t>("rest", {1}, {-1});
  m.node("Shape", "shape", {"x"}, {"s"});
  m.node("Gather", "gather", {"s", "zero"}, {"n"});
  m.node("Unsqueeze", "unsqueeze", {"n", "axes"}, {"n1"});
  test::set(m.node("Concat", "concat", {"n1", "rest"}, {"target"}), "axis", int64_t{0});
  m.node("Reshape", "reshape", {"x", "target"}, {"y"});
  const ir::Graph g = import(m);
  CHECK(shape_of(g, "y") == ir::Shape{1, 48});
  CHECK(g.node_count() == 1);
}

TEST_CASE("Nodes in any order are sorted; names are made unique") {
  OnnxModel m;
  m.input("x", {2, 2}).output("y");
  m.node("Relu", "same", {"h"}, {"y"});
  m.node("Relu", "same", {"x"}, {"h"});
  const ir::Graph g = import(m);
  CHECK(g.node_count() == 2);
  CHECK(g.topological_order().size() == 2);
}

TEST_CASE("Malformed models are refused with their file and node") {
  OnnxModel m = conv_model({1, 3, 8, 8}, {4, 3, 3, 3});
  auto& node = *m.graph().mutable_node(0);
  SECTION("wrong channel count") {
    refuses(conv_model({1, 2, 8, 8}, {4, 3, 3, 3}), 2,
            {"m.onnx: node 'conv1' (Conv, domain ai.onnx, opset 13)", "2 channels", "expects 3"});
  }
  SECTION("window larger than the input") {
    refuses(conv_model({1, 3, 2, 8}, {4, 3, 3, 3}), 2, {"conv1", "larger"});
  }
  SECTION("missing initialiser") {
    node.set_input(1, "nowhere");
    refuses(m, 2, {"conv1", "'nowhere'", "no initialiser"});
  }
  SECTION("cycle") {
    m.node("Relu", "a", {"q"}, {"p"});
    m.node("Relu", "b", {"p"}, {"q"});
    refuses(m, 2, {"'a'", "cycle"});
  }
  SECTION("a value defined twice") {
    m.node("Relu", "again", {"x"}, {"y"});
    refuses(m, 2, {"'again'", "'y' is defined twice"});
  }
  SECTION("bad attribute value") {
    test::set(node, "strides", {0, 1});
    refuses(m, 2, {"conv1", "'strides' holds 0"});
  }
  SECTION("attribute with the wrong number of entries") {
    test::set(node, "pads", {1, 1});
    refuses(m, 2, {"conv1", "'pads' has 2 entries; expected 4"});
  }
  SECTION("attribute of the wrong kind") {
    test::set(node, "group", 1.0f);
    refuses(m, 2, {"conv1", "'group' has the wrong kind"});
  }
  SECTION("unknown attribute") {
    test::set(node, "colour", int64_t{1});
    refuses(m, 2, {"conv1", "unknown attribute 'colour'"});
  }
  SECTION("initialiser shorter than its shape") {
    m.graph().mutable_initializer(0)->mutable_raw_data()->resize(8);
    refuses(m, 2, {"initialiser 'w'", "holds 8 bytes"});
  }
  SECTION("huge initialiser without data allocates nothing") {
    auto* t = m.graph().mutable_initializer(0);
    t->clear_raw_data();
    t->set_dims(0, int64_t{1} << 36);
    refuses(m, 2, {"initialiser 'w'"});
  }
  SECTION("output of no node") {
    m.output("z");
    refuses(m, 2, {"'z'", "no node"});
  }
  SECTION("declared output shape contradicts") {
    OnnxModel::declare(m.graph().mutable_output(0), "y", {1, 4, 5, 5});
    refuses(m, 2, {"'y'", "1x4x5x5", "1x4x6x6"});
  }
  SECTION("external data missing") {
    auto* t = m.graph().mutable_initializer(0);
    t->clear_raw_data();
    t->set_data_location(onnx::TensorProto::EXTERNAL);
    auto* e = t->add_external_data();
    e->set_key("location");
    e->set_value("weights.bin");
    refuses(m, 2, {"'w'", "weights.bin", "missing"});
    e->set_value("../../etc/passwd");
    refuses(m, 2, {"'w'", "not a path inside"});
  }
}

TEST_CASE("What dlc does not know is refused as unsupported, by name") {
  OnnxModel m;
  m.input("x", {1, 4}).output("y");
  SECTION("operator") {
    m.node("Foo", "foo1", {"x"}, {"y"});
    refuses(m, 3, {"m.onnx: node 'foo1' (Foo, domain ai.onnx, opset 13)"});
  }
  SECTION("domain") {
    m.node("Relu", "r", {"x"}, {"y"}).set_domain("com.acme");
    refuses(m, 3, {"domain com.acme"});
  }
  SECTION("opset") {
    m.proto().mutable_opset_import(0)->set_version(99);
    m.node("Relu", "r", {"x"}, {"y"});
    refuses(m, 3, {"opset 99"});
  }
  SECTION("element type") {
    m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::COMPLEX64);
    m.node("Relu", "r", {"x"}, {"y"});
    refuses(m, 3, {"COMPLEX64"});
  }
}

TEST_CASE("No bytes crash the importer: prefixes and seeded mutations of a model") {
  OnnxModel m = conv_model({1, 3, 8, 8}, {4, 3, 3, 3});
  test::quantise<int8_t>(m, "y", "t", 0.5f, 3);
  const std::string good = m.bytes();
  const auto attempt = [](const std::string& bytes) {
    try {
      onnx_import::import_onnx_bytes(bytes, "m.onnx");
    } catch (const UserError&) {  // anything else fails the test
    }
  };
  for (size_t n = 0; n < good.size(); n += 7) attempt(good.substr(0, n));
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (int e = 0; e < 3; ++e) bytes[random() % bytes.size()] = static_cast<char>(random());
    attempt(bytes);
  }
  CHECK_THROWS_WITH(onnx_import::import_onnx_bytes("", "m.onnx"), Catch::Contains("the file is empty"));
  CHECK_THROWS_WITH(onnx_import::import_onnx_bytes("hello, this is text", "m.onnx"),
                    Catch::Contains("not an ONNX model"));
}
