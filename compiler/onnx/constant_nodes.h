// Constant and ConstantOfShape: operators that hold a tensor in an attribute, which the IR has as constant
// values only.
#pragma once
#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "compiler/ir/graph.h"

namespace dlc::onnx_import {

// The node's value; nothing when it is another operator. `graph` holds the constants so far (the shape of
// ConstantOfShape must be one of them); `where` is the place for messages.
std::optional<ir::Tensor> constant_node(const onnx::NodeProto& node, const ir::Graph& graph,
                                        const std::string& model_path, const std::string& where);

}  // namespace dlc::onnx_import
