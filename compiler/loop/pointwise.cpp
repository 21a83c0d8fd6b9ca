// Element-wise operators: one row an operator, an expression of its operands. What a row does not accept
// (types, attributes) is left to the reference backend.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/loop/lowering.h"
#include "isa/numerics.h"

namespace dlc::loop {
namespace {

using ir::Node;
using Args = std::vector<Expr>;
using Make = Expr (*)(const ir::Graph&, const Node&, const Args&);

Expr real(const Expr& like, double v) { return constant(like.type(), v); }
Expr whole(const Expr& like, int64_t v) { return integer_constant(like.type(), v); }
double parameter(const Node& n, const char* name, double otherwise) {
  return static_cast<double>(n.attribute<float>(name, static_cast<float>(otherwise)));
}
Expr negative(const Expr& x) { return binary(Op::less, x, real(x, 0)); }

// ln(1 + e^x) without overflow.
Expr softplus(const Expr& x) {
  const Expr e = fast_exp(unary(Op::neg, unary(Op::abs, x)));
  return max(x, real(x, 0)) + unary(Op::log, real(x, 1) + e);
}

Expr clip(const ir::Graph&, const Node& n, const Args& a) {
  const Expr low = real(a[0], parameter(n, "min", std::numeric_limits<float>::lowest()));
  const Expr high = real(a[0], parameter(n, "max", std::numeric_limits<float>::max()));
  return min(max(a[0], low), high);
}

// The exact form; "tanh" is the approximation by that name.
Expr gelu(const ir::Graph&, const Node& n, const Args& a) {
  const Expr& x = a[0];
  if (n.attribute<std::string>("approximate", "none") == "tanh") {
    const Expr inner = real(x, 0.7978845608028654) * fma(x * x * x, real(x, 0.044715), x);
    return real(x, 0.5) * x * (real(x, 1) + fast_tanh(inner));
  }
  return real(x, 0.5) * x * (real(x, 1) + fast_erf(x * real(x, 0.70710678118654752)));
}

// Fixed-point results of isa/numerics.h on 64-bit lanes.
Expr round_shift(const Expr& v, const Expr& shift) {
  const Expr one = whole(v, 1);
  const Expr odd = binary(Op::bit_and, binary(Op::shift_right, v, shift), one);
  const Expr half = binary(Op::shift_right, binary(Op::shift_left, one, shift), one);  // 0 for shift 0
  // half - 1 + odd, and nothing for shift 0
  const Expr up = select(binary(Op::equal, shift, whole(v, 0)), whole(v, 0), half - one + odd);
  return binary(Op::shift_right, v + up, shift);
}

Expr clamp_bytes(const Expr& v, int32_t zero, int32_t low, int32_t high, ElementType type) {
  return convert(min(max(v + whole(v, zero), whole(v, low)), whole(v, high)), type);
}

Expr widen(const Expr& byte, int32_t zero) {
  const Expr v = convert(byte, ElementType::int32);
  return v - whole(v, zero);
}

Expr to64(const Expr& v) { return convert(v, ElementType::int64); }

// int32 lanes as two int64 vectors of half the lanes each: the even lanes and the odd ones. Both sign-extended
// where they lie, so that products of 32-bit factors need no shuffles (x86: vpmuldq).
struct Pair {
  Expr even, odd;
};

Pair split(const Expr& v) {
  const int half = v.type().lanes / 2;
  const Expr q = bitcast(v, {ElementType::int64, half}), bits = whole(q, 32);
  return {binary(Op::shift_right, binary(Op::shift_left, q, bits), bits), binary(Op::shift_right, q, bits)};
}

// The low 32 bits of both.
Expr merge(const Pair& p) {
  const Expr low = binary(Op::bit_and, p.even, whole(p.even, 0xffffffff)), high = binary(Op::shift_left, p.odd, whole(p.odd, 32));
  return bitcast(binary(Op::bit_or, low, high), {ElementType::int32, 2 * p.even.type().lanes});
}

// Half to even for a shift of at least 1; `almost_half` = 2^(shift - 1) - 1.
Expr round_shift(const Expr& v, const Expr& shift, const Expr& almost_half) {
  const Expr odd = binary(Op::bit_and, binary(Op::shift_right, v, shift), whole(v, 1));
  return binary(Op::shift_right, v + (almost_half + odd), shift);
}

// clamp(v + zero, low, high) of int32 lanes without overflow.
Expr clamp_words(const Expr& v, int32_t zero, int32_t low, int32_t high, ElementType type) {
  const Expr bounded = min(max(v, whole(v, int64_t{low} - zero)), whole(v, int64_t{high} - zero));
  return convert(zero == 0 ? bounded : bounded + whole(v, zero), type);
}

Expr combine_linear(const ir::LinearCombine& l, const Expr& a, const Expr& b, ElementType type) {
  // |a|, |b| < 2^9 and multipliers below 2^31: the sum is below 2^41.
  const auto sum = [&](const Expr& x, const Expr& y) {
    const Expr pa = x * whole(x, l.a_multiplier), pb = y * whole(y, l.b_multiplier);
    return l.b_negate ? pa - pb : pa + pb;
  };
  if (a.type().lanes > 1 && l.shift >= 10) {  // the result fits in 32 bits
    const Pair x = split(a), y = split(b);
    const auto half = [&](const Expr& p, const Expr& q) {
      const Expr v = sum(p, q);
      return round_shift(v, whole(v, l.shift), whole(v, (int64_t{1} << (l.shift - 1)) - 1));
    };
    return clamp_words(merge({half(x.even, y.even), half(x.odd, y.odd)}), l.zero, l.low, l.high, type);
  }
  const Expr v = sum(to64(a), to64(b));
  return clamp_bytes(round_shift(v, whole(v, l.shift)), l.zero, l.low, l.high, type);
}

ElementType out_type(const ir::Graph& g, const Node& n) { return g.value(n.outputs[0]).type; }

Expr qadd(const ir::Graph& g, const Node& n, const Args& a) {
  const auto& l = std::get<ir::QAdd>(n.payload).combine;
  return combine_linear(l, widen(a[0], l.a_zero), widen(a[1], l.b_zero), out_type(g, n));
}

Expr qbinary(const ir::Graph& g, const Node& n, const Args& a) {
  const auto& q = std::get<ir::QBinary>(n.payload);
  using Kind = ir::QBinary::Kind;
  const Expr x = to64(widen(a[0], q.a_zero)), y = to64(widen(a[1], q.b_zero));
  const Expr v = q.kind == Kind::multiply ? x * y : q.kind == Kind::maximum ? max(x, y) : min(x, y);
  return clamp_bytes(round_shift(v * whole(v, q.multiplier), whole(v, q.shift)), q.zero, q.low, q.high, out_type(g, n));
}

Expr quantize(const ir::Graph& g, const Node& n, const Args& a) {
  const ElementType type = out_type(g, n);
  const bool is_signed = type == ElementType::int8 || type == ElementType::int16;
  const double range = ir::element_size(type) == 1 ? 256 : 65536, low = is_signed ? -range / 2 : 0;
  const Expr zero = a.size() > 2 && a[2] ? cast(a[2], ElementType::float32) : real(a[0], 0);
  const Expr v = unary(Op::round, a[0] / a[1]) + zero;
  const Expr known = select(binary(Op::equal, v, v), v, real(v, 0));
  const Expr bounded = min(max(known, real(v, low)), real(v, low + range - 1));
  return convert(convert(bounded, ElementType::int32), type);
}

Expr dequantize(const ir::Graph&, const Node&, const Args& a) {
  Expr v = cast(a[0], ElementType::int32);
  if (a.size() > 2 && a[2]) v = v - cast(a[2], ElementType::int32);
  return cast(v, ElementType::float32) * a[1];
}

struct Row {
  const char *domain, *op;
  enum class Types { real, arithmetic, integer_or_real, boolean, any, special } types;
  Make make;
};
using T = Row::Types;
#define DLC_FN [](const ir::Graph& g, const Node& n, const Args& a) -> Expr
#define DLC_USE (void)g, (void)n
const Row kRows[] = {
    {"", "Abs", T::arithmetic, DLC_FN { DLC_USE; return unary(Op::abs, a[0]); }},
    {"", "Add", T::arithmetic, DLC_FN { DLC_USE; return a[0] + a[1]; }},
    {"", "And", T::boolean, DLC_FN { DLC_USE; return binary(Op::bit_and, a[0], a[1]); }},
    {"", "Cast", T::special, DLC_FN { return cast(a[0], out_type(g, n)); }},
    {"", "Ceil", T::real, DLC_FN { DLC_USE; return unary(Op::ceil, a[0]); }},
    {"", "Celu", T::real, DLC_FN { DLC_USE; const double k = parameter(n, "alpha", 1);
       return select(negative(a[0]), real(a[0], k) * (fast_exp(a[0] / real(a[0], k)) - real(a[0], 1)), a[0]); }},
    {"", "Clip", T::real, clip},
    {"", "Cos", T::real, DLC_FN { DLC_USE; return unary(Op::cos, a[0]); }},
    {"", "DequantizeLinear", T::special, dequantize},
    {"", "Div", T::real, DLC_FN { DLC_USE; return a[0] / a[1]; }},
    {"", "Elu", T::real, DLC_FN { DLC_USE;
       return select(negative(a[0]), real(a[0], parameter(n, "alpha", 1)) * (fast_exp(a[0]) - real(a[0], 1)), a[0]); }},
    {"", "Equal", T::any, DLC_FN { DLC_USE; return binary(Op::equal, a[0], a[1]); }},
    {"", "Erf", T::real, DLC_FN { DLC_USE; return fast_erf(a[0]); }},
    {"", "Exp", T::real, DLC_FN { DLC_USE; return fast_exp(a[0]); }},
    {"", "Floor", T::real, DLC_FN { DLC_USE; return unary(Op::floor, a[0]); }},
    {"", "Gelu", T::real, gelu},
    {"", "Greater", T::any, DLC_FN { DLC_USE; return binary(Op::less, a[1], a[0]); }},
    {"", "GreaterOrEqual", T::any, DLC_FN { DLC_USE; return binary(Op::less_equal, a[1], a[0]); }},
    {"", "HardSigmoid", T::real, DLC_FN { DLC_USE;
       return max(real(a[0], 0), min(real(a[0], 1), a[0] * real(a[0], parameter(n, "alpha", 0.2)) + real(a[0], parameter(n, "beta", 0.5)))); }},
    {"", "HardSwish", T::real, DLC_FN { DLC_USE;
       return a[0] * max(real(a[0], 0), min(real(a[0], 1), a[0] * real(a[0], 1.0 / 6) + real(a[0], 0.5))); }},
    {"", "LeakyRelu", T::real, DLC_FN { DLC_USE; return select(negative(a[0]), real(a[0], parameter(n, "alpha", 0.01)) * a[0], a[0]); }},
    {"", "Less", T::any, DLC_FN { DLC_USE; return binary(Op::less, a[0], a[1]); }},
    {"", "LessOrEqual", T::any, DLC_FN { DLC_USE; return binary(Op::less_equal, a[0], a[1]); }},
    {"", "Log", T::real, DLC_FN { DLC_USE; return unary(Op::log, a[0]); }},
    {"", "Max", T::arithmetic, DLC_FN { DLC_USE; return max(a[0], a[1]); }},
    {"", "Min", T::arithmetic, DLC_FN { DLC_USE; return min(a[0], a[1]); }},
    {"", "Mish", T::real, DLC_FN { DLC_USE; return a[0] * fast_tanh(softplus(a[0])); }},
    {"", "Mul", T::arithmetic, DLC_FN { DLC_USE; return a[0] * a[1]; }},
    {"", "Neg", T::arithmetic, DLC_FN { DLC_USE; return unary(Op::neg, a[0]); }},
    {"", "Not", T::boolean, DLC_FN { DLC_USE; return binary(Op::bit_xor, a[0], integer_constant(a[0].type(), 1)); }},
    {"", "Or", T::boolean, DLC_FN { DLC_USE; return binary(Op::bit_or, a[0], a[1]); }},
    {"", "Pow", T::real, DLC_FN { DLC_USE; return binary(Op::pow, a[0], a[1]); }},
    {"", "QuantizeLinear", T::special, quantize},
    {"", "Reciprocal", T::real, DLC_FN { DLC_USE; return real(a[0], 1) / a[0]; }},
    {"", "Relu", T::real, DLC_FN { DLC_USE; return max(a[0], real(a[0], 0)); }},
    {"", "Round", T::real, DLC_FN { DLC_USE; return unary(Op::round, a[0]); }},
    {"", "Sigmoid", T::real, DLC_FN { DLC_USE; return fast_sigmoid(a[0]); }},
    {"", "Sin", T::real, DLC_FN { DLC_USE; return unary(Op::sin, a[0]); }},
    {"", "Softplus", T::real, DLC_FN { DLC_USE; return softplus(a[0]); }},
    {"", "Softsign", T::real, DLC_FN { DLC_USE; return a[0] / (real(a[0], 1) + unary(Op::abs, a[0])); }},
    {"", "Sqrt", T::real, DLC_FN { DLC_USE; return unary(Op::sqrt, a[0]); }},
    {"", "Sub", T::arithmetic, DLC_FN { DLC_USE; return a[0] - a[1]; }},
    {"", "Tanh", T::real, DLC_FN { DLC_USE; return fast_tanh(a[0]); }},
    {"", "ThresholdedRelu", T::real, DLC_FN { DLC_USE;
       return select(binary(Op::less, real(a[0], parameter(n, "alpha", 1)), a[0]), a[0], real(a[0], 0)); }},
    {"", "Where", T::special, DLC_FN { DLC_USE; return select(a[0], a[1], a[2]); }},
    {"", "Xor", T::boolean, DLC_FN { DLC_USE; return binary(Op::bit_xor, a[0], a[1]); }},
    {ir::kDlcDomain, "qadd", T::special, qadd},
    {ir::kDlcDomain, "qbinary", T::special, qbinary},
};
#undef DLC_FN
#undef DLC_USE

const Row* find_row(const Node& n) {
  const auto it = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return n.op == r.op && n.domain == r.domain; });
  return it == std::end(kRows) ? nullptr : &*it;
}

bool is_plain_type(ElementType t) {
  switch (t) {
    case ElementType::float32:
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::boolean: return true;
    default: return false;
  }
}

// Scale and zero point: one, given as constants or not; along an axis only where it is a channel (row).
bool accepts_quantisation(const ir::Graph& g, const Node& n, const std::vector<ElementType>& types) {
  if (n.inputs.size() < 2 || g.value(n.inputs[1]).elements() != 1) return false;
  if (n.inputs.size() > 2 && n.inputs[2].valid() && g.value(n.inputs[2]).elements() != 1) return false;
  const bool quantizes = n.op == "QuantizeLinear";
  const ElementType stored = quantizes ? out_type(g, n) : types[0];
  if ((quantizes ? types[0] : out_type(g, n)) != ElementType::float32 || types[1] != ElementType::float32) return false;
  return ir::is_8bit(stored) || stored == ElementType::int16 || stored == ElementType::uint16 || (!quantizes && stored == ElementType::int32);
}

bool accepts_special(const ir::Graph& g, const Node& n, const std::vector<ElementType>& types) {
  if (n.op == "Cast") return is_plain_type(types[0]) && is_plain_type(out_type(g, n));
  if (n.op == "Where") return is_plain_type(out_type(g, n));
  if (n.op == "QuantizeLinear" || n.op == "DequantizeLinear") return accepts_quantisation(g, n, types);
  return true;  // the integer operators
}

}  // namespace

bool has_pointwise_row(const Node& n) { return find_row(n) != nullptr; }

bool is_pointwise(const ir::Graph& g, const Node& n) {
  const Row* row = find_row(n);
  if (!row || n.outputs.size() != 1 || !n.outputs[0].valid()) return false;
  std::vector<ElementType> types;
  for (ir::ValueId v : n.inputs) types.push_back(v.valid() ? g.value(v).type : ElementType::undefined);
  if (types.empty()) return false;
  const bool same = std::all_of(types.begin(), types.end(), [&](ElementType t) { return t == types[0]; });
  switch (row->types) {
    case T::real: return same && types[0] == ElementType::float32 && out_type(g, n) == ElementType::float32;
    case T::arithmetic:
      return same && out_type(g, n) == types[0] && types.size() <= 2 &&
             (types[0] == ElementType::float32 || types[0] == ElementType::int32 || types[0] == ElementType::int64);
    case T::boolean: return same && types[0] == ElementType::boolean;
    case T::any: return same && is_plain_type(types[0]) && out_type(g, n) == ElementType::boolean;
    default: return accepts_special(g, n, types);
  }
}

Expr pointwise(const ir::Graph& graph, const Node& node, const Args& args) { return find_row(node)->make(graph, node, args); }

Expr requantise(const Expr& acc, const Expr& bias, const Expr& multiplier, const Expr& shift, bool narrow, int32_t zero, int32_t low,
                int32_t high, ElementType type) {
  // narrow: acc + bias fits in 32 bits, so that the product is one of 32-bit factors.
  const Expr sum = narrow ? to64(acc + bias) : to64(acc) + to64(bias);
  return clamp_bytes(round_shift(sum * to64(multiplier), to64(shift)), zero, low, high, type);
}

bool Requantisation::usable(const ir::Rescale& r) {
  return std::all_of(r.shift.begin(), r.shift.end(), [](int s) { return s >= 31 && s <= 62; });
}

std::vector<int64_t> Requantisation::parameters(const ir::Rescale& r, int64_t channels, int lanes) {
  const int64_t half = lanes / 2, blocks = ceil_div(channels, lanes);
  std::vector<int64_t> p(static_cast<size_t>(blocks * 6 * half));
  const auto at = [](const auto& v, int64_t c) { return static_cast<int64_t>(v.size() == 1 ? v[0] : v[static_cast<size_t>(c)]); };
  for (int64_t c = 0; c < blocks * lanes; ++c) {
    const int64_t known = std::min(c, channels - 1), shift = at(r.shift, known);
    int64_t* block = p.data() + c / lanes * 6 * half + c % lanes / 2;
    const int64_t odd = c % 2;
    block[odd * half] = at(r.multiplier, known);
    block[(2 + odd) * half] = shift;
    block[(4 + odd) * half] = (int64_t{1} << (shift - 1)) - 1;
  }
  return p;
}

Expr Requantisation::apply(const KernelBuilder& b, int buffer, const Expr& sum, const Expr& channel, int32_t zero, int32_t low, int32_t high, ElementType type) {
  const int half = sum.type().lanes / 2;
  const Pair x = split(sum);
  const auto one = [&](const Expr& v, int odd) {
    const auto parameter = [&](int i) { return b.load(buffer, channel * 3 + (i + odd) * half, half); };
    const Expr m = parameter(0), bits = whole(v, 32);
    const Expr factor = binary(Op::shift_right, binary(Op::shift_left, m, bits), bits);  // known to have 32 bits
    return round_shift(v * factor, parameter(2), parameter(4));
  };
  return clamp_words(merge({one(x.even, 0), one(x.odd, 1)}), zero, low, high, type);
}

Expr combine_residual(const ir::LinearCombine& l, const Expr& own, const Expr& other, ElementType type) {
  return combine_linear(l, own - whole(own, l.a_zero), widen(other, l.b_zero), type);
}

}  // namespace dlc::loop
