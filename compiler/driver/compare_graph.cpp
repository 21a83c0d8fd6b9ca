#include "compiler/driver/compare_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "compiler/driver/inputs.h"
#include "compiler/driver/npy.h"
#include "isa/error.h"

namespace dlc {
namespace {

bool per_tensor(const ir::Value& v) { return v.quantization && v.quantization->scale.size() == 1; }

// Stored values as real ones; nothing where the scale is unknown and the tensor is no float.
std::optional<std::vector<double>> real_values(const ir::Tensor& t, const std::optional<ir::Quantization>& q) {
  if (t.type != ir::ElementType::float32 && !ir::is_8bit(t.type)) return std::nullopt;
  const std::vector<float> raw = npy_as_float(to_npy(t));
  std::vector<double> v(raw.begin(), raw.end());
  if (t.type == ir::ElementType::float32) return v;
  if (!q || q->scale.size() != 1) return std::nullopt;
  for (double& x : v) x = (x - q->zero.at(0)) * static_cast<double>(q->scale[0]);
  return v;
}

TensorDeviation deviation(const std::string& name, const std::string& against, const std::vector<double>& value,
                          const std::vector<double>& expected, double scale) {
  TensorDeviation d{name, against, static_cast<int64_t>(value.size()), 0, 0, 0, 0};
  double signal = 0, noise = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    const double error = std::abs(value[i] - expected[i]);
    signal += expected[i] * expected[i];
    noise += error * error;
    d.max_abs_error = std::max(d.max_abs_error, error);
    d.steps_off += error > 0.5001 * scale;
  }
  d.max_steps = d.max_abs_error / scale;
  d.sqnr_db = noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
  return d;
}

// Visits every 8-bit tensor with one scale that a node of the lowered graph produces, in execution order.
template <class Visit>
void for_quantised(const ir::Graph& lowered, const TensorMap& values, Visit visit) {
  for (ir::NodeId n : lowered.topological_order())
    for (ir::ValueId v : lowered.node(n).outputs) {
      if (!v.valid()) continue;
      const ir::Value& value = lowered.value(v);
      const auto it = values.find(value.name);
      if (it != values.end() && ir::is_8bit(value.type) && per_tensor(value)) visit(value, it->second);
    }
}

std::string without_suffix(const std::string& name) { return name.ends_with("_q") ? name.substr(0, name.size() - 2) : name; }

}  // namespace

std::vector<TensorDeviation> compare_with_graph(const ir::Graph& lowered, const TensorMap& values, const TensorMap& oracle,
                                                const ir::Graph& original) {
  std::vector<TensorDeviation> result;
  for_quantised(lowered, values, [&](const ir::Value& value, const ir::Tensor& tensor) {
    auto it = oracle.find(value.name);
    if (it == oracle.end()) it = oracle.find(without_suffix(value.name));
    if (it == oracle.end() || it->second.size() != tensor.size()) return;
    // A stored tensor of the original graph has the scale of its own value there, or of the lowered one.
    std::optional<ir::Quantization> q = value.quantization;
    if (const auto id = original.find_value(it->first)) if (original.value(*id).quantization) q = original.value(*id).quantization;
    const auto expected = real_values(it->second, q);
    const auto actual = real_values(tensor, value.quantization);
    if (expected && actual) result.push_back(deviation(value.name, it->first, *actual, *expected, value.quantization->scale[0]));
  });
  return result;
}

std::vector<TensorDeviation> compare_with_folder(const ir::Graph& lowered, const TensorMap& values, const std::string& folder) {
  std::vector<TensorDeviation> result;
  if (!std::filesystem::is_directory(folder))
    throw UserError(ErrorKind::bad_input, folder, "is not a folder; expected one with a .npy file per tensor");
  for_quantised(lowered, values, [&](const ir::Value& value, const ir::Tensor& tensor) {
    for (const std::string& name : {value.name, without_suffix(value.name)}) {
      const std::string path = folder + "/" + file_name_for(name) + ".npy";
      if (!std::filesystem::exists(path)) continue;
      const NpyArray file = load_npy(path);
      if (file.elements() != tensor.size())
        throw UserError(ErrorKind::bad_input, path, fmt::format("has {} elements; tensor '{}' has {} ({})", file.elements(), value.name, tensor.size(), ir::shape_text(tensor.shape)));
      const std::vector<float> raw = npy_as_float(file);
      std::vector<double> expected(raw.begin(), raw.end());
      if (file.dtype[0] != 'f')
        for (double& x : expected) x = (x - value.quantization->zero.at(0)) * static_cast<double>(value.quantization->scale[0]);
      result.push_back(deviation(value.name, path, real_values(tensor, value.quantization).value(), expected, value.quantization->scale[0]));
      return;
    }
  });
  if (result.empty()) throw UserError(ErrorKind::bad_input, folder, "has no file for any quantised tensor of the network; files are named after tensors, e.g. conv1_q.npy");
  return result;
}

std::string format_deviations(const std::vector<TensorDeviation>& deviations) {
  size_t width = 6;
  for (const TensorDeviation& d : deviations) width = std::max(width, d.name.size());
  width = std::min<size_t>(width, 48);
  std::string out = fmt::format("{:<{}} {:>10} {:>10} {:>14} {:>10} {:>12}\n", "tensor", width, "elements", "SQNR dB", "max |error|", "max steps", "> 1/2 step");
  const TensorDeviation* first = nullptr;
  for (const TensorDeviation& d : deviations) {
    const std::string name = d.name.size() <= width ? d.name : "..." + d.name.substr(d.name.size() - width + 3);
    out += fmt::format("{:<{}} {:>10} {:>10} {:>14.6g} {:>10.2f} {:>12}\n", name, width, d.elements,
                       std::isinf(d.sqnr_db) ? std::string("equal") : fmt::format("{:.1f}", d.sqnr_db), d.max_abs_error, d.max_steps, d.steps_off);
    if (!first && d.max_steps > 1.0001) first = &d;
  }
  out += first ? fmt::format("first tensor that deviates by more than one step: '{}' ({:.2f} steps)\n", first->name, first->max_steps)
               : std::string("no tensor deviates by more than one step\n");
  return out;
}

}  // namespace dlc
