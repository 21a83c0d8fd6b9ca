// The importer's operator table: one row an operator with its arity, attributes and shape inference.
// Adding an operator: a row here (op_table.cpp), its inference function, its reference kernel.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace dlc::onnx_import {

enum class AttributeKind { integer, real, text, integers, reals };

struct AttributeRow {
  const char* name;
  AttributeKind kind;
};

// What an inference function sees and fills in.
struct InferContext {
  const ir::Graph& graph;
  ir::Node& node;                   // inputs resolved; attributes as read. Inference makes them canonical:
                                    // every default present, auto_pad resolved, axes non-negative.
  std::vector<ir::Value>& outputs;  // type, shape and (QuantizeLinear) quantisation to be filled in

  bool has_input(size_t i) const { return i < node.inputs.size() && node.inputs[i].valid(); }
  const ir::Value& input(size_t i) const { return graph.value(node.inputs[i]); }
  void set_output(ir::ElementType type, ir::Shape shape) {
    outputs[0].type = type;
    outputs[0].shape = std::move(shape);
  }
  [[noreturn]] void bad(const std::string& message) const;          // exit 2
  [[noreturn]] void unsupported(const std::string& message) const;  // exit 3

  // Attribute helpers: canonicalise in place and return.
  int64_t integer(const std::string& name, int64_t otherwise, int64_t low, int64_t high);
  float real(const std::string& name, float otherwise);
  // Exactly `count` integers within [low, high]; `otherwise` repeated when absent.
  std::vector<int64_t> integers(const std::string& name, size_t count, int64_t otherwise, int64_t low,
                                int64_t high);
  int64_t axis(const std::string& name, int64_t otherwise, int64_t rank, bool rank_allowed = false);
  // Integer contents of a constant input (int32 or int64); an error when it is not constant.
  std::vector<int64_t> constant_integers(size_t i, const std::string& what) const;
  float constant_real(size_t i, const std::string& what) const;

  // Type and rank checks.
  void require_type(size_t i, std::initializer_list<ir::ElementType> types) const;
  void require_float(size_t i) const;   // float32, float16, bfloat16
  void require_real(size_t i) const;    // and float64
  void require_number(size_t i) const;  // and integers
  void require_integer(size_t i) const;
  void require_same_type(size_t a, size_t b) const;
  void require_rank(size_t i, size_t rank, const std::string& what) const;
  void require_shape(size_t i, const ir::Shape& shape, const std::string& what) const;
};

struct OperatorRow {
  const char* op;
  int first_opset;
  size_t min_inputs, max_inputs;  // SIZE_MAX: variadic
  size_t max_outputs;
  std::vector<AttributeRow> attributes;
  void (*infer)(InferContext& context);
  bool fold;         // computed at import when all inputs are constants (shape arithmetic, shared constants)
  const char* note;  // limits, for `dlc ops`
};

const std::vector<OperatorRow>& operator_table();  // in name order
std::vector<OperatorRow> general_operators();      // those that run on the host only (op_table_general.cpp)
const OperatorRow* find_operator(std::string_view op);

// A constant value as a tensor.
ir::Tensor constant_tensor(const ir::Value& value);

// NumPy broadcasting; nothing when the shapes do not fit.
std::optional<ir::Shape> broadcast(const ir::Shape& a, const ir::Shape& b);

// Inference functions, by file.
void infer_conv(InferContext&);
void infer_max_pool(InferContext&);
void infer_lp_pool(InferContext&);
void infer_average_pool(InferContext&);
void infer_global_pool(InferContext&);
void infer_gemm(InferContext&);
void infer_matmul(InferContext&);
void infer_batch_normalization(InferContext&);

void infer_unary(InferContext&);
void infer_leaky_relu(InferContext&);
void infer_function(InferContext&);  // activation functions with parameters
void infer_prelu(InferContext&);
void infer_clip(InferContext&);
void infer_binary(InferContext&);
void infer_softmax(InferContext&);
void infer_quantize(InferContext&);
void infer_dequantize(InferContext&);

void infer_arithmetic_unary(InferContext&);
void infer_not(InferContext&);
void infer_pow(InferContext&);
void infer_compare(InferContext&);
void infer_logical(InferContext&);
void infer_where(InferContext&);
void infer_expand(InferContext&);
void infer_tile(InferContext&);
void infer_reduce_13(InferContext&);  // axes are an input since opset 13
void infer_reduce_18(InferContext&);  // since opset 18
void infer_arg_extreme(InferContext&);
void infer_lrn(InferContext&);
void infer_instance_normalization(InferContext&);
void infer_layer_normalization(InferContext&);
void infer_split(InferContext&);
void infer_dynamic_quantize(InferContext&);
void infer_matmul_integer(InferContext&);
void infer_conv_integer(InferContext&);

void infer_identity(InferContext&);
void infer_dropout(InferContext&);
void infer_flatten(InferContext&);
void infer_reshape(InferContext&);
void infer_transpose(InferContext&);
void infer_squeeze(InferContext&);
void infer_unsqueeze(InferContext&);
void infer_pad(InferContext&);
void infer_concat(InferContext&);
void infer_shape(InferContext&);
void infer_gather(InferContext&);
void infer_cast(InferContext&);
void infer_slice(InferContext&);

// infer_general.cpp
void infer_real_function(InferContext&);  // of each element, parameters as attributes
void infer_predicate(InferContext&);      // of each element, boolean
void infer_shrink(InferContext&);
void infer_bit_cast(InferContext&);
void infer_bitwise(InferContext&);
void infer_mod(InferContext&);
void infer_size(InferContext&);
void infer_range(InferContext&);
void infer_eye_like(InferContext&);
void infer_cumulative(InferContext&);
void infer_trilu(InferContext&);
void infer_top_k(InferContext&);
void infer_one_hot(InferContext&);
void infer_cast_like(InferContext&);

// infer_attention.cpp, infer_loss.cpp
void infer_attention(InferContext&);
void infer_rotary_embedding(InferContext&);
void infer_linear_attention(InferContext&);
void infer_causal_conv_with_state(InferContext&);
void infer_loss(InferContext&);
void infer_rms_normalization(InferContext&);
void infer_group_normalization(InferContext&);
void infer_lp_normalization(InferContext&);
void infer_mean_variance_normalization(InferContext&);

// infer_index.cpp
void infer_gather_elements(InferContext&);
void infer_gather_nd(InferContext&);
void infer_scatter_elements(InferContext&);
void infer_scatter_nd(InferContext&);
void infer_tensor_scatter(InferContext&);
void infer_compress(InferContext&);
void infer_reverse_sequence(InferContext&);
void infer_center_crop_pad(InferContext&);

void infer_extreme(InferContext&);  // Max, Min of two
void infer_resize(InferContext&);
void infer_upsample(InferContext&);
void infer_depth_to_space(InferContext&);
void infer_space_to_depth(InferContext&);
void infer_conv_transpose(InferContext&);

}  // namespace dlc::onnx_import
