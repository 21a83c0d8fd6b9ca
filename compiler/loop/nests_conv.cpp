// Convolutions in blocked layout: Conv (float32) and qconv (8 bit). Padding is written into a copy of the
// input (padded()), so that no tap needs a test.
#include <algorithm>
#include <cstring>

#include "compiler/loop/micro_kernel.h"

namespace dlc::loop {
namespace {

struct Shape {
  int64_t n, c, h, w;      // input, padding included
  int64_t oc, oh, ow;
  int64_t groups, icg, ocg;
  int64_t kh, kw, sh, sw, dh, dw;
  std::array<int64_t, 4> pads;
};

bool read_shape(const Lowering& l, const ir::Node& node, Shape* s) {
  ir::Shape x = l.value(node.inputs[0]).shape, y = l.value(node.outputs[0]).shape;
  const ir::Shape& w = l.value(node.inputs[1]).shape;
  for (ir::Shape* map : {&x, &y})  // fully connected: a map of one pixel
    if (map->size() == 2) map->insert(map->end(), {1, 1});
  if (x.size() != 4 || w.size() != 4 || y.size() != 4 || l.value(node.outputs[0]).elements() == 0) return false;
  Ints stride = node.attribute<Ints>("strides", {1, 1}), dilation = node.attribute<Ints>("dilations", {1, 1});
  Ints pads = node.attribute<Ints>("pads", {0, 0, 0, 0});
  int64_t groups = node.attribute<int64_t>("group", 1);
  if (const auto* q = std::get_if<ir::QConv>(&node.payload)) {
    stride.assign(q->stride.begin(), q->stride.end());
    dilation.assign(q->dilation.begin(), q->dilation.end());
    pads.assign(q->pad.begin(), q->pad.end());
    groups = q->groups;
  }
  for (int64_t p : pads)
    if (p < 0) return false;
  s->pads = {pads[0], pads[1], pads[2], pads[3]};
  s->n = x[0], s->c = x[1], s->h = x[2] + pads[0] + pads[2], s->w = x[3] + pads[1] + pads[3];
  s->oc = y[1], s->oh = y[2], s->ow = y[3];
  s->groups = groups, s->icg = w[1], s->ocg = y[1] / groups;
  s->kh = w[2], s->kw = w[3], s->sh = stride[0], s->sw = stride[1], s->dh = dilation[0], s->dw = dilation[1];
  return s->icg > 0;
}

// What differs between the two element types.
struct Flavour {
  bool integer = false, flip_sign = false;
  double fill = 0;                                      // of padding
  ElementType accumulator = ElementType::float32;
  int parts = 1;                                        // 2: 9-bit weights as the sum of two of 8 bits
  std::function<float(int64_t index)> weight;           // element of w; exact for 8 bit
  std::function<int(NestBuilder&)> bind;                // adds parameter buffers
  std::function<Expr(NestBuilder&, Expr channel, int lanes)> initial;           // first value of the sums
  std::function<Expr(NestBuilder&, Expr sum, Expr channel, Expr at, int lanes)> finish;  // sum -> anchor's result
};

// A line of output pixels whose taps are `x_row` apart: rows of the image, or (1x1, stride 1) any cut of it.
struct Line {
  int64_t lines, length, y_line, x_line, x_pixel;  // distances in pixels
};

Line choose_line(const Machine& m, const Shape& s, int64_t vectors) {
  Line line{s.oh, s.ow, s.ow, s.sh * s.w, s.sw};
  if (s.kh != 1 || s.kw != 1 || s.sh != 1 || s.sw != 1) return line;
  const int64_t pixels = s.oh * s.ow;
  double best = 1e300;
  for (int64_t length = 1; length <= std::min<int64_t>(pixels, 512); ++length) {
    if (pixels % length) continue;
    const double cost = blocking_cost(m, length, vectors, choose_blocking(m, length, vectors)) * static_cast<double>(pixels / length);
    if (cost < best * (length <= 128 ? 0.999 : 0.99)) {
      best = cost;
      line = {pixels / length, length, length, length, 1};
    }
  }
  return line;
}

// Weights as [group][output vectors / V][part][input blocks][kh][kw][input block / unit][V][lanes][unit]; unit = 4 for
// dot4. Part 0 holds what fits in 8 bits, part 1 the rest.
template <typename T>
std::vector<T> pack_weights(const Shape& s, const Flavour& f, int64_t in_block, int vectors, int lanes, int unit) {
  const int64_t in_blocks = ceil_div(s.icg, in_block), out_vectors = ceil_div(s.ocg, lanes), units = in_block / unit;
  std::vector<T> packed(static_cast<size_t>(f.parts * s.groups * out_vectors * lanes * in_blocks * s.kh * s.kw * in_block), T{0});
  for (int64_t oc = 0; oc < s.oc; ++oc) {
    const int64_t g = oc / s.ocg, o = oc % s.ocg, vector = o / lanes, lane = o % lanes;
    const int64_t vg = g * out_vectors / vectors + vector / vectors, v = vector % vectors;
    for (int64_t ic = 0; ic < s.icg; ++ic) {
      const int64_t ib = ic / in_block, u = ic % in_block / unit, k = ic % unit;
      for (int64_t t = 0; t < s.kh * s.kw; ++t) {
        const float whole = f.weight((oc * s.icg + ic) * s.kh * s.kw + t);
        for (int64_t part = 0; part < f.parts; ++part) {
          const int64_t at = ((((((vg * f.parts + part) * in_blocks + ib) * s.kh * s.kw + t) * units + u) * vectors + v) * lanes + lane) * unit + k;
          const float low = f.integer ? std::clamp(whole, -128.0f, 127.0f) : whole;
          packed[static_cast<size_t>(at)] = static_cast<T>(part == 0 ? low : whole - low);
        }
      }
    }
  }
  return packed;
}

// Dense convolution, or groups whose channels are whole blocks.
bool lower_dense(Lowering& l, const Group& group, const Shape& s, const Flavour& f) {
  const ir::Node& node = l.graph().node(group.anchor);
  const int lanes = l.machine().lanes, unit = f.integer ? 4 : 1;
  const Layout out_layout{lanes};
  if (s.groups > 1 && (s.icg % lanes || s.ocg % lanes)) return false;
  if (!Epilogue::fits(l, group, out_layout)) return false;
  // Few input channels: blocks of 4 bytes, or floats as they come.
  const Layout in_layout{f.integer ? (s.icg <= 4 ? 4 : lanes) : (s.icg < lanes ? 0 : lanes)};
  const int64_t in_block = std::max(1, in_layout.block), in_blocks = ceil_div(s.icg, in_block);
  const int64_t out_vectors = ceil_div(s.ocg, lanes);
  const Line line = choose_line(l.machine(), s, out_vectors);
  const Blocking k = choose_blocking(l.machine(), line.length, out_vectors);
  const int64_t vector_groups = out_vectors / k.vectors, group_blocks = s.groups * in_blocks;
  const int64_t part_weights = in_blocks * s.kh * s.kw * in_block * k.vectors * lanes, group_weights = f.parts * part_weights;

  const int x = l.padded(node.inputs[0], in_layout, s.pads, f.fill);
  const int w = f.integer ? l.constant(pack_weights<int8_t>(s, f, in_block, k.vectors, lanes, unit))
                          : l.constant(pack_weights<float>(s, f, in_block, k.vectors, lanes, unit));
  NestBuilder b(l, node.op);
  MicroKernel micro;
  micro.x_buffer = b.in(x);
  micro.w_buffer = b.in(w);
  micro.accumulator = f.accumulator;
  micro.flip_sign = f.flip_sign;
  micro.lanes = lanes;
  micro.loops = {{f.parts, 0, part_weights},
                 {in_blocks, s.h * s.w * in_block, s.kh * s.kw * in_block * k.vectors * lanes},
                 {s.kh, s.dh * s.w * in_block, s.kw * in_block * k.vectors * lanes},
                 {s.kw, s.dw * in_block, in_block * k.vectors * lanes},
                 {in_block / unit, unit, k.vectors * lanes * unit}};
  f.bind(b);
  const Epilogue epilogue(l, b, group, out_layout);
  b.parallel(s.n * s.groups * vector_groups * line.lines, [&](Expr item) {
    const Expr row = item % line.lines, rest = item / line.lines;
    const Expr vg = rest % vector_groups, ng = rest / vector_groups;  // ng = image * groups + group
    const Expr g = ng % s.groups, image = ng / s.groups;
    const Expr channel = b.declare((g * vector_groups + vg) * (k.vectors * lanes));
    const Expr x_line = b.declare((image * group_blocks + g * in_blocks) * (s.h * s.w * in_block) + row * (line.x_line * in_block));
    const Expr y_block = b.declare((image * (s.groups * out_vectors) + (g * vector_groups + vg) * k.vectors) * (s.oh * s.ow) + row * line.y_line);
    const Expr w_at = b.declare((g * vector_groups + vg) * group_weights);
    const auto tile = [&](Expr first, int64_t rows) {
      std::vector<Expr> starts, vectors, initial;
      for (int64_t r = 0; r < rows; ++r) starts.push_back(x_line + first * (line.x_pixel * in_block) + r * line.x_pixel * in_block);
      for (int v = 0; v < k.vectors; ++v) {
        initial.push_back(f.initial(b, channel + v * lanes, lanes));
        vectors.push_back(w_at + v * lanes * unit);
      }
      const std::vector<Expr> sums = micro.run(b, starts, vectors, initial);
      for (int64_t r = 0; r < rows; ++r)
        for (int v = 0; v < k.vectors; ++v) {
          const Expr at = (y_block + first + r + v * s.oh * s.ow) * lanes;
          const Expr c = channel + v * lanes;
          const Expr own = f.finish(b, sums[static_cast<size_t>(r * k.vectors + v)], c, at, lanes);
          b.store(epilogue.out_buffer(), at, epilogue(own, at, c, lanes));
        }
    };
    b.loop(0, line.length / k.rows * k.rows, k.rows, [&](Expr first) { tile(first, k.rows); });
    if (line.length % k.rows) tile(Expr(line.length / k.rows * k.rows), line.length % k.rows);
  });
  std::vector<ir::NodeId> nodes{group.anchor};
  nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
  b.emit(nodes);
  return true;
}

// One channel a group: lanes are channels, weights stay in registers.
bool lower_depthwise(Lowering& l, const Group& group, const Shape& s, const Flavour& f) {
  const ir::Node& node = l.graph().node(group.anchor);
  const int lanes = l.machine().lanes;
  const Layout layout{lanes};
  if (!Epilogue::fits(l, group, layout)) return false;
  const int64_t blocks = ceil_div(s.c, lanes), taps = s.kh * s.kw;
  std::vector<float> wf;
  std::vector<int16_t> wi;  // 16 bits: products of two 16-bit numbers are one instruction (pmaddwd)
  for (int64_t cb = 0; cb < blocks; ++cb)
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t c = cb * lanes + lane;
        const float v = c < s.c ? f.weight(c * taps + t) : 0.0f;
        if (f.integer) wi.push_back(static_cast<int16_t>(v));
        else wf.push_back(v);
      }
  const int x = l.padded(node.inputs[0], layout, s.pads, f.fill);
  NestBuilder b(l, "depthwise " + node.op);
  const int xb = b.in(x), wb = b.in(f.integer ? l.constant(wi) : l.constant(wf));
  f.bind(b);
  const Epilogue epilogue(l, b, group, layout);
  const int64_t rows = std::min<int64_t>(l.machine().registers >= 32 ? 8 : 4, s.ow);
  b.parallel(s.n * blocks * s.oh, [&](Expr item) {
    const Expr oh = item % s.oh, plane = item / s.oh, cb = plane % blocks;
    const Expr channel = b.declare(cb * lanes), x_line = b.declare((plane * s.h + oh * s.sh) * (s.w * lanes));
    const Expr w_at = b.declare(cb * (taps * lanes)), y_line = b.declare((plane * s.oh + oh) * s.ow);
    const auto tile = [&](Expr first, int64_t count) {
      std::vector<Expr> sums;
      for (int64_t r = 0; r < count; ++r) sums.push_back(b.declare(f.initial(b, channel, lanes)));
      const auto tap = [&](Expr kh, Expr kw) {
        const Expr stored = b.load(wb, w_at + (kh * s.kw + kw) * lanes, lanes);
        const Expr w = f.integer ? convert(stored, ElementType::int32) : b.declare(stored);
        for (int64_t r = 0; r < count; ++r) {
          Expr v = b.load(xb, x_line + (kh * (s.dh * s.w) + kw * s.dw + (first + r) * s.sw) * lanes, lanes);
          if (f.integer) {
            if (f.flip_sign) v = bitcast(binary(Op::bit_xor, v, integer_constant(v.type(), -128)), {ElementType::uint8, lanes});
            v = convert(v, ElementType::int32);
            b.assign(sums[static_cast<size_t>(r)], sums[static_cast<size_t>(r)] + v * w);
          } else {
            b.assign(sums[static_cast<size_t>(r)], fma(v, w, sums[static_cast<size_t>(r)]));
          }
        }
      };
      if (taps <= 9) {
        for (int64_t t = 0; t < taps; ++t) tap(Expr(t / s.kw), Expr(t % s.kw));
      } else {
        b.loop(s.kh, [&](Expr kh) { b.loop(s.kw, [&](Expr kw) { tap(kh, kw); }); });
      }
      for (int64_t r = 0; r < count; ++r) {
        const Expr at = (y_line + first + r) * lanes;
        b.store(epilogue.out_buffer(), at, epilogue(f.finish(b, sums[static_cast<size_t>(r)], channel, at, lanes), at, channel, lanes));
      }
    };
    b.loop(0, s.ow / rows * rows, rows, [&](Expr first) { tile(first, rows); });
    if (s.ow % rows) tile(Expr(s.ow / rows * rows), s.ow % rows);
  });
  std::vector<ir::NodeId> nodes{group.anchor};
  nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
  b.emit(nodes);
  return true;
}

bool lower_any(Lowering& l, const Group& group, const Shape& s, const Flavour& f) {
  const bool depthwise = s.icg == 1 && s.ocg == 1 && s.groups > 1;
  return depthwise ? lower_depthwise(l, group, s, f) : lower_dense(l, group, s, f);
}

template <typename T>
std::vector<T> padded_to(std::vector<T> v, int64_t count, int lanes) {
  if (v.size() == 1) v.resize(static_cast<size_t>(count), v[0]);
  v.resize(static_cast<size_t>(ceil_div(count, lanes) * lanes));
  return v;
}

// Bounds of the sums: |x - zero| * sum |w| per output channel.
bool fits_32_bits(const Shape& s, const std::function<float(int64_t)>& weight, const std::vector<int32_t>& bias) {
  const int64_t length = s.icg * s.kh * s.kw;
  for (int64_t o = 0; o < s.oc; ++o) {
    double sum = std::abs(static_cast<double>(bias[bias.size() == 1 ? 0 : static_cast<size_t>(o)]));
    for (int64_t i = 0; i < length; ++i) sum += 255.0 * std::abs(static_cast<double>(weight(o * length + i)));
    if (sum >= 2147483000.0) return false;
  }
  return true;
}

}  // namespace

bool lower_conv(Lowering& l, const Group& group) {
  const ir::Node& node = l.graph().node(group.anchor);
  Shape s;
  const ir::Value& w = l.value(node.inputs[1]);
  if (!w.is_constant() || w.type != ElementType::float32 || !read_shape(l, node, &s)) return false;
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  if (has_bias && !l.value(node.inputs[2]).is_constant()) return false;
  const int lanes = l.machine().lanes;
  Flavour f;
  const auto weights = w.constant<float>();
  f.weight = [weights](int64_t i) { return weights[static_cast<size_t>(i)]; };
  int bias = -1;
  f.bind = [&](NestBuilder& b) {
    if (!has_bias) return 0;
    const auto c = l.value(node.inputs[2]).constant<float>();
    return bias = b.in(l.constant(padded_to(std::vector<float>(c.begin(), c.end()), s.oc, lanes)));
  };
  f.initial = [&](NestBuilder& b, Expr channel, int n) {
    return has_bias ? b.load(bias, channel, n) : constant({ElementType::float32, n}, 0);
  };
  f.finish = [](NestBuilder&, Expr sum, Expr, Expr, int) { return sum; };
  return lower_any(l, group, s, f);
}

bool lower_qconv(Lowering& l, const Group& group) {
  const ir::Node& node = l.graph().node(group.anchor);
  const auto& q = std::get<ir::QConv>(node.payload);
  const ir::Value &x = l.value(node.inputs[0]), &w = l.value(node.inputs[1]), &y = l.value(node.outputs[0]);
  Shape s;
  if (!w.is_constant()) return false;
  if (!read_shape(l, node, &s)) return false;
  const int lanes = l.machine().lanes;
  Flavour f;
  f.integer = true;
  f.accumulator = ElementType::int32;
  f.flip_sign = x.type == ElementType::int8;
  f.fill = q.x_zero;
  const bool signed_weights = w.type == ElementType::int8;
  const ir::Bytes& bytes = *w.data;
  f.weight = [&bytes, signed_weights, zero = q.w_zero](int64_t i) {
    const uint8_t raw = bytes[static_cast<size_t>(i)];
    return static_cast<float>((signed_weights ? static_cast<int8_t>(raw) : static_cast<int32_t>(raw)) - zero);
  };
  const bool depthwise = s.icg == 1 && s.ocg == 1 && s.groups > 1;
  const int64_t length = s.icg * s.kh * s.kw;
  for (int64_t i = 0; !depthwise && i < s.oc * length; ++i)
    if (f.weight(i) < -128 || f.weight(i) > 127) f.parts = 2;  // dot4 has 8-bit weights
  // sum (x - zero) w = sum x w - zero sum w, modulo 2^32.
  const int32_t zero = q.x_zero + (f.flip_sign ? 128 : 0);
  std::vector<int32_t> start(static_cast<size_t>(ceil_div(s.oc, lanes) * lanes));
  for (int64_t o = 0; o < s.oc; ++o) {
    int64_t sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += static_cast<int64_t>(f.weight(o * length + i));
    start[static_cast<size_t>(o)] = static_cast<int32_t>(static_cast<uint32_t>(-sum * zero));
  }
  const bool narrow = fits_32_bits(s, f.weight, q.rescale.bias), fast = narrow && Requantisation::usable(q.rescale);
  int initial = -1, bias = -1, multiplier = -1, shift = -1, residual = -1;
  f.bind = [&](NestBuilder& b) {
    const ir::Rescale& r = q.rescale;
    std::vector<int32_t> first = start, added = padded_to(r.bias, s.oc, lanes);
    if (narrow) {  // one addition less
      for (size_t i = 0; i < first.size(); ++i) first[i] = numerics::wrap_add32(first[i], added[i]);
    } else {
      bias = b.in(l.constant(added));
    }
    initial = b.in(l.constant(first));
    if (q.residual) residual = b.in(l.stored(node.inputs[2], {lanes}));
    if (fast) return multiplier = b.in(l.constant(Requantisation::parameters(r, s.oc, lanes)));
    multiplier = b.in(l.constant(padded_to(std::vector<int32_t>(r.multiplier.begin(), r.multiplier.end()), s.oc, lanes)));
    shift = b.in(l.constant(padded_to(std::vector<int32_t>(r.shift.begin(), r.shift.end()), s.oc, lanes)));
    return 0;
  };
  f.initial = [&](NestBuilder& b, Expr channel, int n) { return b.load(initial, channel, n); };
  f.finish = [&](NestBuilder& b, Expr sum, Expr channel, Expr at, int n) {
    const Expr add = narrow ? integer_constant(sum.type(), 0) : b.load(bias, channel, n);
    const ElementType first = q.residual ? ElementType::int32 : y.type;  // clamped to 8 bits all the same
    const Expr own = fast ? Requantisation::apply(b, multiplier, sum, channel, q.rescale.zero, q.rescale.low, q.rescale.high, first)
                          : requantise(sum, add, b.load(multiplier, channel, n), b.load(shift, channel, n), narrow, q.rescale.zero,
                                       q.rescale.low, q.rescale.high, first);
    return q.residual ? combine_residual(*q.residual, own, b.load(residual, at, n), y.type) : own;
  };
  return lower_any(l, group, s, f);
}

}  // namespace dlc::loop
