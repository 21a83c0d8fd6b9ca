// Iterations of a loop nest. check_program() (device.cpp) has bounded them, so the product fits.
#pragma once
#include <array>
#include <cstdint>

namespace dlc::systemc_model {

template <size_t N>
constexpr int64_t loop_product(const std::array<uint32_t, N>& counts) {
  int64_t product = 1;
  for (const uint32_t count : counts) product *= count;
  return product;
}

}  // namespace dlc::systemc_model
