#include "compiler/onnx/op_table.h"

#include <algorithm>

#include "compiler/ir/narrow_types.h"
#include "isa/error.h"

namespace dlc::onnx_import {
namespace {

using K = AttributeKind;
constexpr size_t kAny = SIZE_MAX;

std::vector<AttributeRow> conv_attributes() {
  return {{"auto_pad", K::text},         {"dilations", K::integers}, {"group", K::integer},
          {"kernel_shape", K::integers}, {"pads", K::integers},      {"strides", K::integers}};
}

std::vector<AttributeRow> pool_attributes(std::vector<AttributeRow> more) {
  std::vector<AttributeRow> rows{{"auto_pad", K::text},      {"ceil_mode", K::integer},
                                 {"dilations", K::integers}, {"kernel_shape", K::integers},
                                 {"pads", K::integers},      {"strides", K::integers}};
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

std::vector<AttributeRow> reduce_attributes() {
  return {{"axes", K::integers}, {"keepdims", K::integer}, {"noop_with_empty_axes", K::integer}};
}

std::vector<AttributeRow> arg_attributes() {
  return {{"axis", K::integer}, {"keepdims", K::integer}, {"select_last_index", K::integer}};
}

}  // namespace

namespace {

std::vector<OperatorRow> accelerated_operators() {
  return {
      // op, since, inputs, outputs, attributes, inference, folded at import, limits
      {"Abs", 6, 1, 1, 1, {}, infer_arithmetic_unary, true, "float32 and integers"},
      {"Add", 7, 2, 2, 1, {}, infer_binary, true, "float32; integers in constant chains"},
      {"And", 7, 2, 2, 1, {}, infer_logical, true, ""},
      {"ArgMax", 1, 1, 1, 1, arg_attributes(), infer_arg_extreme, false, ""},
      {"ArgMin", 1, 1, 1, 1, arg_attributes(), infer_arg_extreme, false, ""},
      {"AveragePool", 7, 1, 1, 1, pool_attributes({{"count_include_pad", K::integer}}), infer_average_pool,
       false, "2-D"},
      {"BatchNormalization",
       7,
       5,
       5,
       5,
       {{"epsilon", K::real}, {"momentum", K::real}, {"spatial", K::integer}, {"training_mode", K::integer}},
       infer_batch_normalization,
       false,
       "inference only"},
      {"Cast",
       6,
       1,
       1,
       1,
       {{"round_mode", K::text}, {"saturate", K::integer}, {"to", K::integer}},
       infer_cast,
       true,
       ""},
      {"Ceil", 6, 1, 1, 1, {}, infer_unary, true, ""},
      {"Celu", 12, 1, 1, 1, {{"alpha", K::real}}, infer_function, false, ""},
      {"Clip", 6, 1, 3, 1, {{"min", K::real}, {"max", K::real}}, infer_clip, false, "constant limits"},
      {"Concat", 4, 1, kAny, 1, {{"axis", K::integer}}, infer_concat, true, ""},
      {"Conv", 1, 2, 3, 1, conv_attributes(), infer_conv, false, "2-D"},
      {"ConvInteger", 10, 2, 4, 1, conv_attributes(), infer_conv_integer, false, "2-D, on the host"},
      {"ConvTranspose",
       1,
       2,
       3,
       1,
       {{"auto_pad", K::text},
        {"dilations", K::integers},
        {"group", K::integer},
        {"kernel_shape", K::integers},
        {"output_padding", K::integers},
        {"output_shape", K::integers},
        {"pads", K::integers},
        {"strides", K::integers}},
       infer_conv_transpose,
       false,
       "2-D, explicit pads"},
      {"Cos", 7, 1, 1, 1, {}, infer_unary, true, ""},
      {"DepthToSpace",
       1,
       1,
       1,
       1,
       {{"blocksize", K::integer}, {"mode", K::text}},
       infer_depth_to_space,
       false,
       ""},
      {"DequantizeLinear",
       10,
       2,
       3,
       1,
       {{"axis", K::integer}, {"block_size", K::integer}, {"output_dtype", K::integer}},
       infer_dequantize,
       false,
       "8, 16 and 32 bit; per tensor or per axis"},
      {"Div", 7, 2, 2, 1, {}, infer_binary, true, "float32; integers in constant chains"},
      {"Dropout",
       7,
       1,
       3,
       2,
       {{"ratio", K::real}, {"seed", K::integer}},
       infer_dropout,
       true,
       "inference only"},
      {"DynamicQuantizeLinear", 11, 1, 1, 3, {}, infer_dynamic_quantize, false, "on the host"},
      {"Elu", 6, 1, 1, 1, {{"alpha", K::real}}, infer_function, false, ""},
      {"Equal", 7, 2, 2, 1, {}, infer_compare, true, "float32 and integers"},
      {"Erf", 9, 1, 1, 1, {}, infer_unary, true, ""},
      {"Exp", 6, 1, 1, 1, {}, infer_unary, true, ""},
      {"Expand", 8, 2, 2, 1, {}, infer_expand, true, "constant shape"},
      {"Flatten", 1, 1, 1, 1, {{"axis", K::integer}}, infer_flatten, true, ""},
      {"Floor", 6, 1, 1, 1, {}, infer_unary, true, ""},
      {"Gather", 1, 2, 2, 1, {{"axis", K::integer}}, infer_gather, true, "constant indices"},
      {"Gelu", 20, 1, 1, 1, {{"approximate", K::text}}, infer_function, false, ""},
      {"Gemm",
       7,
       2,
       3,
       1,
       {{"alpha", K::real}, {"beta", K::real}, {"transA", K::integer}, {"transB", K::integer}},
       infer_gemm,
       false,
       ""},
      {"GlobalAveragePool", 1, 1, 1, 1, {}, infer_global_pool, false, "2-D"},
      {"GlobalMaxPool", 1, 1, 1, 1, {}, infer_global_pool, false, "2-D"},
      {"Greater", 7, 2, 2, 1, {}, infer_compare, true, "float32 and integers"},
      {"GreaterOrEqual", 12, 2, 2, 1, {}, infer_compare, true, "float32 and integers"},
      {"HardSigmoid", 6, 1, 1, 1, {{"alpha", K::real}, {"beta", K::real}}, infer_function, false, ""},
      {"HardSwish", 14, 1, 1, 1, {}, infer_function, false, ""},
      {"Identity", 1, 1, 1, 1, {}, infer_identity, true, ""},
      {"InstanceNormalization", 6, 3, 3, 1, {{"epsilon", K::real}}, infer_instance_normalization, false, ""},
      {"LRN",
       1,
       1,
       1,
       1,
       {{"alpha", K::real}, {"beta", K::real}, {"bias", K::real}, {"size", K::integer}},
       infer_lrn,
       false,
       ""},
      {"LayerNormalization",
       17,
       2,
       3,
       3,
       {{"axis", K::integer}, {"epsilon", K::real}, {"stash_type", K::integer}},
       infer_layer_normalization,
       false,
       "one output"},
      {"LeakyRelu", 6, 1, 1, 1, {{"alpha", K::real}}, infer_leaky_relu, false, ""},
      {"Less", 7, 2, 2, 1, {}, infer_compare, true, "float32 and integers"},
      {"LessOrEqual", 12, 2, 2, 1, {}, infer_compare, true, "float32 and integers"},
      {"Log", 6, 1, 1, 1, {}, infer_unary, true, ""},
      {"LogSoftmax", 1, 1, 1, 1, {{"axis", K::integer}}, infer_softmax, false, ""},
      {"MatMul", 1, 2, 2, 1, {}, infer_matmul, false, "rank 2 or more"},
      {"MatMulInteger", 10, 2, 4, 1, {}, infer_matmul_integer, false, "on the host"},
      {"Max", 8, 2, 2, 1, {}, infer_extreme, true, "more than two operands: a chain"},
      {"MaxPool", 1, 1, 1, 2, pool_attributes({{"storage_order", K::integer}}), infer_max_pool, false,
       "2-D, without indices"},
      {"Min", 8, 2, 2, 1, {}, infer_extreme, true, "more than two operands: a chain"},
      {"Mish", 18, 1, 1, 1, {}, infer_function, false, ""},
      {"Mul", 7, 2, 2, 1, {}, infer_binary, true, "float32; integers in constant chains"},
      {"Neg", 6, 1, 1, 1, {}, infer_arithmetic_unary, true, "float32 and integers"},
      {"Not", 1, 1, 1, 1, {}, infer_not, true, ""},
      {"Or", 7, 2, 2, 1, {}, infer_logical, true, ""},
      {"PRelu", 7, 2, 2, 1, {}, infer_prelu, false, ""},
      {"Pad",
       2,
       1,
       4,
       1,
       {{"mode", K::text}, {"pads", K::integers}, {"value", K::real}},
       infer_pad,
       false,
       "mode constant"},
      {"Pow", 7, 2, 2, 1, {}, infer_pow, true, "float32 base"},
      {"QuantizeLinear",
       10,
       2,
       3,
       1,
       {{"axis", K::integer},
        {"block_size", K::integer},
        {"output_dtype", K::integer},
        {"precision", K::integer},
        {"saturate", K::integer}},
       infer_quantize,
       true,
       "to 8 or 16 bit; per tensor or per axis"},
      {"Reciprocal", 6, 1, 1, 1, {}, infer_unary, true, ""},
      {"ReduceL1", 1, 1, 2, 1, reduce_attributes(), infer_reduce_18, true,
       "constant axes; float32 and integers"},
      {"ReduceL2", 1, 1, 2, 1, reduce_attributes(), infer_reduce_18, true,
       "constant axes; float32 and integers"},
      {"ReduceLogSum", 1, 1, 2, 1, reduce_attributes(), infer_reduce_18, true,
       "constant axes; float32 and integers"},
      {"ReduceLogSumExp", 1, 1, 2, 1, reduce_attributes(), infer_reduce_18, true,
       "constant axes; float32 and integers"},
      {"ReduceMax", 1, 1, 2, 1, reduce_attributes(), infer_reduce_18, true,
       "constant axes; float32 and integers"},
      {"ReduceMean", 1, 1, 2, 1, reduce_attributes(), infer_reduce_18, true,
       "constant axes; float32 and integers"},
      {"ReduceMin", 1, 1, 2, 1, reduce_attributes(), infer_reduce_18, true,
       "constant axes; float32 and integers"},
      {"ReduceProd", 1, 1, 2, 1, reduce_attributes(), infer_reduce_18, true,
       "constant axes; float32 and integers"},
      {"ReduceSum", 1, 1, 2, 1, reduce_attributes(), infer_reduce_13, true,
       "constant axes; float32 and integers"},
      {"ReduceSumSquare", 1, 1, 2, 1, reduce_attributes(), infer_reduce_18, true,
       "constant axes; float32 and integers"},
      {"Relu", 6, 1, 1, 1, {}, infer_unary, false, ""},
      {"Reshape", 5, 2, 2, 1, {{"allowzero", K::integer}}, infer_reshape, true, "constant shape"},
      {"Resize",
       10,
       1,
       4,
       1,
       {{"antialias", K::integer},
        {"axes", K::integers},
        {"coordinate_transformation_mode", K::text},
        {"cubic_coeff_a", K::real},
        {"exclude_outside", K::integer},
        {"extrapolation_value", K::real},
        {"keep_aspect_ratio_policy", K::text},
        {"mode", K::text},
        {"nearest_mode", K::text}},
       infer_resize,
       false,
       "nearest and linear over H and W, constant sizes"},
      {"Round", 11, 1, 1, 1, {}, infer_unary, true, ""},
      {"Selu", 6, 1, 1, 1, {{"alpha", K::real}, {"gamma", K::real}}, infer_function, false, ""},
      {"Shape", 1, 1, 1, 1, {{"start", K::integer}, {"end", K::integer}}, infer_shape, true, ""},
      {"Sigmoid", 6, 1, 1, 1, {}, infer_unary, false, ""},
      {"Sign", 9, 1, 1, 1, {}, infer_arithmetic_unary, true, "float32 and integers"},
      {"Sin", 7, 1, 1, 1, {}, infer_unary, true, ""},
      {"Slice",
       1,
       1,
       5,
       1,
       {{"starts", K::integers}, {"ends", K::integers}, {"axes", K::integers}},
       infer_slice,
       true,
       "constant limits"},
      {"Softmax", 1, 1, 1, 1, {{"axis", K::integer}}, infer_softmax, false, ""},
      {"Softplus", 1, 1, 1, 1, {}, infer_function, false, ""},
      {"Softsign", 1, 1, 1, 1, {}, infer_function, false, ""},
      {"SpaceToDepth", 1, 1, 1, 1, {{"blocksize", K::integer}}, infer_space_to_depth, false, ""},
      {"Split",
       2,
       1,
       2,
       kAny,
       {{"axis", K::integer}, {"num_outputs", K::integer}, {"split", K::integers}},
       infer_split,
       false,
       "constant parts"},
      {"Sqrt", 6, 1, 1, 1, {}, infer_unary, true, ""},
      {"Squeeze", 1, 1, 2, 1, {{"axes", K::integers}}, infer_squeeze, true, "constant axes"},
      {"Sub", 7, 2, 2, 1, {}, infer_binary, true, "float32; integers in constant chains"},
      {"Tanh", 6, 1, 1, 1, {}, infer_unary, false, ""},
      {"ThresholdedRelu", 10, 1, 1, 1, {{"alpha", K::real}}, infer_function, false, ""},
      {"Tile", 6, 2, 2, 1, {}, infer_tile, true, "constant repeats"},
      {"Transpose", 1, 1, 1, 1, {{"perm", K::integers}}, infer_transpose, true, ""},
      {"Unsqueeze", 1, 1, 2, 1, {{"axes", K::integers}}, infer_unsqueeze, true, "constant axes"},
      {"Upsample",
       7,
       1,
       2,
       1,
       {{"mode", K::text}, {"scales", K::reals}},
       infer_upsample,
       false,
       "as Resize with asymmetric coordinates"},
      {"Where", 9, 3, 3, 1, {}, infer_where, true, ""},
      {"Xor", 7, 2, 2, 1, {}, infer_logical, true, ""},
  };
}

}  // namespace

const std::vector<OperatorRow>& operator_table() {
  static const std::vector<OperatorRow> table = [] {
    std::vector<OperatorRow> rows = accelerated_operators();
    for (OperatorRow& row : general_operators()) rows.push_back(std::move(row));
    std::sort(rows.begin(), rows.end(),
              [](const OperatorRow& a, const OperatorRow& b) { return std::string_view(a.op) < b.op; });
    return rows;
  }();
  return table;
}

const OperatorRow* find_operator(std::string_view op) {
  for (const OperatorRow& row : operator_table()) {
    if (op == row.op) return &row;
  }
  return nullptr;
}

// ------------------------------------------------------------------------------------------- helpers

ir::Tensor constant_tensor(const ir::Value& value) {
  ir::Tensor t;
  t.type = value.type;
  t.shape = value.shape;
  t.bytes = *value.data;
  return t;
}

void InferContext::bad(const std::string& message) const {
  throw UserError(ErrorKind::bad_input, node.where(), message);
}
void InferContext::unsupported(const std::string& message) const {
  throw UserError(ErrorKind::unsupported, node.where(), message);
}

int64_t InferContext::integer(const std::string& name, int64_t otherwise, int64_t low, int64_t high) {
  const int64_t v = node.attribute<int64_t>(name, otherwise);
  if (v < low || v > high) {
    bad("attribute '" + name + "' is " + std::to_string(v) + "; expected " + std::to_string(low) + " to " +
        std::to_string(high));
  }
  node.attributes[name] = v;
  return v;
}

float InferContext::real(const std::string& name, float otherwise) {
  const float v = node.attribute<float>(name, otherwise);
  node.attributes[name] = v;
  return v;
}

std::vector<int64_t> InferContext::integers(const std::string& name, size_t count, int64_t otherwise,
                                            int64_t low, int64_t high) {
  auto v = node.attribute<std::vector<int64_t>>(name, std::vector<int64_t>(count, otherwise));
  if (v.size() != count) {
    bad("attribute '" + name + "' has " + std::to_string(v.size()) + " entries; expected " +
        std::to_string(count));
  }
  for (int64_t x : v) {
    if (x < low || x > high) {
      bad("attribute '" + name + "' holds " + std::to_string(x) + "; expected " + std::to_string(low) +
          " to " + std::to_string(high));
    }
  }
  node.attributes[name] = v;
  return v;
}

int64_t InferContext::axis(const std::string& name, int64_t otherwise, int64_t rank, bool rank_allowed) {
  int64_t v = node.attribute<int64_t>(name, otherwise);
  if (v < -rank || v > rank || (v == rank && !rank_allowed)) {
    bad("attribute '" + name + "' is " + std::to_string(v) + ", outside a tensor of rank " +
        std::to_string(rank));
  }
  if (v < 0) v += rank;
  node.attributes[name] = v;
  return v;
}

std::vector<int64_t> InferContext::constant_integers(size_t i, const std::string& what) const {
  const ir::Value& v = input(i);
  if (!v.is_constant()) unsupported(what + " ('" + v.name + "') must be a constant");
  if (v.type == ir::ElementType::int64) {
    auto s = v.constant<int64_t>();
    return {s.begin(), s.end()};
  }
  if (v.type == ir::ElementType::int32) {
    auto s = v.constant<int32_t>();
    return {s.begin(), s.end()};
  }
  bad(what + " ('" + v.name + "') is " + std::string(ir::element_name(v.type)) + "; expected int64");
}

float InferContext::constant_real(size_t i, const std::string& what) const {
  const ir::Value& v = input(i);
  if (!v.is_constant()) unsupported(what + " ('" + v.name + "') must be a constant");
  if (!ir::is_float(v.type) || v.elements() != 1) bad(what + " must be one floating-point number");
  return static_cast<float>(ir::to_doubles(constant_tensor(v))[0]);
}

void InferContext::require_type(size_t i, std::initializer_list<ir::ElementType> types) const {
  const ir::Value& v = input(i);
  if (std::find(types.begin(), types.end(), v.type) != types.end()) return;
  std::string expected;
  for (ir::ElementType t : types)
    expected += (expected.empty() ? "" : ", ") + std::string(ir::element_name(t));
  const std::string message = "input " + std::to_string(i) + " ('" + v.name + "') is " +
                              std::string(ir::element_name(v.type)) + "; supported: " + expected;
  unsupported(message);
}

namespace {

using E = ir::ElementType;

}  // namespace

void InferContext::require_float(size_t i) const { require_type(i, {E::float32, E::float16, E::bfloat16}); }
void InferContext::require_real(size_t i) const {
  require_type(i, {E::float32, E::float16, E::bfloat16, E::float64});
}
void InferContext::require_number(size_t i) const {
  require_type(i, {E::float32, E::float16, E::bfloat16, E::float64, E::int8, E::uint8, E::int16, E::uint16, E::int32,
                   E::uint32, E::int64, E::uint64});
}
void InferContext::require_integer(size_t i) const {
  require_type(i, {E::int8, E::uint8, E::int16, E::uint16, E::int32, E::uint32, E::int64, E::uint64});
}

void InferContext::require_same_type(size_t a, size_t b) const {
  if (input(a).type == input(b).type) return;
  bad("the inputs have different types: " + std::string(ir::element_name(input(a).type)) + " and " +
      std::string(ir::element_name(input(b).type)));
}

void InferContext::require_rank(size_t i, size_t rank, const std::string& what) const {
  if (input(i).shape.size() == rank) return;
  bad(what + " ('" + input(i).name + "') has shape " + ir::shape_text(input(i).shape) + "; expected rank " +
      std::to_string(rank));
}

void InferContext::require_shape(size_t i, const ir::Shape& shape, const std::string& what) const {
  if (input(i).shape == shape) return;
  bad(what + " ('" + input(i).name + "') has shape " + ir::shape_text(input(i).shape) + "; expected " +
      ir::shape_text(shape));
}

std::optional<ir::Shape> broadcast(const ir::Shape& a, const ir::Shape& b) {
  ir::Shape out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) return std::nullopt;
    out[out.size() - 1 - i] = da == 1 ? db : da;
  }
  return out;
}

}  // namespace dlc::onnx_import
