// Graph IR -> ONNX file: what import_onnx reads back as the same graph. Operators of ONNX only (the float
// form, with QuantizeLinear/DequantizeLinear); graphs with integer operators of domain "dlc" are refused.
//
// The file's opset is the nodes' highest, at least 13 (per-axis quantisation): nodes from older models are
// written in their opset 13 form (limits, axes and pads as inputs; Softmax over the last axis). Shapes are
// concrete. Constants are initialisers. Same graph, same bytes.
#pragma once
#include <string>

#include "compiler/ir/graph.h"

namespace dlc::onnx_export {

// The serialised model. Throws UserError(unsupported) naming the first node that has no ONNX form, or when
// the model exceeds protobuf's 2 GiB.
std::string export_onnx_bytes(const ir::Graph& graph);

// Writes to a temporary file beside `path`, then renames it: never half a file. UserError(bad_input) when
// `path` cannot be written.
void export_onnx(const ir::Graph& graph, const std::string& path);

}  // namespace dlc::onnx_export
