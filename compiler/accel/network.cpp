#include "compiler/accel/network_builder.h"

#include "compiler/accel/compile.h"

namespace dlc::accel {
namespace {

constexpr int64_t kMaxStep = 65535;  // loop counts have 16 bits

std::optional<std::string> check_value(const Graph& graph, ValueId id) {
  const ir::Value& v = graph.value(id);
  if (!ir::is_8bit(v.type)) return "tensor '" + v.name + "' is not 8 bit";
  if (v.shape.empty() || v.shape.size() > 4)
    return "tensor '" + v.name + "' has rank " + std::to_string(v.shape.size()) +
           "; the accelerator takes 1 to 4";
  for (int64_t d : v.shape)
    if (d < 1 || d > kMaxStep)
      return "tensor '" + v.name + "' has a dimension outside 1.." + std::to_string(kMaxStep);
  return std::nullopt;
}

std::optional<std::string> check_conv(const Graph& graph, const Node& node, const ir::QConv& conv) {
  if (!graph.value(node.inputs.at(1)).is_constant()) return "its weights are not constant";
  if (!ir::is_8bit(graph.value(node.inputs[1]).type)) return "its weights are not 8 bit";
  if (conv.residual && conv.residual->a_zero != conv.rescale.zero)
    return "the zero point of its own result differs between rescale and residual";
  return std::nullopt;
}

// A view is free when it only adds or drops dimensions of 1, or flattens (C,H,W) for a fully connected layer.
bool is_free_view(const Nchw& from, const Nchw& to) {
  if (from == to) return true;
  return from.n == to.n && to.c == from.c * from.h * from.w && to.h == 1 && to.w == 1;
}

// Parts that lie apart in channels and are not whole blocks go through a permutation, which has no other steps.
std::optional<std::string> check_place(const Graph& graph, const Node& node) {
  const auto& q = std::get<ir::QPlace>(node.payload);
  const Nchw y = as_nchw(graph.value(node.outputs[0]).shape);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (graph.value(node.inputs[i]).is_constant()) return "an operand is a constant";
    const Nchw x = as_nchw(graph.value(node.inputs[i]).shape);
    const bool whole_map = x.n == y.n && x.h == y.h && x.w == y.w;
    if (q.step[4 * i] != 1 || q.step[4 * i + 1] != 1 || (x.c != y.c && !whole_map))
      return "it places parts apart in channels and in another dimension at once";
  }
  return std::nullopt;
}

std::optional<std::string> check_pool(const Nchw& x, const Nchw& y, const ir::QPool& pool) {
  if (pool.kernel[0] * pool.kernel[1] * 511 > INT32_MAX) return "its window's sum could overflow 32 bits";
  const std::pair<int64_t, int64_t> maps[] = {{x.h, y.h}, {x.w, y.w}};
  for (size_t i = 0; i < 2; ++i)
    for (const AxisClass& c : classes_by_output(
             {maps[i].first, pool.kernel[i], pool.stride[i], pool.dilation[i], pool.pad[i]}, {0, maps[i].second}))
      if (c.taps.size() == 0) return "a window lies in the padding altogether";
  return std::nullopt;
}

std::optional<std::string> check_flattened_use(const Graph& graph, const Node& view) {
  for (const ir::Use& use : graph.consumers(view.outputs[0])) {
    const Node& reader = graph.node(use.node);
    const auto* conv = std::get_if<ir::QConv>(&reader.payload);
    if (reader.is("reshape")) continue;
    if (!conv || use.input != 0 || conv->kernel != std::array<int64_t, 2>{1, 1} || conv->groups != 1)
      return "its result is flattened over H and W, which only a fully connected layer can read";
  }
  return std::nullopt;
}

// Accumulators wrap at 32 bits; the sum of |w - w_zero| bounds what a channel can reach.
void check_accumulator(const LayerPlan& layer, const ir::QConv& conv, int64_t out_channels, bool x_signed) {
  const int64_t per_channel =
      layer.in_channels / conv.groups * layer.window.kernel[0] * layer.window.kernel[1];
  const int64_t low = x_signed ? -128 : 0, high = x_signed ? 127 : 255;
  const int64_t largest_x = std::max(std::abs(low - conv.x_zero), std::abs(high - conv.x_zero));
  for (int64_t c = 0; c < out_channels; ++c) {
    int64_t sum = 0;
    for (int64_t i = 0; i < per_channel; ++i) {
      const uint8_t byte = layer.weights[c * per_channel + i];
      sum += std::abs((layer.weights_signed ? static_cast<int8_t>(byte) : static_cast<int64_t>(byte)) -
                      conv.w_zero);
    }
    if (sum * largest_x > INT32_MAX)
      throw UserError(ErrorKind::unsupported, layer.where,
                      "output channel " + std::to_string(c) + " could overflow its 32-bit accumulator");
  }
}

void fill_conv(NetworkBuilder& b, const Node& node, const ir::QConv& conv, LayerPlan& layer) {
  const ir::Value& weights = b.graph.value(node.inputs[1]);
  layer.conv = &conv;
  layer.weights = weights.data->data();
  layer.weights_signed = weights.type == ir::ElementType::int8;
  layer.window = {conv.kernel, conv.stride, conv.dilation, conv.pad};
  const Nchw x = b.net.tensors[layer.x].shape;
  const Nchw seen = as_nchw(b.graph.value(node.inputs[0]).shape);
  if (seen != x) {  // flattened: a fully connected layer over C,H,W is a valid HxW convolution
    layer.window = Window{};
    layer.window.kernel = {x.h, x.w};
  }
  layer.in_channels = x.c;
  check_accumulator(layer, conv, b.net.tensors[layer.y].shape.c, b.net.tensors[layer.x].is_signed);
  const bool depthwise = conv.groups == x.c && conv.groups > 1 && b.net.tensors[layer.y].shape.c == x.c;
  layer.kind = depthwise ? LayerKind::depthwise : LayerKind::conv;
}

// Output positions x taps that fall inside the input along one axis.
int64_t valid_taps(int64_t out, int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad) {
  int64_t count = 0;
  for (int64_t o = 0; o < out; ++o)
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t i = o * stride + k * dilation - pad;
      count += i >= 0 && i < in;
    }
  return count;
}

// What refusal() cannot see at one node: a flattened view that reached its reader through a second view.
void check_storage(const NetworkBuilder& b, const Node& node, const LayerPlan& layer) {
  const Nchw x = b.net.tensors[layer.x].shape;
  const bool fully_connected =
      layer.conv && layer.conv->kernel == std::array<int64_t, 2>{1, 1} && layer.conv->groups == 1;
  const bool second_moved =
      layer.second >= 0 &&
      b.net.tensors[layer.second].shape != as_nchw(b.graph.value(node.inputs.at(layer.conv ? 2 : 1)).shape);
  if ((x != as_nchw(b.graph.value(node.inputs[0]).shape) && !fully_connected) || second_moved)
    throw UserError(ErrorKind::unsupported, node.where(),
                    "reads a tensor that was flattened over H and W, which only a fully connected layer can");
}

const char* layer_text(const LayerPlan& layer) {
  switch (layer.kind) {
    case LayerKind::conv:
      return layer.permutation ? "Permute" : "Conv";
    case LayerKind::depthwise:
      return "DepthwiseConv";
    case LayerKind::copy:
      return layer.lut ? "Lut" : "Copy";
    case LayerKind::pool:
      return layer.pool->kind == ir::QPool::Kind::max ? "MaxPool" : "AveragePool";
    case LayerKind::combine:
      break;
  }
  if (layer.add) return "Add";
  return layer.binary->kind == ir::QBinary::Kind::multiply  ? "Mul"
         : layer.binary->kind == ir::QBinary::Kind::maximum ? "Max"
                                                            : "Min";
}

}  // namespace

void NetworkBuilder::describe(const Node& node, const LayerPlan& layer) {
  Layer info;
  info.name = node.name;
  info.op = layer_text(layer);
  info.onnx_nodes = node.onnx_nodes;
  if (layer.conv && !layer.permutation) {
    const Nchw x = net.tensors[layer.x].shape, y = net.tensors[layer.y].shape;
    const Window& w = layer.window;
    const int64_t per_tap = y.n * y.c * (layer.in_channels / layer.conv->groups);
    if (const auto channels = node.attribute<int64_t>("image_channels")) {  // pack_pixels: the image's work, not the words'
      const auto kernel = node.attribute<std::vector<int64_t>>("image_kernel");
      const auto taps = node.attribute<std::vector<int64_t>>("image_taps");
      info.macs = y.n * y.c * channels * y.h * y.w * kernel.at(0) * kernel.at(1);
      info.valid_macs = y.n * y.c * channels * taps.at(0) * taps.at(1);
      net.info.push_back(std::move(info));
      return;
    }
    info.valid_macs = per_tap * valid_taps(y.h, x.h, w.kernel[0], w.stride[0], w.dilation[0], w.pad[0]) *
                      valid_taps(y.w, x.w, w.kernel[1], w.stride[1], w.dilation[1], w.pad[1]);
    // Windows in the padding altogether (phases of a transposed convolution without taps) are no work.
    info.macs = info.valid_macs == 0 ? 0 : per_tap * y.h * y.w * w.kernel[0] * w.kernel[1];
  }
  net.info.push_back(std::move(info));
}

void NetworkBuilder::add_layer(NodeId id) {
  const Node& node = graph.node(id);
  if (node.is("reshape")) return add_view(node);
  if (node.is("qplace")) return add_place(id);
  if (node.is("qtake")) return add_take(id);
  if (fused.count(id)) return;
  const int index = static_cast<int>(net.layers.size());
  LayerPlan layer;
  layer.node = id;
  layer.where = node.where();
  layer.name = node.name;
  layer.x = read(node.inputs[0], index);
  const NodeId look_up = node.is("qlut") ? id : sole_look_up(node.outputs[0]);
  if (look_up.valid()) {
    layer.lut = &std::get<ir::QLut>(graph.node(look_up).payload);
    fused.insert(look_up);
  }
  const ValueId result = graph.node(look_up.valid() ? look_up : id).outputs[0];
  layer.y = tensor_of(result);
  net.tensors[layer.y].producer = index;
  net.tensors[layer.y].region_output = leaves_region(result);
  if (const auto* conv = std::get_if<ir::QConv>(&node.payload)) {
    if (conv->residual) layer.second = read(node.inputs.at(2), index);
    fill_conv(*this, node, *conv, layer);
  } else if (const auto* add = std::get_if<ir::QAdd>(&node.payload)) {
    layer.kind = LayerKind::combine;
    layer.add = add;
    layer.second = read(node.inputs.at(1), index);
  } else if (const auto* binary = std::get_if<ir::QBinary>(&node.payload)) {
    layer.kind = LayerKind::combine;
    layer.binary = binary;
    layer.second = read(node.inputs.at(1), index);
  } else if (node.is("qlut")) {
    layer.kind = LayerKind::copy;
  } else {
    const auto& pool = std::get<ir::QPool>(node.payload);
    layer.kind = LayerKind::pool;
    layer.pool = &pool;
    layer.window = {pool.kernel, pool.stride, pool.dilation, pool.pad};
  }
  check_storage(*this, node, layer);
  push(node, std::move(layer));
  if (look_up.valid() && look_up != id) {
    const auto& names = graph.node(look_up).onnx_nodes;
    net.info.back().onnx_nodes.insert(net.info.back().onnx_nodes.end(), names.begin(), names.end());
  }
}

void NetworkBuilder::push(const Node& node, LayerPlan layer) {
  describe(node, layer);
  net.layers.push_back(std::move(layer));
}

std::optional<std::string> refusal(const Graph& graph, NodeId id, const HwConfig& hw) {
  const Node& node = graph.node(id);
  if (node.domain != ir::kDlcDomain) return "the accelerator has no operator " + node.op;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    if (auto why = check_value(graph, node.inputs[i])) return why;
    const bool is_weight = i == 1 && std::holds_alternative<ir::QConv>(node.payload);
    if (is_weight || !graph.value(node.inputs[i]).is_constant()) continue;
    if (i == 0 && !std::holds_alternative<ir::QAdd>(node.payload) &&
        !std::holds_alternative<ir::QBinary>(node.payload))
      return "operand '" + graph.value(node.inputs[i]).name + "' is a constant";
  }
  for (ValueId v : node.outputs)
    if (auto why = check_value(graph, v)) return why;
  if (const auto* conv = std::get_if<ir::QConv>(&node.payload)) return check_conv(graph, node, *conv);
  if (std::holds_alternative<ir::QAdd>(node.payload) || std::holds_alternative<ir::QBinary>(node.payload)) {
    if (as_nchw(graph.value(node.inputs[0]).shape).c != as_nchw(graph.value(node.inputs[1]).shape).c)
      return "one operand would be repeated along the channels";
    return std::nullopt;
  }
  if (std::holds_alternative<ir::QLut>(node.payload)) {
    if (!hw.has_lut()) return hw.name + " has no look-up tables (vector.functions: [lut])";
    return std::nullopt;
  }
  if (std::holds_alternative<ir::QPlace>(node.payload)) return check_place(graph, node);
  if (const auto* take = std::get_if<ir::QTake>(&node.payload)) {
    if (take->step[0] != 1) return "it takes every " + std::to_string(take->step[0]) + "th image";
    return std::nullopt;
  }
  if (const auto* pool = std::get_if<ir::QPool>(&node.payload)) {
    return check_pool(as_nchw(graph.value(node.inputs[0]).shape), as_nchw(graph.value(node.outputs[0]).shape), *pool);
  }
  if (!node.is("reshape")) return "the accelerator has no operator " + node.op;
  if (!is_free_view(as_nchw(graph.value(node.inputs[0]).shape), as_nchw(graph.value(node.outputs[0]).shape)))
    return "this reshape moves data; only flattening and dimensions of 1 are free";
  if (as_nchw(graph.value(node.inputs[0]).shape) == as_nchw(graph.value(node.outputs[0]).shape))
    return std::nullopt;
  return check_flattened_use(graph, node);
}

Network build_network(const Graph& graph, const std::vector<NodeId>& region, const HwConfig& hw) {
  NetworkBuilder b{graph, hw, {}, {region.begin(), region.end()}, {}};
  for (NodeId id : region) {
    if (auto why = refusal(graph, id, hw)) throw UserError(ErrorKind::unsupported, graph.node(id).where(), *why);
    b.add_layer(id);
  }
  b.finish_parts();
  return std::move(b.net);
}

}  // namespace dlc::accel
