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
    {"", "Add", add},
    {"", "AveragePool", average_pool},
    {"", "BatchNormalization", batch_normalization},
    {"", "Cast", cast},
    {"", "Clip", clip},
    {"", "Concat", concat},
    {"", "Conv", conv},
    {"", "DequantizeLinear", dequantize_linear},
    {"", "Div", div_},
    {"", "Dropout", copy},
    {"", "Flatten", copy},
    {"", "Gather", gather},
    {"", "Gemm", gemm},
    {"", "GlobalAveragePool", global_average_pool},
    {"", "GlobalMaxPool", global_max_pool},
    {"", "Identity", copy},
    {"", "LeakyRelu", leaky_relu},
    {"", "LogSoftmax", log_softmax},
    {"", "MatMul", matmul},
    {"", "MaxPool", max_pool},
    {"", "Mul", mul},
    {"", "Pad", pad},
    {"", "QuantizeLinear", quantize_linear},
    {"", "Relu", relu},
    {"", "Reshape", copy},
    {"", "Shape", shape},
    {"", "Sigmoid", sigmoid},
    {"", "Slice", slice},
    {"", "Softmax", softmax},
    {"", "Squeeze", copy},
    {"", "Sub", sub},
    {"", "Tanh", tanh_},
    {"", "Transpose", transpose},
    {"", "Unsqueeze", copy},
    {ir::kDlcDomain, "qadd", qadd},
    {ir::kDlcDomain, "qconv", qconv},
    {ir::kDlcDomain, "qpool", qpool},
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
