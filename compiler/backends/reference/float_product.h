// The inner loops of float convolutions and matrix products: blocked for registers and caches, without
// changing any sum's order (which is that of the contraction index).
#pragma once
#include <cstdint>

namespace dlc::reference {

// Columns of a packed panel: `panel[k * kPanel + c]`.
inline constexpr int64_t kPanel = 16;
// Rows of the other operand that one pass over a panel serves.
inline constexpr int64_t kRows = 8;

// y[r][c] += sum over k of w[r * w_row + k] * panel[k * kPanel + c], for `rows` rows (1 to kRows) and the first
// `columns` columns of the panel; y has `y_row` elements a row.
void panel_product(const float* w, int64_t w_row, int64_t rows, const float* panel, int64_t depth, float* y,
                   int64_t y_row, int64_t columns);

// y (m x n, row-major) += a * b; element (i, p) of a is a[i * a_row + p * a_col], (p, j) of b likewise.
void matrix_product(const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t b_row,
                    int64_t b_col, int64_t m, int64_t n, int64_t k, float* y);

}  // namespace dlc::reference
