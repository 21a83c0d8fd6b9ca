// Shape inference of element-wise operators and generators that run on the host only.
#include <cmath>

#include "compiler/ir/narrow_types.h"
#include "compiler/onnx/op_table.h"
#include "compiler/onnx/proto_reader.h"

namespace dlc::onnx_import {

using ir::ElementType;
using ir::Shape;

namespace {

void same_as_input(InferContext& c) { c.set_output(c.input(0).type, c.input(0).shape); }

Shape broadcast_operands(InferContext& c) {
  const auto shape = broadcast(c.input(0).shape, c.input(1).shape);
  if (!shape) {
    c.bad("shapes " + ir::shape_text(c.input(0).shape) + " and " + ir::shape_text(c.input(1).shape) +
          " do not broadcast");
  }
  return *shape;
}

int64_t one_integer(InferContext& c, size_t i, const std::string& what) {
  const auto v = c.constant_integers(i, what);
  if (v.size() != 1) c.bad(what + " must be one integer");
  return v[0];
}

}  // namespace

void infer_real_function(InferContext& c) {
  c.require_real(0);
  if (c.node.is("Swish")) c.real("alpha", 1.0f);
  same_as_input(c);
}

void infer_predicate(InferContext& c) {
  c.require_real(0);
  c.integer("detect_negative", 1, 0, 1);
  c.integer("detect_positive", 1, 0, 1);
  c.set_output(ElementType::boolean, c.input(0).shape);
}

void infer_shrink(InferContext& c) {
  c.require_number(0);
  c.real("bias", 0.0f);
  c.real("lambd", 0.5f);
  same_as_input(c);
}

void infer_bit_cast(InferContext& c) {
  const int64_t to = std::clamp<int64_t>(c.node.attribute<int64_t>("to"), 0, 1000);
  const ElementType type = element_type_from_onnx(static_cast<int>(to));
  if (ir::is_narrow(type) || ir::is_narrow(c.input(0).type) || type == ElementType::undefined)
    c.unsupported("a cast of bits from " + std::string(element_name(c.input(0).type)) + " to " +
                  onnx_type_name(static_cast<int>(to)));
  if (element_size(type) != element_size(c.input(0).type)) c.bad("the types have different sizes");
  c.set_output(type, c.input(0).shape);
}

void infer_bitwise(InferContext& c) {
  c.require_integer(0);
  if (c.node.is("BitwiseNot")) return same_as_input(c);
  c.require_same_type(0, 1);
  if (c.node.is("BitShift")) {
    c.require_type(0, {ElementType::uint8, ElementType::uint16, ElementType::uint32, ElementType::uint64});
    const auto direction = c.node.attribute<std::string>("direction");
    if (direction != "LEFT" && direction != "RIGHT") c.bad("direction is '" + direction + "'; expected LEFT or RIGHT");
  }
  c.set_output(c.input(0).type, broadcast_operands(c));
}

void infer_mod(InferContext& c) {
  c.require_number(0);
  c.require_same_type(0, 1);
  c.integer("fmod", 0, 0, 1);
  c.set_output(c.input(0).type, broadcast_operands(c));
}

void infer_size(InferContext& c) { c.set_output(ElementType::int64, {}); }

void infer_range(InferContext& c) {
  double values[3];
  for (size_t i = 0; i < 3; ++i) {
    const ir::Value& v = c.input(i);
    c.require_number(i);
    c.require_same_type(0, i);
    if (!v.is_constant()) c.unsupported("the limit ('" + v.name + "') must be a constant");
    if (v.elements() != 1) c.bad("the limit ('" + v.name + "') must be one number");
    values[i] = ir::to_doubles(constant_tensor(v))[0];
  }
  if (values[2] == 0) c.bad("the step is 0");
  const double count = std::ceil((values[1] - values[0]) / values[2]);
  if (!(count < 1e9)) c.bad("the range is endless");
  c.set_output(c.input(0).type, {std::max<int64_t>(0, static_cast<int64_t>(count))});
}

void infer_eye_like(InferContext& c) {
  c.require_rank(0, 2, "input");
  c.integer("k", 0, INT32_MIN, INT32_MAX);
  const int64_t dtype = std::clamp<int64_t>(c.node.attribute<int64_t>("dtype"), 0, 1000);
  const ElementType type = dtype == 0 ? c.input(0).type : element_type_from_onnx(static_cast<int>(dtype));
  if (type == ElementType::undefined || ir::is_narrow(type))
    c.unsupported("dtype " + onnx_type_name(static_cast<int>(dtype)));
  c.set_output(type, c.input(0).shape);
}

// Canonical form: attribute axis, a single input.
void infer_cumulative(InferContext& c) {
  c.require_number(0);
  c.integer("exclusive", 0, 0, 1);
  c.integer("reverse", 0, 0, 1);
  c.node.attributes["axis"] = one_integer(c, 1, "the axis");
  c.axis("axis", 0, static_cast<int64_t>(c.input(0).shape.size()));
  c.node.inputs.resize(1);
  same_as_input(c);
}

// Canonical form: attributes upper and k, a single input.
void infer_trilu(InferContext& c) {
  if (c.input(0).shape.size() < 2) c.bad("the input has shape " + ir::shape_text(c.input(0).shape));
  c.integer("upper", 1, 0, 1);
  c.node.attributes["k"] = c.has_input(1) ? one_integer(c, 1, "k") : int64_t{0};
  c.node.inputs.resize(1);
  same_as_input(c);
}

// Canonical form: attributes axis, k, largest; a single input. Always sorted.
void infer_top_k(InferContext& c) {
  c.require_number(0);
  const Shape x = c.input(0).shape;
  const auto axis = static_cast<size_t>(c.axis("axis", -1, static_cast<int64_t>(x.size())));
  c.integer("largest", 1, 0, 1);
  c.node.attributes.erase("sorted");
  if (c.node.opset >= 10) {
    if (!c.has_input(1)) c.bad("the input k is missing");
    c.node.attributes["k"] = one_integer(c, 1, "k");
  }
  c.node.inputs.resize(1);
  const int64_t k = c.integer("k", -1, 0, x[axis]);
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    c.outputs[i].type = i == 0 ? c.input(0).type : ElementType::int64;
    c.outputs[i].shape = x;
    c.outputs[i].shape[axis] = k;
  }
}

// Canonical form: attributes axis and depth; inputs indices and values.
void infer_one_hot(InferContext& c) {
  c.require_number(0);
  c.require_number(1);
  const ir::Value& d = c.input(1);
  if (!d.is_constant()) c.unsupported("the depth ('" + d.name + "') must be a constant");
  if (d.elements() != 1) c.bad("the depth must be one number");
  const double depth = ir::to_doubles(constant_tensor(d))[0];
  if (!(depth >= 0 && depth < 1e9)) c.bad("the depth is " + std::to_string(depth));
  if (c.input(2).shape != Shape{2}) c.bad("expected two values, off and on");
  Shape out = c.input(0).shape;
  const auto axis = c.axis("axis", -1, static_cast<int64_t>(out.size()) + 1);
  out.insert(out.begin() + axis, static_cast<int64_t>(depth));
  c.set_output(c.input(2).type, out);
  c.node.inputs = {c.node.inputs[0], c.node.inputs[2]};
}

}  // namespace dlc::onnx_import
