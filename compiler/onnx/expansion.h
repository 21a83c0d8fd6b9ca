// How composite operators (composite_nodes.h) are written out: the nodes that stand for one of them.
#pragma once
#include <onnx/onnx_pb.h>

#include <string>
#include <utility>
#include <vector>

#include "isa/error.h"

namespace dlc::onnx_import {

inline constexpr const char* kMicrosoft = "com.microsoft";

// Writes the nodes that stand for one composite node. Values between them are named after the node's first
// output, which no other node defines.
class Expansion {
 public:
  Expansion(const onnx::NodeProto& node, std::string name, const std::string& where, onnx::GraphProto& out,
            int opset)
      : node_(node), name_(std::move(name)), where_(where), out_(out), opset_(opset) {}

  int opset() const { return opset_; }
  int inputs() const { return node_.input_size(); }
  std::string input(int i) const { return i < inputs() ? node_.input(i) : ""; }
  std::string output(int i) const { return i < node_.output_size() ? node_.output(i) : ""; }
  std::string result() const { return node_.output(0); }
  std::string between(const std::string& suffix) {
    return result() + "." + suffix + "." + std::to_string(values_++);
  }
  [[noreturn]] void unsupported(const std::string& message) const {
    throw UserError(ErrorKind::unsupported, where_, message);
  }
  void require_inputs(int least, int most, int outputs = 1) const {
    const bool present = inputs() >= least && inputs() <= most && node_.output_size() >= 1 &&
                         node_.output_size() <= outputs && !result().empty();
    if (present) return;
    throw UserError(ErrorKind::bad_input, where_,
                    "wrong number of inputs or outputs (" + std::to_string(inputs()) + ", " +
                        std::to_string(node_.output_size()) + ")");
  }

  const onnx::AttributeProto* attribute(const std::string& name) const {
    for (const auto& a : node_.attribute()) {
      if (a.name() == name) return &a;
    }
    return nullptr;
  }
  int64_t integer(const std::string& name, int64_t otherwise) const {
    const auto* a = attribute(name);
    return a ? a->i() : otherwise;
  }
  float real(const std::string& name, float otherwise) const {
    const auto* a = attribute(name);
    return a ? a->f() : otherwise;
  }

  // One node of domain ai.onnx; `copied`: attributes taken over from the composite node.
  onnx::NodeProto& emit(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output, const std::vector<std::string>& copied = {}) {
    auto* n = out_.add_node();
    n->set_name(name_ + "." + op + (count_ == 0 ? "" : "." + std::to_string(count_)));
    ++count_;
    n->set_op_type(op);
    for (const std::string& i : inputs) n->add_input(i);
    while (n->input_size() > 0 && n->input(n->input_size() - 1).empty()) n->mutable_input()->RemoveLast();
    n->add_output(output);
    for (const std::string& c : copied) {
      if (const auto* a = attribute(c)) *n->add_attribute() = *a;
    }
    return *n;
  }
  std::string emit_between(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& copied = {}) {
    const std::string output = between(op);
    emit(op, inputs, output, copied);
    return output;
  }
  // DequantizeLinear of inputs `at` (tensor), at + 1 (scale), at + 2 (zero point, may be left out).
  std::string dequantised(int at, int64_t axis = 1) {
    return dequantised(input(at), input(at + 1), input(at + 2), axis);
  }
  std::string dequantised(const std::string& x, const std::string& scale, const std::string& zero,
                          int64_t axis) {
    const std::string output = between("DequantizeLinear");
    add_integer(emit("DequantizeLinear", {x, scale, zero}, output), "axis", axis);
    return output;
  }
  // The node's result: QuantizeLinear of `x` with scale and zero point from inputs `at`, at + 1.
  void quantise(const std::string& x, int at) {
    emit("QuantizeLinear", {x, input(at), input(at + 1)}, result());
  }

  static void add_integer(onnx::NodeProto& n, const std::string& name, int64_t value) {
    auto* a = n.add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::INT);
    a->set_i(value);
  }
  static void add_real(onnx::NodeProto& n, const std::string& name, float value) {
    auto* a = n.add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::FLOAT);
    a->set_f(value);
  }
  static void add_integers(onnx::NodeProto& n, const std::string& name, const std::vector<int64_t>& values) {
    auto* a = n.add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::INTS);
    for (int64_t v : values) a->add_ints(v);
  }
  static void add_text(onnx::NodeProto& n, const std::string& name, const std::string& value) {
    auto* a = n.add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::STRING);
    a->set_s(value);
  }
  // Squeeze or Unsqueeze, whose axes are an input since opset 13.
  std::string with_axes(const std::string& op, const std::string& x, const std::vector<int64_t>& axes) {
    const std::string output = between(op);
    if (opset() < 13) {
      add_integers(emit(op, {x}, output), "axes", axes);
    } else {
      const std::string values = between("axes");
      add_integers(emit("Constant", {}, values), "value_ints", axes);
      emit(op, {x, values}, output);
    }
    return output;
  }
  // `parts` equal parts.
  std::vector<std::string> split(const std::string& x, int parts, int64_t axis) {
    std::vector<std::string> outputs;
    for (int i = 0; i < parts; ++i) outputs.push_back(between("part"));
    auto& n = emit("Split", {x}, outputs[0]);
    for (int i = 1; i < parts; ++i) n.add_output(outputs[static_cast<size_t>(i)]);
    add_integer(n, "axis", axis);
    return outputs;
  }
  std::string real_constant(float value) {
    const std::string output = between("constant");
    auto& n = emit("Constant", {}, output);
    add_real(n, "value_float", value);
    return output;
  }

 private:
  const onnx::NodeProto& node_;
  std::string name_;
  const std::string& where_;
  onnx::GraphProto& out_;
  int opset_;
  int count_ = 0;
  int values_ = 0;
};

// com.microsoft's fused operators of transformers (composite_transformer.cpp).
void expand_attention(Expansion& e);
void expand_bias_gelu(Expansion& e);
void expand_embed_layer_normalization(Expansion& e);
void expand_fast_gelu(Expansion& e);
void expand_quick_gelu(Expansion& e);
void expand_skip_layer_normalization(Expansion& e);

}  // namespace dlc::onnx_import
