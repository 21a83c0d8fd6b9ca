#include "compiler/accel/tiling.h"

#include "compiler/accel/tiling_search.h"

namespace dlc::accel {
namespace {

// Divisions of a depthwise layer's channels between VECTOR and MATRIX that are tried.
constexpr int64_t kSplits = 16;

Problem make_problem(const Network& net, int index, const HwConfig& hw, int64_t act_words,
                     const TilingRequest& request, TilingFailure* failure) {
  const LayerPlan& layer = net.layers[index];
  const TensorPlan &x = net.tensors[layer.x], &y = net.tensors[layer.y];
  Problem p{net,
            layer,
            hw,
            {},
            x.shape,
            y.shape,
            window_axis(net, layer, 0),
            window_axis(net, layer, 1),
            false,
            false,
            false,
            false,
            0,
            0,
            0,
            request,
            failure};
  p.space = {act_words, hw.words(Memory::wgt),
             hw.bank_words(Memory::acc) * std::max(1, hw.accumulator.banks / 2), hw.words(Memory::par)};
  p.x_strips = !x.resident;
  p.y_strips = !y.resident;
  p.second_strips = layer.second >= 0 && !net.tensors[layer.second].resident;
  p.y_stored = y.in_dram;
  p.in_blocks = x.blocks;
  p.out_blocks = y.blocks;
  p.bytes_per_cycle =
      std::min<double>(hw.bus_bytes, static_cast<double>(hw.bandwidth_num) / hw.bandwidth_den);
  return p;
}

}  // namespace

std::vector<int64_t> tile_sizes(int64_t n) {
  std::vector<int64_t> sizes;
  for (int64_t k = 1; k <= n; ++k) {
    const int64_t s = ceil_div(n, k);
    if (sizes.empty() || s < sizes.back()) sizes.push_back(s);
    if (s == 1) break;
  }
  return sizes;
}

std::vector<int64_t> halvings(int64_t n, int64_t unit) {
  std::vector<int64_t> sizes{n};
  while (sizes.back() > unit) sizes.push_back(ceil_div(ceil_div(sizes.back(), 2), unit) * unit);
  return sizes;
}

Axis window_axis(const Network& net, const LayerPlan& layer, int axis) {
  const Nchw& x = net.tensors[layer.x].shape;
  const Window& w = layer.window;
  return {axis == 0 ? x.h : x.w, w.kernel[axis], w.stride[axis], w.dilation[axis], w.pad[axis]};
}

BlockRange input_blocks(const Network& net, const LayerPlan& layer, const HwConfig& hw, int64_t b0,
                        int64_t b1) {
  if (!layer.band.empty()) {
    BlockRange r{layer.band[b0].begin, layer.band[b0].end};
    for (int64_t b = b0; b < std::min<int64_t>(b1, static_cast<int64_t>(layer.band.size())); ++b)
      r = {std::min(r.begin, layer.band[b].begin), std::max(r.end, layer.band[b].end)};
    return r;
  }
  const int64_t groups = layer.conv->groups, channels = layer.in_channels;
  if (groups == 1) return {0, net.tensors[layer.x].blocks};
  const int64_t out_channels = net.tensors[layer.y].shape.c;
  const int64_t in_per = channels / groups, out_per = out_channels / groups;
  const int64_t first = b0 * hw.cols / out_per, last = (std::min(b1 * hw.cols, out_channels) - 1) / out_per;
  return {first * in_per / hw.rows, ceil_div((last + 1) * in_per, hw.rows)};
}

std::optional<LayerTiling> choose_tiling(const Network& net, int layer, const HwConfig& hw, int64_t act_words,
                                         const TilingRequest& request, TilingFailure* failure) {
  const Problem p = make_problem(net, layer, hw, act_words, request, failure);
  std::optional<LayerTiling> best;
  auto consider = [&](const std::optional<LayerTiling>& t) {
    if (t && (!best || t->cycles < best->cycles)) best = t;
  };
  const bool matrix = TilingRequest::allows(request.on_matrix, true);
  if (p.layer.kind != LayerKind::conv && TilingRequest::allows(request.on_matrix, false)) consider(search_vector(p));
  if (p.layer.conv && matrix && TilingRequest::allows(request.shared, false)) consider(search_matrix(p, 0, false, 0));
  if (p.layer.kind == LayerKind::depthwise && matrix && TilingRequest::allows(request.shared, true)) {
    const int64_t unit = std::max(1, hw.cols / hw.rows), words = depthwise_words(p) * hw.act_groups();
    const int64_t step = ceil_div(ceil_div(p.out_blocks, kSplits), unit) * unit;
    std::vector<int64_t> divisions;
    for (int64_t b = step; b < p.out_blocks; b += step) divisions.push_back(b);
    for (int64_t b : TilingRequest::sizes(request.vector_blocks, divisions))
      if (b > 0 && b < p.out_blocks && b % unit == 0) consider(search_matrix(p, b, false, words));
    if (request.vector_blocks.value_or(0) == 0) consider(search_matrix(p, 0, true, words));
  }
  return best;
}

}  // namespace dlc::accel
