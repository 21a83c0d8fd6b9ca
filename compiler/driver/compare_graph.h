// --compare-tensors: how far every quantised tensor is from what the network means.
#pragma once
#include <string>
#include <vector>

#include "compiler/driver/session.h"

namespace dlc {

struct TensorDeviation {
  std::string name;             // of the quantised tensor
  std::string against;          // the float (or Q/DQ float) graph's tensor, or the reference file
  int64_t elements = 0;
  double sqnr_db = 0;           // 10 log10(sum r^2 / sum (r - y)^2); infinity where equal
  double max_abs_error = 0;     // real values
  int64_t steps_off = 0;        // elements more than half a quantisation step from the reference
  double max_steps = 0;         // largest deviation, in steps of the tensor's own scale
};

// values: every tensor of the lowered graph (8-bit ones are compared, dequantised by their own scale).
// oracle: every tensor of the graph as imported. A tensor t is compared with oracle t, or, where post-training
// quantisation made `t` from a float tensor, with that (name without "_q"). In the graph's order.
std::vector<TensorDeviation> compare_with_graph(const ir::Graph& lowered, const TensorMap& values, const TensorMap& oracle,
                                                const ir::Graph& original);

// Against a folder of .npy files named after the tensors (see file_name_for), e.g. from
// scripts/compare_onnxruntime.py --make-reference. Integer files are compared as stored, float files as real values.
std::vector<TensorDeviation> compare_with_folder(const ir::Graph& lowered, const TensorMap& values, const std::string& folder);

// Table, and the first tensor that deviates by more than a step.
std::string format_deviations(const std::vector<TensorDeviation>& deviations);

}  // namespace dlc
