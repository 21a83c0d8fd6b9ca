// The register-blocked inner kernel that convolutions and matrix products share: R rows (pixels) times V
// vectors of output channels are accumulated in R * V registers; each step of the reduction reads one scalar
// (or 4 bytes) a row and V weight vectors.
#pragma once
#include "compiler/loop/lowering.h"

namespace dlc::loop {

// How many rows and vectors: fills the registers, and fits the sizes with little left over.
struct Blocking {
  int rows = 1, vectors = 1;
};
// row_count: rows of one run (a line of pixels); vector_count: vectors of output channels.
// extra_per_row: registers or instructions a row costs besides its broadcast (0 or 1).
Blocking choose_blocking(const Machine& m, int64_t row_count, int64_t vector_count);
// The estimate that choose_blocking minimises: cycles a reduction step for the whole run.
double blocking_cost(const Machine& m, int64_t row_count, int64_t vector_count, Blocking b);

// One dimension of the reduction, outermost first.
struct ReductionLoop {
  int64_t count = 1;
  int64_t x_stride = 0;  // elements of x
  int64_t w_stride = 0;  // elements of w
};

struct MicroKernel {
  int x_buffer = -1, w_buffer = -1;
  ElementType accumulator = ElementType::float32;  // int32: dot4, 4 reduction elements a step
  bool flip_sign = false;  // x is int8 and is read as uint8 with 128 added
  int lanes = 4;
  std::vector<ReductionLoop> loops;

  int valid = 0;           // lanes of w that exist (0: all); only with one vector

  // rows: index in x of each row's first element. vectors: index in w of each vector's first element. initial:
  // first value of the sums, one per vector. Returns the R * V sums, row by row.
  std::vector<Expr> run(KernelBuilder& b, const std::vector<Expr>& rows, const std::vector<Expr>& vectors,
                        const std::vector<Expr>& initial) const;
};

}  // namespace dlc::loop
