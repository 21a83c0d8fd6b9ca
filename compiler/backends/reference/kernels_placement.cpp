// qplace, qtake and pack_pixels: elements of 8-bit tensors moved between (n,c,h,w) positions.
#include <algorithm>
#include <array>

#include "compiler/backends/reference/kernels.h"

namespace dlc::reference {
namespace {

using Index = std::array<int64_t, 4>;

Index dims_of(const ir::Tensor& t) {
  Index d{1, 1, 1, 1};
  for (size_t i = 0; i < t.shape.size(); ++i) d[i] = t.shape[i];
  return d;
}

size_t position(const Index& dims, const Index& at) {
  return static_cast<size_t>(((at[0] * dims[1] + at[1]) * dims[2] + at[2]) * dims[3] + at[3]);
}

template <typename F>
void for_each_index(const Index& dims, const F& f) {
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t c = 0; c < dims[1]; ++c)
      for (int64_t h = 0; h < dims[2]; ++h)
        for (int64_t w = 0; w < dims[3]; ++w) f(Index{n, c, h, w});
}

}  // namespace

void qplace(const KernelArgs& a) {
  const auto& q = std::get<ir::QPlace>(a.node.payload);
  const Index to = dims_of(a.out());
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    size_t from = 0;
    for_each_index(dims_of(a.in(i)), [&](Index at) {
      for (size_t d = 0; d < 4; ++d) at[d] = q.offset[4 * i + d] + at[d] * q.step[4 * i + d];
      a.out().bytes[position(to, at)] = a.in(i).bytes[from++];
    });
  }
}

void pack_pixels(const KernelArgs& a) {
  const Index from = dims_of(a.in(0)), to = dims_of(a.out());
  const auto rows = a.node.attribute<int64_t>("rows"), columns = a.node.attribute<int64_t>("columns");
  std::fill(a.out().bytes.begin(), a.out().bytes.end(), static_cast<uint8_t>(a.node.attribute<int64_t>("zero")));
  size_t i = 0;
  for_each_index(from, [&](const Index& at) {
    const int64_t lane = (at[2] % rows * columns + at[3] % columns) * from[1] + at[1];
    a.out().bytes[position(to, {at[0], lane, at[2] / rows, at[3] / columns})] = a.in(0).bytes[i++];
  });
}

void qtake(const KernelArgs& a) {
  const auto& q = std::get<ir::QTake>(a.node.payload);
  const Index from = dims_of(a.in(0));
  size_t to = 0;
  for_each_index(dims_of(a.out()), [&](const Index& at) {
    const Index source{q.offset[0] + at[0] * q.step[0], q.channel(at[1]), q.offset[2] + at[2] * q.step[2],
                       q.offset[3] + at[3] * q.step[3]};
    a.out().bytes[to++] = a.in(0).bytes[position(from, source)];
  });
}

}  // namespace dlc::reference
