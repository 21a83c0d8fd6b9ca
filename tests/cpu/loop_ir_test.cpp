// Loop IR: text form, verifier, simplification of indices.
#include <catch2/catch.hpp>

#include "compiler/loop/loop_ir.h"

using namespace dlc::loop;
using Catch::Matchers::Contains;

namespace {

constexpr ElementType f32 = ElementType::float32;

// y[i] = x[i] * 2 + x[i] for `count` elements, four at a time.
Kernel sample(int64_t count, int64_t buffer) {
  KernelBuilder b("sample");
  const int x = b.input("x", f32, buffer), y = b.output("y", f32, buffer);
  b.parallel(count / 4, [&](Expr i) {
    const Expr v = b.load(x, i * 4, 4);
    b.store(y, i * 4, fma(v, constant(v.type(), 2), v));
  });
  return b.finish();
}

}  // namespace

TEST_CASE("A kernel's text shows loops, types and shared operands") {
  CHECK(print(sample(16, 16)) ==
        "kernel \"sample\" (%0 : float32[16], %1 : float32[16] written)\n"
        "  parallel i0 = 0 to 4 step 1\n"
        "    t0 = %0[mul(i0, 4) x 4]\n"
        "    %1[mul(i0, 4) x 4] = fma(t0, 0x1p+1:float32 x 4, t0)\n");
}

TEST_CASE("Equal kernels have one text whatever their names") {
  Kernel a = sample(16, 16), b = sample(16, 16);
  b.name = "other";
  CHECK(print(a, false) == print(b, false));
  CHECK(print(a) != print(b));
  CHECK(print(a, false) != print(sample(8, 16), false));
}

TEST_CASE("A load or store beyond its buffer is refused when the kernel is finished") {
  CHECK_THROWS_WITH(sample(16, 15), Contains("buffer x of 15 elements is used at 0 to 15"));
  KernelBuilder b("below");
  const int x = b.input("x", f32, 8), y = b.output("y", f32, 8);
  b.loop(8, [&](Expr i) { b.store(y, i, b.load(x, i - 1)); });
  CHECK_THROWS_WITH(b.finish(), Contains("is used at -1 to 6"));
}

TEST_CASE("Bounds follow divisions, remainders and minima") {
  KernelBuilder b("decoded");
  const int x = b.input("x", f32, 12), y = b.output("y", f32, 20);
  b.parallel(20, [&](Expr i) { b.store(y, i, b.load(x, min(i % 5 * 2 + i / 5, Expr(11)))); });
  CHECK_NOTHROW(b.finish());
}

TEST_CASE("Only the valid lanes of a partial vector need be inside the buffer") {
  KernelBuilder b("partial");
  const int x = b.input("x", f32, 3), y = b.output("y", f32, 3);
  b.store(y, 0, b.load(x, 0, 4, 1, 3), 1, 3);
  CHECK_NOTHROW(b.finish());
}

TEST_CASE("Types that do not fit are refused") {
  KernelBuilder b("types");
  const int x = b.input("x", f32, 4), y = b.output("y", ElementType::int32, 4);
  SECTION("a store of another type") {
    b.store(y, 0, b.load(x, 0));
    CHECK_THROWS_WITH(b.finish(), Contains("another type"));
  }
  SECTION("operands of different types") {
    b.store(y, 0, cast(binary(Op::add, b.load(x, 0), integer_constant({ElementType::int32, 1}, 1)), ElementType::int32));
    CHECK_THROWS_WITH(b.finish(), Contains("operands of add"));
  }
  SECTION("a store to an input") {
    b.store(x, 0, b.load(x, 1));
    CHECK_THROWS_WITH(b.finish(), Contains("store to an input"));
  }
}

TEST_CASE("A loop of one iteration leaves no trace in the indices") {
  KernelBuilder b("single");
  const int x = b.input("x", f32, 4), y = b.output("y", f32, 4);
  b.loop(1, [&](Expr i) { b.loop(4, [&](Expr j) { b.store(y, i * 4 + j, b.load(x, (i + 0) * 7 + j)); }); });
  CHECK_THAT(print(b.finish()), Contains("%1[i0] = %0[i0]"));
}

TEST_CASE("A parallel loop is the whole body") {
  KernelBuilder b("two");
  const int y = b.output("y", f32, 4);
  b.store(y, 0, constant({f32, 1}, 0));
  CHECK_THROWS_WITH(b.parallel(4, [](Expr) {}), Contains("whole body"));
}
