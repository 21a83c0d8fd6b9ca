// Shape inference of operators with windows and products: convolutions, pools, Gemm, MatMul, normalisation.
#include <algorithm>
#include <numeric>

#include "compiler/ir/narrow_types.h"
#include "compiler/onnx/op_table.h"

namespace dlc::onnx_import {
namespace {

constexpr int64_t kMax = INT32_MAX;  // any window attribute; products of two stay far inside 64 bits

// Explicit pads of one spatial dimension for auto_pad, and the output size.
struct WindowDim {
  int64_t begin = 0, end = 0, out = 0;
};

WindowDim window_dim(InferContext& c, const std::string& auto_pad, int64_t in, int64_t kernel, int64_t stride,
                     int64_t dilation, int64_t begin, int64_t end, bool ceil_mode) {
  WindowDim d{begin, end, 0};
  const int64_t extent = (kernel - 1) * dilation + 1;
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    d.out = (in + stride - 1) / stride;
    const int64_t total = std::max<int64_t>(0, (d.out - 1) * stride + extent - in);
    d.begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    d.end = total - d.begin;
    return d;
  }
  const int64_t span = in + d.begin + d.end - extent;
  if (span < 0) {
    c.bad("the window (" + std::to_string(extent) + ") is larger than the padded input (" +
          std::to_string(in + d.begin + d.end) + ")");
  }
  d.out = span / stride + 1;
  if (ceil_mode && span % stride != 0) {
    // A window that would begin in the padding behind the input is dropped (as ONNX Runtime does).
    if (d.out * stride < in + d.begin) ++d.out;
  }
  return d;
}

// Makes strides, dilations, pads, kernel_shape explicit; returns the output's spatial shape.
ir::Shape resolve_window(InferContext& c, const std::vector<int64_t>& kernel, bool ceil_mode) {
  const ir::Shape& x = c.input(0).shape;
  const size_t rank = x.size() - 2;
  const auto strides = c.integers("strides", rank, 1, 1, kMax);
  const auto dilations = c.integers("dilations", rank, 1, 1, kMax);
  const std::string auto_pad = c.node.attribute<std::string>("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER") {
    c.bad("attribute 'auto_pad' is '" + auto_pad + "'; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  if (auto_pad != "NOTSET") c.node.attributes.erase("pads");
  auto pads = c.integers("pads", 2 * rank, 0, 0, kMax);
  ir::Shape out;
  for (size_t i = 0; i < rank; ++i) {
    if (x[2 + i] < 1) c.bad("the input ('" + c.input(0).name + "') is empty: " + ir::shape_text(x));
    const WindowDim d = window_dim(c, auto_pad, x[2 + i], kernel[i], strides[i], dilations[i], pads[i],
                                   pads[i + rank], ceil_mode);
    pads[i] = d.begin;
    pads[i + rank] = d.end;
    out.push_back(d.out);
  }
  c.node.attributes["pads"] = pads;
  c.node.attributes.erase("auto_pad");
  return out;
}

// Two spatial dimensions, or (with `any`) another number: the operator is then called ...Nd in the Graph IR, and runs
// on the host.
void require_spatial_input(InferContext& c, bool any = false) {
  const size_t rank = c.input(0).shape.size();
  if (rank == 3 || rank == 5 || rank == 6) {
    if (!any) c.unsupported(std::to_string(rank - 2) + "-dimensional windows; only 2-D ones (NCHW) are supported");
    c.node.op += "Nd";
    return;
  }
  c.require_rank(0, 4, "input");
}

void infer_pool(InferContext& c) {
  require_spatial_input(c, true);
  if (!c.node.attributes.contains("kernel_shape")) c.bad("attribute 'kernel_shape' is missing");
  const size_t rank = c.input(0).shape.size() - 2;
  const auto kernel = c.integers("kernel_shape", rank, 1, 1, kMax);
  const bool ceil_mode = c.integer("ceil_mode", 0, 0, 1) != 0;
  const ir::Shape hw = resolve_window(c, kernel, ceil_mode);
  const auto pads = c.node.attribute<std::vector<int64_t>>("pads");
  const auto dilations = c.node.attribute<std::vector<int64_t>>("dilations");
  for (size_t i = 0; i < 2 * rank; ++i) {
    if (pads[i] > (kernel[i % rank] - 1) * dilations[i % rank]) {
      c.bad("attribute 'pads' holds " + std::to_string(pads[i]) + ", as large as the window (" +
            std::to_string((kernel[i % rank] - 1) * dilations[i % rank] + 1) + ")");
    }
  }
  ir::Shape out{c.input(0).shape[0], c.input(0).shape[1]};
  out.insert(out.end(), hw.begin(), hw.end());
  c.set_output(c.input(0).type, std::move(out));
}

}  // namespace

namespace {

// Window, groups and output shape of a convolution of any element type.
void infer_convolution(InferContext& c, ir::ElementType type) {
  require_spatial_input(c, ir::is_float(type));
  const ir::Shape& x = c.input(0).shape;
  const ir::Shape& w = c.input(1).shape;
  c.require_rank(1, x.size(), "weight");
  if (ir::checked_element_count(w).value_or(0) == 0) c.bad("the weight ('" + c.input(1).name + "') is empty");
  const int64_t group = c.integer("group", 1, 1, kMax);
  const std::vector<int64_t> kernel(w.begin() + 2, w.end());
  if (*std::max_element(kernel.begin(), kernel.end()) > kMax) c.bad("impossible weight shape " + ir::shape_text(w));
  const auto stated = c.node.attribute<std::vector<int64_t>>("kernel_shape", kernel);
  if (stated != kernel) {
    c.bad("kernel_shape is " + ir::shape_text(stated) + " but the weight has shape " + ir::shape_text(w));
  }
  c.node.attributes["kernel_shape"] = kernel;
  if (x[1] != w[1] * group) {
    c.bad("the input has " + std::to_string(x[1]) + " channels; the weight " + ir::shape_text(w) + " with " +
          std::to_string(group) + " groups expects " + std::to_string(w[1] * group));
  }
  if (w[0] % group != 0)
    c.bad(std::to_string(w[0]) + " output channels are not divisible into " + std::to_string(group) +
          " groups");
  const int64_t n = x[0], channels = w[0];
  const ir::Shape hw = resolve_window(c, kernel, false);
  ir::Shape out{n, channels};
  out.insert(out.end(), hw.begin(), hw.end());
  c.set_output(type, std::move(out));
}

}  // namespace

void infer_conv(InferContext& c) {
  for (size_t i = 0; i < c.node.inputs.size(); ++i) c.require_float(i);
  infer_convolution(c, c.input(0).type);
  if (c.has_input(2)) c.require_shape(2, {c.input(1).shape[0]}, "bias");
}

void infer_conv_integer(InferContext& c) {
  for (size_t i = 0; i < 2; ++i) c.require_type(i, {ir::ElementType::int8, ir::ElementType::uint8});
  infer_convolution(c, ir::ElementType::int32);
  for (size_t i = 2; i < 4; ++i) {
    if (!c.has_input(i)) continue;
    c.require_type(i, {c.input(i - 2).type});
    const int64_t n = c.input(i).elements();
    if (n != 1 && (i == 2 || n != c.input(1).shape[0])) {
      c.bad("a zero point has shape " + ir::shape_text(c.input(i).shape));
    }
  }
}

void infer_max_pool(InferContext& c) {
  c.integer("storage_order", 0, 0, 1);
  if (c.input(0).type != ir::ElementType::int8 && c.input(0).type != ir::ElementType::uint8) c.require_real(0);
  infer_pool(c);
  // With indices, of whatever rank: on the host.
  const bool indices = c.outputs.size() > 1, wide = c.input(0).type == ir::ElementType::float64;
  if ((indices || wide) && c.node.op == "MaxPool") c.node.op = "MaxPoolNd";
  if (!indices) return;
  c.outputs[1].type = ir::ElementType::int64;
  c.outputs[1].shape = c.outputs[0].shape;
}

void infer_lp_pool(InferContext& c) {
  c.require_real(0);
  c.integer("p", 2, 1, 1 << 20);
  infer_pool(c);
  c.node.op = "LpPool";
}

void infer_average_pool(InferContext& c) {
  c.integer("count_include_pad", 0, 0, 1);
  c.require_float(0);
  infer_pool(c);
}

void infer_global_pool(InferContext& c) {
  c.require_float(0);
  require_spatial_input(c, true);
  const ir::Shape& x = c.input(0).shape;
  if (c.input(0).elements() < 1) c.bad("the input is empty: " + ir::shape_text(x));
  ir::Shape out{x[0], x[1]};
  out.resize(x.size(), 1);
  if (x.size() != 4) {  // as a window of the whole map
    c.node.op = c.node.op.starts_with("GlobalMax") ? "MaxPoolNd" : "AveragePoolNd";
    const std::vector<int64_t> map(x.begin() + 2, x.end()), ones(map.size(), 1);
    c.node.attributes = {{"kernel_shape", map}, {"strides", ones}, {"dilations", ones},
                         {"pads", std::vector<int64_t>(2 * map.size(), 0)}};
  }
  c.set_output(c.input(0).type, out);
}

void infer_gemm(InferContext& c) {
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    if (c.has_input(i)) c.require_float(i);
  }
  c.require_rank(0, 2, "input A");
  c.require_rank(1, 2, "input B");
  c.real("alpha", 1.0f);
  c.real("beta", 1.0f);
  // Any value but 0 transposes (ONNX); made canonical.
  for (const char* name : {"transA", "transB"}) {
    c.node.attributes[name] = int64_t{c.node.attribute<int64_t>(name) != 0};
  }
  const ir::Shape& a = c.input(0).shape;
  const ir::Shape& b = c.input(1).shape;
  const bool ta = c.node.attribute<int64_t>("transA") != 0;
  const bool tb = c.node.attribute<int64_t>("transB") != 0;
  if (a[ta ? 0 : 1] != b[tb ? 1 : 0]) {
    c.bad("inner dimensions differ: A is " + ir::shape_text(a) + (ta ? " transposed" : "") + ", B is " +
          ir::shape_text(b) + (tb ? " transposed" : ""));
  }
  const ir::Shape out{a[ta ? 1 : 0], b[tb ? 0 : 1]};
  if (c.has_input(2) && broadcast(c.input(2).shape, out) != out) {
    c.bad("input C has shape " + ir::shape_text(c.input(2).shape) + ", which does not broadcast to " +
          ir::shape_text(out));
  }
  c.set_output(c.input(0).type, out);
}

void infer_matmul(InferContext& c) {
  c.require_float(0);
  c.require_float(1);
  const ir::Shape& a = c.input(0).shape;
  const ir::Shape& b = c.input(1).shape;
  if (a.size() < 2 || b.size() < 2) c.unsupported("operands of rank 1 or 0");
  if (a[a.size() - 1] != b[b.size() - 2]) {
    c.bad("inner dimensions differ: A is " + ir::shape_text(a) + ", B is " + ir::shape_text(b));
  }
  auto batch = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!batch) c.bad("batch dimensions differ: A is " + ir::shape_text(a) + ", B is " + ir::shape_text(b));
  batch->push_back(a[a.size() - 2]);
  batch->push_back(b[b.size() - 1]);
  c.set_output(c.input(0).type, *batch);
}

void infer_batch_normalization(InferContext& c) {
  for (size_t i = 0; i < 5; ++i) c.require_float(i);
  const ir::Shape& x = c.input(0).shape;
  if (x.size() < 2) c.bad("the input has shape " + ir::shape_text(x) + "; expected rank 2 or more");
  c.real("epsilon", 1e-5f);
  c.node.attributes.erase("momentum");
  if (c.integer("training_mode", 0, 0, 1) != 0) c.unsupported("training_mode 1");
  if (c.integer("spatial", 1, 0, 1) != 1) c.unsupported("spatial 0");
  if (c.node.outputs.size() > 1) c.unsupported("training outputs");
  const char* names[] = {"", "scale", "B", "mean", "variance"};
  for (size_t i = 1; i < 5; ++i) c.require_shape(i, {x[1]}, names[i]);
  c.set_output(c.input(0).type, x);
}

}  // namespace dlc::onnx_import
