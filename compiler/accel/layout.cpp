#include "compiler/accel/layout.h"

#include <stdexcept>

namespace dlc::accel {
namespace {

// Calls move(logical index, blocked index) for every element.
template <typename Move>
void for_each_element(const Nchw& s, int rows, Move&& move) {
  const int64_t blocks = (s.c + rows - 1) / rows, pixels = s.h * s.w;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t c = 0; c < s.c; ++c) {
      const int64_t from = (n * s.c + c) * pixels;
      const int64_t to = ((n * blocks + c / rows) * pixels) * rows + c % rows;
      for (int64_t p = 0; p < pixels; ++p) move(from + p, to + p * rows);
    }
}

}  // namespace

Nchw as_nchw(const std::vector<int64_t>& shape) {
  switch (shape.size()) {
    case 1:
      return {shape[0], 1, 1, 1};
    case 2:
      return {shape[0], shape[1], 1, 1};
    case 3:
      return {shape[0], shape[1], shape[2], 1};
    case 4:
      return {shape[0], shape[1], shape[2], shape[3]};
    default:
      throw std::invalid_argument("blocked layout: rank " + std::to_string(shape.size()));
  }
}

int64_t blocked_bytes(const std::vector<int64_t>& shape, int rows) {
  const Nchw s = as_nchw(shape);
  return s.n * ((s.c + rows - 1) / rows) * s.h * s.w * rows;
}

std::vector<uint8_t> pack_blocked(const std::vector<int64_t>& shape, std::span<const uint8_t> logical,
                                  int rows, uint8_t pad) {
  std::vector<uint8_t> blocked(static_cast<size_t>(blocked_bytes(shape, rows)), pad);
  for_each_element(as_nchw(shape), rows, [&](int64_t from, int64_t to) { blocked[to] = logical[from]; });
  return blocked;
}

std::vector<uint8_t> unpack_blocked(const std::vector<int64_t>& shape, std::span<const uint8_t> blocked,
                                    int rows) {
  const Nchw s = as_nchw(shape);
  std::vector<uint8_t> logical(static_cast<size_t>(s.elements()));
  for_each_element(s, rows, [&](int64_t to, int64_t from) { logical[to] = blocked[from]; });
  return logical;
}

}  // namespace dlc::accel
