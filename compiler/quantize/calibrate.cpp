#include "compiler/quantize/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "isa/error.h"

namespace dlc::quantize {
namespace {

using reference::Tensor;
using reference::TensorMap;

constexpr size_t kBins = 2048;

// Counts of one tensor's values over its own [low, high]. Exact zeros are left out: they carry no rounding
// error, and after a Relu they would outnumber everything else.
struct Histogram {
  std::array<uint64_t, kBins> count{};
  uint64_t total = 0;
};

// Calls visit(name, values) for every float32 tensor of one evaluation, graph inputs included.
template <typename Visit>
void for_float_tensors(const ir::Graph& graph, const TensorMap& inputs, const TensorMap& results,
                       Visit visit) {
  for (ir::ValueId v : graph.inputs()) {
    const ir::Value& value = graph.value(v);
    if (value.type == ir::ElementType::float32) visit(value.name, inputs.at(value.name).data<float>());
  }
  for (const std::pair<const std::string, Tensor>& result : results) {
    if (result.second.type == ir::ElementType::float32) visit(result.first, result.second.data<float>());
  }
}

void widen(const ir::Graph& graph, const std::string& name, std::span<const float> values, Range& range) {
  float low = range.low, high = range.high;
  bool finite = true;
  for (float v : values) {
    low = std::min(low, v);
    high = std::max(high, v);
    finite &= std::isfinite(v);
  }
  if (!finite) {
    throw UserError(ErrorKind::bad_input, graph.file + ": tensor '" + name + "'",
                    "the calibration data makes it infinite or NaN; check the data's scale (--input-scale)");
  }
  range = {low, high};
}

void count(std::span<const float> values, const Range& range, Histogram& histogram) {
  const double width = static_cast<double>(range.high) - range.low;
  if (!(width > 0)) return;
  for (float v : values) {
    if (v == 0.0f) continue;
    const double place = (static_cast<double>(v) - range.low) / width * kBins;
    ++histogram.count[static_cast<size_t>(std::clamp(place, 0.0, kBins - 1.0))];
    ++histogram.total;
  }
}

double bin_centre(const Range& range, size_t bin) {
  const double width = static_cast<double>(range.high) - range.low;
  return range.low + width * (static_cast<double>(bin) + 0.5) / kBins;
}

Range cut_outliers(const Range& range, const Histogram& histogram, double percentile) {
  const double tail = static_cast<double>(histogram.total) * (1.0 - percentile / 100.0);
  const double step = (static_cast<double>(range.high) - range.low) / kBins;
  size_t first = 0, last = kBins - 1;
  for (double below = 0; first < last && below + static_cast<double>(histogram.count[first]) <= tail;
       ++first) {
    below += static_cast<double>(histogram.count[first]);
  }
  for (double above = 0; last > first && above + static_cast<double>(histogram.count[last]) <= tail; --last) {
    above += static_cast<double>(histogram.count[last]);
  }
  return {std::min(0.0f, static_cast<float>(range.low + step * static_cast<double>(first))),
          std::max(0.0f, static_cast<float>(range.low + step * static_cast<double>(last + 1)))};
}

// Sum of squared errors of 8-bit rounding: step^2 / 12 inside [low, high], the distance outside.
double squared_error(const Range& range, const Histogram& histogram, double low, double high) {
  const double step = (high - low) / 255.0;
  double error = 0;
  for (size_t bin = 0; bin < kBins; ++bin) {
    if (histogram.count[bin] == 0) continue;
    const double x = bin_centre(range, bin);
    const double outside = x < low ? low - x : x > high ? x - high : 0.0;
    const double square = outside > 0 ? outside * outside : step * step / 12.0;
    error += static_cast<double>(histogram.count[bin]) * square;
  }
  return error;
}

// The two ends are shrunk together, then each alone; the first of equal candidates (the widest) wins.
Range least_squares(const Range& range, const Histogram& histogram) {
  double low = range.low, high = range.high;
  double best = squared_error(range, histogram, low, high);
  const auto search = [&](bool move_low, bool move_high) {
    const double from_low = low, from_high = high;
    for (int percent = 99; percent >= 25; --percent) {
      const double a = move_low ? from_low * percent / 100 : from_low;
      const double b = move_high ? from_high * percent / 100 : from_high;
      const double error = squared_error(range, histogram, a, b);
      if (error < best) {
        best = error;
        low = a;
        high = b;
      }
    }
  };
  search(true, true);
  search(false, true);
  search(true, false);
  return {static_cast<float>(low), static_cast<float>(high)};
}

}  // namespace

std::optional<RangeMethod> parse_range_method(std::string_view name) {
  if (name == "minmax") return RangeMethod::min_max;
  if (name == "percentile") return RangeMethod::percentile;
  if (name == "mse") return RangeMethod::mean_squared_error;
  return std::nullopt;
}

Calibration calibrate(const ir::Graph& graph, const std::vector<TensorMap>& rows,
                      const CalibrationOptions& options) {
  if (rows.empty())
    throw UserError(ErrorKind::bad_input, graph.file, "no calibration data: at least one row is needed");
  const reference::Evaluator evaluator(graph);
  Calibration result;
  result.rows = rows.size();
  for (const TensorMap& row : rows) {
    for_float_tensors(graph, row, evaluator.evaluate(row, true),
                      [&](const std::string& name, std::span<const float> values) {
                        widen(graph, name, values, result.ranges[name]);
                      });
  }
  if (options.method == RangeMethod::min_max) return result;

  std::map<std::string, Histogram> histograms;
  for (const TensorMap& row : rows) {
    for_float_tensors(graph, row, evaluator.evaluate(row, true),
                      [&](const std::string& name, std::span<const float> values) {
                        count(values, result.ranges[name], histograms[name]);
                      });
  }
  for (auto& [name, range] : result.ranges) {
    const Histogram& histogram = histograms[name];
    if (histogram.total == 0) continue;
    range = options.method == RangeMethod::percentile ? cut_outliers(range, histogram, options.percentile)
                                                      : least_squares(range, histogram);
  }
  return result;
}

}  // namespace dlc::quantize
