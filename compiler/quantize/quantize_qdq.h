// Pass quantize-qdq: Q/DQ patterns become integer operators.
//
//   before   x_q -> DQ -> Conv(w_q -> DQ, b_q -> DQ) -> Relu -> Q -> y_q
//   after    x_q -> qconv(w_q) -> y_q
//
// Likewise Gemm/MatMul (qconv 1x1), Add/Sub (qadd), average pools (qpool), changes of scale (qadd with a
// zero second factor). Data movement and maxima of dequantised tensors move in front of the dequantisation,
// where they are exact on the stored tensor. Results differ from the float pattern only by its own float32
// rounding. Every stored tensor keeps the name of its QuantizeLinear's output. What cannot be lowered stays
// as it is, with a note.
#pragma once
#include <string>
#include <string_view>

#include "compiler/passes/pass_manager.h"

namespace dlc::quantize {

void quantize_qdq(ir::Graph& graph, passes::PassContext& context);

// What an ONNX operator with 8-bit operands becomes: "qconv", "qadd", "qpool", "view", "qlut", ...; "": it stays on
// the host. From the table that the pass itself uses.
struct MachineOperator {
  std::string becomes, limits;
};
MachineOperator machine_operator(std::string_view op);

}  // namespace dlc::quantize
