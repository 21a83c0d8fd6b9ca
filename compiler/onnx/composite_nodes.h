// Operators that are short for others, written out before anything else looks at the model: one protobuf
// node becomes several that the operator table knows.
//
//   QLinearConv(x, xs, xz, w, ws, wz, ys, yz, b)
//     ->  QuantizeLinear(Conv(DequantizeLinear(x, xs, xz), DequantizeLinear(w, ws, wz),
//                             DequantizeLinear(b, xs * ws)), ys, yz)
//
// Thus the QOperator form and the Q/DQ form of one network are the same graph from here on. Likewise
// QLinearMatMul, QGemm, QLinearAdd / Mul / AveragePool / GlobalAveragePool / Sigmoid / LeakyRelu / Softmax /
// Concat, QuantizeLinear and DequantizeLinear of com.microsoft, FusedConv, FusedGemm, FusedMatMul, and Sum
// and Mean of any number of inputs (a chain of Add).
#pragma once
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace dlc::onnx_import {

// Expands in place. `origins[i]`, for every node i afterwards: the name of the model's own node that it
// stands for; empty where the node is the model's own. UserError for attributes without such a form.
void expand_composite_nodes(onnx::ModelProto& model, const std::string& path,
                            std::vector<std::string>& origins);

// "Sum", "QLinearConv", ...: what is expanded, with its domain ("" = ai.onnx).
struct CompositeOperator {
  const char* domain;
  const char* op;
};
std::vector<CompositeOperator> composite_operators();

}  // namespace dlc::onnx_import
