// Concrete shapes of the graph inputs: what their symbolic dimensions are bound to.
//
// In this order: --dim by name or place ("x[1]"), the shape of the data given for an input (all inputs of one name
// agree, or are refused with both places named), the batch size for a first dimension. Anything else is refused.
#pragma once
#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>

#include "compiler/onnx/import_onnx.h"

namespace dlc::onnx_import {

class DimensionBinder {
 public:
  // `inputs`: the graph inputs that are no initialisers, in order. All references must outlive the binder.
  DimensionBinder(const std::vector<const onnx::ValueInfoProto*>& inputs, const std::string& path,
                  const ImportOptions& options);

  // The input's shape. Precondition: it is a tensor. Throws UserError(bad_input).
  ir::Shape shape_of(const onnx::ValueInfoProto& input);

  // UserError(bad_input) for a --dim that no input has. After all inputs.
  void check_dims_used() const;

 private:
  struct Binding {
    int64_t value = 0;
    std::string source;  // "a.npy (input 'x', dimension 0)"
  };
  void bind_from_data(const onnx::ValueInfoProto& input, const GivenShape& given);
  int64_t value_of(const std::string& input, const std::string& symbol, int axis);

  const std::string& path_;
  const ImportOptions& options_;
  std::map<std::string, GivenShape> given_;
  std::map<std::string, Binding> from_data_;  // by symbol, or place where nameless
  std::map<std::string, int64_t> bound_;      // by symbol
  std::set<std::string> symbols_;
};

}  // namespace dlc::onnx_import
