// Element types and dense tensors: what graphs' constants, inputs and outputs hold. Row-major, little
// endian, no padding. Types narrower than a byte are never stored packed here.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::ir {

enum class ElementType : uint8_t {
  undefined,
  float32,
  float64,
  float16,  // computed with in float32 (narrow_types.h)
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  boolean,
  bfloat16,  // as float16
  // Narrower than a byte's worth of C++ type: data, to be cast. One byte an element here.
  float8e4m3fn,
  float8e4m3fnuz,
  float8e5m2,
  float8e5m2fnuz,
  float8e8m0,
  float4e2m1,
  int4,
  uint4,
  int2,
  uint2,
};

size_t element_size(ElementType type);            // bytes; 0 for undefined
std::string_view element_name(ElementType type);  // "float32", ...
std::optional<ElementType> parse_element_type(std::string_view name);
inline bool is_8bit(ElementType t) { return t == ElementType::int8 || t == ElementType::uint8; }

template <typename T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_same_v<T, float>)
    return ElementType::float32;
  else if constexpr (std::is_same_v<T, double>)
    return ElementType::float64;
  else if constexpr (std::is_same_v<T, int8_t>)
    return ElementType::int8;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return ElementType::uint8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return ElementType::int16;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return ElementType::uint16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return ElementType::int32;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return ElementType::uint32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return ElementType::int64;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return ElementType::uint64;
  else if constexpr (std::is_same_v<T, bool>)
    return ElementType::boolean;
  else
    return ElementType::undefined;
}

using Shape = std::vector<int64_t>;
using Bytes = std::vector<uint8_t>;

// Number of elements; 1 for a scalar (empty shape). Callers have checked that it does not overflow
// (checked_element_count), which the importer does for every shape it meets.
int64_t element_count(const Shape& shape);
// As above, but nothing for a negative dimension or for more than 2^40 elements.
std::optional<int64_t> checked_element_count(const Shape& shape);
std::string shape_text(const Shape& shape);  // "1x3x32x32"; "scalar"

struct Tensor {
  std::string name;  // may be empty
  ElementType type = ElementType::undefined;
  Shape shape;
  Bytes bytes;

  Tensor() = default;
  Tensor(ElementType t, Shape s) : type(t), shape(std::move(s)) {
    bytes.resize(static_cast<size_t>(element_count(shape)) * element_size(type));
  }
  int64_t size() const { return element_count(shape); }

  // T must be the element type's own C++ type (8-bit types may be read as either signedness).
  template <typename T>
  std::span<T> data() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

template <typename T>
Tensor make_tensor(Shape shape, const std::vector<T>& values) {
  Tensor t(element_type_of<T>(), std::move(shape));
  if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}

}  // namespace dlc::ir
