#include "compiler/backends/reference/kernels.h"

#include <algorithm>
#include <iterator>

namespace dlc::reference {
namespace {

struct KernelRow {
  std::string_view domain, op;
  Kernel kernel;
};

constexpr KernelRow kKernels[] = {
    {"", "Abs", abs_},
    {"", "Add", add},
    {"", "And", and_},
    {"", "ArgMax", arg_max},
    {"", "ArgMin", arg_min},
    {"", "AveragePool", average_pool},
    {"", "BatchNormalization", batch_normalization},
    {"", "Cast", cast},
    {"", "Ceil", ceil_},
    {"", "Celu", celu},
    {"", "Clip", clip},
    {"", "Concat", concat},
    {"", "Conv", conv},
    {"", "ConvInteger", conv_integer},
    {"", "ConvTranspose", conv_transpose},
    {"", "Cos", cos_},
    {"", "DepthToSpace", depth_to_space},
    {"", "DequantizeLinear", dequantize_linear},
    {"", "Div", div_},
    {"", "Dropout", copy},
    {"", "DynamicQuantizeLinear", dynamic_quantize_linear},
    {"", "Elu", elu},
    {"", "Equal", equal},
    {"", "Erf", erf_},
    {"", "Exp", exp_},
    {"", "Expand", expand},
    {"", "Flatten", copy},
    {"", "Floor", floor_},
    {"", "Gather", gather},
    {"", "Gelu", gelu},
    {"", "Gemm", gemm},
    {"", "GlobalAveragePool", global_average_pool},
    {"", "GlobalMaxPool", global_max_pool},
    {"", "Greater", greater},
    {"", "GreaterOrEqual", greater_or_equal},
    {"", "HardSigmoid", hard_sigmoid},
    {"", "HardSwish", hard_swish},
    {"", "Identity", copy},
    {"", "InstanceNormalization", instance_normalization},
    {"", "LRN", lrn},
    {"", "LayerNormalization", layer_normalization},
    {"", "LeakyRelu", leaky_relu},
    {"", "Less", less},
    {"", "LessOrEqual", less_or_equal},
    {"", "Log", log_},
    {"", "LogSoftmax", log_softmax},
    {"", "MatMul", matmul},
    {"", "MatMulInteger", matmul_integer},
    {"", "Max", max_},
    {"", "MaxPool", max_pool},
    {"", "Min", min_},
    {"", "Mish", mish},
    {"", "Mul", mul},
    {"", "Neg", neg},
    {"", "Not", not_},
    {"", "Or", or_},
    {"", "PRelu", prelu},
    {"", "Pad", pad},
    {"", "Pow", pow_},
    {"", "QuantizeLinear", quantize_linear},
    {"", "Reciprocal", reciprocal},
    {"", "ReduceL1", reduce_l1},
    {"", "ReduceL2", reduce_l2},
    {"", "ReduceLogSum", reduce_log_sum},
    {"", "ReduceLogSumExp", reduce_log_sum_exp},
    {"", "ReduceMax", reduce_max},
    {"", "ReduceMean", reduce_mean},
    {"", "ReduceMin", reduce_min},
    {"", "ReduceProd", reduce_prod},
    {"", "ReduceSum", reduce_sum},
    {"", "ReduceSumSquare", reduce_sum_square},
    {"", "Relu", relu},
    {"", "Reshape", copy},
    {"", "Resize", resize},
    {"", "Round", round_},
    {"", "Selu", selu},
    {"", "Shape", shape},
    {"", "Sigmoid", sigmoid},
    {"", "Sign", sign},
    {"", "Sin", sin_},
    {"", "Slice", slice},
    {"", "Softmax", softmax},
    {"", "Softplus", softplus},
    {"", "Softsign", softsign},
    {"", "SpaceToDepth", space_to_depth},
    {"", "Split", split},
    {"", "Sqrt", sqrt_},
    {"", "Squeeze", copy},
    {"", "Sub", sub},
    {"", "Tanh", tanh_},
    {"", "ThresholdedRelu", thresholded_relu},
    {"", "Tile", tile},
    {"", "Transpose", transpose},
    {"", "Unsqueeze", copy},
    {"", "Upsample", resize},
    {"", "Where", where},
    {"", "Xor", xor_},
    {ir::kDlcDomain, "pack_pixels", pack_pixels},
    {ir::kDlcDomain, "qadd", qadd},
    {ir::kDlcDomain, "qbinary", qbinary},
    {ir::kDlcDomain, "qconv", qconv},
    {ir::kDlcDomain, "qplace", qplace},
    {ir::kDlcDomain, "qlut", qlut},
    {ir::kDlcDomain, "qpool", qpool},
    {ir::kDlcDomain, "qtake", qtake},
    {ir::kDlcDomain, "reshape", copy},
};

}  // namespace

Kernel find_kernel(const ir::Node& node) {
  const auto it = std::find_if(std::begin(kKernels), std::end(kKernels), [&](const KernelRow& row) {
    return row.op == node.op && row.domain == node.domain;
  });
  return it == std::end(kKernels) ? nullptr : it->kernel;
}

}  // namespace dlc::reference
