// The machine's arithmetic, written once. Functional model, SystemC model, graph reference and the
// compiler's constant preparation all call these functions; the RTL is checked against them.
//
// Everything is defined for every input (hostile programs included): additions and products wrap in
// two's complement, 32 bits in ACC, 64 bits behind the reduction.
//
// Why 31-bit unsigned multipliers: (acc + bias) needs 33 bits, so the product with a 31-bit factor
// always fits in 64 bits; neither C++ nor SystemVerilog needs wide arithmetic (Verilator's >64-bit
// operations are an order of magnitude slower). A negative factor never occurs: scales are positive,
// and subtraction has its own bit (b_negate).
#pragma once
#include <algorithm>
#include <cstdint>

namespace dlc::numerics {

inline constexpr int kMaxShift = 62;

// x + y and x * y modulo 2^32 / 2^64 without undefined behaviour.
constexpr int32_t wrap_add32(int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
}
constexpr int32_t wrap_mul32(int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
}
constexpr int64_t wrap_add64(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
constexpr int64_t wrap_mul64(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

// A byte as the matrix and vector engines see it: sign- or zero-extended, zero point subtracted,
// kept to 9 bits signed (wraps; compiled programs never do).
constexpr int32_t operand9(uint8_t byte, bool is_signed, int32_t zero) {
  const int32_t v = is_signed ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte);
  const uint32_t d = static_cast<uint32_t>(v - zero) & 0x1FFu;
  return (d & 0x100u) ? static_cast<int32_t>(d) - 512 : static_cast<int32_t>(d);
}

// Arithmetic shift right by 0..62 with round half to even. No intermediate overflow.
constexpr int64_t round_shift(int64_t value, int shift) {
  if (shift == 0) return value;
  const int64_t floor = value >> shift;
  const uint64_t remainder = static_cast<uint64_t>(value) & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  const bool up = remainder > half || (remainder == half && (floor & 1));
  return floor + (up ? 1 : 0);
}

constexpr int32_t clamp_to(int64_t v, int32_t low, int32_t high) {
  // low > high (hostile): high wins, as in the RTL (the upper comparison comes last).
  if (v < low) v = low;
  if (v > high) v = high;
  return static_cast<int32_t>(v);
}

// First rescale: clamp(round((x + bias) * multiplier / 2^shift) + zero).
// x + bias in 33 bits, product in 64 bits, multiplier 0..2^31-1.
constexpr int32_t rescale(int32_t x, int32_t bias, uint32_t multiplier, int shift, int32_t zero,
                          int32_t low, int32_t high) {
  const int64_t sum = static_cast<int64_t>(x) + bias;
  const int64_t rounded = round_shift(sum * static_cast<int64_t>(multiplier), shift);
  return clamp_to(wrap_add64(rounded, zero), low, high);
}

// Combine with operand B (a and b have their zero points subtracted already; |a| < 2^32, 64-bit wrap).
constexpr int32_t combine_linear(int64_t a, uint32_t a_multiplier, int64_t b, uint32_t b_multiplier,
                                 bool b_negate, int shift, int32_t zero, int32_t low, int32_t high) {
  const int64_t pa = wrap_mul64(a, a_multiplier);
  const int64_t pb = wrap_mul64(b, b_multiplier);
  const int64_t sum = b_negate ? wrap_add64(pa, wrap_add64(~pb, 1)) : wrap_add64(pa, pb);
  return clamp_to(wrap_add64(round_shift(sum, shift), zero), low, high);
}
constexpr int32_t combine_multiply(int64_t a, int64_t b, uint32_t a_multiplier, int shift,
                                   int32_t zero, int32_t low, int32_t high) {
  const int64_t product = wrap_mul64(wrap_mul64(a, b), a_multiplier);
  return clamp_to(wrap_add64(round_shift(product, shift), zero), low, high);
}
// maximum / minimum: the larger / smaller of a and b, rescaled by a_multiplier as above.
constexpr int32_t combine_select(int64_t a, int64_t b, bool take_max, uint32_t a_multiplier,
                                 int shift, int32_t zero, int32_t low, int32_t high) {
  const int64_t v = take_max ? std::max(a, b) : std::min(a, b);
  return clamp_to(wrap_add64(round_shift(wrap_mul64(v, a_multiplier), shift), zero), low, high);
}

// A positive real factor as multiplier * 2^-shift, multiplier in [2^30, 2^31) where possible.
struct FixedPoint {
  uint32_t multiplier = 0;
  int shift = 0;
};

}  // namespace dlc::numerics
