// The float rewrites of prepare_for_quantization, one free function each. All keep the network's results up
// to float rounding and the names of the values that remain.
#pragma once
#include "compiler/ir/graph.h"

namespace dlc::quantize {

// Weights that are stored as integers (DequantizeLinear of constants) become float constants.
void fold_stored_weights(ir::Graph& graph);

// Gemm and MatMul with constant weights and rank 2 become Gemm with transB = 1, alpha = beta = 1 and a bias
// of one entry per output, where they can.
void normalise_products(ir::Graph& graph);

// Zero padding of the image becomes the padding of the convolutions behind it.
void merge_pads(ir::Graph& graph);

// y = x * scale[channel] + shift[channel] (BatchNormalization; Mul, Div, Add, Sub with a constant) is merged
// into the Conv or Gemm before it. Where there is none and a layer follows, it becomes a depthwise 1x1 Conv.
void merge_affine(ir::Graph& graph);

// Relu and Clip behind MaxPool and data movement change places with it, so that they end up behind a layer.
void hoist_activations(ir::Graph& graph);

}  // namespace dlc::quantize
