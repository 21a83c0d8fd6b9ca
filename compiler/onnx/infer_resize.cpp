// Shape inference of operators that change the resolution: Resize, Upsample, DepthToSpace, SpaceToDepth,
// ConvTranspose; and of Max and Min.
#include <cmath>

#include "compiler/onnx/op_table.h"

namespace dlc::onnx_import {
namespace {

constexpr int64_t kMax = INT32_MAX;

std::string text_attribute(InferContext& c, const std::string& name, const std::string& otherwise,
                           std::initializer_list<const char*> known) {
  const auto v = c.node.attribute<std::string>(name, otherwise);
  std::string expected;
  for (const char* k : known) {
    if (v == k) {
      c.node.attributes[name] = v;
      return v;
    }
    expected += (expected.empty() ? "" : ", ") + std::string(k);
  }
  c.unsupported("attribute '" + name + "' is '" + v + "'; supported: " + expected);
}

std::vector<float> constant_reals(InferContext& c, size_t i, const std::string& what) {
  const ir::Value& v = c.input(i);
  if (!v.is_constant()) c.unsupported(what + " ('" + v.name + "') must be constant");
  if (v.type != ir::ElementType::float32) c.bad(what + " must be float32");
  const auto s = v.constant<float>();
  return {s.begin(), s.end()};
}

// Canonical form: a single input, attributes mode, scales (all dimensions), coordinates and rounding.
void finish_resize(InferContext& c, const std::vector<float>& scales, const std::vector<int64_t>& sizes) {
  const ir::Shape x = c.input(0).shape;
  c.require_rank(0, 4, "input");
  if (scales.size() != 4 && sizes.size() != 4) c.bad("expected one scale or size per dimension of the input");
  ir::Shape out;
  std::vector<float> factors;
  for (size_t d = 0; d < 4; ++d) {
    const bool by_size = sizes.size() == 4;
    if (!by_size && !(scales[d] > 0 && scales[d] < 65536)) c.bad("a scale is " + std::to_string(scales[d]));
    const double wanted =
        by_size ? static_cast<double>(sizes[d])
                : std::floor(static_cast<double>(x[d]) * static_cast<double>(scales[d]));
    if (!(wanted >= 1 && wanted <= static_cast<double>(kMax))) c.bad("the result would be empty");
    out.push_back(static_cast<int64_t>(wanted));
    factors.push_back(by_size ? static_cast<float>(wanted / static_cast<double>(x[d])) : scales[d]);
  }
  if (out[0] != x[0] || out[1] != x[1]) c.unsupported("resizing images or channels; only H and W");
  c.node.attributes["scales"] = factors;
  c.node.inputs.resize(1);
  c.set_output(c.input(0).type, out);
}

int64_t block_size(InferContext& c) {
  c.require_float(0);
  c.require_rank(0, 4, "input");
  if (!c.node.attributes.contains("blocksize")) c.bad("attribute 'blocksize' is missing");
  return c.integer("blocksize", 1, 1, 4096);
}

}  // namespace

void infer_extreme(InferContext& c) { infer_binary(c); }

void infer_resize(InferContext& c) {
  c.require_float(0);
  const std::string mode = text_attribute(c, "mode", "nearest", {"nearest", "linear"});
  const bool first_form = c.node.opset == 10;
  text_attribute(c, "coordinate_transformation_mode", first_form ? "asymmetric" : "half_pixel",
                 {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"});
  text_attribute(c, "nearest_mode", first_form ? "floor" : "round_prefer_floor",
                 {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  text_attribute(c, "keep_aspect_ratio_policy", "stretch", {"stretch"});
  if (c.integer("antialias", 0, 0, 1) != 0) c.unsupported("antialias");
  if (c.node.attributes.contains("axes")) c.unsupported("axes");
  for (const char* name : {"antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value",
                           "keep_aspect_ratio_policy"})
    c.node.attributes.erase(name);
  const size_t scales = first_form ? 1 : 2;
  if (c.has_input(3)) return finish_resize(c, {}, c.constant_integers(3, "sizes"));
  if (!c.has_input(scales)) c.bad("neither scales nor sizes are given");
  finish_resize(c, constant_reals(c, scales, "scales"), {});
}

void infer_upsample(InferContext& c) {
  c.require_float(0);
  text_attribute(c, "mode", "nearest", {"nearest", "linear"});
  c.node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  c.node.attributes["nearest_mode"] = std::string("floor");
  if (c.node.opset >= 9 && !c.has_input(1)) c.bad("scales are missing");
  finish_resize(c,
                c.node.opset >= 9 ? constant_reals(c, 1, "scales")
                                  : c.node.attribute<std::vector<float>>("scales"),
                {});
}

void infer_depth_to_space(InferContext& c) {
  const int64_t size = block_size(c);
  text_attribute(c, "mode", "DCR", {"DCR", "CRD"});
  const ir::Shape& x = c.input(0).shape;
  if (x[1] % (size * size) != 0) {
    c.bad(std::to_string(x[1]) + " channels are not divisible by blocksize squared (" +
          std::to_string(size * size) + ")");
  }
  c.set_output(c.input(0).type, {x[0], x[1] / (size * size), x[2] * size, x[3] * size});
}

void infer_space_to_depth(InferContext& c) {
  const int64_t size = block_size(c);
  const ir::Shape& x = c.input(0).shape;
  if (x[2] % size != 0 || x[3] % size != 0) c.bad("height and width are not divisible by blocksize");
  c.set_output(c.input(0).type, {x[0], x[1] * size * size, x[2] / size, x[3] / size});
}

void infer_conv_transpose(InferContext& c) {
  for (size_t i = 0; i < c.node.inputs.size(); ++i)
    if (c.has_input(i)) c.require_float(i);
  c.require_rank(0, 4, "input");
  c.require_rank(1, 4, "weight");
  const ir::Shape &x = c.input(0).shape, &w = c.input(1).shape;
  const int64_t group = c.integer("group", 1, 1, kMax);
  if (w[0] != x[1]) {
    c.bad("the input has " + std::to_string(x[1]) + " channels, the weight ('" + c.input(1).name +
          "') is for " + std::to_string(w[0]));
  }
  if (x[1] % group != 0) c.bad("the channels are not divisible into " + std::to_string(group) + " groups");
  if (text_attribute(c, "auto_pad", "NOTSET", {"NOTSET", "VALID"}) == "VALID") c.node.attributes.erase("pads");
  c.node.attributes.erase("auto_pad");
  if (c.node.attributes.contains("output_shape")) c.unsupported("output_shape; give pads");
  const auto strides = c.integers("strides", 2, 1, 1, kMax);
  const auto dilations = c.integers("dilations", 2, 1, 1, kMax);
  const auto pads = c.integers("pads", 4, 0, 0, kMax);
  const auto extra = c.integers("output_padding", 2, 0, 0, kMax);
  c.node.attributes["kernel_shape"] = std::vector<int64_t>{w[2], w[3]};
  if (ir::checked_element_count(w).value_or(0) == 0 || ir::checked_element_count(x).value_or(0) == 0)
    c.bad("an operand is empty");
  ir::Shape out{x[0], w[1] * group};
  for (size_t i = 0; i < 2; ++i) {
    if (extra[i] >= std::max(strides[i], dilations[i])) c.bad("output_padding is as large as the stride");
    const int64_t size = (x[2 + i] - 1) * strides[i] + extra[i] + (w[2 + i] - 1) * dilations[i] + 1 -
                         pads[i] - pads[i + 2];
    if (size < 1) c.bad("the pads leave nothing of the result");
    out.push_back(size);
  }
  if (c.has_input(2)) c.require_shape(2, {out[1]}, "bias");
  c.set_output(c.input(0).type, out);
}

}  // namespace dlc::onnx_import
