// Runs one graph on the CPU backend and on the reference and compares.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "compiler/backends/cpu/executable.h"
#include "compiler/backends/reference/reference.h"

namespace dlc::test {

inline reference::TensorMap random_inputs(const ir::Graph& g, uint32_t seed, float low = -2, float high = 2) {
  std::mt19937 random(seed);
  reference::TensorMap inputs;
  for (ir::ValueId v : g.inputs()) {
    const ir::Value& value = g.value(v);
    ir::Tensor t(value.type, value.shape);
    if (value.type == ir::ElementType::float32) {
      std::uniform_real_distribution<float> d(low, high);
      for (float& x : t.data<float>()) x = d(random);
    } else if (value.type == ir::ElementType::boolean) {
      for (uint8_t& b : t.bytes) b = random() & 1;
    } else if (value.type == ir::ElementType::int64) {
      for (int64_t& x : t.data<int64_t>()) x = static_cast<int64_t>(random() % 7);
    } else if (value.type == ir::ElementType::int32) {
      for (int32_t& x : t.data<int32_t>()) x = static_cast<int32_t>(random() % 7);
    } else {
      for (uint8_t& b : t.bytes) b = static_cast<uint8_t>(random());
    }
    inputs[value.name] = std::move(t);
  }
  return inputs;
}

// "": equal. Integers in every bit, floats within `relative` of the tensor's largest value.
inline std::string difference(const reference::TensorMap& actual, const reference::TensorMap& expected, double relative = 1e-4) {
  for (const auto& [name, e] : expected) {
    const ir::Tensor& a = actual.at(name);
    if (a.type != e.type || a.shape != e.shape) return name + ": another type or shape";
    if (e.type != ir::ElementType::float32) {
      for (size_t i = 0; i < e.bytes.size(); ++i)
        if (a.bytes[i] != e.bytes[i])
          return name + ": byte " + std::to_string(i) + " is " + std::to_string(a.bytes[i]) + ", expected " + std::to_string(e.bytes[i]);
      continue;
    }
    const auto x = a.data<float>(), y = e.data<float>();
    float scale = 0;
    for (float v : y)
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    for (size_t i = 0; i < y.size(); ++i) {
      const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ||
                        std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])) <= relative * static_cast<double>(std::max(scale, 1e-6f));
      if (!same) return name + ": element " + std::to_string(i) + " is " + std::to_string(x[i]) + ", expected " + std::to_string(y[i]);
    }
  }
  return "";
}

inline cpu::CpuOptions options_for(const std::string& target, int jobs = 1) {
  cpu::CpuOptions o;
  o.target = target;
  o.cache_folder = "";
  o.jobs = jobs;
  return o;
}

inline std::string compare_with_reference(const ir::Graph& g, const reference::TensorMap& inputs, const cpu::CpuOptions& options, double relative = 1e-4) {
  const cpu::Executable e(g, options);
  return difference(e.evaluate(inputs), reference::evaluate(g, inputs), relative);
}

}  // namespace dlc::test
