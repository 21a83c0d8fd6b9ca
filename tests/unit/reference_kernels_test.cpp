#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "compiler/backends/reference/reference.h"
#include "isa/error.h"

using namespace dlc;
using ir::ElementType;
using ir::Shape;
using ir::Tensor;

namespace {

using Attributes = std::map<std::string, ir::Attribute>;

// One node on constants, evaluated.
Tensor run(const std::string& op, const std::vector<Tensor>& inputs, ElementType type, Shape shape,
           Attributes attributes = {}, int opset = 13, ir::Payload payload = {}) {
  ir::Graph g;
  ir::Node n;
  n.op = op;
  n.opset = opset;
  n.attributes = std::move(attributes);
  n.payload = std::move(payload);
  if (op[0] == 'q') n.domain = ir::kDlcDomain;
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) {
    n.inputs.push_back(g.add_constant("c", t));
    pointers.push_back(&t);
  }
  ir::Value y;
  y.name = "y";
  y.type = type;
  y.shape = std::move(shape);
  n.outputs = {g.add_value(y)};
  return reference::evaluate_node(g, g.add_node(n), pointers)[0];
}

std::vector<float> floats(const Tensor& t) { return {t.data<float>().begin(), t.data<float>().end()}; }
Tensor f32(Shape shape, const std::vector<float>& values) {
  return ir::make_tensor<float>(std::move(shape), values);
}

Tensor random_bytes(ElementType type, Shape shape, std::mt19937& random) {
  Tensor t(type, std::move(shape));
  for (auto& b : t.bytes) b = static_cast<uint8_t>(random());
  return t;
}

int stored(const Tensor& t, int64_t i) {
  const uint8_t b = t.bytes[static_cast<size_t>(i)];
  return t.type == ElementType::int8 ? static_cast<int8_t>(b) : b;
}

}  // namespace

TEST_CASE("QuantizeLinear rounds half to even and saturates; per axis too") {
  const Tensor x = f32({6}, {0.5f, 1.5f, -0.5f, 2.5f, 1000.0f, -1000.0f});
  const Tensor one = f32({}, {1.0f});
  const Tensor y = run("QuantizeLinear", {x, one, ir::make_tensor<int8_t>({}, {1})}, ElementType::int8, {6});
  const std::vector<int8_t> want{1, 3, 1, 3, 127, -128};
  CHECK(std::vector<int8_t>(y.data<int8_t>().begin(), y.data<int8_t>().end()) == want);
  const Tensor z =
      run("QuantizeLinear",
          {f32({2, 2}, {1, 1, 1, 1}), f32({2}, {0.5f, 0.25f}), ir::make_tensor<uint8_t>({2}, {0, 10})},
          ElementType::uint8, {2, 2}, {{"axis", int64_t{1}}});
  CHECK(z.bytes == ir::Bytes{2, 14, 2, 14});
}

TEST_CASE("DequantizeLinear subtracts before it scales") {
  const Tensor y =
      run("DequantizeLinear",
          {ir::make_tensor<int8_t>({2}, {-128, 127}), f32({}, {0.5f}), ir::make_tensor<int8_t>({}, {127})},
          ElementType::float32, {2});
  CHECK(floats(y) == std::vector<float>{-127.5f, 0.0f});
}

TEST_CASE("Softmax: one axis since opset 13, everything behind the axis before") {
  const Tensor x = f32({1, 2, 2}, {0, 0, 0, 0});
  CHECK(floats(run("Softmax", {x}, ElementType::float32, {1, 2, 2}, {{"axis", int64_t{1}}}, 13)) ==
        std::vector<float>(4, 0.5f));
  CHECK(floats(run("Softmax", {x}, ElementType::float32, {1, 2, 2}, {{"axis", int64_t{1}}}, 11)) ==
        std::vector<float>(4, 0.25f));
}

TEST_CASE("Average pool counts padding only when told; ceil-mode windows never count beyond it") {
  const Tensor x = f32({1, 1, 1, 3}, {3, 6, 9});
  Attributes a{{"kernel_shape", std::vector<int64_t>{1, 2}},
               {"strides", std::vector<int64_t>{1, 2}},
               {"pads", std::vector<int64_t>{0, 1, 0, 0}},
               {"dilations", std::vector<int64_t>{1, 1}}};
  CHECK(floats(run("AveragePool", {x}, ElementType::float32, {1, 1, 1, 2}, a)) ==
        std::vector<float>{3, 7.5f});
  a["count_include_pad"] = int64_t{1};
  CHECK(floats(run("AveragePool", {x}, ElementType::float32, {1, 1, 1, 2}, a)) ==
        std::vector<float>{1.5f, 7.5f});
  a["pads"] = std::vector<int64_t>{0, 0, 0, 0};
  CHECK(floats(run("AveragePool", {x}, ElementType::float32, {1, 1, 1, 2}, a)) ==
        std::vector<float>{4.5f, 9});
}

TEST_CASE("MatMul repeats batches; Gemm transposes and broadcasts C") {
  const Tensor a = f32({2, 1, 2}, {1, 2, 3, 4}), b = f32({2, 1}, {1, 10});
  CHECK(floats(run("MatMul", {a, b}, ElementType::float32, {2, 1, 1})) == std::vector<float>{21, 43});
  const Tensor y = run("Gemm", {f32({2, 1}, {1, 2}), f32({2, 2}, {1, 2, 3, 4}), f32({2}, {100, 200})},
                       ElementType::float32, {1, 2},
                       {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 2.0f}, {"beta", 0.5f}});
  CHECK(floats(y) == std::vector<float>{60, 122});
}

TEST_CASE("Casts of numbers out of range saturate instead of being undefined") {
  const Tensor y = run("Cast", {f32({4}, {1e30f, -1e30f, NAN, -1.9f})}, ElementType::int32, {4});
  CHECK(y.data<int32_t>()[0] == INT32_MAX);
  CHECK(y.data<int32_t>()[1] == INT32_MIN);
  CHECK(y.data<int32_t>()[2] == 0);
  CHECK(y.data<int32_t>()[3] == -1);
}

namespace {

// qconv spelled out element by element from the definition in ir/quant_ops.h.
int expected_qconv(const ir::QConv& q, const Tensor& x, const Tensor& w, const Tensor& r, const Shape& ys,
                   int64_t n, int64_t o, int64_t oh, int64_t ow) {
  const Shape &xs = x.shape, &ws = w.shape;
  const int64_t first = o / (ys[1] / q.groups) * ws[1];
  uint32_t acc = 0;
  for (int64_t c = 0; c < ws[1]; ++c) {
    for (int64_t kh = 0; kh < ws[2]; ++kh) {
      for (int64_t kw = 0; kw < ws[3]; ++kw) {
        const int64_t ih = oh * q.stride[0] + kh * q.dilation[0] - q.pad[0];
        const int64_t iw = ow * q.stride[1] + kw * q.dilation[1] - q.pad[1];
        if (ih < 0 || iw < 0 || ih >= xs[2] || iw >= xs[3]) continue;
        const int a = stored(x, ((n * xs[1] + first + c) * xs[2] + ih) * xs[3] + iw) - q.x_zero;
        const int b = stored(w, ((o * ws[1] + c) * ws[2] + kh) * ws[3] + kw) - q.w_zero;
        acc += static_cast<uint32_t>(a * b);
      }
    }
  }
  const auto i = static_cast<size_t>(o);
  int v = numerics::rescale(static_cast<int32_t>(acc), q.rescale.bias[i], q.rescale.multiplier[i],
                            q.rescale.shift[i], q.rescale.zero, q.rescale.low, q.rescale.high);
  if (!q.residual) return v;
  const auto& l = *q.residual;
  const int b = stored(r, ((n * ys[1] + o) * ys[2] + oh) * ys[3] + ow) - l.b_zero;
  return numerics::combine_linear(v - l.a_zero, l.a_multiplier, b, l.b_multiplier, l.b_negate, l.shift,
                                  l.zero, l.low, l.high);
}

}  // namespace

TEST_CASE("qconv equals its definition for random windows, groups, types and residuals") {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int trial = 0; trial < 60; ++trial) {
    ir::QConv q;
    q.groups = pick(1, 3);
    q.kernel = {pick(1, 3), pick(1, 3)};
    q.stride = {pick(1, 2), pick(1, 3)};
    q.dilation = {pick(1, 2), pick(1, 2)};
    q.pad = {pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
    const int64_t icg = pick(1, 4), oc = q.groups * pick(1, 3);
    const Shape xs{pick(1, 2), icg * q.groups, pick(5, 8), pick(5, 8)};
    const auto out = [&](size_t i) {
      return (xs[2 + i] + q.pad[i] + q.pad[i + 2] - ((q.kernel[i] - 1) * q.dilation[i] + 1)) / q.stride[i] +
             1;
    };
    const Shape ys{xs[0], oc, out(0), out(1)};
    const ElementType xt = pick(0, 1) ? ElementType::int8 : ElementType::uint8,
                      wt = pick(0, 1) ? ElementType::int8 : ElementType::uint8;
    const ElementType yt = pick(0, 1) ? ElementType::int8 : ElementType::uint8;
    const auto zero = [&](ElementType t) { return t == ElementType::int8 ? pick(-128, 127) : pick(0, 255); };
    q.x_zero = zero(xt);
    q.w_zero = zero(wt);
    for (int64_t o = 0; o < oc; ++o) {
      q.rescale.bias.push_back(pick(-5000, 5000));
      q.rescale.multiplier.push_back((1u << 30) + static_cast<uint32_t>(random() % (1u << 30)));
      q.rescale.shift.push_back(pick(38, 41));
    }
    q.rescale.zero = zero(yt);
    q.rescale.low = yt == ElementType::int8 ? -128 : 0;
    q.rescale.high = q.rescale.low + 255;
    if (pick(0, 1))
      q.residual =
          ir::LinearCombine{q.rescale.zero, zero(xt),      1u << 29,      3u << 28, pick(0, 1) == 1, 30,
                            q.rescale.zero, q.rescale.low, q.rescale.high};
    const Tensor x = random_bytes(xt, xs, random),
                 w = random_bytes(wt, {oc, icg, q.kernel[0], q.kernel[1]}, random);
    const Tensor r = random_bytes(xt, ys, random);
    std::vector<Tensor> inputs{x, w};
    if (q.residual) inputs.push_back(r);
    const Tensor y = run("qconv", inputs, yt, ys, {}, 0, q);
    int64_t i = 0;
    for (int64_t n = 0; n < ys[0]; ++n)
      for (int64_t o = 0; o < oc; ++o)
        for (int64_t oh = 0; oh < ys[2]; ++oh)
          for (int64_t ow = 0; ow < ys[3]; ++ow)
            REQUIRE(stored(y, i++) == expected_qconv(q, x, w, r, ys, n, o, oh, ow));
  }
}

TEST_CASE("qconv accumulates modulo 2^32") {
  ir::QConv q;  // 255 * -128 * 70,000 leaves 32 bits
  q.x_zero = -128;
  q.rescale = {{0}, {1u << 30}, {55}, 0, -128, 127};
  Tensor x(ElementType::int8, {1, 70000}), w(ElementType::int8, {1, 70000, 1, 1});
  std::fill(x.bytes.begin(), x.bytes.end(), uint8_t{127});
  std::fill(w.bytes.begin(), w.bytes.end(), uint8_t{0x80});
  const int64_t wide = int64_t{255} * -128 * 70000;
  const auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(wide)));
  const Tensor y = run("qconv", {x, w}, ElementType::int8, {1, 1}, {}, 0, q);
  CHECK(stored(y, 0) == numerics::rescale(wrapped, 0, 1u << 30, 55, 0, -128, 127));
}

TEST_CASE("qpool: maxima ignore padding, averages use the factor of their number of valid elements") {
  Tensor x(ElementType::uint8, {1, 1, 2, 2});
  x.bytes = {10, 20, 30, 41};
  ir::QPool q;
  q.kernel = {2, 2};
  q.pad = {1, 1, 0, 0};
  q.low = 0;
  q.high = 255;
  CHECK(run("qpool", {x}, ElementType::uint8, {1, 1, 2, 2}, {}, 0, q).bytes == ir::Bytes{10, 20, 30, 41});
  q.kind = ir::QPool::Kind::average;
  q.x_zero = 10;
  q.zero = 10;
  q.factor = {{}, {1u << 30, 30}, {1u << 30, 31}, {}, {1u << 30, 32}};
  // 10 | mean(10, 20) | mean(10, 30) | 25.25
  CHECK(run("qpool", {x}, ElementType::uint8, {1, 1, 2, 2}, {}, 0, q).bytes == ir::Bytes{10, 15, 20, 25});
}

TEST_CASE("evaluate wants every input, in its type and shape") {
  ir::Graph g;
  g.file = "m.onnx";
  ir::Value v;
  v.name = "x";
  v.type = ElementType::float32;
  v.shape = {1, 2};
  const auto x = g.add_value(v);
  g.add_input(x);
  g.add_output(x);
  CHECK_THROWS_WITH(reference::evaluate(g, {}),
                    Catch::Contains("m.onnx: input 'x'") && Catch::Contains("no data"));
  CHECK_THROWS_WITH(reference::evaluate(g, {{"x", Tensor(ElementType::float32, {2, 1})}}),
                    Catch::Contains("expected float32 1x2"));
  CHECK(reference::evaluate(g, {{"x", Tensor(ElementType::float32, {1, 2})}}).at("x").shape == Shape{1, 2});
}
