// float32 functions made of additions and multiplications, so that they vectorise. Range reductions and
// polynomials as in Cephes (expf, erff's rational form is Abramowitz-free: see fast_erf).
#include <cmath>

#include "compiler/loop/lowering.h"

namespace dlc::loop {
namespace {

Expr real(const Expr& like, double v) { return constant(like.type(), v); }

// c[0] + x (c[1] + x (c[2] + ...))
template <size_t n>
Expr polynomial(const Expr& x, const double (&c)[n]) {
  Expr p = real(x, c[n - 1]);
  for (size_t i = n - 1; i-- > 0;) p = fma(p, x, real(x, c[i]));
  return p;
}

}  // namespace

// e^x = 2^n e^r, n = round(x / ln 2), |r| <= ln 2 / 2. Overflow gives infinity, underflow 0.
Expr fast_exp(Expr x) {
  const Expr y = min(max(x, real(x, -104.0)), real(x, 89.0));
  const Expr n = unary(Op::round, y * real(y, 1.44269504088896341));
  Expr r = fma(n, real(y, -0.693359375), y);
  r = fma(n, real(y, 2.12194440e-4), r);
  static constexpr double kC[] = {1.0, 1.0, 5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4};
  const Expr p = polynomial(r, kC);
  // 2^n in two factors: n reaches from -150 to 128.
  const Expr i = convert(n, ElementType::int32);
  const Expr half = binary(Op::shift_right, i, integer_constant(i.type(), 1)), rest = i - half;
  const auto power = [&](const Expr& e) {
    const Expr biased = e + integer_constant(e.type(), 127);
    return bitcast(binary(Op::shift_left, biased, integer_constant(e.type(), 23)), x.type());
  };
  return select(binary(Op::equal, x, x), p * power(half) * power(rest), x);  // NaN stays
}

Expr fast_sigmoid(Expr x) { return real(x, 1) / (real(x, 1) + fast_exp(unary(Op::neg, x))); }

// |x| < 0.625: odd polynomial; else 1 - 2 / (e^2|x| + 1).
Expr fast_tanh(Expr x) {
  const Expr a = unary(Op::abs, x);
  const Expr big = real(x, 1) - real(x, 2) / (fast_exp(a + a) + real(x, 1));
  static constexpr double kC[] = {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3};
  const Expr z = x * x;
  const Expr small = fma(polynomial(z, kC) * z, x, x);
  const Expr signed_big = select(binary(Op::less, x, real(x, 0)), unary(Op::neg, big), big);
  return select(binary(Op::less, a, real(x, 0.625)), small, signed_big);
}

// |x| < 1: odd series of Cephes' erff; else 1 - e^(-x^2) q(1/x) (Cephes erfcf's two intervals).
Expr fast_erf(Expr x) {
  static constexpr double kT[] = {1.128379165726710e+0, -3.761262582423300e-1, 1.128358514861418e-1, -2.685381193529856e-2,
                                  5.188327685732524e-3, -8.010193625184903e-4, 7.853861353153693e-5};
  static constexpr double kP[] = {5.638259427386472e-1, -2.741127028184656e-1, 3.404879937665872e-1, -4.944515323274145e-1,
                                  6.210004621745983e-1, -5.824733027278666e-1, 3.687424674597105e-1, -1.387039388740657e-1, 2.326819970068386e-2};
  static constexpr double kR[] = {5.641895067754075e-1, -2.820767439740514e-1, 4.218463358204948e-1, -1.015265279202700e+0,
                                  2.921019019210786e+0, -7.495518717768503e+0, 1.297719955372516e+1, -1.047766399936249e+1};
  const Expr a = min(unary(Op::abs, x), real(x, 10.0));
  const Expr z = x * x;
  const Expr small = x * polynomial(z, kT);
  const Expr safe = max(a, real(x, 1.0));
  const Expr q = real(x, 1) / safe, w = q * q;
  const Expr p = select(binary(Op::less, safe, real(x, 2.0)), polynomial(w, kP), polynomial(w, kR));
  const Expr big = real(x, 1) - fast_exp(unary(Op::neg, safe * safe)) * q * p;
  const Expr signed_big = select(binary(Op::less, x, real(x, 0)), unary(Op::neg, big), big);
  const Expr result = select(binary(Op::less, a, real(x, 1.0)), small, signed_big);
  return select(binary(Op::equal, x, x), result, x);
}

}  // namespace dlc::loop
