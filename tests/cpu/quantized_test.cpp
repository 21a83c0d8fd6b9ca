// Integer operators: every byte as the reference computes it, on every vector width of this machine.
#include <catch2/catch.hpp>

#include "tests/cpu/cpu_harness.h"

using namespace dlc;
using test::GraphMaker;
using ir::ElementType;

namespace {

struct Case {
  int64_t ic, oc, h, kernel, stride, pad, groups;
  ElementType x, w, y;
  bool residual;
};

ir::QConv payload(const Case& c, std::mt19937& random) {
  ir::QConv q;
  q.kernel = {c.kernel, c.kernel};
  q.stride = {c.stride, c.stride};
  q.pad = {c.pad, c.pad, c.pad, c.pad};
  q.groups = c.groups;
  q.x_zero = c.x == ElementType::int8 ? static_cast<int32_t>(random() % 21) - 10 : static_cast<int32_t>(random() % 256);
  q.w_zero = c.w == ElementType::int8 ? 0 : c.kernel == 5 ? 60 : 128;  // 60: differences of 9 bits
  const bool signed_out = c.y == ElementType::int8;
  q.rescale.low = signed_out ? -128 : 0;
  q.rescale.high = signed_out ? 127 : 255;
  q.rescale.zero = signed_out ? 3 : 120;
  for (int64_t o = 0; o < c.oc; ++o) {
    q.rescale.bias.push_back(static_cast<int32_t>(random() % 4001) - 2000);
    q.rescale.multiplier.push_back((1u << 30) + static_cast<uint32_t>(random() % (1u << 30)));
    q.rescale.shift.push_back(36 + static_cast<int>(random() % 5));
  }
  if (c.residual) {
    ir::LinearCombine l;
    l.a_zero = q.rescale.zero;
    l.b_zero = 7;
    l.a_multiplier = 1234567890u;
    l.b_multiplier = 987654321u;
    l.shift = 31;
    l.zero = signed_out ? -4 : 99;
    l.low = q.rescale.low;
    l.high = q.rescale.high;
    q.residual = l;
  }
  return q;
}

}  // namespace

TEST_CASE("Integer convolutions give the reference's bytes") {
  constexpr ElementType s8 = ElementType::int8, u8 = ElementType::uint8;
  const Case cases[] = {
      {3, 32, 9, 3, 2, 1, 1, u8, s8, u8, false},  {32, 16, 7, 1, 1, 0, 1, u8, s8, u8, true},   {24, 40, 6, 3, 1, 1, 1, s8, s8, s8, false},
      {16, 16, 8, 3, 1, 1, 16, u8, s8, u8, false}, {20, 20, 7, 3, 2, 1, 20, s8, s8, s8, false}, {33, 17, 5, 1, 1, 0, 1, s8, u8, u8, false},
      {16, 16, 5, 3, 1, 1, 1, s8, s8, s8, true},   {1, 7, 10, 5, 2, 2, 1, u8, u8, s8, false},   {32, 32, 6, 3, 1, 1, 2, u8, s8, u8, false},
  };
  for (const Case& c : cases) {
    INFO(c.ic << " -> " << c.oc << " kernel " << c.kernel << " groups " << c.groups);
    GraphMaker m;
    const int64_t out = (c.h + 2 * c.pad - c.kernel) / c.stride + 1;
    const ir::ValueId x = m.input("x", {2, c.ic, c.h, c.h}, c.x);
    std::vector<ir::ValueId> inputs{x, m.constant({c.oc, c.ic / c.groups, c.kernel, c.kernel}, c.w)};
    if (c.residual) inputs.push_back(m.input("r", {2, c.oc, out, out}, c.y));
    m.output(m.node("qconv", inputs, {2, c.oc, out, out}, {}, c.y, payload(c, m.random)));
    CHECK(test::compare_with_reference(m.graph, 11) == "");
  }
}

TEST_CASE("Sums beyond 32 bits behind the bias wrap and rescale as in the reference") {
  GraphMaker m;
  Case c{16, 16, 4, 1, 1, 0, 1, ElementType::uint8, ElementType::int8, ElementType::int8, false};
  ir::QConv q = payload(c, m.random);
  for (size_t o = 0; o < q.rescale.bias.size(); ++o) {
    q.rescale.bias[o] = o % 2 ? 2147483647 : -2147483647;
    q.rescale.shift[o] = 55;
  }
  const ir::ValueId x = m.input("x", {1, 16, 4, 4}, ElementType::uint8);
  m.output(m.node("qconv", {x, m.constant({16, 16, 1, 1}, ElementType::int8)}, {1, 16, 4, 4}, {}, ElementType::int8, q));
  CHECK(test::compare_with_reference(m.graph, 3) == "");
}

TEST_CASE("Integer additions, products and extrema give the reference's bytes") {
  GraphMaker m;
  const ir::ValueId a = m.input("a", {1, 18, 5, 5}, ElementType::int8), b = m.input("b", {1, 18, 5, 5}, ElementType::uint8),
                    channel = m.input("c", {1, 18, 1, 1}, ElementType::uint8);
  ir::QAdd add;
  add.combine = {-5, 130, 1500000000u, 900000000u, true, 31, 4, -128, 127};
  m.output(m.node("qadd", {a, b}, {1, 18, 5, 5}, {}, ElementType::int8, add));
  for (const auto kind : {ir::QBinary::Kind::multiply, ir::QBinary::Kind::maximum, ir::QBinary::Kind::minimum}) {
    ir::QBinary q;
    q.kind = kind;
    q.a_zero = 3;
    q.b_zero = 100;
    q.multiplier = 1600000000u;
    q.shift = kind == ir::QBinary::Kind::multiply ? 38 : 31;
    q.zero = 128;
    q.low = 0;
    q.high = 255;
    m.output(m.node("qbinary", {a, b}, {1, 18, 5, 5}, {}, ElementType::uint8, q));
    m.output(m.node("qbinary", {a, channel}, {1, 18, 5, 5}, {}, ElementType::uint8, q));
  }
  CHECK(test::compare_with_reference(m.graph, 7) == "");
}

TEST_CASE("Integer pools give the reference's bytes") {
  GraphMaker m;
  for (const ElementType type : {ElementType::int8, ElementType::uint8}) {
    const bool s = type == ElementType::int8;
    const ir::ValueId x = m.input(s ? "s" : "u", {2, 21, 7, 7}, type);
    ir::QPool q;
    q.kernel = {3, 3};
    q.stride = {2, 2};
    q.pad = {1, 1, 1, 1};
    q.low = s ? -100 : 5;
    q.high = s ? 100 : 250;
    m.output(m.node("qpool", {x}, {2, 21, 4, 4}, {}, type, q));
    q.kind = ir::QPool::Kind::average;
    q.x_zero = s ? -7 : 99;
    q.zero = s ? 2 : 140;
    for (uint32_t d = 0; d <= 9; ++d) q.factor.push_back({d ? (1u << 30) / d : 0, 30});
    m.output(m.node("qpool", {x}, {2, 21, 4, 4}, {}, type, q));
  }
  CHECK(test::compare_with_reference(m.graph, 7) == "");
}

TEST_CASE("Quantising and dequantising give the reference's values, ties and overflow included") {
  GraphMaker m;
  const ir::ValueId x = m.input("x", {4, 33});
  const ir::ValueId scale = m.constant(ir::make_tensor<float>({}, {0.25f}));
  const ir::ValueId zero = m.constant(ir::make_tensor<uint8_t>({}, {113}));
  const ir::ValueId q = m.node("QuantizeLinear", {x, scale, zero}, {4, 33}, {{"axis", int64_t{1}}}, ElementType::uint8);
  m.output(q);
  m.output(m.node("DequantizeLinear", {q, scale, zero}, {4, 33}, {{"axis", int64_t{1}}}));
  reference::TensorMap inputs = test::random_inputs(m.graph, 2);
  auto values = inputs.at("x").data<float>();
  for (size_t i = 0; i < 66; ++i) values[i] = 0.125f * (static_cast<float>(i) - 30);
  values[70] = 1e30f;
  values[71] = -1e30f;
  values[72] = NAN;
  const cpu::Executable e(m.graph, test::options_for("native"));
  CHECK(test::difference(e.evaluate(inputs), reference::evaluate(m.graph, inputs), 0) == "");
}

TEST_CASE("Tables are looked up byte by byte, in blocked layout too") {
  GraphMaker m;
  for (const ElementType type : {ElementType::int8, ElementType::uint8}) {
    const bool s = type == ElementType::int8;
    const ir::ValueId x = m.input(s ? "s" : "u", {1, 18, 5, 5}, type);
    ir::QPool q;
    q.kernel = {1, 1};
    q.low = s ? -128 : 0;
    q.high = s ? 127 : 255;
    const ir::ValueId blocked = m.node("qpool", {x}, {1, 18, 5, 5}, {}, type, q);
    ir::QLut lut;
    for (uint8_t& b : lut.table) b = static_cast<uint8_t>(m.random());
    m.output(m.node("qlut", {blocked}, {1, 18, 5, 5}, {}, ElementType::uint8, lut));
  }
  CHECK(test::compare_with_reference(m.graph, 7) == "");
}

TEST_CASE("Placement and selection of integer maps move the right bytes") {
  GraphMaker m;
  const ir::ValueId a = m.input("a", {1, 4, 3, 3}, ElementType::int8), b = m.input("b", {1, 2, 3, 3}, ElementType::int8);
  ir::QPlace place;
  place.offset = {0, 0, 0, 0, 0, 4, 0, 0};
  place.step = {1, 1, 1, 1, 1, 1, 1, 1};
  const ir::ValueId c = m.node("qplace", {a, b}, {1, 6, 3, 3}, {}, ElementType::int8, place);
  ir::QTake take;
  take.channels = {5, 0, 3};
  m.output(m.node("qtake", {c}, {1, 3, 3, 3}, {}, ElementType::int8, take));
  take.channels.clear();
  take.offset = {0, 1, 2, 0};
  take.step = {1, 2, -1, 2};
  m.output(m.node("qtake", {c}, {1, 2, 3, 2}, {}, ElementType::int8, take));
  CHECK(test::compare_with_reference(m.graph, 7) == "");
}
