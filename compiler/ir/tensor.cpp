#include "compiler/ir/tensor.h"

#include <array>
#include <utility>

namespace dlc::ir {
namespace {

struct ElementRow {
  ElementType type;
  std::string_view name;
  size_t size;
};
constexpr std::array kElements{
    ElementRow{ElementType::undefined, "undefined", 0}, ElementRow{ElementType::float32, "float32", 4},
    ElementRow{ElementType::float64, "float64", 8},     ElementRow{ElementType::float16, "float16", 2},
    ElementRow{ElementType::int8, "int8", 1},           ElementRow{ElementType::uint8, "uint8", 1},
    ElementRow{ElementType::int16, "int16", 2},         ElementRow{ElementType::uint16, "uint16", 2},
    ElementRow{ElementType::int32, "int32", 4},         ElementRow{ElementType::uint32, "uint32", 4},
    ElementRow{ElementType::int64, "int64", 8},         ElementRow{ElementType::uint64, "uint64", 8},
    ElementRow{ElementType::boolean, "boolean", 1},     ElementRow{ElementType::bfloat16, "bfloat16", 2},
    ElementRow{ElementType::float8e4m3fn, "float8e4m3fn", 1},
    ElementRow{ElementType::float8e4m3fnuz, "float8e4m3fnuz", 1},
    ElementRow{ElementType::float8e5m2, "float8e5m2", 1},
    ElementRow{ElementType::float8e5m2fnuz, "float8e5m2fnuz", 1},
    ElementRow{ElementType::float8e8m0, "float8e8m0", 1},
    ElementRow{ElementType::float4e2m1, "float4e2m1", 1},
    ElementRow{ElementType::int4, "int4", 1},           ElementRow{ElementType::uint4, "uint4", 1},
    ElementRow{ElementType::int2, "int2", 1},           ElementRow{ElementType::uint2, "uint2", 1},
};

}  // namespace

size_t element_size(ElementType type) { return kElements[static_cast<size_t>(type)].size; }
std::string_view element_name(ElementType type) { return kElements[static_cast<size_t>(type)].name; }

std::optional<ElementType> parse_element_type(std::string_view name) {
  for (const ElementRow& row : kElements) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

int64_t element_count(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::optional<int64_t> checked_element_count(const Shape& shape) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  bool empty = false;
  int64_t n = 1;
  for (int64_t d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0) {
      empty = true;
      continue;
    }
    if (d > kLimit / n) return std::nullopt;  // n <= kLimit, so no overflow
    n *= d;
  }
  return empty ? 0 : n;
}

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string s;
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? "x" : "") + std::to_string(shape[i]);
  return s;
}

}  // namespace dlc::ir
