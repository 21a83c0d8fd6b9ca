#include "compiler/onnx/bind_dimensions.h"

#include "isa/error.h"

namespace dlc::onnx_import {
namespace {

// Exporters write 0 or -1 for an unknown dimension too.
bool is_fixed(const onnx::TensorShapeProto::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() > 0;
}

std::string place(const std::string& input, int axis) { return input + "[" + std::to_string(axis) + "]"; }

}  // namespace

DimensionBinder::DimensionBinder(const std::vector<const onnx::ValueInfoProto*>& inputs, const std::string& path,
                                 const ImportOptions& options)
    : path_(path), options_(options) {
  if (!options.given) return;
  std::vector<std::string> names;
  for (const auto* input : inputs) names.push_back(input->name());
  given_ = options.given(names);
  for (const auto* input : inputs) {
    const auto it = given_.find(input->name());
    if (it != given_.end() && input->type().has_tensor_type()) bind_from_data(*input, it->second);
  }
}

void DimensionBinder::bind_from_data(const onnx::ValueInfoProto& input, const GivenShape& given) {
  const auto& shape = input.type().tensor_type().shape();
  if (given.shape.size() != static_cast<size_t>(shape.dim_size())) return;  // refused or reshaped when it is read
  bool fits = true;  // else it is an image of another layout: only its batch says something
  for (int i = 0; i < shape.dim_size(); ++i)
    fits = fits && (!is_fixed(shape.dim(i)) || shape.dim(i).dim_value() == given.shape[static_cast<size_t>(i)]);
  for (int i = 0; i < (fits ? shape.dim_size() : std::min(shape.dim_size(), 1)); ++i) {
    if (is_fixed(shape.dim(i))) continue;
    const std::string& symbol = shape.dim(i).dim_param();
    const std::string key = symbol.empty() ? place(input.name(), i) : symbol;
    const int64_t value = given.shape[static_cast<size_t>(i)];
    const std::string source =
        given.source + " (input '" + input.name() + "', dimension " + std::to_string(i) + ")";
    const auto [it, fresh] = from_data_.try_emplace(key, Binding{value, source});
    if (fresh || it->second.value == value || options_.dims.contains(key)) continue;
    throw UserError(ErrorKind::bad_input, path_,
                    "dimension '" + key + "' is " + std::to_string(it->second.value) + " in " + it->second.source +
                        " but " + std::to_string(value) + " in " + source + "; give inputs that agree");
  }
}

int64_t DimensionBinder::value_of(const std::string& input, const std::string& symbol, int axis) {
  for (const std::string& key : {symbol, place(input, axis)}) {
    if (key.empty()) continue;
    symbols_.insert(key);
    if (auto it = options_.dims.find(key); it != options_.dims.end()) return bound_[symbol] = it->second;
  }
  if (auto it = bound_.find(symbol); !symbol.empty() && it != bound_.end()) return it->second;
  for (const std::string& key : {symbol, place(input, axis)}) {
    if (auto it = from_data_.find(key); it != from_data_.end()) return bound_[symbol] = it->second.value;
  }
  if (axis == 0) return symbol.empty() ? options_.batch : (bound_[symbol] = options_.batch);
  throw UserError(ErrorKind::bad_input, path_ + ": input '" + input + "'",
                  "dimension " + std::to_string(axis) + (symbol.empty() ? "" : " ('" + symbol + "')") +
                      " is not fixed; give it a value with --dim " +
                      (symbol.empty() ? place(input, axis) : symbol) + "=VALUE, or the network its --input");
}

ir::Shape DimensionBinder::shape_of(const onnx::ValueInfoProto& input) {
  const std::string where = path_ + ": input '" + input.name() + "'";
  const auto& type = input.type().tensor_type();
  if (!type.has_shape()) {
    const auto it = given_.find(input.name());
    if (it != given_.end()) return it->second.shape;
    throw UserError(ErrorKind::bad_input, where, "the input has no shape; give the network its --input");
  }
  ir::Shape shape;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const auto& dim = type.shape().dim(i);
    shape.push_back(is_fixed(dim) ? dim.dim_value() : value_of(input.name(), dim.dim_param(), i));
  }
  return shape;
}

void DimensionBinder::check_dims_used() const {
  for (const auto& [name, value] : options_.dims) {
    if (symbols_.contains(name)) continue;
    std::string known;
    for (const std::string& s : symbols_) known += (known.empty() ? "" : ", ") + s;
    throw UserError(ErrorKind::bad_input, path_,
                    "no symbolic dimension '" + name + "' (--dim); the model has " + (known.empty() ? "none" : known));
  }
}

}  // namespace dlc::onnx_import
