// Activation functions as ONNX defines them (float32), and the look-up that stands for any of them on the
// machine.
#include <algorithm>
#include <cmath>

#include "compiler/backends/reference/kernels.h"

namespace dlc::reference {
namespace {

template <typename F>
void map_float(const KernelArgs& a, const F& f) {
  auto x = a.in(0).data<float>();
  auto y = a.out().data<float>();
  std::transform(x.begin(), x.end(), y.begin(), f);
}

float softplus_of(float x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

float real(const KernelArgs& a, const char* name) { return a.node.attribute<float>(name); }

}  // namespace

void celu(const KernelArgs& a) {
  const float alpha = real(a, "alpha");
  map_float(a, [=](float x) { return std::max(0.0f, x) + std::min(0.0f, alpha * std::expm1(x / alpha)); });
}
void elu(const KernelArgs& a) {
  const float alpha = real(a, "alpha");
  map_float(a, [=](float x) { return x < 0 ? alpha * std::expm1(x) : x; });
}
void gelu(const KernelArgs& a) {
  if (a.node.attribute<std::string>("approximate") == "tanh") {
    constexpr float kScale = 0.7978845608f;  // sqrt(2 / pi)
    map_float(a, [](float x) { return 0.5f * x * (1.0f + std::tanh(kScale * (x + 0.044715f * x * x * x))); });
  } else {
    constexpr float kScale = 0.70710678f;  // sqrt(1 / 2)
    map_float(a, [](float x) { return 0.5f * x * (1.0f + std::erf(x * kScale)); });
  }
}
void hard_sigmoid(const KernelArgs& a) {
  const float alpha = real(a, "alpha"), beta = real(a, "beta");
  map_float(a, [=](float x) { return std::clamp(alpha * x + beta, 0.0f, 1.0f); });
}
void hard_swish(const KernelArgs& a) {
  map_float(a, [](float x) { return x * std::clamp(x / 6.0f + 0.5f, 0.0f, 1.0f); });
}
void mish(const KernelArgs& a) {
  map_float(a, [](float x) { return x * std::tanh(softplus_of(x)); });
}
void selu(const KernelArgs& a) {
  const float alpha = real(a, "alpha"), gamma = real(a, "gamma");
  map_float(a, [=](float x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}
void softplus(const KernelArgs& a) { map_float(a, softplus_of); }
void softsign(const KernelArgs& a) {
  map_float(a, [](float x) { return x / (1.0f + std::abs(x)); });
}
void thresholded_relu(const KernelArgs& a) {
  const float alpha = real(a, "alpha");
  map_float(a, [=](float x) { return x > alpha ? x : 0.0f; });
}

void qlut(const KernelArgs& a) {
  const auto& table = std::get<ir::QLut>(a.node.payload).table;
  const auto& x = a.in(0).bytes;
  std::transform(x.begin(), x.end(), a.out().bytes.begin(), [&](uint8_t byte) { return table[byte]; });
}

}  // namespace dlc::reference
