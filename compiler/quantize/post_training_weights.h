// Post-training quantisation of constants: weights and biases of one weighted operator.
#pragma once
#include <vector>

#include "compiler/ir/graph.h"

namespace dlc::quantize {

struct QuantizedWeights {
  ir::Tensor weight;       // int8, the float weight's shape
  ir::Quantization scale;  // symmetric (zero points 0), per output channel along `axis`
  ir::Tensor bias;         // int32, one per output channel; no elements without a bias
  ir::Quantization bias_scale;
};

// weight: float32 with its output channels along `axis` (a weighted operator's input 1); bias: float32 with
// as many elements, or nullptr. Scales are max |w| / 127, enlarged where the bias would not fit 30 bits,
// where the channel is all zero, or where input_scale * scale / output_scale would fall below 2^-24 (such
// weights move no output step). per_channel false: one scale for all.
QuantizedWeights quantize_weights(const ir::Value& weight, size_t axis, const ir::Value* bias,
                                  float input_scale, float output_scale, bool per_channel);

}  // namespace dlc::quantize
