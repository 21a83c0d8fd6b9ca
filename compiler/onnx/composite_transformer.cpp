// com.microsoft's fused operators of transformers (onnxruntime/docs/ContribOperators.md) as ONNX's own.
#include "compiler/onnx/expansion.h"

namespace dlc::onnx_import {
namespace {

std::string sum(Expansion& e, const std::string& a, const std::string& b, const std::string& output = "") {
  if (output.empty()) return e.emit_between("Add", {a, b});
  e.emit("Add", {a, b}, output);
  return output;
}

void normalise(Expansion& e, const std::string& x, const std::string& gamma, const std::string& beta) {
  auto& n = e.emit("LayerNormalization", {x, gamma, beta}, e.result());
  Expansion::add_integer(n, "axis", -1);
  Expansion::add_real(n, "epsilon", e.real("epsilon", 1e-12f));
}

}  // namespace

// input, skip, gamma [, beta [, bias]] -> LayerNormalization(input + skip + bias); output 3: the sum.
void expand_skip_layer_normalization(Expansion& e) {
  e.require_inputs(3, 5, 4);
  if (!e.output(1).empty() || !e.output(2).empty()) e.unsupported("the outputs mean and inv_std_var");
  const std::string bias = e.input(4);
  std::string total = sum(e, e.input(0), e.input(1), bias.empty() ? e.output(3) : "");
  if (!bias.empty()) total = sum(e, total, bias, e.output(3));
  normalise(e, total, e.input(2), e.input(3));
}

// input_ids, segment_ids, word, position and segment embeddings, gamma, beta, mask, position_ids; output 2: the sum of
// embeddings. (Output 1, the mask's index, has no value: a model that reads it is refused.)
void expand_embed_layer_normalization(Expansion& e) {
  e.require_inputs(7, 9, 3);
  if (!e.input(7).empty()) e.unsupported("the input mask");
  if (e.input(8).empty()) e.unsupported("position_ids left out");
  const bool segments = !e.input(1).empty();
  const std::string words = e.emit_between("Gather", {e.input(2), e.input(0)});
  const std::string places = e.emit_between("Gather", {e.input(3), e.input(8)});
  std::string total = sum(e, words, places, segments ? "" : e.output(2));
  if (segments) total = sum(e, total, e.emit_between("Gather", {e.input(4), e.input(1)}), e.output(2));
  normalise(e, total, e.input(5), e.input(6));
}

// input, weights, bias [, mask [, past]] -> projections, ONNX's Attention, present = keys and values in one tensor.
void expand_attention(Expansion& e) {
  e.require_inputs(3, 5, 2);
  for (const char* name : {"qkv_hidden_sizes", "do_rotary", "past_present_share_buffer"}) {
    const auto* a = e.attribute(name);
    if (a && (a->i() != 0 || a->ints_size() > 0)) e.unsupported(std::string("attribute ") + name);
  }
  const std::string projected = sum(e, e.emit_between("MatMul", {e.input(0), e.input(1)}), e.input(2));
  std::vector<std::string> operands = e.split(projected, 3, 2);
  operands.resize(6);
  if (!e.input(3).empty()) {  // (batch, keys): 0 hides a key
    const std::string mask = e.between("Cast");
    Expansion::add_integer(e.emit("Cast", {e.input(3)}, mask), "to", onnx::TensorProto::BOOL);
    operands[3] = e.with_axes("Unsqueeze", mask, {1, 2});
  }
  if (!e.input(4).empty()) {
    const std::vector<std::string> past = e.split(e.input(4), 2, 0);
    for (size_t i = 0; i < 2; ++i) operands[4 + i] = e.with_axes("Squeeze", past[i], {0});
  }
  const bool present = !e.output(1).empty();
  const std::string keys = e.between("present"), values = e.between("present");
  auto& n = e.emit("Attention", operands, e.result());
  if (present) {
    n.add_output(keys);
    n.add_output(values);
  }
  Expansion::add_integer(n, "q_num_heads", e.integer("num_heads", 0));
  Expansion::add_integer(n, "kv_num_heads", e.integer("num_heads", 0));
  Expansion::add_integer(n, "is_causal", e.integer("unidirectional", 0));
  Expansion::add_integer(n, "mask_rank", 4);  // masks of another rank mean something else
  if (e.real("scale", 0.0f) != 0.0f) Expansion::add_real(n, "scale", e.real("scale", 0.0f));
  if (!present) return;
  const std::string k = e.with_axes("Unsqueeze", keys, {0}), v = e.with_axes("Unsqueeze", values, {0});
  Expansion::add_integer(e.emit("Concat", {k, v}, e.output(1)), "axis", 0);
}

void expand_fast_gelu(Expansion& e) {
  e.require_inputs(1, 2);
  const std::string x = e.input(1).empty() ? e.input(0) : sum(e, e.input(0), e.input(1));
  Expansion::add_text(e.emit("Gelu", {x}, e.result()), "approximate", "tanh");
}

void expand_bias_gelu(Expansion& e) {
  e.require_inputs(2, 2);
  e.emit("Gelu", {sum(e, e.input(0), e.input(1))}, e.result());
}

// x sigmoid(alpha x)
void expand_quick_gelu(Expansion& e) {
  e.require_inputs(1, 1);
  const std::string scaled = e.emit_between("Mul", {e.input(0), e.real_constant(e.real("alpha", 1.702f))});
  e.emit("Mul", {e.input(0), e.emit_between("Sigmoid", {scaled})}, e.result());
}

}  // namespace dlc::onnx_import
