// Operator -> generator of its loop nest.
#include <algorithm>
#include <iterator>

#include "compiler/loop/lowering.h"

namespace dlc::loop {
namespace {

struct Row {
  std::string_view domain, op;
  Generator generator;
};

constexpr Row kRows[] = {
    {"", "AveragePool", lower_pool},
    {"", "Concat", lower_concat},
    {"", "Conv", lower_conv},
    {"", "Dropout", lower_view},
    {"", "Expand", lower_expand},
    {"", "Flatten", lower_view},
    {"", "Gather", lower_gather},
    {"", "Gemm", lower_matmul},
    {"", "GlobalAveragePool", lower_pool},
    {"", "GlobalMaxPool", lower_pool},
    {"", "Identity", lower_view},
    {"", "InstanceNormalization", lower_layer_norm},
    {"", "LayerNormalization", lower_layer_norm},
    {"", "LogSoftmax", lower_softmax},
    {"", "MatMul", lower_matmul},
    {"", "MaxPool", lower_pool},
    {"", "ReduceL1", lower_reduce},
    {"", "ReduceL2", lower_reduce},
    {"", "ReduceMax", lower_reduce},
    {"", "ReduceMean", lower_reduce},
    {"", "ReduceSum", lower_reduce},
    {"", "ReduceSumSquare", lower_reduce},
    {"", "Reshape", lower_view},
    {"", "Slice", lower_slice},
    {"", "Softmax", lower_softmax},
    {"", "Split", lower_split},
    {"", "Squeeze", lower_view},
    {"", "Transpose", lower_transpose},
    {"", "Unsqueeze", lower_view},
    {ir::kDlcDomain, "qconv", lower_qconv},
    {ir::kDlcDomain, "qlut", lower_qlut},
    {ir::kDlcDomain, "qplace", lower_qplace},
    {ir::kDlcDomain, "qpool", lower_qpool},
    {ir::kDlcDomain, "qtake", lower_qtake},
    {ir::kDlcDomain, "reshape", lower_view},
};

}  // namespace

Generator find_generator(const ir::Node& node) {
  const auto it = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == node.op && r.domain == node.domain; });
  return it == std::end(kRows) ? nullptr : it->generator;
}

bool knows_operator(std::string_view domain, std::string_view op) {
  ir::Node node;
  node.op = op;
  node.domain = domain;
  return find_generator(node) || has_pointwise_row(node);
}

}  // namespace dlc::loop
