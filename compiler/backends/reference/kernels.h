// Kernel interface of the reference backend: one function an operator, registered in the table of
// kernels.cpp. Shapes and types were checked when the graph was built (importer, verify); kernels rely on it.
#pragma once
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace dlc::reference {

struct KernelArgs {
  const ir::Node& node;
  const std::vector<const ir::Tensor*>& inputs;  // nullptr: optional input left out
  std::vector<ir::Tensor>& outputs;              // allocated, zeroed, type and shape set

  const ir::Tensor& in(size_t i) const { return *inputs[i]; }
  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  ir::Tensor& out() const { return outputs[0]; }
};

using Kernel = void (*)(const KernelArgs& args);

// nullptr for an operator without a kernel.
Kernel find_kernel(const ir::Node& node);
// Whether the operator's kernel takes float16 and bfloat16 tensors as they are; others get float32.
bool takes_half(const ir::Node& node);

// kernels_window.cpp: float32 operators with windows and products
void conv(const KernelArgs&);
void max_pool(const KernelArgs&);
void average_pool(const KernelArgs&);
void global_average_pool(const KernelArgs&);
void global_max_pool(const KernelArgs&);
void gemm(const KernelArgs&);
void matmul(const KernelArgs&);
void batch_normalization(const KernelArgs&);

// kernels_elementwise.cpp
void relu(const KernelArgs&);
void leaky_relu(const KernelArgs&);
void prelu(const KernelArgs&);
void sigmoid(const KernelArgs&);
void tanh_(const KernelArgs&);
void clip(const KernelArgs&);
void add(const KernelArgs&);
void sub(const KernelArgs&);
void mul(const KernelArgs&);
void div_(const KernelArgs&);
void softmax(const KernelArgs&);
void log_softmax(const KernelArgs&);
void max_(const KernelArgs&);
void min_(const KernelArgs&);
void quantize_linear(const KernelArgs&);
void dequantize_linear(const KernelArgs&);

// kernels_math.cpp
void exp_(const KernelArgs&);
void log_(const KernelArgs&);
void sqrt_(const KernelArgs&);
void reciprocal(const KernelArgs&);
void floor_(const KernelArgs&);
void ceil_(const KernelArgs&);
void round_(const KernelArgs&);
void erf_(const KernelArgs&);
void sin_(const KernelArgs&);
void cos_(const KernelArgs&);
void neg(const KernelArgs&);
void abs_(const KernelArgs&);
void sign(const KernelArgs&);
void not_(const KernelArgs&);
void pow_(const KernelArgs&);
void equal(const KernelArgs&);
void less(const KernelArgs&);
void less_or_equal(const KernelArgs&);
void greater(const KernelArgs&);
void greater_or_equal(const KernelArgs&);
void and_(const KernelArgs&);
void or_(const KernelArgs&);
void xor_(const KernelArgs&);
void where(const KernelArgs&);
void expand(const KernelArgs&);
void tile(const KernelArgs&);
void reduce_sum(const KernelArgs&);
void reduce_mean(const KernelArgs&);
void reduce_max(const KernelArgs&);
void reduce_min(const KernelArgs&);
void reduce_prod(const KernelArgs&);
void reduce_l1(const KernelArgs&);
void reduce_l2(const KernelArgs&);
void reduce_sum_square(const KernelArgs&);
void reduce_log_sum(const KernelArgs&);
void reduce_log_sum_exp(const KernelArgs&);
void arg_max(const KernelArgs&);
void arg_min(const KernelArgs&);
void lrn(const KernelArgs&);
void instance_normalization(const KernelArgs&);
void layer_normalization(const KernelArgs&);
void split(const KernelArgs&);

// kernels_integer.cpp
void matmul_integer(const KernelArgs&);
void conv_integer(const KernelArgs&);
void dynamic_quantize_linear(const KernelArgs&);

// kernels_layout.cpp
void copy(const KernelArgs&);  // Identity, Reshape, Flatten, Squeeze, Unsqueeze, Dropout, dlc reshape
void transpose(const KernelArgs&);
void concat(const KernelArgs&);
void pad(const KernelArgs&);
void shape(const KernelArgs&);
void gather(const KernelArgs&);
// `index` within 0..size-1, counted from the end where negative. UserError(bad_input) outside.
int64_t checked_index(const KernelArgs&, int64_t index, int64_t size);
void slice(const KernelArgs&);
void cast(const KernelArgs&);

// kernels_resize.cpp
void resize(const KernelArgs&);  // Resize, Upsample
void depth_to_space(const KernelArgs&);
void space_to_depth(const KernelArgs&);
void conv_transpose(const KernelArgs&);

// kernels_quantized.cpp: integer operators of ir/quant_ops.h
void qconv(const KernelArgs&);
void qadd(const KernelArgs&);
void qpool(const KernelArgs&);

// kernels_function.cpp: activation functions, and look-ups
void celu(const KernelArgs&);
void elu(const KernelArgs&);
void gelu(const KernelArgs&);
void hard_sigmoid(const KernelArgs&);
void hard_swish(const KernelArgs&);
void mish(const KernelArgs&);
void selu(const KernelArgs&);
void softplus(const KernelArgs&);
void softsign(const KernelArgs&);
void thresholded_relu(const KernelArgs&);
void qlut(const KernelArgs&);
void qbinary(const KernelArgs&);

// kernels_general.cpp
void acos_(const KernelArgs&);
void acosh_(const KernelArgs&);
void asin_(const KernelArgs&);
void asinh_(const KernelArgs&);
void atan_(const KernelArgs&);
void atanh_(const KernelArgs&);
void cosh_(const KernelArgs&);
void sinh_(const KernelArgs&);
void tan_(const KernelArgs&);
void swish(const KernelArgs&);
void shrink(const KernelArgs&);
void is_nan(const KernelArgs&);
void is_inf(const KernelArgs&);
void clip_tensor(const KernelArgs&);
void bit_cast(const KernelArgs&);
void bitwise_and(const KernelArgs&);
void bitwise_or(const KernelArgs&);
void bitwise_xor(const KernelArgs&);
void bitwise_not(const KernelArgs&);
void bit_shift(const KernelArgs&);
void mod(const KernelArgs&);
void size(const KernelArgs&);
void eye_like(const KernelArgs&);
void trilu(const KernelArgs&);
void hardmax(const KernelArgs&);
void one_hot(const KernelArgs&);
void range(const KernelArgs&);
void cumulative_sum(const KernelArgs&);
void cumulative_product(const KernelArgs&);
void top_k(const KernelArgs&);

// kernels_attention.cpp, kernels_loss.cpp
void attention(const KernelArgs&);
void causal_conv_with_state(const KernelArgs&);
void group_normalization(const KernelArgs&);
void linear_attention(const KernelArgs&);
void lp_normalization(const KernelArgs&);
void average_pool_nd(const KernelArgs&);
void max_pool_nd(const KernelArgs&);
void conv_nd(const KernelArgs&);
void mean_variance_normalization(const KernelArgs&);
void negative_log_likelihood_loss(const KernelArgs&);
void rms_normalization(const KernelArgs&);
void rotary_embedding(const KernelArgs&);
void softmax_cross_entropy_loss(const KernelArgs&);

// kernels_index.cpp
void gather_elements(const KernelArgs&);
void gather_nd(const KernelArgs&);
void scatter_elements(const KernelArgs&);
void scatter_nd(const KernelArgs&);
void tensor_scatter(const KernelArgs&);
void compress(const KernelArgs&);
void reverse_sequence(const KernelArgs&);
void center_crop_pad(const KernelArgs&);

// kernels_placement.cpp
void qplace(const KernelArgs&);
void pack_pixels(const KernelArgs&);
void qtake(const KernelArgs&);

}  // namespace dlc::reference
