// Shape inference of attention and its kin.
#include <algorithm>
#include <cmath>

#include "compiler/onnx/op_table.h"

namespace dlc::onnx_import {

using ir::ElementType;
using ir::Shape;

namespace {

constexpr int64_t kMax = INT32_MAX;

// Heads of a (B, H, S, D) or (B, S, H * D) tensor; the attribute is made canonical.
struct Heads {
  int64_t count = 0, length = 0, size = 0;
};

Heads heads_of(InferContext& c, size_t input, const char* attribute) {
  const Shape& s = c.input(input).shape;
  if (s.size() == 4) {
    if (!c.node.attributes.contains(attribute)) c.node.attributes[attribute] = s[1];
    return {s[1], s[2], s[3]};
  }
  if (s.size() != 3) c.bad("input " + std::to_string(input) + " has shape " + ir::shape_text(s) + "; expected rank 3 or 4");
  const int64_t count = c.integer(attribute, 0, 1, kMax);
  if (s[2] % count != 0) c.bad("the width of input " + std::to_string(input) + " is not divisible into heads");
  return {count, s[1], s[2] / count};
}

void set(InferContext& c, size_t output, ElementType type, Shape shape) {
  if (output >= c.outputs.size()) return;
  c.outputs[output].type = type;
  c.outputs[output].shape = std::move(shape);
}

}  // namespace

// Canonical form: scale and softcap given, head counts given.
void infer_attention(InferContext& c) {
  for (size_t i = 0; i < 3; ++i) c.require_real(i);
  const Heads q = heads_of(c, 0, "q_num_heads"), k = heads_of(c, 1, "kv_num_heads"), v = heads_of(c, 2, "kv_num_heads");
  const Shape x = c.input(0).shape;
  if (k.count == 0 || q.count % k.count != 0 || v.count != k.count || q.size != k.size || k.length != v.length)
    c.bad("queries, keys and values do not fit");
  if (c.input(1).shape[0] != x[0] || c.input(2).shape[0] != x[0]) c.bad("the batch sizes differ");
  c.integer("is_causal", 0, 0, 1);
  c.integer("left_window_size", -1, -1, kMax);
  c.integer("right_window_size", -1, -1, kMax);
  c.integer("qk_matmul_output_mode", 0, 0, 3);
  c.node.attributes.erase("softmax_precision");  // computed in double
  c.real("softcap", 0.0f);
  c.real("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(q.size))));
  if (c.has_input(4) != c.has_input(5)) c.bad("past_key and past_value come together");
  int64_t past = 0;
  if (c.has_input(4)) {
    if (c.input(4).shape.size() != 4) c.bad("past_key has shape " + ir::shape_text(c.input(4).shape));
    past = c.input(4).shape[2];
    c.require_shape(4, {x[0], k.count, past, k.size}, "past_key");
    c.require_shape(5, {x[0], k.count, past, v.size}, "past_value");
  }
  const int64_t keys = past + k.length;
  if (c.has_input(3)) {
    if (c.input(3).type != ElementType::boolean) c.require_real(3);
    const Shape& m = c.input(3).shape;
    Shape scores{x[0], q.count, q.length, keys};
    const auto rank = c.node.attribute<int64_t>("mask_rank", static_cast<int64_t>(m.size()));
    if (static_cast<int64_t>(m.size()) != rank) c.unsupported("a mask that is not (batch, keys)");
    if (m.empty() || m.size() > 4 || m.back() > keys) c.bad("the mask has shape " + ir::shape_text(m));
    scores.back() = m.back();
    if (broadcast(m, scores) != scores) c.bad("the mask of shape " + ir::shape_text(m) + " does not broadcast");
  }
  if (c.has_input(6)) c.require_shape(6, {x[0]}, "nonpad_kv_seqlen");
  Shape y = x;
  if (y.size() == 4)
    y[3] = v.size;
  else
    y[2] = q.count * v.size;
  set(c, 0, c.input(0).type, y);
  set(c, 1, c.input(1).type, {x[0], k.count, keys, k.size});
  set(c, 2, c.input(2).type, {x[0], k.count, keys, v.size});
  set(c, 3, c.input(0).type, {x[0], q.count, q.length, keys});
}

void infer_rotary_embedding(InferContext& c) {
  for (size_t i = 0; i < 3; ++i) c.require_real(i);
  const Heads h = heads_of(c, 0, "num_heads");
  const Shape x = c.input(0).shape;
  c.integer("interleaved", 0, 0, 1);
  if (c.node.attribute<int64_t>("rotary_embedding_dim") == 0) c.node.attributes["rotary_embedding_dim"] = h.size;
  const int64_t width = c.integer("rotary_embedding_dim", h.size, 2, h.size);
  if (width % 2 != 0) c.bad("rotary_embedding_dim is odd");
  for (size_t i = 1; i < 3; ++i) {
    const Shape& cache = c.input(i).shape;
    if (c.has_input(3) ? cache.size() != 2 || cache[1] != width / 2
                       : cache != Shape{x[0], h.length, width / 2})
      c.bad("input " + std::to_string(i) + " has shape " + ir::shape_text(cache));
  }
  if (c.has_input(3)) {
    c.require_type(3, {ElementType::int32, ElementType::int64});
    c.require_shape(3, {x[0], h.length}, "position_ids");
  }
  c.set_output(c.input(0).type, x);
}

void infer_linear_attention(InferContext& c) {
  for (size_t i = 0; i < c.node.inputs.size(); ++i)
    if (c.has_input(i)) c.require_real(i);
  for (size_t i = 0; i < 3; ++i) c.require_rank(i, 3, "input " + std::to_string(i));
  const Heads q = heads_of(c, 0, "q_num_heads"), k = heads_of(c, 1, "kv_num_heads"), v = heads_of(c, 2, "kv_num_heads");
  const Shape x = c.input(0).shape;
  if (q.count % k.count != 0 || q.size != k.size || k.length != q.length || v.length != q.length)
    c.bad("queries, keys and values do not fit");
  const auto rule = c.node.attribute<std::string>("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") c.bad("update_rule is '" + rule + "'");
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  if (gated != c.has_input(4) || delta != c.has_input(5)) c.bad("update_rule '" + rule + "' and the inputs decay and beta do not fit");
  const Shape state{x[0], k.count, k.size, v.size};
  if (c.has_input(3)) c.require_shape(3, state, "past_state");
  if (gated && c.input(4).shape != Shape{x[0], q.length, k.count} && c.input(4).shape != Shape{x[0], q.length, k.count * k.size})
    c.bad("decay has shape " + ir::shape_text(c.input(4).shape));
  if (delta && c.input(5).shape != Shape{x[0], q.length, k.count} && c.input(5).shape != Shape{x[0], q.length, 1})
    c.bad("beta has shape " + ir::shape_text(c.input(5).shape));
  c.node.attributes.erase("chunk_size");
  if (c.node.attribute<float>("scale") == 0.0f)
    c.node.attributes["scale"] = static_cast<float>(1 / std::sqrt(static_cast<double>(q.size)));
  set(c, 0, c.input(0).type, {x[0], q.length, q.count * v.size});
  set(c, 1, c.has_input(3) ? c.input(3).type : c.input(0).type, state);
}

void infer_causal_conv_with_state(InferContext& c) {
  for (size_t i = 0; i < c.node.inputs.size(); ++i)
    if (c.has_input(i)) c.require_real(i);
  c.require_rank(0, 3, "input");
  c.require_rank(1, 3, "weight");
  const Shape x = c.input(0).shape;
  const int64_t taps = c.input(1).shape[2];
  c.require_shape(1, {x[1], 1, taps}, "weight");
  if (taps < 1) c.bad("the weight is empty");
  const Shape state{x[0], x[1], taps - 1};
  if (c.has_input(2)) c.require_shape(2, {x[1]}, "bias");
  if (c.has_input(3)) c.require_shape(3, state, "past_state");
  const auto activation = c.node.attribute<std::string>("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") c.bad("activation is '" + activation + "'");
  c.node.attributes["activation"] = activation;
  set(c, 0, c.input(0).type, x);
  set(c, 1, c.input(0).type, state);
}

}  // namespace dlc::onnx_import
