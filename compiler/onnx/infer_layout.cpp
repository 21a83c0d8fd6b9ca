// Shape inference of operators that move data, and of shape arithmetic.
#include <algorithm>
#include <set>

#include "compiler/ir/narrow_types.h"
#include "compiler/onnx/op_table.h"
#include "compiler/onnx/proto_reader.h"

namespace dlc::onnx_import {

using ir::ElementType;
using ir::Shape;

void infer_identity(InferContext& c) { c.set_output(c.input(0).type, c.input(0).shape); }

void infer_dropout(InferContext& c) {
  if (c.has_input(2)) {
    const ir::Value& training = c.input(2);
    if (!training.is_constant()) c.unsupported("training_mode must be a constant");
    if (training.type != ElementType::boolean || training.elements() != 1)
      c.bad("training_mode must be one boolean");
    if ((*training.data)[0] != 0) c.unsupported("training_mode true");
  }
  c.node.attributes.clear();
  c.node.inputs.resize(1);
  infer_identity(c);
  if (c.outputs.size() > 1) c.unsupported("the mask output");
}

void infer_flatten(InferContext& c) {
  const Shape& x = c.input(0).shape;
  const int64_t axis = c.axis("axis", 1, static_cast<int64_t>(x.size()), true);
  Shape out{1, 1};
  for (size_t i = 0; i < x.size(); ++i) out[i < static_cast<size_t>(axis) ? 0 : 1] *= x[i];
  c.set_output(c.input(0).type, out);
}

void infer_reshape(InferContext& c) {
  const Shape& x = c.input(0).shape;
  const bool allow_zero = c.integer("allowzero", 0, 0, 1) != 0;
  if (c.input(1).shape.size() != 1) c.bad("the shape input must have one dimension");
  Shape out = c.constant_integers(1, "the shape");
  int64_t known = 1;
  int free_at = -1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && !allow_zero) {
      if (i >= x.size())
        c.bad("shape entry " + std::to_string(i) + " is 0 (copy), but the input has rank " +
              std::to_string(x.size()));
      out[i] = x[i];
    }
    if (out[i] == -1) {
      if (free_at >= 0) c.bad("the shape has more than one -1");
      free_at = static_cast<int>(i);
    } else if (out[i] < 0 || (out[i] > 0 && known > (int64_t{1} << 40) / out[i])) {
      c.bad("the shape holds " + std::to_string(out[i]));
    } else {
      known *= out[i];
    }
  }
  const int64_t total = c.input(0).elements();
  if (free_at >= 0 && known > 0 && total % known == 0) out[static_cast<size_t>(free_at)] = total / known;
  if ((free_at >= 0 && out[static_cast<size_t>(free_at)] < 0) || (free_at < 0 && known != total)) {
    c.bad("cannot reshape " + ir::shape_text(x) + " (" + std::to_string(total) + " elements) to " +
          ir::shape_text(out));
  }
  c.node.attributes.clear();
  c.node.inputs.resize(1);  // the shape is the output's from here on
  c.set_output(c.input(0).type, out);
}

void infer_transpose(InferContext& c) {
  const Shape& x = c.input(0).shape;
  std::vector<int64_t> reversed;
  for (size_t i = x.size(); i > 0; --i) reversed.push_back(static_cast<int64_t>(i - 1));
  const auto perm = c.node.attribute<std::vector<int64_t>>("perm", reversed);
  auto sorted = perm;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (sorted != reversed)
    c.bad("attribute 'perm' is no permutation of the " + std::to_string(x.size()) + " dimensions");
  Shape out;
  for (int64_t p : perm) out.push_back(x[static_cast<size_t>(p)]);
  c.node.attributes["perm"] = perm;
  c.set_output(c.input(0).type, out);
}

namespace {

// `axes` of Squeeze/Unsqueeze: an attribute before opset 13, then an input. Sorted, non-negative, unique.
std::vector<int64_t> resolve_axes(InferContext& c, int64_t rank) {
  std::vector<int64_t> axes;
  if (c.node.opset >= 13) {
    if (c.node.attributes.contains("axes")) c.bad("axes is an input, not an attribute, since opset 13");
    if (c.has_input(1)) axes = c.constant_integers(1, "axes");
  } else {
    axes = c.node.attribute<std::vector<int64_t>>("axes");
  }
  for (int64_t& a : axes) {
    if (a < -rank || a >= rank)
      c.bad("axis " + std::to_string(a) + " is outside rank " + std::to_string(rank));
    if (a < 0) a += rank;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) c.bad("an axis is named twice");
  c.node.attributes.clear();
  c.node.inputs.resize(1);
  return axes;
}

}  // namespace

void infer_squeeze(InferContext& c) {
  const Shape x = c.input(0).shape;
  const auto axes = resolve_axes(c, static_cast<int64_t>(x.size()));
  Shape out;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (named && x[i] != 1)
      c.bad("dimension " + std::to_string(i) + " of " + ir::shape_text(x) + " is not 1");
    if (!named && !(axes.empty() && x[i] == 1)) out.push_back(x[i]);
  }
  c.set_output(c.input(0).type, out);
}

void infer_unsqueeze(InferContext& c) {
  const Shape x = c.input(0).shape;
  const size_t count = c.node.opset >= 13 ? (c.has_input(1) ? static_cast<size_t>(c.input(1).elements()) : 0)
                                          : c.node.attribute<std::vector<int64_t>>("axes").size();
  if (count == 0 || count > 16) c.bad("axes has " + std::to_string(count) + " entries");
  const auto axes = resolve_axes(c, static_cast<int64_t>(x.size() + count));
  Shape out;
  size_t from = 0;
  for (size_t i = 0; i < x.size() + axes.size(); ++i) {
    out.push_back(std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i)) ? 1 : x[from++]);
  }
  c.set_output(c.input(0).type, out);
}

// Canonical form: attributes pads (2 * rank) and value, a single input.
void infer_pad(InferContext& c) {
  if (c.node.attribute<std::string>("mode", "constant") != "constant") {
    c.unsupported("mode '" + c.node.attribute<std::string>("mode") + "'; only constant padding is supported");
  }
  const Shape& x = c.input(0).shape;
  if (c.node.opset >= 11) {
    if (!c.has_input(1)) c.bad("the pads input is missing");
    if (c.has_input(3)) c.unsupported("the axes input");
    c.require_float(0);
    c.node.attributes["pads"] = c.constant_integers(1, "pads");
    c.node.attributes["value"] = c.has_input(2) ? c.constant_real(2, "the value") : 0.0f;
  } else {
    c.require_float(0);
    c.real("value", 0.0f);
  }
  c.node.attributes.erase("mode");
  c.node.inputs.resize(1);
  const auto pads = c.integers("pads", 2 * x.size(), 0, -INT32_MAX, INT32_MAX);
  Shape out;
  for (size_t i = 0; i < x.size(); ++i) {
    out.push_back(x[i] + pads[i] + pads[i + x.size()]);
    if (x[i] + std::min<int64_t>(pads[i], 0) + std::min<int64_t>(pads[i + x.size()], 0) < 1) {
      c.bad("pads remove all of dimension " + std::to_string(i) + " of " + ir::shape_text(x));
    }
  }
  c.set_output(c.input(0).type, out);
}

void infer_concat(InferContext& c) {
  Shape out = c.input(0).shape;
  if (!c.node.attributes.contains("axis")) c.bad("attribute 'axis' is missing");
  if (out.empty()) c.bad("a scalar cannot be concatenated");
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(out.size())));
  for (size_t i = 1; i < c.node.inputs.size(); ++i) {
    if (!c.has_input(i)) c.bad("input " + std::to_string(i) + " is missing");
    const ir::Value& v = c.input(i);
    Shape expected = out;
    if (v.shape.size() == out.size()) expected[axis] = v.shape[axis];
    c.require_shape(i, expected, "input " + std::to_string(i));
    if (v.type != c.input(0).type) c.bad("the inputs have different types");
    out[axis] += v.shape[axis];
  }
  c.set_output(c.input(0).type, out);
}

// All shapes are known here: Shape is a constant whatever its input is.
void infer_shape(InferContext& c) {
  const auto rank = static_cast<int64_t>(c.input(0).shape.size());
  const auto clamp = [rank](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const int64_t start = clamp(c.node.attribute<int64_t>("start", 0));
  const int64_t end = clamp(c.node.attribute<int64_t>("end", rank));
  c.node.attributes["start"] = start;
  c.node.attributes["end"] = end;
  c.set_output(ElementType::int64, {std::max<int64_t>(0, end - start)});
}

void infer_gather(InferContext& c) {
  const Shape& x = c.input(0).shape;
  c.require_type(1, {ElementType::int32, ElementType::int64});
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(x.size())));
  if (c.input(1).is_constant()) {  // others are checked when they are known
    for (int64_t i : c.constant_integers(1, "the indices")) {
      if (i < -x[axis] || i >= x[axis])
        c.bad("index " + std::to_string(i) + " is outside dimension " + std::to_string(axis) + " of " +
              ir::shape_text(x));
    }
  }
  Shape out(x.begin(), x.begin() + static_cast<int64_t>(axis));
  out.insert(out.end(), c.input(1).shape.begin(), c.input(1).shape.end());
  out.insert(out.end(), x.begin() + static_cast<int64_t>(axis) + 1, x.end());
  c.set_output(c.input(0).type, out);
}

void infer_cast(InferContext& c) {
  const int64_t to = std::clamp<int64_t>(c.node.attribute<int64_t>("to"), 0, 1000);
  const ElementType type = element_type_from_onnx(static_cast<int>(to));
  if (type == ElementType::undefined) c.unsupported("a cast to " + onnx_type_name(static_cast<int>(to)));
  if (!ir::is_narrow(type)) {  // they are about narrow floats only
    c.node.attributes.erase("saturate");
    c.node.attributes.erase("round_mode");
  }
  c.set_output(type, c.input(0).shape);
}

// Becomes a Cast.
void infer_cast_like(InferContext& c) {
  c.node.op = "Cast";
  c.node.attributes["to"] = int64_t{onnx_type_of(c.input(1).type)};
  c.node.inputs.resize(1);
  infer_cast(c);
}

// Canonical form: attributes starts, steps per dimension (all of them), a single input.
void infer_slice(InferContext& c) {
  const Shape x = c.input(0).shape;
  const auto rank = static_cast<int64_t>(x.size());
  std::vector<int64_t> starts, ends, axes, steps;
  if (c.node.opset >= 10) {
    if (!c.has_input(1) || !c.has_input(2)) c.bad("starts or ends are missing");
    starts = c.constant_integers(1, "starts");
    ends = c.constant_integers(2, "ends");
    if (c.has_input(3)) axes = c.constant_integers(3, "axes");
    if (c.has_input(4)) steps = c.constant_integers(4, "steps");
  } else {
    starts = c.node.attribute<std::vector<int64_t>>("starts");
    ends = c.node.attribute<std::vector<int64_t>>("ends");
    axes = c.node.attribute<std::vector<int64_t>>("axes");
  }
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    c.bad("starts, ends, axes and steps have different lengths");
  }
  std::vector<int64_t> all_starts(x.size(), 0), all_steps(x.size(), 1);
  Shape out = x;
  std::set<int64_t> seen;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || !seen.insert(axis).second)
      c.bad("axis " + std::to_string(axes[i]) + " is wrong or repeated");
    const auto a = static_cast<size_t>(axis);
    const int64_t n = x[a];
    if (steps[i] < 1 || steps[i] > INT32_MAX) c.unsupported("step " + std::to_string(steps[i]));
    const auto clamp = [n](int64_t v) {
      return v < 0 ? std::max<int64_t>(0, std::max(v, -n) + n) : std::min(v, n);
    };
    all_starts[a] = clamp(starts[i]);
    all_steps[a] = steps[i];
    out[a] = std::max<int64_t>(0, (clamp(ends[i]) - all_starts[a] + steps[i] - 1) / steps[i]);
  }
  c.node.attributes = {{"starts", all_starts}, {"steps", all_steps}};
  c.node.inputs.resize(1);
  c.set_output(c.input(0).type, out);
}

}  // namespace dlc::onnx_import
