// Bytes of 8-bit tensors between the logical (row-major NCHW) and the machine's blocked order
// (N, ceil(C/rows), H, W, rows): a word of `rows` neighbouring channels per pixel.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace dlc::accel {

// A tensor's logical shape as the machine sees it. Ranks: 4 (N,C,H,W), 3 (N,C,H), 2 (N,C), 1 (N).
struct Nchw {
  int64_t n = 1, c = 1, h = 1, w = 1;
  bool operator==(const Nchw&) const = default;
  int64_t elements() const { return n * c * h * w; }
};

// Throws std::invalid_argument for other ranks.
Nchw as_nchw(const std::vector<int64_t>& shape);

// Bytes that the tensor takes in blocked layout.
int64_t blocked_bytes(const std::vector<int64_t>& shape, int rows);

// logical: one byte an element. Lanes of channels that do not exist get `pad`.
std::vector<uint8_t> pack_blocked(const std::vector<int64_t>& shape, std::span<const uint8_t> logical,
                                  int rows, uint8_t pad);
// The inverse; padding is dropped.
std::vector<uint8_t> unpack_blocked(const std::vector<int64_t>& shape, std::span<const uint8_t> blocked,
                                    int rows);

}  // namespace dlc::accel
