// The passes of this folder: one documented function each, defined in the file of its name. (quantize-qdq
// lives in compiler/quantize.) Each leaves a graph that verify() accepts.
#pragma once
#include "compiler/passes/pass_manager.h"

namespace dlc::passes {

// fold-constants: a node whose inputs are all constants becomes a constant.
//   before  Mul(c1, c2) -> v        after  v = constant
// DequantizeLinear stays: quantize-qdq wants the stored weights. Results beyond 64 MiB stay too.
void fold_constants(ir::Graph& graph, PassContext& context);
// The same with DequantizeLinear, for a graph that is going to be run as it is.
void fold_all_constants(ir::Graph& graph);

// remove-identity: operators that hand on their input unchanged go away.
//   before  x -> Identity | Dropout | Reshape to the same shape | Transpose by the identity | Cast to the
//           same type -> y         after  x in place of y
void remove_identity(ir::Graph& graph, PassContext& context);

// simplify-algebra: what changes nothing, or is done twice.
//   x + 0, x - 0, x * 1, x / 1, x ^ 1                  -> x
//   Neg(Neg(x)), Not(Not(x)), Relu(Relu(x)), Max(x, x) -> x, x, Relu(x), x
//   Concat, Max, Min, Sum of one, Pad by nothing, Expand and Tile to the same shape -> the operand
//   (x * c1) * c2, (x + c1) + c2 with scalars          -> x * c, x + c
//   Reshape, Flatten, Squeeze, Unsqueeze of another    -> one Reshape
void simplify_algebra(ir::Graph& graph, PassContext& context);

// recognize-functions: what exporters write out in small operators.
//   x * 0.5 * (1 + erf(x / sqrt 2)), or with tanh(sqrt(2/pi) (x + 0.044715 x^3))     -> Gelu(x)
//   (x - mean) / sqrt(mean((x - mean)^2) + epsilon) [* gamma [+ beta]]               -> LayerNormalization
//   exp(x - max x) / sum(exp(x - max x)), or without the maximum                     -> Softmax
// Wants common-subexpressions before it: x - mean is often written twice.
void recognize_functions(ir::Graph& graph, PassContext& context);

// common-subexpressions: nodes with the same operator, attributes and inputs become one, equal constants too.
//   before  Sub(x, m) -> a, Sub(x, m) -> b     after  Sub(x, m) -> a, in place of b too
// Not random operators, not layers with weights (topologies with made-up weights keep their branches), and not the
// integer operators behind quantize-qdq.
void common_subexpressions(ir::Graph& graph, PassContext& context);

// move-transposes: transpositions move towards the outputs through operators that do not mind the order of
// dimensions (elementwise ones with constants or equally transposed operands, Q/DQ, Pad, Slice, Concat, means
// that keep their dimensions), until they meet their inverse; of a constant they become part of it. What an
// exporter of an NHWC framework leaves between its NCHW convolutions goes away.
//   before  Conv -> Transpose(0,2,3,1) -> Relu -> Transpose(0,3,1,2) -> Conv     after  Conv -> Relu -> Conv
void move_transposes(ir::Graph& graph, PassContext& context);

// mean-to-pool: the mean over the spatial dimensions is a global average pool.
//   before  ReduceMean(axes 2, 3)     after  GlobalAveragePool [-> Reshape to (N, C) without keepdims]
void mean_to_pool(ir::Graph& graph, PassContext& context);

// fold-batch-norm: an inference BatchNormalization behind a Conv with constant weights is part of the
// weights and the bias.
//   before  Conv(w, b) -> BN(scale, B, mean, var)     after  Conv(w * s, (b - mean) * s + B), s =
//   scale/sqrt(var+eps)
// Not where the convolution's own result is used elsewhere, or its weights are quantised (Q/DQ).
void fold_batch_norm(ir::Graph& graph, PassContext& context);

// absorb-reshape: a fully connected qconv behind views and transpositions of a feature map reads the map.
//   before  (N,C,H,W) -> [Transpose] -> reshape (N, C*H*W) -> qconv 1x1
//   after   (N,C,H,W) -> qconv HxW, weights permuted
void absorb_reshape(ir::Graph& graph, PassContext& context);

// fuse-residual: a qadd whose operand is a qconv that nobody else reads becomes its residual.
//   before  qconv(x, w) -> t, qadd(t, r) -> y         after  qconv(x, w, r) -> y
// Exact: the convolution's own quantisation stays as the first rescale.
void fuse_residual(ir::Graph& graph, PassContext& context);

// remove-dead-code: nodes and constants from which no graph output can be reached.
void remove_dead_code(ir::Graph& graph, PassContext& context);

// The passes that put a float network in order; prepare_for_quantization and the default pipeline begin with them.
void clean_up(ir::Graph& graph, PassContext& context);

// --- helpers
// Everything that read the node's first output reads `replacement` instead, and the node is erased. Names
// that the user sees are kept: false (and nothing done) when the output is a graph output and the
// replacement is itself a graph input, output or constant.
bool bypass(ir::Graph& graph, ir::NodeId node, ir::ValueId replacement);

}  // namespace dlc::passes
