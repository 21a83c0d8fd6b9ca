// Loop nests of float operators against the reference backend, on every vector width of this machine.
#include <catch2/catch.hpp>

#include "tests/cpu/cpu_harness.h"

using namespace dlc;
using Ints = std::vector<int64_t>;
using test::GraphMaker;
using ir::ElementType;

namespace {

struct ConvCase {
  int64_t ic, oc, size, kernel, stride, pad, group, dilation;
};

int64_t out_size(const ConvCase& c) { return (c.size + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1; }

ir::ValueId conv(GraphMaker& m, ir::ValueId x, const ConvCase& c, bool bias = true) {
  std::vector<ir::ValueId> inputs{x, m.constant({c.oc, c.ic / c.group, c.kernel, c.kernel})};
  if (bias) inputs.push_back(m.constant({c.oc}));
  return m.node("Conv", inputs, {2, c.oc, out_size(c), out_size(c)},
                {{"kernel_shape", Ints{c.kernel, c.kernel}}, {"strides", Ints{c.stride, c.stride}}, {"dilations", Ints{c.dilation, c.dilation}},
                 {"pads", Ints{c.pad, c.pad, c.pad, c.pad}}, {"group", c.group}});
}

void check_unary(const std::string& op, std::map<std::string, ir::Attribute> attributes = {}, float low = -4, float high = 4) {
  INFO(op);
  GraphMaker m;
  const ir::ValueId x = m.input("x", {3, 37});
  m.output(m.node(op, {x}, {3, 37}, std::move(attributes)));
  CHECK(test::compare_with_reference(m.graph, 3, 2e-6, low, high) == "");
}

}  // namespace

TEST_CASE("Convolutions of all kinds give the reference's values") {
  const ConvCase cases[] = {
      {3, 20, 9, 3, 2, 1, 1, 1},  {32, 64, 8, 1, 1, 0, 1, 1}, {16, 17, 7, 3, 1, 1, 1, 1},  {33, 16, 6, 1, 2, 0, 1, 1}, {1, 5, 12, 5, 1, 2, 1, 1},
      {24, 24, 9, 3, 1, 1, 24, 1}, {20, 20, 11, 5, 2, 2, 20, 1}, {32, 32, 7, 3, 1, 2, 2, 2}, {4, 40, 5, 4, 1, 3, 1, 1},
  };
  for (const ConvCase& c : cases) {
    INFO(c.ic << " -> " << c.oc << " kernel " << c.kernel << " group " << c.group);
    GraphMaker m;
    const ir::ValueId x = m.input("x", {2, c.ic, c.size, c.size});
    m.output(conv(m, x, c, c.kernel != 4));
    CHECK(test::compare_with_reference(m.graph) == "");
  }
}

TEST_CASE("What follows a convolution element by element is computed in its loops") {
  GraphMaker m;
  const ConvCase c{16, 24, 6, 3, 1, 1, 1, 1};
  const ir::ValueId x = m.input("x", {2, 16, 6, 6}), residual = m.input("residual", {2, 24, 6, 6});
  const ir::Shape shape{2, 24, 6, 6};
  const ir::ValueId a = conv(m, x, c);
  const ir::ValueId scaled = m.node("Mul", {a, m.constant({24, 1, 1})}, shape);
  const ir::ValueId sum = m.node("Add", {scaled, residual}, shape);
  const ir::ValueId gate = m.node("Sigmoid", {sum}, shape);
  m.output(m.node("Mul", {sum, gate}, shape));
  CHECK(test::compare_with_reference(m.graph) == "");
  const cpu::Executable e(m.graph, test::options_for("native"));
  // The convolution and all behind it: one kernel; others reorder the inputs and the output.
  CHECK(e.loop_ir().find("\"elementwise\"") == std::string::npos);
}

TEST_CASE("A value that leaves in the middle of a chain keeps its own storage") {
  GraphMaker m;
  const ir::ValueId x = m.input("x", {2, 16, 6, 6});
  const ir::ValueId a = conv(m, x, {16, 16, 6, 3, 1, 1, 1, 1});
  const ir::ValueId r = m.node("Relu", {a}, {2, 16, 6, 6});
  m.output(r);
  m.output(m.node("Add", {r, x}, {2, 16, 6, 6}));
  CHECK(test::compare_with_reference(m.graph) == "");
}

TEST_CASE("Matrix products of all shapes give the reference's values") {
  struct Case {
    ir::Shape a, b, y;
    bool constant;
  };
  const Case cases[] = {{{5, 7}, {7, 3}, {5, 3}, true},       {{1, 64}, {64, 100}, {1, 100}, true},      {{33, 20}, {20, 48}, {33, 48}, false},
                        {{2, 3, 9, 8}, {2, 3, 8, 9}, {2, 3, 9, 9}, false}, {{2, 4, 6}, {6, 17}, {2, 4, 17}, true}, {{2, 1, 4, 5}, {3, 5, 18}, {2, 3, 4, 18}, false}};
  for (const Case& c : cases) {
    INFO(ir::shape_text(c.a) << " * " << ir::shape_text(c.b));
    GraphMaker m;
    const ir::ValueId a = m.input("a", c.a), b = c.constant ? m.constant(c.b) : m.input("b", c.b);
    const ir::ValueId y = m.node("MatMul", {a, b}, c.y);
    const ir::ValueId biased = m.node("Add", {y, m.constant({c.y.back()})}, c.y);
    m.output(m.node("Gelu", {biased}, c.y, {{"approximate", std::string("none")}}));
    CHECK(test::compare_with_reference(m.graph) == "");
  }
}

TEST_CASE("Gemm with transposed operands, factors and every form of C gives the reference's values") {
  const ir::Shape forms[] = {{19}, {1, 19}, {6, 19}, {6, 1}, {1}};
  for (int ta = 0; ta < 2; ++ta)
    for (const ir::Shape& c : forms) {
      GraphMaker m;
      const ir::ValueId a = m.input("a", ta ? ir::Shape{11, 6} : ir::Shape{6, 11});
      const ir::ValueId b = m.constant(ta ? ir::Shape{11, 19} : ir::Shape{19, 11});
      m.output(m.node("Gemm", {a, b, m.constant(c)}, {6, 19},
                      {{"transA", int64_t{ta}}, {"transB", int64_t{1 - ta}}, {"alpha", 0.5f}, {"beta", 2.0f}}));
      CHECK(test::compare_with_reference(m.graph) == "");
    }
}

TEST_CASE("Pools with padding, strides and windows beyond the map give the reference's values") {
  for (const char* op : {"MaxPool", "AveragePool"})
    for (int64_t include = 0; include < 2; ++include) {
      GraphMaker m;
      const ir::ValueId x = m.input("x", {2, 19, 7, 8});
      std::map<std::string, ir::Attribute> attributes{{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 1}}, {"dilations", Ints{1, 1}}};
      if (std::string(op) == "AveragePool") attributes["count_include_pad"] = include;
      m.output(m.node(op, {x}, {2, 19, 4, 5}, attributes));  // 5: the last window reaches beyond the padding
      INFO(op);
      CHECK(test::compare_with_reference(m.graph) == "");
    }
  GraphMaker m;
  const ir::ValueId x = m.input("x", {2, 19, 7, 8});
  m.output(m.node("GlobalAveragePool", {x}, {2, 19, 1, 1}));
  m.output(m.node("GlobalMaxPool", {x}, {2, 19, 1, 1}));
  CHECK(test::compare_with_reference(m.graph) == "");
}

TEST_CASE("Functions of one tensor are within 2e-6 of the reference") {
  for (const char* op : {"Exp", "Sigmoid", "Tanh", "Erf", "Relu", "Neg", "Abs", "Floor", "Ceil", "Round", "Sin", "Cos", "Softplus", "Softsign", "Mish", "HardSwish", "Gelu", "Elu", "Celu"})
    check_unary(op, std::string(op) == "Elu" || std::string(op) == "Celu" ? std::map<std::string, ir::Attribute>{{"alpha", 1.5f}} : std::map<std::string, ir::Attribute>{});
  for (const char* op : {"Log", "Sqrt", "Reciprocal"}) check_unary(op, {}, 0.1f, 9);
  check_unary("LeakyRelu", {{"alpha", 0.2f}});
  check_unary("HardSigmoid", {{"alpha", 0.25f}, {"beta", 0.4f}});
  check_unary("Clip", {{"min", -1.0f}, {"max", 1.5f}});
  check_unary("ThresholdedRelu", {{"alpha", 0.5f}});
  check_unary("Exp", {}, -120, 100);  // denormals, infinity
  check_unary("Tanh", {}, -0.5f, 0.5f);
  check_unary("Erf", {}, -1, 1);
}

TEST_CASE("Not-a-numbers pass through as in the reference") {
  for (const char* op : {"Relu", "Exp", "Tanh", "Sigmoid", "Erf"}) {
    INFO(op);
    GraphMaker m;
    const ir::ValueId x = m.input("x", {20});
    m.output(m.node(op, {x}, {20}));
    reference::TensorMap inputs = test::random_inputs(m.graph, 1);
    inputs.at("x").data<float>()[3] = NAN;
    inputs.at("x").data<float>()[7] = INFINITY;
    inputs.at("x").data<float>()[8] = -INFINITY;
    const cpu::Executable e(m.graph, test::options_for("native"));
    CHECK(test::difference(e.evaluate(inputs), reference::evaluate(m.graph, inputs)) == "");
  }
}

TEST_CASE("Broadcast arithmetic gives the reference's values") {
  const ir::Shape shapes[] = {{5, 1, 7, 1}, {5, 3, 7, 19}, {3, 1, 1}, {19}, {}, {1, 3, 1, 19}};
  for (const ir::Shape& a : shapes)
    for (const ir::Shape& b : shapes) {
      ir::Shape y(4, 1);
      for (const ir::Shape& s : {a, b})
        for (size_t d = 0; d < s.size(); ++d) y[4 - s.size() + d] = std::max(y[4 - s.size() + d], s[d]);
      while (y.size() > std::max(a.size(), b.size())) y.erase(y.begin());
      INFO(ir::shape_text(a) << " with " << ir::shape_text(b));
      GraphMaker m;
      const ir::ValueId p = m.input("a", a), q = m.input("b", b);
      const ir::ValueId s = m.node("Sub", {p, q}, y);
      m.output(m.node("Mul", {s, p}, y));
      const cpu::Executable e(m.graph, test::options_for("native"));
      const reference::TensorMap inputs = test::random_inputs(m.graph, 5);
      CHECK(test::difference(e.evaluate(inputs), reference::evaluate(m.graph, inputs)) == "");
    }
}

TEST_CASE("Comparisons, logic and selection give the reference's values") {
  GraphMaker m;
  const ir::ValueId a = m.input("a", {3, 21}, ElementType::int64), b = m.input("b", {21}, ElementType::int64);
  const ir::ValueId less = m.node("Less", {a, b}, {3, 21}, {}, ElementType::boolean);
  const ir::ValueId equal = m.node("Equal", {a, b}, {3, 21}, {}, ElementType::boolean);
  const ir::ValueId either = m.node("Or", {less, equal}, {3, 21}, {}, ElementType::boolean);
  const ir::ValueId none = m.node("Not", {either}, {3, 21}, {}, ElementType::boolean);
  m.output(none);
  m.output(m.node("Where", {less, a, b}, {3, 21}, {}, ElementType::int64));
  m.output(m.node("Cast", {m.node("Mul", {a, b}, {3, 21}, {}, ElementType::int64)}, {3, 21}));
  CHECK(test::compare_with_reference(m.graph) == "");
}

TEST_CASE("Softmax along any axis gives the reference's values") {
  for (int64_t axis = 0; axis < 3; ++axis)
    for (const char* op : {"Softmax", "LogSoftmax"}) {
      INFO(op << " axis " << axis);
      GraphMaker m;
      const ir::ValueId x = m.input("x", {4, 21, 37});
      m.output(m.node(op, {x}, {4, 21, 37}, {{"axis", axis}}));
      CHECK(test::compare_with_reference(m.graph) == "");
    }
}

TEST_CASE("Reductions over any dimensions give the reference's values") {
  const Ints axes[] = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  for (const char* op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceL1", "ReduceL2", "ReduceSumSquare"})
    for (const Ints& a : axes) {
      ir::Shape y{4, 5, 19};
      for (int64_t d : a) y[static_cast<size_t>(d)] = 1;
      INFO(op << " over " << a.size() << " dimensions from " << a[0]);
      GraphMaker m;
      const ir::ValueId x = m.input("x", {4, 5, 19});
      m.output(m.node(op, {x}, y, {{"axes", a}, {"keepdims", int64_t{1}}}));
      const cpu::Executable e(m.graph, test::options_for("native"));
      CHECK(e.fallback_nodes().empty());
      const reference::TensorMap inputs = test::random_inputs(m.graph, 5);
      CHECK(test::difference(e.evaluate(inputs), reference::evaluate(m.graph, inputs)) == "");
    }
}

TEST_CASE("Layer and instance normalisation give the reference's values") {
  GraphMaker m;
  const ir::ValueId x = m.input("x", {3, 5, 21});
  m.output(m.node("LayerNormalization", {x, m.constant({21}), m.constant({21})}, {3, 5, 21}, {{"axis", int64_t{2}}, {"epsilon", 1e-5f}}));
  m.output(m.node("InstanceNormalization", {x, m.constant({5}), m.constant({5})}, {3, 5, 21}, {{"epsilon", 1e-3f}}));
  CHECK(test::compare_with_reference(m.graph) == "");
}

TEST_CASE("Transposition, slices, concatenation, expansion and gathering move the right elements") {
  GraphMaker m;
  const ir::ValueId x = m.input("x", {3, 5, 18});
  m.output(m.node("Transpose", {x}, {18, 3, 5}, {{"perm", Ints{2, 0, 1}}}));
  m.output(m.node("Slice", {x}, {2, 5, 6}, {{"starts", Ints{0, 4, 1}}, {"ends", Ints{2, -6, 18}}, {"axes", Ints{0, 1, 2}}, {"steps", Ints{1, -1, 3}}}));
  const ir::ValueId t = m.node("Transpose", {x}, {3, 18, 5}, {{"perm", Ints{0, 2, 1}}});
  const ir::ValueId flat = m.node("Reshape", {t}, {3, 5, 18});
  m.output(m.node("Concat", {x, flat, x}, {3, 15, 18}, {{"axis", int64_t{1}}}));
  const ir::ValueId one = m.input("one", {3, 1, 18});
  m.output(m.node("Expand", {one, m.constant(ir::make_tensor<int64_t>({3}, {3, 4, 18}))}, {3, 4, 18}));
  m.output(m.node("Gather", {x, m.constant(ir::make_tensor<int64_t>({4}, {4, -5, 2, 2}))}, {3, 4, 18}, {{"axis", int64_t{1}}}));
  CHECK(test::compare_with_reference(m.graph) == "");
}

TEST_CASE("Blocked maps are concatenated without leaving their layout") {
  GraphMaker m;
  const ir::ValueId x = m.input("x", {2, 16, 6, 6});
  const ir::ValueId a = conv(m, x, {16, 32, 6, 1, 1, 0, 1, 1}), b = conv(m, x, {16, 20, 6, 3, 1, 1, 1, 1});
  const ir::ValueId c = m.node("Concat", {a, b}, {2, 52, 6, 6}, {{"axis", int64_t{1}}});
  m.output(conv(m, m.node("Relu", {c}, {2, 52, 6, 6}), {52, 8, 6, 3, 1, 1, 1, 1}));
  CHECK(test::compare_with_reference(m.graph) == "");
}

TEST_CASE("An operator without loops is evaluated by the reference inside the run") {
  GraphMaker m;
  const ir::ValueId x = m.input("x", {4, 9});
  const ir::ValueId r = m.node("Relu", {x}, {4, 9});
  const ir::ValueId best = m.node("ArgMax", {r}, {4, 1}, {{"axis", int64_t{1}}, {"keepdims", int64_t{1}}}, ElementType::int64);
  m.output(m.node("Cast", {best}, {4, 1}));
  const cpu::Executable e(m.graph, test::options_for("native"));
  REQUIRE(e.fallback_nodes().size() == 1);
  CHECK(m.graph.node(e.fallback_nodes()[0]).op == "ArgMax");
  const reference::TensorMap inputs = test::random_inputs(m.graph, 9);
  CHECK(test::difference(e.evaluate(inputs), reference::evaluate(m.graph, inputs)) == "");
}

TEST_CASE("Any number of threads gives the same bits") {
  GraphMaker m;
  const ir::ValueId x = m.input("x", {2, 32, 28, 28});
  m.output(conv(m, x, {32, 64, 28, 3, 1, 1, 1, 1}));
  const reference::TensorMap inputs = test::random_inputs(m.graph, 9);
  const cpu::Executable one(m.graph, test::options_for("native", 1)), three(m.graph, test::options_for("native", 3));
  const reference::TensorMap a = one.evaluate(inputs), b = three.evaluate(inputs);
  CHECK(a.begin()->second.bytes == b.begin()->second.bytes);
}
