// Shape inference of losses and normalisations that run on the host only.
#include <algorithm>

#include "compiler/onnx/op_table.h"

namespace dlc::onnx_import {

using ir::ElementType;
using ir::Shape;

void infer_loss(InferContext& c) {
  c.require_real(0);
  c.require_type(1, {ElementType::int32, ElementType::int64});
  const Shape x = c.input(0).shape;
  if (x.size() < 2) c.bad("the input has shape " + ir::shape_text(x) + "; expected rank 2 or more");
  Shape targets = x;
  targets.erase(targets.begin() + 1);
  c.require_shape(1, targets, "the targets");
  if (c.has_input(2)) c.require_shape(2, {x[1]}, "the weights");
  const auto reduction = c.node.attribute<std::string>("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") c.bad("reduction is '" + reduction + "'");
  c.node.attributes["reduction"] = reduction;
  c.set_output(c.input(0).type, reduction == "none" ? targets : Shape{});
  if (c.outputs.size() < 2) return;
  c.outputs[1].type = c.input(0).type;
  c.outputs[1].shape = x;
}

void infer_rms_normalization(InferContext& c) {
  c.require_real(0);
  c.require_real(1);
  if (c.node.attribute<int64_t>("stash_type", 1) != 1) c.unsupported("stash_type other than float32");
  c.node.attributes.erase("stash_type");
  const Shape x = c.input(0).shape;
  const int64_t axis = c.axis("axis", -1, static_cast<int64_t>(x.size()));
  const Shape normalised(x.begin() + axis, x.end());
  if (broadcast(c.input(1).shape, normalised) != normalised)
    c.bad("the scale has shape " + ir::shape_text(c.input(1).shape) + "; expected " + ir::shape_text(normalised));
  c.real("epsilon", 1e-5f);
  c.set_output(c.input(0).type, x);
}

void infer_group_normalization(InferContext& c) {
  for (size_t i = 0; i < 3; ++i) c.require_real(i);
  const Shape x = c.input(0).shape;
  if (x.size() < 2) c.bad("the input has shape " + ir::shape_text(x));
  const int64_t groups = c.integer("num_groups", 0, 1, INT32_MAX);
  if (x[1] % groups != 0) c.bad(std::to_string(x[1]) + " channels are not divisible into groups");
  const int64_t parameters = c.node.opset < 21 ? groups : x[1];
  c.require_shape(1, {parameters}, "scale");
  c.require_shape(2, {parameters}, "bias");
  c.real("epsilon", 1e-5f);
  c.node.attributes.erase("stash_type");
  c.set_output(c.input(0).type, x);
}

void infer_lp_normalization(InferContext& c) {
  c.require_real(0);
  c.axis("axis", -1, static_cast<int64_t>(c.input(0).shape.size()));
  c.integer("p", 2, 1, 2);
  c.set_output(c.input(0).type, c.input(0).shape);
}

void infer_mean_variance_normalization(InferContext& c) {
  c.require_real(0);
  const auto rank = static_cast<int64_t>(c.input(0).shape.size());
  auto axes = c.node.attribute<std::vector<int64_t>>("axes", {0, 2, 3});
  for (int64_t& a : axes) {
    if (a < -rank || a >= rank) c.bad("axis " + std::to_string(a) + " is outside the input");
    if (a < 0) a += rank;
  }
  c.node.attributes["axes"] = axes;
  c.set_output(c.input(0).type, c.input(0).shape);
}

}  // namespace dlc::onnx_import
