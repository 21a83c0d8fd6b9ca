#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "compiler/quantize/fixed_point.h"

using namespace dlc;
using quantize::to_fixed_point;

TEST_CASE("Powers of two become exact factors") {
  for (int e = -32; e <= 30; ++e) {
    const auto f = to_fixed_point(std::ldexp(1.0, e));
    CHECK(f.multiplier == 1u << 30);
    CHECK(f.shift == 30 - e);
  }
}

TEST_CASE("Any factor within reach has a 31-bit multiplier and an error below 2^-31") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-31.9, 30.9);
  for (int i = 0; i < 20000; ++i) {
    const double factor = std::exp2(exponent(random));
    const auto f = to_fixed_point(factor);
    REQUIRE(f.multiplier >= 1u << 30);
    REQUIRE(f.multiplier < 1u << 31);
    REQUIRE((f.shift >= 0 && f.shift <= 62));
    REQUIRE(std::abs(std::ldexp(static_cast<double>(f.multiplier), -f.shift) / factor - 1) <=
            std::ldexp(1.0, -31));
  }
}

TEST_CASE("A factor that rounds up to 2^31 takes one bit less") {
  const double factor = std::nextafter(1.0, 0.0);
  const auto f = to_fixed_point(factor);
  CHECK(f.multiplier == 1u << 30);
  CHECK(f.shift == 30);
}

TEST_CASE("Tiny factors lose bits, huge ones saturate, none leaves the range") {
  CHECK(to_fixed_point(0).multiplier == 0);
  CHECK(to_fixed_point(std::ldexp(1.0, -40)).multiplier == 1u << 22);
  CHECK(to_fixed_point(std::ldexp(1.0, -40)).shift == 62);
  CHECK(to_fixed_point(1e-300).multiplier == 0);
  CHECK(to_fixed_point(1e300).multiplier == 0x7FFFFFFFu);
  CHECK(to_fixed_point(1e300).shift == 0);
  CHECK(to_fixed_point(INFINITY).multiplier == 0x7FFFFFFFu);
}

TEST_CASE("Two factors share the shift of the larger one") {
  ir::LinearCombine l;
  quantize::set_linear_factors(l, 0.5, 3.0);
  CHECK(l.shift == 29);
  CHECK(l.b_multiplier == 3u << 29);
  CHECK(l.a_multiplier == 1u << 28);
  quantize::set_linear_factors(l, 1.0, 0.0);
  CHECK(l.a_multiplier == 1u << 30);
  CHECK(l.b_multiplier == 0);
}
