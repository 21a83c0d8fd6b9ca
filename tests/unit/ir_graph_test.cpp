#include <catch2/catch.hpp>

#include "compiler/ir/graph.h"
#include "isa/error.h"

using namespace dlc;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Value;
using ir::ValueId;

namespace {

ValueId value(Graph& g, const std::string& name, ir::Shape shape = {1, 2}) {
  Value v;
  v.name = name;
  v.type = ir::ElementType::float32;
  v.shape = std::move(shape);
  return g.add_value(std::move(v));
}

NodeId node(Graph& g, const std::string& name, const std::string& op, std::vector<ValueId> in, ValueId out) {
  Node n;
  n.name = name;
  n.op = op;
  n.opset = 13;
  n.onnx_nodes = {name};
  n.inputs = std::move(in);
  n.outputs = {out};
  return g.add_node(std::move(n));
}

// x -> a -> (b, c) -> add -> y
struct Diamond {
  Graph g;
  ValueId x, t, u, v, y;
  NodeId a, b, c, add;
  Diamond() {
    g.name = "diamond";
    x = value(g, "x");
    t = value(g, "t");
    u = value(g, "u");
    v = value(g, "v");
    y = value(g, "y");
    g.add_input(x);
    add = node(g, "add", "Add", {u, v}, y);  // ids deliberately against the flow
    b = node(g, "b", "Relu", {t}, u);
    c = node(g, "c", "Relu", {t}, v);
    a = node(g, "a", "Relu", {x}, t);
    g.add_output(y);
  }
};

}  // namespace

TEST_CASE("Producers, consumers and topological order follow the edges") {
  Diamond d;
  CHECK(d.g.producer(d.t) == d.a);
  CHECK(!d.g.producer(d.x).valid());
  REQUIRE(d.g.consumers(d.t).size() == 2);
  CHECK(d.g.consumers(d.t)[0].node == d.b);
  CHECK(d.g.topological_order() == std::vector<NodeId>{d.a, d.b, d.c, d.add});
  CHECK(!d.g.single_use(d.t));
  CHECK(d.g.single_use(d.v)->input == 1);
  CHECK(!d.g.single_use(d.y));  // a graph output has another reader
  CHECK_NOTHROW(ir::verify(d.g));
}

TEST_CASE("replace_all_uses moves every use, graph outputs included") {
  Diamond d;
  d.g.replace_all_uses(d.u, d.v);
  CHECK(d.g.consumers(d.u).empty());
  CHECK(d.g.consumers(d.v).size() == 2);
  d.g.replace_all_uses(d.y, d.v);
  CHECK(d.g.outputs() == std::vector<ValueId>{d.v});
}

TEST_CASE("Erased nodes and values leave no trace; clone renumbers in topological order") {
  Diamond d;
  d.g.replace_all_uses(d.v, d.u);
  d.g.erase(d.c);
  d.g.erase_value(d.v);
  CHECK(d.g.node_count() == 3);
  CHECK(!d.g.find_node("c"));
  CHECK(!d.g.find_value("v"));
  CHECK_NOTHROW(ir::verify(d.g));
  const Graph copy = d.g.clone();
  CHECK(copy.topological_order() == copy.nodes());
  CHECK(ir::print(copy) == ir::print(d.g));
}

TEST_CASE("verify names what is wrong") {
  Diamond d;
  SECTION("a cycle") {
    d.g.set_input(d.a, 0, d.y);
    CHECK_THROWS_WITH(ir::verify(d.g), Catch::Contains("cycle"));
  }
  SECTION("a use without a producer") {
    d.g.erase(d.a);
    CHECK_THROWS_WITH(ir::verify(d.g), Catch::Contains("'t' has no producer"));
  }
  SECTION("constant data of another size") {
    d.g.value(d.x).data = std::make_shared<const ir::Bytes>(3);
    CHECK_THROWS_WITH(ir::verify(d.g), Catch::Contains("value 'x'"));
  }
  SECTION("an operator of domain dlc without payload") {
    d.g.node(d.a).domain = ir::kDlcDomain;
    d.g.node(d.a).op = "qadd";
    CHECK_THROWS_WITH(ir::verify(d.g), Catch::Contains("node 'a' (qadd)"));
  }
}

namespace {

// Every construct of the text form: awkward names, all attribute kinds, quantisation, all payloads.
Graph rich_graph() {
  Graph g;
  g.name = "rich \"graph\"\n";
  g.file = "dir/m.onnx";
  Value x;
  x.name = "x:0/\\\"odd\" \x01";
  x.type = ir::ElementType::int8;
  x.shape = {1, 2, 3, 3};
  x.quantization = ir::Quantization{{0.1f}, {-128}, 0};
  const ValueId xi = g.add_value(x);
  g.add_input(xi);
  ir::Tensor w = ir::make_tensor<int8_t>({2, 2, 1, 1}, {1, -2, 3, -128});
  const ValueId wi = g.add_constant("w", w);
  g.value(wi).quantization = ir::Quantization{{0.25f, 1e-30f}, {0, 0}, 0};
  x.name = "y";
  x.quantization.reset();
  const ValueId yi = g.add_value(x);
  Node conv;
  conv.name = "conv";
  conv.op = "qconv";
  conv.domain = ir::kDlcDomain;
  conv.onnx_nodes = {"Conv_1", "Relu_2"};
  conv.inputs = {xi, wi, xi};
  conv.outputs = {yi};
  ir::QConv q;
  q.x_zero = -128;
  q.rescale = {{5, -6}, {1u << 30, (1u << 31) - 1}, {31, 62}, 3, -100, 127};
  q.residual = ir::LinearCombine{3, -4, 1u << 30, 7, true, 12, 5, -128, 127};
  conv.payload = q;
  g.add_node(conv);
  x.name = "p";
  x.shape = {1, 2, 1, 1};
  const ValueId pi = g.add_value(x);
  Node pool;
  pool.name = "pool";
  pool.op = "qpool";
  pool.domain = ir::kDlcDomain;
  pool.inputs = {yi};
  pool.outputs = {pi};
  ir::QPool qp;
  qp.kind = ir::QPool::Kind::average;
  qp.kernel = {3, 3};
  qp.factor.resize(10);
  qp.factor[9] = {1u << 30, 33};
  pool.payload = qp;
  g.add_node(pool);
  Node host;
  host.name = "host";
  host.op = "Something";
  host.opset = 17;
  host.attributes = {{"f", 0.1f},
                     {"i", int64_t{-3}},
                     {"s", std::string("a\"b")},
                     {"is", std::vector<int64_t>{1, 2}},
                     {"fs", std::vector<float>{1.5f, -INFINITY}},
                     {"ss", std::vector<std::string>{"", "x"}}};
  host.inputs = {pi, ValueId{}, wi};
  Value z;
  z.name = "z";
  z.type = ir::ElementType::float32;
  const ValueId zi = g.add_value(z);
  host.outputs = {zi};
  g.add_node(host);
  g.add_output(zi);
  return g;
}

}  // namespace

TEST_CASE("The text form reads back exactly") {
  const std::string text = ir::print(rich_graph());
  const Graph back = ir::parse_graph(text, "rich.ir");
  CHECK(ir::print(back) == text);
  CHECK(back.node(*back.find_node("host")).attributes ==
        rich_graph().node(*rich_graph().find_node("host")).attributes);
}

TEST_CASE("Bad graph text is refused with line and column") {
  const std::string good = ir::print(rich_graph());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  CHECK_THROWS_WITH(ir::parse_graph(with("\n  output", "\n  outpt"), "f.ir"),
                    Catch::Contains("f.ir:") && Catch::Contains("expected input, constant, node or output"));
  CHECK_THROWS_WITH(ir::parse_graph(with("int8[1, 2, 3, 3]", "int9[1, 2, 3, 3]"), "f.ir"),
                    Catch::StartsWith("f.ir:2:") && Catch::Contains("'int9'"));
  CHECK_THROWS_WITH(ir::parse_graph(with("x\"01fe", "x\"01f"), "f.ir"), Catch::Contains("hexadecimal"));
  CHECK_THROWS_WITH(ir::parse_graph(with("shift = [31", "shift = [63"), "f.ir"),
                    Catch::Contains("shift outside 0..62"));
  const std::string shortened = ir::print(rich_graph(), {.full_constants = false});
  CHECK_NOTHROW(ir::parse_graph(shortened, "f.ir"));  // four bytes are not shortened
  for (size_t n = 0; n < good.size(); n += 11)
    CHECK_THROWS_AS(ir::parse_graph(good.substr(0, n), "f.ir"), UserError);
}
