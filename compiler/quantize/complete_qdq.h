// Networks that are quantised in part: layers with quantised inputs and weights, but a float result.
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/calibrate.h"

namespace dlc::quantize {

// The names of layers (Conv, Gemm, MatMul; with the addition of their bias and their activations) whose input and
// weight are quantised to 8 bits while their result is float: a graph output, or read by float operators.
std::vector<std::string> unfinished_layers(const ir::Graph& graph);

// DequantizeLinear -> Conv [-> Add bias] [-> Relu] -> float uses
//   becomes  ... -> QuantizeLinear -> DequantizeLinear -> float uses
// so that the layer runs on the machine. Where the result is quantised for another use already, the float uses read
// that; else its range comes from `calibration` (of this graph). Names of graph outputs stay.
void complete_quantization(ir::Graph& graph, const Calibration& calibration);

}  // namespace dlc::quantize
