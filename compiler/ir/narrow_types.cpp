#include "compiler/ir/narrow_types.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dlc::ir {
namespace {

// Sign, `exponent` and `mantissa` bits; value = (-1)^s * 2^(e - bias) * 1.m, subnormal at e = 0.
struct Format {
  int exponent, mantissa, bias;
  enum class Special { none, nan_at_ones, infinities, unsigned_zero } special;
};

Format format_of(ElementType t) {
  using S = Format::Special;
  switch (t) {
    case ElementType::float8e4m3fn:
      return {4, 3, 7, S::nan_at_ones};
    case ElementType::float8e4m3fnuz:
      return {4, 3, 8, S::unsigned_zero};
    case ElementType::float8e5m2:
      return {5, 2, 15, S::infinities};
    case ElementType::float8e5m2fnuz:
      return {5, 2, 16, S::unsigned_zero};
    default:
      return {2, 1, 1, S::none};  // float4e2m1
  }
}

// Of the bits without the sign, as if no code were special.
double magnitude(const Format& f, int code) {
  const int e = code >> f.mantissa, m = code & ((1 << f.mantissa) - 1);
  const double fraction = static_cast<double>(m) / (1 << f.mantissa);
  return e == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, e - f.bias);
}

int largest_code(const Format& f) {
  const int ones = (1 << (f.exponent + f.mantissa)) - 1;
  if (f.special == Format::Special::nan_at_ones) return ones - 1;
  if (f.special == Format::Special::infinities) return (((1 << f.exponent) - 1) << f.mantissa) - 1;
  return ones;
}

double decode(const Format& f, uint8_t stored) {
  const int sign_at = f.exponent + f.mantissa;
  const int code = stored & ((1 << sign_at) - 1);
  const bool negative = (stored >> sign_at & 1) != 0;
  if (f.special == Format::Special::unsigned_zero && negative && code == 0) return std::nan("");
  if (code > largest_code(f)) {
    const bool infinite =
        f.special == Format::Special::infinities && code == ((1 << f.exponent) - 1) << f.mantissa;
    const double v = infinite ? std::numeric_limits<double>::infinity() : std::nan("");
    return negative ? -v : v;
  }
  return negative ? -magnitude(f, code) : magnitude(f, code);
}

uint8_t encode(const Format& f, double value, bool saturate) {
  const int sign_at = f.exponent + f.mantissa, ones = (1 << sign_at) - 1, largest = largest_code(f);
  const bool fnuz = f.special == Format::Special::unsigned_zero;
  const uint8_t sign = std::signbit(value) ? static_cast<uint8_t>(1 << sign_at) : 0;
  const bool no_nan = fnuz || f.special == Format::Special::none;  // fnuz: the code of -0; else -0 itself
  if (std::isnan(value)) return no_nan ? static_cast<uint8_t>(1 << sign_at) : static_cast<uint8_t>(sign | ones);
  const double x = std::abs(value);
  int code = 0;
  while (code <= largest && magnitude(f, code + 1) <= x) ++code;  // largest number not above x
  const double below = magnitude(f, code), above = magnitude(f, code + 1);
  if (code <= largest && (x - below > above - x || (x - below == above - x && code % 2 == 1))) ++code;
  if (code <= largest) return fnuz && code == 0 ? 0 : static_cast<uint8_t>(sign | code);
  if (saturate || f.special == Format::Special::none) return static_cast<uint8_t>(sign | largest);
  if (fnuz) return static_cast<uint8_t>(1 << sign_at);
  return static_cast<uint8_t>(sign | (f.special == Format::Special::infinities ? largest + 1 : ones));
}

// 2^(e - 127); 255 is NaN.
uint8_t encode_scale(double value, bool saturate, ScaleRounding rounding) {
  if (std::isnan(value)) return 255;
  const double x = std::abs(value);
  if (x == 0) return 0;
  if (std::isinf(x)) return saturate ? 254 : 255;
  int e = std::ilogb(x);
  const double fraction = std::ldexp(x, -e);  // [1, 2)
  if ((rounding == ScaleRounding::up && fraction > 1) || (rounding == ScaleRounding::nearest && fraction >= 1.5)) ++e;
  if (e > 127) return saturate ? 254 : 255;
  return static_cast<uint8_t>(std::max(e, -127) + 127);
}

int integer_bits(ElementType t) {
  return t == ElementType::int4 || t == ElementType::uint4   ? 4
         : t == ElementType::int2 || t == ElementType::uint2 ? 2
                                                             : 0;
}

}  // namespace

bool is_narrow(ElementType t) { return t >= ElementType::float8e4m3fn; }
bool is_float(ElementType t) {
  return t == ElementType::float32 || t == ElementType::float64 || is_half(t);
}

float half_to_float(uint16_t bits) {
  const int e = bits >> 10 & 31, m = bits & 1023;
  float v = e == 0    ? std::ldexp(static_cast<float>(m), -24)
            : e < 31  ? std::ldexp(static_cast<float>(1024 + m), e - 25)
            : m == 0  ? std::numeric_limits<float>::infinity()
                      : std::numeric_limits<float>::quiet_NaN();
  return bits >> 15 ? -v : v;
}

uint16_t float_to_half(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float x = std::abs(value);
  if (std::isnan(value)) return sign | 0x7E00;
  if (x >= 65520.0f) return sign | 0x7C00;
  int e = x == 0 ? -14 : std::max(std::ilogb(x), -14);
  auto m = static_cast<int>(std::nearbyint(std::ldexp(x, 10 - e)));  // 0..2048, half to even
  if (m == 2048) {
    m = 1024;
    ++e;
  }
  if (m < 1024) return static_cast<uint16_t>(sign | m);
  return static_cast<uint16_t>(sign | (e + 15) << 10 | (m - 1024));
}

uint16_t float_to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

double narrow_to_double(ElementType type, uint8_t stored) {
  if (const int bits = integer_bits(type); bits != 0) {
    const bool is_signed = type == ElementType::int4 || type == ElementType::int2;
    const int v = stored & ((1 << bits) - 1);
    return is_signed && v >> (bits - 1) ? v - (1 << bits) : v;
  }
  if (type == ElementType::float8e8m0) return stored == 255 ? std::nan("") : std::ldexp(1.0, stored - 127);
  return decode(format_of(type), stored);
}

uint8_t double_to_narrow(ElementType type, double value, bool saturate, ScaleRounding rounding) {
  if (const int bits = integer_bits(type); bits != 0) {
    const double limited = std::isnan(value) ? 0 : std::clamp(value, -9e18, 9e18);
    return static_cast<uint8_t>(static_cast<int64_t>(limited) & ((1 << bits) - 1));
  }
  if (type == ElementType::float8e8m0) return encode_scale(value, saturate, rounding);
  return encode(format_of(type), value, saturate);
}

std::vector<double> to_doubles(const Tensor& t) {
  std::vector<double> values(static_cast<size_t>(t.size()));
  if (is_half(t.type)) {
    const auto s = t.data<uint16_t>();
    std::transform(s.begin(), s.end(), values.begin(), t.type == ElementType::float16 ? half_to_float : bfloat16_to_float);
  } else if (is_narrow(t.type)) {
    std::transform(t.bytes.begin(), t.bytes.end(), values.begin(), [&](uint8_t b) { return narrow_to_double(t.type, b); });
  } else {
    with_type(t.type, [&](auto zero) {
      const auto s = t.data<decltype(zero)>();
      std::transform(s.begin(), s.end(), values.begin(), [](auto v) { return static_cast<double>(v); });
    });
  }
  return values;
}

void from_doubles(Tensor& t, const std::vector<double>& values) {
  if (is_half(t.type)) {
    const bool half = t.type == ElementType::float16;
    std::transform(values.begin(), values.end(), t.data<uint16_t>().begin(), [half](double v) {
      const auto f = static_cast<float>(v);
      return half ? float_to_half(f) : float_to_bfloat16(f);
    });
  } else if (is_narrow(t.type)) {
    std::transform(values.begin(), values.end(), t.bytes.begin(), [&](double v) { return double_to_narrow(t.type, v); });
  } else {
    with_type(t.type, [&](auto zero) {
      using T = decltype(zero);
      std::transform(values.begin(), values.end(), t.data<T>().begin(), [](double v) {
        if constexpr (std::is_floating_point_v<T>) return static_cast<T>(v);
        constexpr double low = static_cast<double>(std::numeric_limits<T>::lowest());
        constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
        if (v >= high) return std::numeric_limits<T>::max();
        return static_cast<T>(std::isnan(v) ? 0 : std::max(v, low));
      });
    });
  }
}

Tensor widened(const Tensor& t) {
  Tensor wide(ElementType::float32, t.shape);
  wide.name = t.name;
  const auto s = t.data<uint16_t>();
  std::transform(s.begin(), s.end(), wide.data<float>().begin(),
                 t.type == ElementType::float16 ? half_to_float : bfloat16_to_float);
  return wide;
}

void narrow_into(const Tensor& wide, Tensor& t) {
  const auto s = wide.data<float>();
  std::transform(s.begin(), s.end(), t.data<uint16_t>().begin(),
                 t.type == ElementType::float16 ? float_to_half : float_to_bfloat16);
}

}  // namespace dlc::ir
