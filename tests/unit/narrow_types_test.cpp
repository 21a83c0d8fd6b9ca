// Half precision, bfloat16, the narrow floats and integers as numbers.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "compiler/ir/narrow_types.h"

using namespace dlc::ir;
using E = ElementType;

TEST_CASE("every half and bfloat16 survives the way to float32 and back") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    if (!std::isnan(half_to_float(b))) REQUIRE(float_to_half(half_to_float(b)) == b);
    if (!std::isnan(bfloat16_to_float(b))) REQUIRE(float_to_bfloat16(bfloat16_to_float(b)) == b);
  }
}

TEST_CASE("halves round to nearest, ties to even, and overflow to infinity") {
  CHECK(float_to_half(1.0f + 0x1p-11f) == 0x3C00);             // tie: down to even
  CHECK(float_to_half(1.0f + 3 * 0x1p-11f) == 0x3C02);         // tie: up to even
  CHECK(float_to_half(65519.0f) == 0x7BFF);
  CHECK(float_to_half(65520.0f) == 0x7C00);
  CHECK(float_to_half(0x1p-25f) == 0);                         // half of the least number: to even
  CHECK(float_to_half(1.5f * 0x1p-25f) == 1);
  CHECK(std::isnan(half_to_float(float_to_half(std::nanf("")))));
}

TEST_CASE("every narrow number survives the way to double and back") {
  for (E type : {E::float8e4m3fn, E::float8e4m3fnuz, E::float8e5m2, E::float8e5m2fnuz, E::float8e8m0}) {
    for (int b = 0; b < 256; ++b) {
      const double v = narrow_to_double(type, static_cast<uint8_t>(b));
      if (!std::isnan(v)) CHECK(double_to_narrow(type, v, false) == b);
    }
  }
  for (int b = 0; b < 16; ++b) {
    CHECK(double_to_narrow(E::float4e2m1, narrow_to_double(E::float4e2m1, static_cast<uint8_t>(b))) == b);
    CHECK(double_to_narrow(E::int4, narrow_to_double(E::int4, static_cast<uint8_t>(b))) == b);
  }
  CHECK(narrow_to_double(E::int4, 15) == -1);
  CHECK(narrow_to_double(E::uint4, 15) == 15);
  CHECK(narrow_to_double(E::int2, 2) == -2);
}

TEST_CASE("narrow floats saturate, or become infinity or NaN, beyond their largest number") {
  CHECK(narrow_to_double(E::float8e4m3fn, double_to_narrow(E::float8e4m3fn, 1e9)) == 448);
  CHECK(std::isnan(narrow_to_double(E::float8e4m3fn, double_to_narrow(E::float8e4m3fn, 1e9, false))));
  CHECK(narrow_to_double(E::float8e5m2, double_to_narrow(E::float8e5m2, -1e9)) == -57344);
  CHECK(std::isinf(narrow_to_double(E::float8e5m2, double_to_narrow(E::float8e5m2, -1e9, false))));
  CHECK(narrow_to_double(E::float4e2m1, double_to_narrow(E::float4e2m1, 100)) == 6);
  CHECK(narrow_to_double(E::float8e8m0, double_to_narrow(E::float8e8m0, 3, true, ScaleRounding::down)) == 2);
  CHECK(narrow_to_double(E::float8e8m0, double_to_narrow(E::float8e8m0, 3, true, ScaleRounding::up)) == 4);
}
