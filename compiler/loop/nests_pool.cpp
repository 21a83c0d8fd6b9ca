// Pools, in blocked layout: lanes are channels. Windows beyond the map read padding.
#include <limits>

#include "compiler/loop/lowering.h"

namespace dlc::loop {
namespace {

struct Window {
  int64_t n, c, h, w, oh, ow, kh, kw, sh, sw, dh, dw;
  std::array<int64_t, 4> pads;  // as the operator says
};

// Valid taps of one output along one dimension.
int64_t taps_inside(int64_t o, int64_t stride, int64_t kernel, int64_t dilation, int64_t begin, int64_t low, int64_t high) {
  int64_t count = 0;
  for (int64_t k = 0; k < kernel; ++k) {
    const int64_t i = o * stride + k * dilation - begin;
    count += i >= low && i < high;
  }
  return count;
}

std::array<int64_t, 4> reach(const Window& g) {  // pads that cover every tap
  std::array<int64_t, 4> p = g.pads;
  p[2] = std::max<int64_t>(p[2], (g.oh - 1) * g.sh + (g.kh - 1) * g.dh + 1 - g.h - p[0]);
  p[3] = std::max<int64_t>(p[3], (g.ow - 1) * g.sw + (g.kw - 1) * g.dw + 1 - g.w - p[1]);
  return p;
}

// initial, step(accumulator, element), finish(accumulator, pixel index, buffer builder)
struct Fold {
  Type accumulator;
  double initial = 0, fill = 0;
  std::function<Expr(Expr, Expr)> step;
  std::function<void(NestBuilder&)> bind;
  std::function<Expr(NestBuilder&, Expr, Expr)> finish;
};

void pool(Lowering& l, const Group& group, const Window& g, const Fold& f) {
  const ir::Node& node = l.graph().node(group.anchor);
  const int lanes = l.machine().lanes;
  const std::array<int64_t, 4> pads = reach(g);
  const int64_t h = g.h + pads[0] + pads[2], w = g.w + pads[1] + pads[3], blocks = ceil_div(g.c, lanes);
  const int x = l.padded(node.inputs[0], {lanes}, pads, f.fill);
  NestBuilder b(l, node.op);
  const int xb = b.in(x);
  if (f.bind) f.bind(b);
  const Epilogue epilogue(l, b, group, {lanes});
  b.parallel(g.n * blocks * g.oh, [&](Expr item) {
    const Expr oh = item % g.oh, plane = item / g.oh, channel = b.declare(plane % blocks * lanes);
    const Expr x_line = b.declare((plane * h + oh * g.sh) * (w * lanes)), y_line = b.declare((plane * g.oh + oh) * g.ow);
    b.loop(g.ow, [&](Expr ow) {
      const Expr sum = b.declare(constant(f.accumulator, f.initial));
      b.loop(g.kh, [&](Expr kh) {
        b.loop(g.kw, [&](Expr kw) {
          b.assign(sum, f.step(sum, b.load(xb, x_line + (kh * (g.dh * w) + kw * g.dw + ow * g.sw) * lanes, lanes)));
        });
      });
      const Expr at = (y_line + ow) * lanes;
      b.store(epilogue.out_buffer(), at, epilogue(f.finish(b, sum, oh * g.ow + ow), at, channel, lanes));
    });
  });
  std::vector<ir::NodeId> nodes{group.anchor};
  nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
  b.emit(nodes);
}

bool shapes_fit(const Lowering& l, const Group& group) {
  const ir::Node& node = l.graph().node(group.anchor);
  return l.value(node.inputs[0]).shape.size() == 4 && node.outputs.size() == 1 && l.value(group.anchor_out).elements() > 0 &&
         Epilogue::fits(l, group, {l.machine().lanes});
}

template <typename F>  // f(oh, ow) in row-major order
void for_outputs(const Window& g, const F& f) {
  for (int64_t oh = 0; oh < g.oh; ++oh)
    for (int64_t ow = 0; ow < g.ow; ++ow) f(oh, ow);
}

}  // namespace

bool lower_pool(Lowering& l, const Group& group) {
  const ir::Node& node = l.graph().node(group.anchor);
  if (!shapes_fit(l, group)) return false;
  const ir::Value& x = l.value(node.inputs[0]);
  const ir::Shape &s = x.shape, &y = l.value(node.outputs[0]).shape;
  const Ints k = node.attribute<Ints>("kernel_shape", {s[2], s[3]}), stride = node.attribute<Ints>("strides", {1, 1}),
             d = node.attribute<Ints>("dilations", {1, 1}), p = node.attribute<Ints>("pads", {0, 0, 0, 0});
  for (int64_t pad : p)
    if (pad < 0) return false;
  const Window g{s[0], s[1], s[2], s[3], y[2], y[3], k[0], k[1], stride[0], stride[1], d[0], d[1], {p[0], p[1], p[2], p[3]}};
  const int lanes = l.machine().lanes;
  Fold f;
  f.accumulator = {x.type, lanes};
  if (node.op == "MaxPool" || node.op == "GlobalMaxPool") {
    if (x.type != ElementType::float32 && !ir::is_8bit(x.type)) return false;
    f.initial = f.fill = x.type == ElementType::float32 ? static_cast<double>(std::numeric_limits<float>::lowest())
                         : x.type == ElementType::int8  ? -128
                                                        : 0;
    f.step = [](Expr best, Expr v) { return max(best, v); };
    f.finish = [](NestBuilder&, Expr best, Expr) { return best; };
    pool(l, group, g, f);
    return true;
  }
  if (x.type != ElementType::float32) return false;
  const bool include_pad = node.attribute<int64_t>("count_include_pad", 0) != 0;
  std::vector<float> counts;
  for_outputs(g, [&](int64_t oh, int64_t ow) {
    const int64_t rows = taps_inside(oh, g.sh, g.kh, g.dh, g.pads[0], include_pad ? -g.pads[0] : 0, g.h + (include_pad ? g.pads[2] : 0));
    const int64_t columns = taps_inside(ow, g.sw, g.kw, g.dw, g.pads[1], include_pad ? -g.pads[1] : 0, g.w + (include_pad ? g.pads[3] : 0));
    counts.push_back(static_cast<float>(std::max<int64_t>(1, rows * columns)));
  });
  int divisors = -1;
  f.bind = [&](NestBuilder& b) { divisors = b.in(l.constant(counts)); };
  f.step = [](Expr sum, Expr v) { return sum + v; };
  f.finish = [&](NestBuilder& b, Expr sum, Expr pixel) { return sum / b.load(divisors, pixel, lanes, 0); };
  pool(l, group, g, f);
  return true;
}

bool lower_qpool(Lowering& l, const Group& group) {
  const ir::Node& node = l.graph().node(group.anchor);
  if (!shapes_fit(l, group)) return false;
  const auto& q = std::get<ir::QPool>(node.payload);
  const ir::Value &x = l.value(node.inputs[0]), &y = l.value(node.outputs[0]);
  const ir::Shape& s = x.shape;
  const Window g{s[0], s[1], s[2], s[3], y.shape[2], y.shape[3], q.kernel[0], q.kernel[1], q.stride[0], q.stride[1], q.dilation[0], q.dilation[1],
                 {q.pad[0], q.pad[1], q.pad[2], q.pad[3]}};
  for (int64_t p : g.pads)
    if (p < 0) return false;
  const int lanes = l.machine().lanes;
  Fold f;
  if (q.kind == ir::QPool::Kind::max) {
    f.accumulator = {x.type, lanes};
    f.initial = f.fill = x.type == ElementType::int8 ? -128 : 0;
    f.step = [](Expr best, Expr v) { return max(best, v); };
    f.finish = [&](NestBuilder&, Expr best, Expr) {
      const Expr v = convert(best, ElementType::int32);
      const auto whole = [&](int32_t c) { return integer_constant(v.type(), c); };
      return convert(min(max(v, whole(q.low)), whole(q.high)), y.type);
    };
    pool(l, group, g, f);
    return true;
  }
  std::vector<int32_t> multipliers, shifts;
  for_outputs(g, [&](int64_t oh, int64_t ow) {
    const int64_t count = taps_inside(oh, g.sh, g.kh, g.dh, g.pads[0], 0, g.h) * taps_inside(ow, g.sw, g.kw, g.dw, g.pads[1], 0, g.w);
    const bool known = count < static_cast<int64_t>(q.factor.size());
    multipliers.push_back(known ? static_cast<int32_t>(q.factor[static_cast<size_t>(count)].multiplier) : 0);
    shifts.push_back(known ? q.factor[static_cast<size_t>(count)].shift : 0);
  });
  if (255 * g.kh * g.kw >= (int64_t{1} << 31)) return false;
  int multiplier = -1, shift = -1;
  f.accumulator = {ElementType::int32, lanes};
  f.initial = -static_cast<double>(q.x_zero) * static_cast<double>(g.kh * g.kw);  // padding is x_zero
  f.fill = q.x_zero;
  f.bind = [&](NestBuilder& b) {
    multiplier = b.in(l.constant(multipliers));
    shift = b.in(l.constant(shifts));
  };
  f.step = [](Expr sum, Expr v) { return sum + convert(v, ElementType::int32); };
  f.finish = [&](NestBuilder& b, Expr sum, Expr pixel) {
    return requantise(sum, integer_constant(sum.type(), 0), b.load(multiplier, pixel, lanes, 0), b.load(shift, pixel, lanes, 0), true, q.zero, q.low,
                      q.high, y.type);
  };
  pool(l, group, g, f);
  return true;
}

}  // namespace dlc::loop
