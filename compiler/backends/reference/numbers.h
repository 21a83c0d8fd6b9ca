// Kernels over element types: a C++ type for each that has one, numbers for all.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/ir/narrow_types.h"
#include "compiler/ir/tensor.h"

namespace dlc::reference {

using ir::with_type;

// Indices, axes, lengths: an int32 or int64 tensor.
inline std::vector<int64_t> integers(const ir::Tensor& t) {
  std::vector<int64_t> values(static_cast<size_t>(t.size()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = t.type == ir::ElementType::int32 ? t.data<int32_t>()[i] : t.data<int64_t>()[i];
  return values;
}

inline std::vector<int64_t> row_major_strides(const ir::Shape& shape) {
  std::vector<int64_t> s(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) s[i - 1] = s[i] * shape[i];
  return s;
}

// A tensor seen as outer x length x inner around one dimension.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
  Lines(const ir::Shape& shape, size_t axis) {
    for (size_t i = 0; i < shape.size(); ++i) (i < axis ? outer : i == axis ? length : inner) *= shape[i];
  }
  int64_t lines() const { return outer * inner; }
  size_t at(int64_t line, int64_t i) const {
    return static_cast<size_t>((line / inner * length + i) * inner + line % inner);
  }
};

}  // namespace dlc::reference
