// Walking tensors by strides: broadcasting.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/ir/tensor.h"

namespace dlc::reference {

// Element strides of an operand seen in the output's shape; 0 where it is repeated (NumPy broadcasting).
inline std::vector<int64_t> broadcast_strides(const ir::Shape& operand, const ir::Shape& out) {
  std::vector<int64_t> strides(out.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < operand.size(); ++i) {
    const int64_t d = operand[operand.size() - 1 - i];
    if (d != 1) strides[out.size() - 1 - i] = stride;
    stride *= d;
  }
  return strides;
}

// Which matrix of an operand of a batched product belongs to matrix `batch` of the result `out`.
inline int64_t batch_of(const ir::Shape& operand, const ir::Shape& out, int64_t batch) {
  int64_t matrix = 0, stride = 1;
  for (size_t d = out.size() - 2; d-- > 0;) {
    const int64_t index = batch % out[d];
    batch /= out[d];
    if (d + operand.size() < out.size()) continue;
    const int64_t size = operand[d + operand.size() - out.size()];
    if (size != 1) matrix += index * stride;
    stride *= size;
  }
  return matrix;
}

// Calls f(index in the output, offset of each operand) for all elements of `out` in order; `strides`: one
// vector an operand.
template <size_t count, typename F>
void for_each_broadcast(const ir::Shape& out, const std::vector<int64_t> (&strides)[count], const F& f) {
  const int64_t n = ir::element_count(out);
  std::vector<int64_t> index(out.size(), 0);
  size_t at[count] = {};
  for (int64_t i = 0; i < n; ++i) {
    f(static_cast<size_t>(i), at);
    for (size_t d = out.size(); d-- > 0;) {  // odometer
      for (size_t k = 0; k < count; ++k) at[k] += static_cast<size_t>(strides[k][d]);
      if (++index[d] < out[d]) break;
      for (size_t k = 0; k < count; ++k) at[k] -= static_cast<size_t>(strides[k][d] * out[d]);
      index[d] = 0;
    }
  }
}

}  // namespace dlc::reference
