// Values with units as the hardware description writes them: "256 KiB", "500 MHz", "16/3 B/cycle".
// Parsers return nothing on malformed text (units are written, never implied); the caller knows the place.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlc {

struct Rational {
  int64_t num = 0, den = 1;  // reduced, den > 0
};

std::optional<int64_t> parse_integer(std::string_view text);   // "-12"
std::optional<int64_t> parse_bytes(std::string_view text);     // "64 KiB"; B, KiB, MiB, GiB
std::optional<double> parse_megahertz(std::string_view text);  // "1.2 GHz"; MHz, GHz
std::optional<int64_t> parse_with_unit(std::string_view text,
                                       std::string_view unit);   // "60 cycles", "128 bit"
std::optional<Rational> parse_rate(std::string_view text);       // "12.8 B/cycle", "16/3 B/cycle"
std::optional<int64_t> parse_nanometres(std::string_view text);  // "45nm", "45 nm"

std::string bytes_text(uint64_t bytes);       // the largest unit that divides it
std::string rate_text(const Rational& rate);  // "16 B/cycle", "16/3 B/cycle"

}  // namespace dlc
