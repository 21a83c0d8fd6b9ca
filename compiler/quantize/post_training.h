// Post-training quantisation: from a float network to the same network with QuantizeLinear and
// DequantizeLinear nodes, as exporters write it; the pass that lowers such patterns does the rest.
//
// Flow: prepare_for_quantization (float rewrites that keep every result) -> calibrate -> plan (which values
// become 8 bit, with which scale) -> insertion of the node pairs, weights and biases.
//
// Conventions: activations int8 per tensor with a zero point; weights int8 per output channel, symmetric,
// -127..127; biases int32 with scale input scale x weight scale. Of a quantised value T, `T_q` is the int8
// tensor, `T_s` and `T_z` its scale and zero point, `T_dq` the dequantised one. A graph output keeps its
// name; the float value that it was computed from becomes `T_float`.
#pragma once
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/calibrate.h"

namespace dlc::quantize {

struct PostTrainingOptions {
  CalibrationOptions calibration;
};

// True for a network with layers that the machine could compute (convolution, fully connected) and without
// any quantised activation. False for networks that are quantised already, in part too.
bool needs_quantization(const ir::Graph& graph);

// Float rewrites that leave only patterns which quantise well: constants folded,
// transpositions moved together (move-transposes), spatial means to pools, batch normalisation and
// other per-channel scales and offsets merged into convolutions (or made depthwise 1x1 ones), MatMul to Gemm
// with its bias, Relu moved in front of MaxPool and data movement, zero Pad merged into convolutions. Results
// stay equal up to float rounding. Names of values that remain are unchanged.
void prepare_for_quantization(ir::Graph& graph);

// Inserts the quantisation. `calibration` was measured on this graph (after prepare_for_quantization).
// Throws std::logic_error where a value that is to be quantised has no range.
void quantize_post_training(ir::Graph& graph, const Calibration& calibration);

// All of it: prepare, calibrate on `rows`, insert. Errors as calibrate(). Returns the ranges used.
Calibration quantize_graph(ir::Graph& graph, const std::vector<reference::TensorMap>& rows,
                           const PostTrainingOptions& options = {});

}  // namespace dlc::quantize
