// Example inputs for post-training quantisation, and the step of the driver that quantises a float network.
#pragma once
#include <string>
#include <vector>

#include "compiler/driver/options.h"
#include "compiler/driver/session.h"
#include "compiler/quantize/calibrate.h"

namespace dlc {

struct CalibrationRows {
  std::vector<TensorMap> rows;  // one entry per graph input each
  std::string source;           // "the first 128 rows of train.npy"
  bool random = false;          // no data given: seeded random values
};

// From the first of: --calibrate, --dataset (its first rows), --input (one row), random values for --seed.
// A file holds rows along its first dimension, or exactly one input; of several files (or .npz members) the
// rows belong together. `limit`: at most that many rows; 0: kDefaultCalibrationRows.
// Throws UserError (bad_input) naming file, shapes and the mend.
inline constexpr int64_t kDefaultCalibrationRows = 200;
CalibrationRows calibration_rows(const Options& options, const std::vector<ir::Tensor>& signature,
                                 int64_t limit = 0);

// Name, type and shape of a graph's inputs (no bytes).
std::vector<ir::Tensor> graph_signature(const ir::Graph& graph);

// --calibration-method and --calibration-percentile. UserError for unknown names and impossible percentiles.
quantize::CalibrationOptions calibration_options(const Options& options);

// Quantises the graph in place where quantize::needs_quantization says so; rounds the float results of layers of a
// network that is quantised in part (quantize::complete_quantization); otherwise leaves it alone and returns "". Else what was done, for the user; begins with "warning: " when ranges come from random data.
std::string quantize_if_float(ir::Graph& graph, const Options& options);

}  // namespace dlc
