// From protobuf messages to IR values: tensors (all storage forms, external data) and attributes. The rest
// of the importer sees no protobuf types but the model itself.
#pragma once
#include <onnx/onnx_pb.h>

#include <string>

#include "compiler/ir/graph.h"

namespace dlc::onnx_import {

// Parses the bytes of a model file. UserError(bad_input) when they are not an ONNX model.
onnx::ModelProto parse_model(const std::string& bytes, const std::string& path);

// Undefined for types that the IR does not carry.
ir::ElementType element_type_from_onnx(int onnx_type);
int onnx_type_of(ir::ElementType type);  // the inverse; 0 for undefined
std::string onnx_type_name(int onnx_type);

// `where`: place for messages. External data is read from beside `model_path`.
ir::Tensor read_tensor(const onnx::TensorProto& proto, const std::string& model_path,
                       const std::string& where);

// Scalars, strings and lists; UserError(unsupported) for graphs and other kinds (tensor attributes are read
// by the operators that have them).
ir::Attribute read_attribute(const onnx::AttributeProto& proto, const std::string& where);

}  // namespace dlc::onnx_import
