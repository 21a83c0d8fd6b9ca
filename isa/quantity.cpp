#include "isa/quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace dlc {
namespace {

struct Split {
  std::string_view number, unit;
};

// "12.8 B/cycle" -> "12.8", "B/cycle". The number is everything up to the first character that cannot be in
// it.
Split split_unit(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789./+-");
  if (end == std::string_view::npos) return {text, {}};
  Split split{text.substr(0, end), text.substr(end)};
  const size_t start = split.unit.find_first_not_of(' ');
  split.unit = start == std::string_view::npos ? std::string_view{} : split.unit.substr(start);
  return split;
}

// "12.8" -> 64/5; at most six digits behind the point.
std::optional<Rational> parse_decimal(std::string_view text) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos) {
    const auto value = parse_integer(text);
    return value ? std::optional(Rational{*value, 1}) : std::nullopt;
  }
  const std::string_view whole = text.substr(0, point), digits = text.substr(point + 1);
  const auto high = parse_integer(whole), low = parse_integer(digits);
  if (!high || !low || *high < 0 || digits.size() > 6 || digits[0] == '-' || whole[0] == '-')
    return std::nullopt;
  int64_t den = 1;
  for (size_t i = 0; i < digits.size(); ++i) den *= 10;
  if (*high > std::numeric_limits<int64_t>::max() / den - 1) return std::nullopt;
  const int64_t num = *high * den + *low, divisor = std::gcd(num, den);
  return Rational{num / divisor, den / divisor};
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_with_unit(std::string_view text, std::string_view unit) {
  const Split split = split_unit(text);
  return split.unit == unit ? parse_integer(split.number) : std::nullopt;
}

std::optional<int64_t> parse_bytes(std::string_view text) {
  constexpr std::pair<const char*, int> kUnits[] = {{"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  for (const auto& [unit, shift] : kUnits) {
    const auto value = parse_with_unit(text, unit);
    if (!value) continue;
    if (*value < 0 || *value > (std::numeric_limits<int64_t>::max() >> shift)) return std::nullopt;
    return *value << shift;
  }
  return std::nullopt;
}

std::optional<double> parse_megahertz(std::string_view text) {
  const Split split = split_unit(text);
  const auto value = parse_decimal(split.number);
  if (!value) return std::nullopt;
  // One division, so that the shortest decimal of the result is the text again.
  if (split.unit == "MHz") return static_cast<double>(value->num) / static_cast<double>(value->den);
  if (split.unit == "GHz" && value->num < (int64_t{1} << 50)) {
    return static_cast<double>(value->num * 1000) / static_cast<double>(value->den);
  }
  return std::nullopt;
}

std::optional<Rational> parse_rate(std::string_view text) {
  const Split split = split_unit(text);
  if (split.unit != "B/cycle") return std::nullopt;
  const size_t slash = split.number.find('/');
  if (slash == std::string_view::npos) return parse_decimal(split.number);
  const auto num = parse_integer(split.number.substr(0, slash)),
             den = parse_integer(split.number.substr(slash + 1));
  if (!num || !den || *num < 0 || *den < 1) return std::nullopt;
  const int64_t divisor = std::gcd(*num, *den);
  return Rational{*num / divisor, *den / divisor};
}

std::optional<int64_t> parse_nanometres(std::string_view text) { return parse_with_unit(text, "nm"); }

std::string bytes_text(uint64_t bytes) {
  constexpr std::pair<const char*, int> kUnits[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
  for (const auto& [unit, shift] : kUnits) {
    if (bytes != 0 && bytes % (uint64_t{1} << shift) == 0) return fmt::format("{} {}", bytes >> shift, unit);
  }
  return fmt::format("{} B", bytes);
}

std::string rate_text(const Rational& rate) {
  return rate.den == 1 ? fmt::format("{} B/cycle", rate.num)
                       : fmt::format("{}/{} B/cycle", rate.num, rate.den);
}

}  // namespace dlc
