// Elementwise operators with broadcasting and constants, concatenation, slices, permutations and interleaving
// on every configuration, against the reference.
#include <numeric>

#include "tests/unit/accel_harness.h"

namespace dlc::accel_test {
namespace {

using Kind = ir::QBinary::Kind;

// The shape with some of N, H, W set to 1.
ir::Shape reduced(Random& r, ir::Shape shape) {
  for (size_t d : {0, 2, 3})
    if (r.chance(40)) shape[d] = 1;
  return shape;
}

size_t layers_named(const Program& p, const std::string& op) {
  size_t n = 0;
  for (const Layer& l : p.layers) n += l.op == op;
  return n;
}

Program compile(const ir::Graph& graph, const HwConfig& hw) {
  ir::verify(graph);
  return accel::compile_accelerator(graph, whole_region(graph), hw, {});
}

}  // namespace

TEST_CASE("products, sums, maxima and minima broadcast either operand over images, rows and columns") {
  for_random_graphs(24, 11000, [](NetBuilder& b) {
    const auto shape = random_map(b.random, 40, 14);
    const bool both = b.random.chance(30);
    auto small = reduced(b.random, shape), large = both ? reduced(b.random, shape) : shape;
    auto x = b.input(large, b.random.chance(50)), y = b.input(small, b.random.chance(50));
    if (b.random.chance(30)) std::swap(x, y);
    const int64_t kind = b.random.range(0, 3);
    b.output(kind == 3 ? b.sum(x, y) : b.binary(static_cast<Kind>(kind), x, y));
    ir::verify(b.graph);
  });
}

TEST_CASE("the second operand, or the first, may be a constant") {
  for_random_graphs(10, 12000, [](NetBuilder& b) {
    const auto shape = random_map(b.random, 40, 12);
    auto x = b.input(shape, b.random.chance(50));
    auto k = b.constant(b.random.chance(50) ? shape : ir::Shape{1, shape[1], 1, 1}, b.random.chance(50));
    if (b.random.chance(30)) std::swap(x, k);
    b.output(b.random.chance(50) ? b.sum(x, k) : b.binary(Kind::multiply, x, k));
  });
}

TEST_CASE("squeeze and excite: a product with what the pooled map says about its channels") {
  for_random_graphs(8, 13000, [](NetBuilder& b) {
    const auto shape = random_map(b.random, 30, 12);
    const auto x = b.conv(b.input(shape, true), b.random.range(1, 40), {});
    const auto s = b.pool(x, ir::QPool::Kind::average, {shape[2], shape[3]});
    const auto squeezed = b.conv(s, b.random.range(1, 12), {});
    b.output(b.conv(b.binary(Kind::multiply, x, b.conv(squeezed, b.graph.value(x).shape[1], {})), 9, {}));
  });
}

TEST_CASE("concatenations along any axis match the reference") {
  for_random_graphs(40, 14000, [](NetBuilder& b) {
    auto shape = random_map(b.random, 20, 10);
    const size_t axis = b.random.chance(70) ? 1 : static_cast<size_t>(b.random.range(0, 3));
    const bool is_signed = b.random.chance(50);
    std::vector<ir::ValueId> parts;
    const int64_t unit = b.random.chance(50) ? 32 : 1;
    for (int64_t i = b.random.range(1, 4); i > 0; --i) {
      auto s = shape;
      s[axis] = axis == 1 ? unit * b.random.range(1, unit == 1 ? 40 : 2) : b.random.range(1, 6);
      if (!parts.empty() && b.random.chance(15)) {
        parts.push_back(parts[0]);  // the same tensor twice
      } else if (b.random.chance(20)) {
        parts.push_back(b.input(s, is_signed));
      } else {
        auto from = s;
        from[1] = b.random.range(1, 20);
        parts.push_back(b.conv_as(b.input(from, true), s[1], is_signed));
      }
      if (b.random.chance(15)) b.output(b.conv(parts.back(), 3, {}));
    }
    const auto y = b.concat(parts, axis);
    if (b.random.chance(50))
      b.output(y);
    else
      b.output(b.conv(y, b.random.range(1, 20), {}));
    ir::verify(b.graph);
  });
}

TEST_CASE("densely connected layers: concatenations of concatenations") {
  for_random_graphs(10, 15000, [](NetBuilder& b) {
    auto x = b.conv_as(b.input(random_map(b.random, 20, 9), true), b.random.range(1, 3) * 8, true);
    const int64_t growth = b.random.chance(50) ? 32 : 12;
    for (int i = 0; i < 3; ++i) x = b.concat({x, b.conv_as(b.conv(x, 10, {}), growth, true)}, 1);
    b.output(b.conv(x, 11, {}));
  });
}

TEST_CASE("slices along any axis, with steps, match the reference") {
  for_random_graphs(40, 16000, [](NetBuilder& b) {
    const auto shape = random_map(b.random, 70, 12);
    auto x = b.input(shape, b.random.chance(50));
    if (b.random.chance(50)) x = b.conv(x, shape[1], {});
    ir::QTake q;
    ir::Shape to = shape;
    for (size_t d = 0; d < 4; ++d) {
      if (b.random.chance(40)) continue;
      q.step[d] = d > 0 && b.random.chance(30) ? 2 : 1;
      q.offset[d] = b.random.range(0, shape[d] - 1);
      if (d == 1 && b.random.chance(50)) q.offset[d] = q.offset[d] / 16 * 16;
      to[d] = b.random.range(1, (shape[d] - 1 - q.offset[d]) / q.step[d] + 1);
    }
    auto y = b.take(x, q, to);
    if (b.random.chance(60)) y = b.conv(y, b.random.range(1, 20), {});
    b.output(y);
    ir::verify(b.graph);
  });
}

TEST_CASE("channel shuffles, and splits whose halves meet again, match the reference") {
  for_random_graphs(15, 17000, [](NetBuilder& b) {
    const int64_t half = b.random.range(1, 4) * (b.random.chance(50) ? 8 : 3), groups = 2;
    const auto map = random_map(b.random, 1, 9);
    auto x = b.conv_as(b.input({map[0], 5, map[2], map[3]}, true), 2 * half, true);
    ir::QTake left, right, shuffle;
    right.offset[1] = half;
    const auto l = b.take(x, left, {map[0], half, map[2], map[3]});
    const auto r = b.conv_as(b.take(x, right, {map[0], half, map[2], map[3]}), half, true);
    for (int64_t c = 0; c < 2 * half; ++c) shuffle.channels.push_back(c % groups * half + c / groups);
    const auto y = b.take(b.concat({l, r}, 1), shuffle, {map[0], 2 * half, map[2], map[3]});
    b.output(b.random.chance(50) ? y : b.conv(y, 7, {}));
    ir::verify(b.graph);
  });
}

TEST_CASE("interleaved phases: nearest resize and transposed convolution match the reference") {
  for_random_graphs(20, 18000, [](NetBuilder& b) {
    const auto shape = random_map(b.random, 40, 8);
    const int64_t sh = b.random.range(1, 3), sw = b.random.range(1, 3);
    const auto x = b.input(shape, true);
    std::vector<ir::ValueId> parts;
    const bool phases = b.random.chance(60);
    const int64_t channels = b.random.range(1, 40);
    const auto source = phases ? x : b.conv(x, channels, {});
    for (int64_t i = 0; i < sh * sw; ++i)
      parts.push_back(phases ? b.conv_as(x, channels, true) : source);
    const auto y = b.interleave(parts, sh, sw);
    b.output(b.random.chance(50) ? y : b.conv(y, 6, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}));
    ir::verify(b.graph);
  });
}

TEST_CASE("whole channel blocks are concatenated and sliced without any work") {
  const HwConfig hw = config("edge-16");
  NetBuilder b(1);
  const auto x = b.input({1, 16, 8, 8}, true);
  const auto left = b.conv_as(x, 32, true), right = b.conv_as(x, 40, true);
  const auto y = b.concat({left, right}, 1);
  ir::QTake q;
  q.offset[1] = 16;
  b.output(b.conv(b.take(y, q, {1, 40, 8, 8}), 8, {}));
  b.output(b.conv(y, 8, {}));
  const Program p = compile(b.graph, hw);
  CHECK(p.layers.size() == 4);
  CHECK(layers_named(p, "Conv") == 4);
  check_program(p, b.graph, hw, 3);
}

TEST_CASE("channels that start inside a block are moved by one permutation that is no work of the model") {
  const HwConfig hw = config("edge-16");
  NetBuilder b(2);
  const auto x = b.input({1, 16, 8, 8}, true);
  b.output(b.conv(b.concat({b.conv_as(x, 20, true), b.conv_as(x, 40, true)}, 1), 8, {}));
  const Program p = compile(b.graph, hw);
  CHECK(layers_named(p, "Permute") == 1);
  CHECK(layers_named(p, "Copy") == 0);
  int64_t macs = 0;
  for (const Layer& l : p.layers) macs += l.macs;
  CHECK(macs == 64 * (16 * 20 + 16 * 40 + 60 * 8));
  check_program(p, b.graph, hw, 3);
}

}  // namespace dlc::accel_test
