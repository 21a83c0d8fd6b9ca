#include "compiler/backends/reference/float_product.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "isa/multiversion.h"

namespace dlc::reference {
namespace {

// A panel row in one vector; GCC splits it where the machine's registers are narrower. No fused multiply-add
// (the file is compiled with -ffp-contract=off), so that every machine computes the same bits.
typedef float PanelRow __attribute__((vector_size(kPanel * sizeof(float))));

// Fixed bounds, so that the sums stay in registers.
DLC_MULTIVERSION
void full_block(const float* w, int64_t w_row, const float* panel, int64_t depth, float* sums) {
  PanelRow sum[kRows];
  std::memcpy(sum, sums, sizeof sum);
  for (int64_t k = 0; k < depth; ++k) {
    PanelRow p;
    std::memcpy(&p, panel + k * kPanel, sizeof p);
    for (int64_t r = 0; r < kRows; ++r) sum[r] += w[r * w_row + k] * p;
  }
  std::memcpy(sums, sum, sizeof sum);
}

}  // namespace

void panel_product(const float* w, int64_t w_row, int64_t rows, const float* panel, int64_t depth, float* y,
                   int64_t y_row, int64_t columns) {
  float sum[kRows][kPanel] = {};
  for (int64_t r = 0; r < rows; ++r) std::copy_n(y + r * y_row, columns, sum[r]);
  if (rows == kRows) {
    full_block(w, w_row, panel, depth, sum[0]);
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t c = 0; c < kPanel; ++c) sum[r][c] += w[r * w_row + k] * panel[k * kPanel + c];
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) std::copy_n(sum[r], columns, y + r * y_row);
}

void matrix_product(const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t b_row,
                    int64_t b_col, int64_t m, int64_t n, int64_t k, float* y) {
  if (m < kRows) {  // a vector or a few: b is read once, in the order in which it lies
    for (int64_t i = 0; i < m; ++i) {
      if (b_col == 1) {
        for (int64_t p = 0; p < k; ++p) {
          const float v = a[i * a_row + p * a_col];
          for (int64_t j = 0; j < n; ++j) y[i * n + j] += v * b[p * b_row + j];
        }
        continue;
      }
      for (int64_t j = 0; j < n; j += kPanel) {
        const int64_t columns = std::min(kPanel, n - j);
        float sum[kPanel] = {};
        for (int64_t p = 0; p < k; ++p) {
          const float v = a[i * a_row + p * a_col];
          for (int64_t c = 0; c < columns; ++c) sum[c] += v * b[p * b_row + (j + c) * b_col];
        }
        for (int64_t c = 0; c < columns; ++c) y[i * n + j + c] += sum[c];
      }
    }
    return;
  }
  std::vector<float> panel(static_cast<size_t>(k * kPanel));
  std::vector<float> rows;  // a in rows, where it does not lie so
  if (a_col != 1) {
    rows.resize(static_cast<size_t>(m * k));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t p = 0; p < k; ++p) rows[static_cast<size_t>(i * k + p)] = a[i * a_row + p * a_col];
    }
    a = rows.data();
    a_row = k;
  }
  for (int64_t j = 0; j < n; j += kPanel) {
    const int64_t columns = std::min(kPanel, n - j);
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t c = 0; c < columns; ++c)
        panel[static_cast<size_t>(p * kPanel + c)] = b[p * b_row + (j + c) * b_col];
    }
    for (int64_t i = 0; i < m; i += kRows) {
      panel_product(a + i * a_row, a_row, std::min(kRows, m - i), panel.data(), k, y + i * n + j, n, columns);
    }
  }
}

}  // namespace dlc::reference
