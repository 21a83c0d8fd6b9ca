// Single layers of every kind and awkward size, compiled for every configuration, against the reference.
#include "tests/unit/accel_harness.h"

namespace dlc::accel_test {
namespace {

WindowSpec random_window(Random& r, int64_t h, int64_t w, int64_t largest) {
  WindowSpec s;
  do {
    s.kh = r.range(1, largest);
    s.kw = r.range(1, largest);
    s.sh = r.range(1, 3);
    s.sw = r.range(1, 3);
    s.dh = r.chance(25) ? 2 : 1;
    s.dw = r.chance(25) ? 2 : 1;
    s.top = r.range(0, s.kh - 1);
    s.bottom = r.range(0, s.kh - 1);
    s.left = r.range(0, s.kw - 1);
    s.right = r.range(0, s.kw - 1);
  } while (h + s.top + s.bottom < (s.kh - 1) * s.dh + 1 || w + s.left + s.right < (s.kw - 1) * s.dw + 1);
  return s;
}

}  // namespace

TEST_CASE("convolutions of any window, stride, padding and zero point match the reference") {
  for_random_graphs(40, 1000, [](NetBuilder& b) {
    const auto shape = random_map(b.random, 40, 18);
    const auto x = b.input(shape, b.random.chance(50));
    b.output(b.conv(x, b.random.range(1, 70), random_window(b.random, shape[2], shape[3], 5)));
  });
}

TEST_CASE("convolutions with a residual operand match the reference") {
  for_random_graphs(15, 2000, [](NetBuilder& b) {
    auto shape = random_map(b.random, 40, 14);
    const auto x = b.input(shape, b.random.chance(50));
    const auto w = random_window(b.random, shape[2], shape[3], 3);
    shape[1] = b.random.range(1, 40);
    const auto second =
        b.input({shape[0], shape[1], w.out_h(shape[2]), w.out_w(shape[3])}, b.random.chance(50));
    b.output(b.conv(x, shape[1], w, 1, second));
  });
}

TEST_CASE("depthwise and grouped convolutions match the reference") {
  for_random_graphs(30, 3000, [](NetBuilder& b) {
    auto shape = random_map(b.random, 4, 16);
    const int64_t groups = b.random.range(1, 10), per = shape[1];
    shape[1] = groups * (b.random.chance(70) ? 1 : per);
    const auto x = b.input(shape, b.random.chance(50));
    const int64_t out = groups * (b.random.chance(70) ? shape[1] / groups : b.random.range(1, 3));
    b.output(b.conv(x, out, random_window(b.random, shape[2], shape[3], 5), groups));
  });
}

TEST_CASE("pools match the reference") {
  for_random_graphs(20, 4000, [](NetBuilder& b) {
    const auto shape = random_map(b.random, 40, 16);
    const auto x = b.input(shape, b.random.chance(50));
    auto w = random_window(b.random, shape[2], shape[3], 4);
    w.dh = w.dw = 1;
    if (b.random.chance(30)) w = {shape[2], shape[3]};
    const auto kind = b.random.chance(50) ? ir::QPool::Kind::max : ir::QPool::Kind::average;
    b.output(b.pool(x, kind, w));
  });
}

TEST_CASE("additions match the reference") {
  for_random_graphs(8, 5000, [](NetBuilder& b) {
    const auto shape = random_map(b.random, 50, 20);
    const auto x = b.input(shape, b.random.chance(50)), y = b.input(shape, b.random.chance(50));
    b.output(b.sum(x, y));
  });
}

TEST_CASE("large reductions and maps split to fit the smallest machine") {
  const HwConfig hw = config("tiny-4");
  struct Case {
    ir::Shape shape;
    int64_t out;
    WindowSpec window;
  };
  const Case cases[] = {
      {{1, 300, 5, 5}, 20, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},   // weights of one output block exceed WGT
      {{1, 640, 1, 1}, 128, {}},                              // fully connected
      {{1, 8, 40, 200}, 8, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},   // rows that nearly fill ACT
      {{1, 64, 3, 400}, 12, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}},  // rows that do not fit: split columns
      {{1, 16, 12, 12}, 200, {11, 11, 4, 4, 1, 1, 2, 2, 2, 2}},
  };
  uint64_t seed = 6000;
  for (const Case& c : cases) {
    NetBuilder b(++seed);
    b.output(b.conv(b.input(c.shape, true), c.out, c.window));
    INFO("seed " << seed << "\n" << describe(b.graph));
    compile_and_check(b.graph, hw, {.keep_resident = seed % 2 == 0}, seed);
  }
}

}  // namespace dlc::accel_test
