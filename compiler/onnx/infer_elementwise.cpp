// Shape inference of elementwise operators, softmax and quantisation.
#include "compiler/ir/narrow_types.h"
#include "compiler/onnx/op_table.h"
#include "compiler/onnx/proto_reader.h"

namespace dlc::onnx_import {

using ir::ElementType;

void infer_unary(InferContext& c) {
  c.require_float(0);
  c.set_output(c.input(0).type, c.input(0).shape);
}

void infer_leaky_relu(InferContext& c) {
  c.real("alpha", 0.01f);
  infer_unary(c);
}

// The slope is repeated to the input's shape, not the other way round.
void infer_prelu(InferContext& c) {
  c.require_float(0);
  c.require_float(1);
  if (broadcast(c.input(0).shape, c.input(1).shape) != c.input(0).shape) {
    c.bad("the slope ('" + c.input(1).name + "') has shape " + ir::shape_text(c.input(1).shape) +
          ", which does not broadcast to " + ir::shape_text(c.input(0).shape));
  }
  c.set_output(c.input(0).type, c.input(0).shape);
}

// Canonical form of constant limits on floats: attributes min and max (each only where the node limits), a single
// input. Other limits stay inputs of the operator ClipTensor (Graph IR only).
void infer_clip(InferContext& c) {
  c.require_number(0);
  c.set_output(c.input(0).type, c.input(0).shape);
  if (c.node.opset < 11) {
    if (c.node.inputs.size() > 1) c.bad("min and max are attributes, not inputs, before opset 11");
    return;
  }
  if (c.node.attributes.contains("min") || c.node.attributes.contains("max")) {
    c.bad("min and max are inputs, not attributes, since opset 11");
  }
  bool constant = ir::is_float(c.input(0).type) && c.input(0).type != ElementType::float64;
  for (size_t i = 1; i < 3; ++i) {
    if (!c.has_input(i)) continue;
    c.require_same_type(0, i);
    if (c.input(i).elements() != 1) c.bad("a limit has shape " + ir::shape_text(c.input(i).shape));
    constant = constant && c.input(i).is_constant();
  }
  if (!constant && c.node.inputs.size() > 1) {
    c.node.op = "ClipTensor";
    return;
  }
  if (c.has_input(1)) c.node.attributes["min"] = c.constant_real(1, "min");
  if (c.has_input(2)) c.node.attributes["max"] = c.constant_real(2, "max");
  if (c.node.inputs.size() == 1 && !ir::is_float(c.input(0).type)) c.node.op = "Identity";
  c.node.inputs.resize(1);
}

void infer_binary(InferContext& c) {
  c.require_number(0);
  c.require_same_type(0, 1);
  const auto shape = broadcast(c.input(0).shape, c.input(1).shape);
  if (!shape) {
    c.bad("shapes " + ir::shape_text(c.input(0).shape) + " and " + ir::shape_text(c.input(1).shape) +
          " do not broadcast");
  }
  c.set_output(c.input(0).type, *shape);
}

void infer_softmax(InferContext& c) {
  c.require_float(0);
  const auto rank = static_cast<int64_t>(c.input(0).shape.size());
  if (rank < 1) c.bad("the input is a scalar");
  // Before opset 13 everything behind `axis` is one row; the kernel goes by the node's opset.
  c.axis("axis", c.node.opset < 13 ? 1 : -1, rank, c.node.opset < 13);
  c.set_output(c.input(0).type, c.input(0).shape);
}

namespace {

// Checks scale and zero point against the tensor; returns the quantisation where both are constants.
std::optional<ir::Quantization> check_quantization(InferContext& c) {
  if (c.integer("block_size", 0, 0, INT32_MAX) != 0) c.unsupported("block quantisation (block_size)");
  c.node.attributes.erase("block_size");
  c.require_float(1);
  const ir::Value& scale = c.input(1);
  const auto rank = static_cast<int64_t>(c.input(0).shape.size());
  const bool per_axis = scale.shape.size() == 1 && scale.shape[0] != 1;
  if (scale.shape.size() > 1)
    c.bad("the scale ('" + scale.name + "') has shape " + ir::shape_text(scale.shape) +
          "; expected a scalar or one dimension");
  int64_t axis = 0;
  if (per_axis) {
    axis = c.axis("axis", 1, rank);
    if (c.input(0).shape[static_cast<size_t>(axis)] != scale.shape[0]) {
      c.bad("the scale has " + std::to_string(scale.shape[0]) + " entries; dimension " +
            std::to_string(axis) + " of " + ir::shape_text(c.input(0).shape) + " needs " +
            std::to_string(c.input(0).shape[static_cast<size_t>(axis)]));
    }
  } else {
    c.node.attributes.erase("axis");
  }
  if (c.has_input(2) && c.input(2).elements() != scale.elements()) {
    c.bad("the zero point has " + std::to_string(c.input(2).elements()) + " entries, the scale " +
          std::to_string(scale.elements()));
  }
  if (!scale.is_constant() || (c.has_input(2) && !c.input(2).is_constant())) return std::nullopt;
  ir::Quantization q;
  q.axis = static_cast<int>(axis);
  for (float s : scale.constant<float>()) {
    if (!(s > 0.0f) || s > 3e38f)
      c.bad("the scale ('" + scale.name + "') holds " + std::to_string(s) + "; expected a positive number");
    q.scale.push_back(s);
  }
  for (size_t i = 0; i < q.scale.size(); ++i) {
    int32_t zero = 0;
    if (c.has_input(2)) {
      const ir::Value& z = c.input(2);
      switch (z.type) {
        case ElementType::int8:
          zero = z.constant<int8_t>()[i];
          break;
        case ElementType::uint8:
          zero = z.constant<uint8_t>()[i];
          break;
        case ElementType::int16:
          zero = z.constant<int16_t>()[i];
          break;
        case ElementType::uint16:
          zero = z.constant<uint16_t>()[i];
          break;
        case ElementType::int32:
          zero = z.constant<int32_t>()[i];
          break;
        default:
          c.unsupported("zero points of type " + std::string(element_name(z.type)));
      }
    }
    q.zero.push_back(zero);
  }
  return q;
}

}  // namespace

void infer_quantize(InferContext& c) {
  c.require_float(0);
  c.node.attributes.erase("saturate");  // of 8-bit floats only
  const auto quantization = check_quantization(c);
  ElementType type = ElementType::uint8;
  const int64_t dtype = c.node.attribute<int64_t>("output_dtype");
  if (dtype != 0) type = element_type_from_onnx(static_cast<int>(dtype));
  if (c.has_input(2)) {
    if (dtype != 0 && type != c.input(2).type) c.bad("output_dtype and the zero point's type differ");
    type = c.input(2).type;
  }
  if (type != ElementType::int8 && type != ElementType::uint8 && type != ElementType::int16 &&
      type != ElementType::uint16) {
    c.unsupported("quantisation to " +
                  (dtype != 0 ? onnx_type_name(static_cast<int>(dtype)) : std::string(element_name(type))));
  }
  c.set_output(type, c.input(0).shape);
  c.outputs[0].quantization = quantization;
}

void infer_dequantize(InferContext& c) {
  c.require_type(0, {ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::uint16,
                     ElementType::int32});
  if (c.has_input(2) && c.input(2).type != c.input(0).type) {
    c.bad("the zero point is " + std::string(element_name(c.input(2).type)) + ", the input " +
          std::string(element_name(c.input(0).type)));
  }
  const int64_t dtype = c.node.attribute<int64_t>("output_dtype");
  if (dtype != 0 && dtype != 1) c.unsupported("output_dtype " + onnx_type_name(static_cast<int>(dtype)));
  check_quantization(c);
  c.set_output(ElementType::float32, c.input(0).shape);
}

}  // namespace dlc::onnx_import
