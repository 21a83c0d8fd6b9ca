// Shape inference of arithmetic, comparisons, reductions, normalisations and integer products.
#include <algorithm>

#include "compiler/onnx/op_table.h"

namespace dlc::onnx_import {

using ir::ElementType;
using ir::Shape;

namespace {

Shape broadcast_or_fail(InferContext& c, const Shape& a, const Shape& b) {
  const auto shape = broadcast(a, b);
  if (!shape) c.bad("shapes " + ir::shape_text(a) + " and " + ir::shape_text(b) + " do not broadcast");
  return *shape;
}

// Axes from the attribute or, since the operator's opset `as_input`, from input 1; non-negative and sorted.
std::vector<int64_t> reduced_axes(InferContext& c, int as_input) {
  const auto rank = static_cast<int64_t>(c.input(0).shape.size());
  std::vector<int64_t> axes;
  if (c.node.opset >= as_input) {
    if (c.node.attributes.contains("axes")) c.bad("axes is an input, not an attribute, in this opset");
    if (c.has_input(1)) axes = c.constant_integers(1, "the axes");
  } else {
    axes = c.node.attribute<std::vector<int64_t>>("axes");
  }
  const bool none = axes.empty() && c.integer("noop_with_empty_axes", 0, 0, 1) != 0;
  if (axes.empty() && !none) {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  for (int64_t& a : axes) {
    if (a < -rank || a >= rank)
      c.bad("axis " + std::to_string(a) + " is outside " + ir::shape_text(c.input(0).shape));
    if (a < 0) a += rank;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) c.bad("an axis is repeated");
  return axes;
}

// Canonical form: attributes axes (all that are reduced) and keepdims, a single input.
void infer_reduction(InferContext& c, int as_input) {
  const bool extreme = c.node.is("ReduceMax") || c.node.is("ReduceMin");
  if (!extreme || c.input(0).type != ElementType::boolean) c.require_number(0);
  const std::vector<int64_t> axes = reduced_axes(c, as_input);
  const bool keep = c.integer("keepdims", 1, 0, 1) != 0;
  Shape out;
  const Shape x = c.input(0).shape;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (!reduced) {
      out.push_back(x[i]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  c.node.attributes["axes"] = axes;
  c.node.attributes.erase("noop_with_empty_axes");
  c.node.inputs.resize(1);
  c.set_output(c.input(0).type, out);
}

}  // namespace

void infer_arithmetic_unary(InferContext& c) {
  c.require_number(0);
  c.set_output(c.input(0).type, c.input(0).shape);
}

void infer_not(InferContext& c) {
  c.require_type(0, {ElementType::boolean});
  c.set_output(ElementType::boolean, c.input(0).shape);
}

void infer_pow(InferContext& c) {
  c.require_number(0);
  c.require_number(1);
  c.set_output(c.input(0).type, broadcast_or_fail(c, c.input(0).shape, c.input(1).shape));
}

void infer_compare(InferContext& c) {
  if (c.input(0).type != ElementType::boolean) c.require_number(0);
  c.require_same_type(0, 1);
  c.set_output(ElementType::boolean, broadcast_or_fail(c, c.input(0).shape, c.input(1).shape));
}

void infer_logical(InferContext& c) {
  c.require_type(0, {ElementType::boolean});
  c.require_same_type(0, 1);
  c.set_output(ElementType::boolean, broadcast_or_fail(c, c.input(0).shape, c.input(1).shape));
}

void infer_where(InferContext& c) {
  c.require_type(0, {ElementType::boolean});
  c.require_same_type(1, 2);
  if (element_size(c.input(1).type) == 0) c.unsupported("this element type");
  const Shape xy = broadcast_or_fail(c, c.input(1).shape, c.input(2).shape);
  c.set_output(c.input(1).type, broadcast_or_fail(c, c.input(0).shape, xy));
}

void infer_expand(InferContext& c) {
  if (c.input(1).shape.size() != 1) c.bad("the shape input must have one dimension");
  const Shape wanted = c.constant_integers(1, "the shape");
  for (int64_t d : wanted) {
    if (d < 0) c.bad("the shape holds " + std::to_string(d));
  }
  c.node.inputs.resize(1);  // the shape is the output's from here on
  c.set_output(c.input(0).type, broadcast_or_fail(c, c.input(0).shape, wanted));
}

// Canonical form: attribute repeats, a single input.
void infer_tile(InferContext& c) {
  const auto repeats = c.constant_integers(1, "the repeats");
  Shape out = c.input(0).shape;
  if (repeats.size() != out.size()) c.bad("expected one repeat for each dimension");
  for (size_t i = 0; i < out.size(); ++i) {
    if (repeats[i] < 0 || repeats[i] > INT32_MAX) c.bad("the repeats hold " + std::to_string(repeats[i]));
    out[i] = out[i] > INT32_MAX ? -1 : out[i] * repeats[i];
  }
  c.node.attributes["repeats"] = repeats;
  c.node.inputs.resize(1);
  c.set_output(c.input(0).type, out);
}

void infer_reduce_18(InferContext& c) { infer_reduction(c, 18); }
void infer_reduce_13(InferContext& c) { infer_reduction(c, 13); }

void infer_arg_extreme(InferContext& c) {
  c.require_number(0);
  const Shape x = c.input(0).shape;
  if (x.empty() || c.input(0).elements() == 0) c.unsupported("an input of shape " + ir::shape_text(x));
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(x.size())));
  c.integer("select_last_index", 0, 0, 1);
  Shape out = x;
  if (c.integer("keepdims", 1, 0, 1) != 0) {
    out[axis] = 1;
  } else {
    out.erase(out.begin() + static_cast<int64_t>(axis));
  }
  c.set_output(ElementType::int64, out);
}

void infer_lrn(InferContext& c) {
  c.require_float(0);
  if (c.input(0).shape.size() < 2) c.bad("the input has shape " + ir::shape_text(c.input(0).shape));
  c.real("alpha", 1e-4f);
  c.real("beta", 0.75f);
  c.real("bias", 1.0f);
  c.integer("size", 0, 1, INT32_MAX);
  c.set_output(c.input(0).type, c.input(0).shape);
}

void infer_instance_normalization(InferContext& c) {
  for (size_t i = 0; i < 3; ++i) c.require_float(i);
  const Shape& x = c.input(0).shape;
  if (x.size() < 3) c.bad("the input has shape " + ir::shape_text(x) + "; expected rank 3 or more");
  c.require_shape(1, {x[1]}, "scale");
  c.require_shape(2, {x[1]}, "B");
  c.real("epsilon", 1e-5f);
  c.set_output(c.input(0).type, x);
}

void infer_layer_normalization(InferContext& c) {
  for (size_t i = 0; i < c.node.inputs.size(); ++i) c.require_float(i);
  if (c.node.attribute<int64_t>("stash_type", 1) != 1) c.unsupported("stash_type other than float32");
  c.node.attributes.erase("stash_type");
  const Shape x = c.input(0).shape;
  const int64_t axis = c.axis("axis", -1, static_cast<int64_t>(x.size()));
  const Shape normalised(x.begin() + axis, x.end());
  for (size_t i = 1; i < c.node.inputs.size(); ++i) {
    if (broadcast(c.input(i).shape, normalised) == normalised) continue;
    c.bad("input " + std::to_string(i) + " has shape " + ir::shape_text(c.input(i).shape) + "; expected " +
          ir::shape_text(normalised));
  }
  c.real("epsilon", 1e-5f);
  c.set_output(c.input(0).type, x);
  Shape moments = x;
  std::fill(moments.begin() + axis, moments.end(), 1);
  for (size_t i = 1; i < c.outputs.size(); ++i) {
    c.outputs[i].type = ElementType::float32;
    c.outputs[i].shape = moments;
  }
}

// Canonical form: attribute axis, a single input; the parts are the outputs' shapes.
void infer_split(InferContext& c) {
  const Shape x = c.input(0).shape;
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(x.size())));
  std::vector<int64_t> parts = c.node.attribute<std::vector<int64_t>>("split");
  if (c.has_input(1)) parts = c.constant_integers(1, "the parts");
  const auto count = static_cast<int64_t>(c.outputs.size());
  if (parts.empty()) {
    const int64_t size = (x[axis] + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) parts.push_back(std::clamp<int64_t>(x[axis] - i * size, 0, size));
  }
  int64_t total = 0;
  for (int64_t p : parts) {
    if (p < 0 || p > x[axis]) c.bad("a part of " + std::to_string(p));
    total += p;
  }
  if (parts.size() != c.outputs.size() || total != x[axis]) {
    c.bad("the parts " + ir::shape_text(parts) + " are not " + std::to_string(count) +
          " parts of dimension " + std::to_string(axis) + " of " + ir::shape_text(x));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    c.outputs[i].type = c.input(0).type;
    c.outputs[i].shape = x;
    c.outputs[i].shape[axis] = parts[i];
  }
  c.node.attributes = {{"axis", static_cast<int64_t>(axis)}};
  c.node.inputs.resize(1);
}

void infer_dynamic_quantize(InferContext& c) {
  c.require_float(0);
  const ElementType types[] = {ElementType::uint8, ElementType::float32, ElementType::uint8};
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    c.outputs[i].type = types[i];
    c.outputs[i].shape = i == 0 ? c.input(0).shape : Shape{};
  }
}

void infer_matmul_integer(InferContext& c) {
  for (size_t i = 0; i < 2; ++i) c.require_type(i, {ElementType::int8, ElementType::uint8});
  const Shape& a = c.input(0).shape;
  const Shape& b = c.input(1).shape;
  if (a.size() < 2 || b.size() < 2) c.unsupported("operands of rank 1 or 0");
  if (a[a.size() - 1] != b[b.size() - 2]) {
    c.bad("inner dimensions differ: A is " + ir::shape_text(a) + ", B is " + ir::shape_text(b));
  }
  auto batch = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!batch) c.bad("batch dimensions differ: A is " + ir::shape_text(a) + ", B is " + ir::shape_text(b));
  for (size_t i = 2; i < 4; ++i) {
    if (!c.has_input(i)) continue;
    c.require_same_type(i, i - 2);
    const int64_t channels = i == 2 ? a[a.size() - 2] : b[b.size() - 1];
    const int64_t n = c.input(i).elements();
    if (n != 1 && (n != channels || c.input(i).shape.size() != 1)) {
      c.unsupported("a zero point of shape " + ir::shape_text(c.input(i).shape));
    }
  }
  batch->push_back(a[a.size() - 2]);
  batch->push_back(b[b.size() - 1]);
  c.set_output(ElementType::int32, *batch);
}

}  // namespace dlc::onnx_import
