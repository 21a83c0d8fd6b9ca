// Operators that move data without computing, for any element type.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/backends/reference/kernels.h"
#include "compiler/backends/reference/numbers.h"
#include "isa/error.h"

namespace dlc::reference {
namespace {

using ir::ElementType;
using Ints = std::vector<int64_t>;

// out[i0, i1, ...] = in[base + sum i_d * stride_d], elements of `size` bytes.
void gather_strided(const uint8_t* in, int64_t base, const Ints& strides, const ir::Shape& out_shape,
                    size_t size, uint8_t* out) {
  const int64_t n = ir::element_count(out_shape);
  Ints index(out_shape.size(), 0);
  int64_t from = base;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(out + static_cast<size_t>(i) * size, in + static_cast<size_t>(from) * size, size);
    for (size_t d = out_shape.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < out_shape[d]) break;
      from -= strides[d] * out_shape[d];
      index[d] = 0;
    }
  }
}

template <typename From, typename To>
To convert(From v) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(v)) return 0;  // out of range saturates: C++ leaves it undefined, ONNX too
    if (static_cast<double>(v) <= static_cast<double>(std::numeric_limits<To>::lowest()))
      return std::numeric_limits<To>::lowest();
    if (static_cast<double>(v) >= static_cast<double>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
  }
  return static_cast<To>(v);
}

// Casts from or to types without a C++ type of their own.
void cast_numbers(const KernelArgs& a) {
  const std::vector<double> values = ir::to_doubles(a.in(0));
  const bool saturate = a.node.attribute<int64_t>("saturate", 1) != 0;
  const auto mode = a.node.attribute<std::string>("round_mode", "up");
  const auto rounding = mode == "down"      ? ir::ScaleRounding::down
                        : mode == "nearest" ? ir::ScaleRounding::nearest
                                            : ir::ScaleRounding::up;
  if (a.out().type == ElementType::boolean) {
    std::transform(values.begin(), values.end(), a.out().bytes.begin(), [](double v) { return v != 0; });
  } else if (ir::is_narrow(a.out().type)) {
    std::transform(values.begin(), values.end(), a.out().bytes.begin(),
                   [&](double v) { return ir::double_to_narrow(a.out().type, v, saturate, rounding); });
  } else {
    ir::from_doubles(a.out(), values);
  }
}

}  // namespace

void copy(const KernelArgs& a) { a.out().bytes = a.in(0).bytes; }

void transpose(const KernelArgs& a) {
  const Ints perm = a.node.attribute<Ints>("perm");
  const Ints in_strides = row_major_strides(a.in(0).shape);
  Ints strides;
  for (int64_t p : perm) strides.push_back(in_strides[static_cast<size_t>(p)]);
  gather_strided(a.in(0).bytes.data(), 0, strides, a.out().shape, element_size(a.out().type),
                 a.out().bytes.data());
}

void concat(const KernelArgs& a) {
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis"));
  const size_t size = element_size(a.out().type);
  int64_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= a.out().shape[i];
  uint8_t* out = a.out().bytes.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (const ir::Tensor* in : a.inputs) {
      const size_t run = static_cast<size_t>(in->size() / outer) * size;
      std::memcpy(out, in->bytes.data() + static_cast<size_t>(o) * run, run);
      out += run;
    }
  }
}

void pad(const KernelArgs& a) {
  const ir::Shape& x = a.in(0).shape;
  const ir::Shape& y = a.out().shape;
  const Ints pads = a.node.attribute<Ints>("pads");
  auto in = a.in(0).data<float>();
  auto out = a.out().data<float>();
  const Ints strides = row_major_strides(x);
  const float fill = a.node.attribute<float>("value");
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), from = 0;
    bool inside = true;
    for (size_t d = x.size(); d-- > 0;) {
      const int64_t at = rest % y[d] - pads[d];
      rest /= y[d];
      inside = inside && at >= 0 && at < x[d];
      from += at * strides[d];
    }
    out[i] = inside ? in[static_cast<size_t>(from)] : fill;
  }
}

void shape(const KernelArgs& a) {
  const auto start = static_cast<size_t>(a.node.attribute<int64_t>("start"));
  auto out = a.out().data<int64_t>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = a.in(0).shape[start + i];
}

int64_t checked_index(const KernelArgs& a, int64_t index, int64_t size) {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  throw UserError(ErrorKind::bad_input, a.node.where(),
                  "index " + std::to_string(index) + " is outside a dimension of " + std::to_string(size));
}

void gather(const KernelArgs& a) {
  const ir::Shape& x = a.in(0).shape;
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis"));
  const size_t size = element_size(a.out().type);
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i != axis) (i < axis ? outer : inner) *= x[i];
  }
  const size_t run = static_cast<size_t>(inner) * size;
  uint8_t* out = a.out().bytes.data();
  const std::vector<int64_t> indices = integers(a.in(1));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t index : indices) {
      const int64_t at = checked_index(a, index, x[axis]);
      std::memcpy(out, a.in(0).bytes.data() + static_cast<size_t>(o * x[axis] + at) * run, run);
      out += run;
    }
  }
}

void slice(const KernelArgs& a) {
  const Ints starts = a.node.attribute<Ints>("starts");
  const Ints steps = a.node.attribute<Ints>("steps");
  Ints strides = row_major_strides(a.in(0).shape);
  int64_t base = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    base += starts[d] * strides[d];
    strides[d] *= steps[d];
  }
  gather_strided(a.in(0).bytes.data(), base, strides, a.out().shape, element_size(a.out().type),
                 a.out().bytes.data());
}

void cast(const KernelArgs& a) {
  const auto plain = [](ElementType t) { return !ir::is_half(t) && !ir::is_narrow(t); };
  if (!plain(a.in(0).type) || !plain(a.out().type)) return cast_numbers(a);
  with_type(a.in(0).type, [&](auto from) {
    with_type(a.out().type, [&](auto to) {
      auto in = a.in(0).data<decltype(from)>();
      auto out = a.out().data<decltype(to)>();
      const bool to_bool = a.out().type == ElementType::boolean;
      for (size_t i = 0; i < out.size(); ++i) {
        out[i] =
            to_bool ? static_cast<decltype(to)>(in[i] != 0) : convert<decltype(from), decltype(to)>(in[i]);
      }
    });
  });
}

}  // namespace dlc::reference
