// The single lowerings of quantize_qdq, one operator family each. They look at one node, and either replace
// the pattern around it (true) or leave the graph alone (false), adding a note when the operands are
// quantised but the pattern cannot be lowered exactly.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/quantize/qdq.h"

namespace dlc::quantize {

struct LoweringContext {
  ir::Graph& graph;
  passes::PassContext& passes;
  std::set<ir::ValueId>& unnamed;  // stored tensors that lower_movement made: no name in the model yet

  void note(ir::NodeId node, const std::string& text) const {
    passes.notes.push_back({"quantize-qdq", graph.node(node).name, text});
  }
  // Replaces `chain` (each the only use of the one before; the last a QuantizeLinear) by one integer
  // operator that takes over the QuantizeLinear's output value, and so its name. The node is named after the
  // chain's first; `shared` are further nodes that it stands for (dequantisations), which stay.
  void emit(const std::string& op, ir::Payload payload, std::vector<ir::ValueId> inputs,
            const Requantised& out, const std::vector<ir::NodeId>& shared,
            const std::vector<ir::NodeId>& chain) const;
};

bool lower_conv(const LoweringContext& context, ir::NodeId node);          // Conv -> qconv
bool lower_conv_transpose(const LoweringContext& context, ir::NodeId node);  // -> qconv for each phase, qplace
bool lower_matrix(const LoweringContext& context, ir::NodeId node);        // Gemm, MatMul -> qconv
bool lower_add(const LoweringContext& context, ir::NodeId node);           // Add, Sub -> qadd
bool lower_multiply(const LoweringContext& context, ir::NodeId node);      // Mul -> qbinary; Mul, Div by a scalar -> qadd
bool lower_select(const LoweringContext& context, ir::NodeId node);        // Max, Min -> qbinary
// Element-wise functions of one 8-bit tensor, however many operators they are written with (x * Sigmoid(x), Gelu in
// parts, Q/DQ pairs between) -> qlut. Before the single operators are lowered.
void lower_functions(const LoweringContext& context);
bool lower_prelu(const LoweringContext& context, ir::NodeId node);         // PRelu -> qadd, depthwise qconv
bool lower_average_pool(const LoweringContext& context, ir::NodeId node);  // (Global)AveragePool -> qpool
// Reshape and the like, Transpose, Concat, (Global)MaxPool of dequantised tensors: the same on the stored
// tensors, dequantised behind. On stored tensors (QOperator models) in place.
bool lower_movement(const LoweringContext& context, ir::NodeId node);
// Movements with operators of their own (lower_layout.cpp, lower_resize.cpp). Operands of a Concat with other scales than its
// result are requantised first.
bool lower_concat(const LoweringContext& context, ir::NodeId node);          // Concat -> qplace
bool lower_slice(const LoweringContext& context, ir::NodeId node);           // Slice -> qtake
bool lower_split(const LoweringContext& context, ir::NodeId node);           // Split -> qtake
bool lower_gather(const LoweringContext& context, ir::NodeId node);          // Gather of channels -> qtake
bool lower_resize(const LoweringContext& context, ir::NodeId node);  // Resize, Upsample -> qplace; qconv, qplace
bool lower_depth_to_space(const LoweringContext& context, ir::NodeId node);  // -> qtake, qplace
bool lower_space_to_depth(const LoweringContext& context, ir::NodeId node);  // -> qtake, qplace
// reshape, Transpose, reshape on stored tensors that only permute channels -> qtake. After all others.
void match_channel_shuffles(const LoweringContext& context);
// (Relu | Clip)* QuantizeLinear of a dequantised tensor: nothing, or a change of scale (qadd of the tensor
// with itself, the second factor 0). `node` is the first of the chain.
bool lower_requantise(const LoweringContext& context, ir::NodeId node);

}  // namespace dlc::quantize
