// Shape inference of operators that gather and scatter elements.
#include <algorithm>

#include "compiler/onnx/op_table.h"

namespace dlc::onnx_import {

using ir::ElementType;
using ir::Shape;

namespace {

void require_indices(InferContext& c, size_t i) { c.require_type(i, {ElementType::int32, ElementType::int64}); }

void check_reduction(InferContext& c) {
  const auto reduction = c.node.attribute<std::string>("reduction", "none");
  for (const char* known : {"none", "add", "mul", "min", "max"}) {
    if (reduction != known) continue;
    c.node.attributes["reduction"] = reduction;
    if (reduction != "none") c.require_number(0);
    return;
  }
  c.bad("reduction is '" + reduction + "'; expected none, add, mul, min or max");
}

}  // namespace

void infer_gather_elements(InferContext& c) {
  require_indices(c, 1);
  const Shape &x = c.input(0).shape, &at = c.input(1).shape;
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(x.size())));
  if (at.size() != x.size()) c.bad("the indices have rank " + std::to_string(at.size()));
  for (size_t i = 0; i < x.size(); ++i)
    if (i != axis && at[i] > x[i]) c.bad("the indices are larger than the input in dimension " + std::to_string(i));
  c.set_output(c.input(0).type, at);
}

void infer_gather_nd(InferContext& c) {
  require_indices(c, 1);
  const Shape &x = c.input(0).shape, &at = c.input(1).shape;
  if (x.empty() || at.empty()) c.bad("an operand is a scalar");
  const int64_t batch = c.integer("batch_dims", 0, 0, static_cast<int64_t>(std::min(x.size(), at.size())) - 1);
  const int64_t depth = at.back();
  if (depth < 1 || batch + depth > static_cast<int64_t>(x.size())) c.bad("the indices are longer than the input's rank");
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i)
    if (x[i] != at[i]) c.bad("batch dimension " + std::to_string(i) + " differs");
  Shape out(at.begin(), at.end() - 1);
  out.insert(out.end(), x.begin() + batch + depth, x.end());
  c.set_output(c.input(0).type, out);
}

void infer_scatter_elements(InferContext& c) {
  c.node.op = "ScatterElements";
  require_indices(c, 1);
  c.require_same_type(0, 2);
  check_reduction(c);
  const Shape &x = c.input(0).shape, &at = c.input(1).shape;
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(x.size())));
  c.require_shape(2, at, "updates");
  if (at.size() != x.size()) c.bad("the indices have rank " + std::to_string(at.size()));
  for (size_t i = 0; i < x.size(); ++i)
    if (i != axis && at[i] > x[i]) c.bad("the indices are larger than the input in dimension " + std::to_string(i));
  c.set_output(c.input(0).type, x);
}

void infer_scatter_nd(InferContext& c) {
  require_indices(c, 1);
  c.require_same_type(0, 2);
  check_reduction(c);
  const Shape &x = c.input(0).shape, &at = c.input(1).shape;
  if (x.empty() || at.empty()) c.bad("an operand is a scalar");
  if (at.back() < 1 || at.back() > static_cast<int64_t>(x.size())) c.bad("the indices are longer than the input's rank");
  Shape updates(at.begin(), at.end() - 1);
  updates.insert(updates.end(), x.begin() + at.back(), x.end());
  c.require_shape(2, updates, "updates");
  c.set_output(c.input(0).type, x);
}

void infer_tensor_scatter(InferContext& c) {
  const Shape &x = c.input(0).shape, &update = c.input(1).shape;
  c.require_same_type(0, 1);
  const auto axis = static_cast<size_t>(c.axis("axis", -2, static_cast<int64_t>(x.size())));
  const auto mode = c.node.attribute<std::string>("mode", "linear");
  if (mode != "linear" && mode != "circular") c.bad("mode is '" + mode + "'; expected linear or circular");
  c.node.attributes["mode"] = mode;
  Shape expected = x;
  if (axis == 0) c.bad("the axis is the batch");
  if (update.size() == x.size()) expected[axis] = std::min(update[axis], x[axis]);
  c.require_shape(1, expected, "the update");
  if (c.has_input(2)) {
    require_indices(c, 2);
    c.require_shape(2, {x[0]}, "the write indices");
  }
  c.set_output(c.input(0).type, x);
}

// Canonical form: attributes axis (absent: the flattened input) and the indices of what stays; a single input.
void infer_compress(InferContext& c) {
  const ir::Value& condition = c.input(1);
  if (condition.type != ElementType::boolean || condition.shape.size() != 1) c.bad("the condition is no list of booleans");
  if (!condition.is_constant()) c.unsupported("the condition ('" + condition.name + "') must be a constant");
  Shape out = c.input(0).shape;
  const bool flat = !c.node.attributes.contains("axis");
  const size_t axis = flat ? 0 : static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(out.size())));
  if (flat) out = {c.input(0).elements()};
  std::vector<int64_t> kept;
  const auto flags = condition.constant<uint8_t>();
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == 0) continue;
    if (static_cast<int64_t>(i) >= out[axis]) c.bad("the condition is longer than the input");
    kept.push_back(static_cast<int64_t>(i));
  }
  out[axis] = static_cast<int64_t>(kept.size());
  c.node.attributes["kept"] = kept;
  c.node.inputs.resize(1);
  c.set_output(c.input(0).type, out);
}

void infer_reverse_sequence(InferContext& c) {
  const Shape& x = c.input(0).shape;
  if (x.size() < 2) c.bad("the input has shape " + ir::shape_text(x));
  const int64_t batch = c.integer("batch_axis", 1, 0, 1), time = c.integer("time_axis", 0, 0, 1);
  if (batch == time) c.bad("batch_axis and time_axis are the same");
  require_indices(c, 1);
  c.require_shape(1, {x[static_cast<size_t>(batch)]}, "sequence_lens");
  c.set_output(c.input(0).type, x);
}

// Becomes a Slice and a Pad in one: attributes starts (negative: padding) per dimension; a single input.
void infer_center_crop_pad(InferContext& c) {
  const Shape x = c.input(0).shape;
  const auto rank = static_cast<int64_t>(x.size());
  std::vector<int64_t> axes = c.node.attribute<std::vector<int64_t>>("axes");
  const auto wanted = c.constant_integers(1, "the shape");
  if (axes.empty())
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  if (axes.size() != wanted.size()) c.bad("axes and shape have different lengths");
  Shape out = x;
  std::vector<int64_t> starts(x.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || wanted[i] < 0) c.bad("axis " + std::to_string(axes[i]) + " or its size is wrong");
    const auto a = static_cast<size_t>(axis);
    out[a] = wanted[i];
    starts[a] = wanted[i] >= x[a] ? -((wanted[i] - x[a]) / 2) : (x[a] - wanted[i]) / 2;
  }
  c.node.attributes = {{"starts", starts}};
  c.node.inputs.resize(1);
  c.set_output(c.input(0).type, out);
}

}  // namespace dlc::onnx_import
