// Value ranges of a float network's tensors, measured on example inputs with the reference backend.
// Deterministic: the same graph and rows give the same ranges.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/backends/reference/reference.h"
#include "compiler/ir/graph.h"

namespace dlc::quantize {

// How a tensor's range follows from the values seen.
enum class RangeMethod {
  min_max,             // everything seen
  percentile,          // outliers cut off at both ends
  mean_squared_error,  // the range with the least error after rounding to 256 steps
};
std::optional<RangeMethod> parse_range_method(std::string_view name);  // "minmax" | "percentile" | "mse"

struct CalibrationOptions {
  RangeMethod method = RangeMethod::min_max;
  double percentile = 99.99;  // method percentile: how much of the values lies below `high` (and above `low`)
};

struct Range {
  float low = 0, high = 0;  // low <= 0 <= high: zero is always representable
  bool operator==(const Range&) const = default;
};

struct Calibration {
  std::map<std::string, Range>
      ranges;  // of every float32 tensor (graph inputs and results of nodes), by name
  size_t rows = 0;
};

// rows: one map of graph inputs an example; at least one. min_max evaluates the graph once a row, the other
// methods twice. Throws UserError(bad_input) where a tensor becomes infinite or NaN, and without rows;
// (unsupported) where the reference cannot evaluate a node.
Calibration calibrate(const ir::Graph& graph, const std::vector<reference::TensorMap>& rows,
                      const CalibrationOptions& options = {});

}  // namespace dlc::quantize
