// Element types narrower than C++'s own, as numbers: half precision, bfloat16, the 8-bit and 4-bit floats of OCP MX
// and of ONNX's "Float stored in 8 bits", and integers of 2 and 4 bits. Every element takes whole bytes here.
#pragma once
#include "compiler/ir/tensor.h"

namespace dlc::ir {

// Float types that are computed in float32: float16 and bfloat16.
inline bool is_half(ElementType t) { return t == ElementType::float16 || t == ElementType::bfloat16; }
// 8-bit and 4-bit floats, 4-bit and 2-bit integers: data only, cast before they are computed with.
bool is_narrow(ElementType t);
bool is_float(ElementType t);  // float16 and wider

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);  // round half to even; overflow gives infinity
inline float bfloat16_to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float f;
  std::memcpy(&f, &wide, sizeof f);
  return f;
}
uint16_t float_to_bfloat16(float value);  // round half to even

enum class ScaleRounding { up, down, nearest };  // float8e8m0 (attribute round_mode of Cast)

// The number that a stored byte of a narrow type is. Precondition: is_narrow(type).
double narrow_to_double(ElementType type, uint8_t stored);
// The stored byte nearest to `value`, ties to even. Beyond the largest number: that one with `saturate` (and for types
// without NaN), else infinity or NaN. Integers: rounded towards zero, low bits kept.
uint8_t double_to_narrow(ElementType type, double value, bool saturate = true,
                         ScaleRounding rounding = ScaleRounding::up);

// Any tensor's elements as numbers, and back (floats round half to even, integers truncate).
std::vector<double> to_doubles(const Tensor& t);
void from_doubles(Tensor& t, const std::vector<double>& values);

// A float16 or bfloat16 tensor in float32, and back.
Tensor widened(const Tensor& t);
void narrow_into(const Tensor& wide, Tensor& t);

// f is called with a zero of the type's C++ type (booleans as bytes). Precondition: it has one.
template <typename F>
void with_type(ElementType type, const F& f) {
  switch (type) {
    case ElementType::float32:
      return f(float{});
    case ElementType::float64:
      return f(double{});
    case ElementType::int8:
      return f(int8_t{});
    case ElementType::int16:
      return f(int16_t{});
    case ElementType::uint16:
      return f(uint16_t{});
    case ElementType::int32:
      return f(int32_t{});
    case ElementType::uint32:
      return f(uint32_t{});
    case ElementType::int64:
      return f(int64_t{});
    case ElementType::uint64:
      return f(uint64_t{});
    default:
      return f(uint8_t{});
  }
}

}  // namespace dlc::ir
