// Runs one graph on the CPU backend and on the reference and compares.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "compiler/backends/cpu/executable.h"
#include "compiler/backends/reference/reference.h"

namespace dlc::test {

// A graph of one operator or a chain of them, built by hand.
class GraphMaker {
 public:
  ir::Graph graph;
  std::mt19937 random{1};

  ir::ValueId input(const std::string& name, ir::Shape shape, ir::ElementType type = ir::ElementType::float32) {
    const ir::ValueId v = value(name, std::move(shape), type);
    graph.add_input(v);
    return v;
  }
  ir::ValueId constant(ir::Shape shape, ir::ElementType type = ir::ElementType::float32, float low = -1, float high = 1) {
    ir::Tensor t(type, std::move(shape));
    if (type == ir::ElementType::float32) {
      std::uniform_real_distribution<float> d(low, high);
      for (float& x : t.data<float>()) x = d(random);
    } else {
      for (uint8_t& b : t.bytes) b = static_cast<uint8_t>(random());
    }
    return graph.add_constant("c" + std::to_string(serial_++), t);
  }
  ir::ValueId constant(const ir::Tensor& t) { return graph.add_constant("c" + std::to_string(serial_++), t); }
  ir::ValueId node(const std::string& op, std::vector<ir::ValueId> inputs, ir::Shape shape, std::map<std::string, ir::Attribute> attributes = {},
                   ir::ElementType type = ir::ElementType::float32, ir::Payload payload = {}) {
    ir::Node n;
    n.name = "n" + std::to_string(serial_);
    n.op = op;
    n.domain = std::holds_alternative<std::monostate>(payload) ? "" : ir::kDlcDomain;
    n.opset = 18;
    n.attributes = std::move(attributes);
    n.payload = std::move(payload);
    n.inputs = std::move(inputs);
    const ir::ValueId out = value("v" + std::to_string(serial_++), std::move(shape), type);
    n.outputs = {out};
    graph.add_node(std::move(n));
    return out;
  }
  void output(ir::ValueId v) { graph.add_output(v); }

 private:
  ir::ValueId value(const std::string& name, ir::Shape shape, ir::ElementType type) {
    ir::Value v;
    v.name = name;
    v.type = type;
    v.shape = std::move(shape);
    return graph.add_value(std::move(v));
  }
  int serial_ = 0;
};

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

// On all vector widths that this machine has; "" where each agrees and no operator was left to the reference.
inline std::string compare_with_reference(const ir::Graph& g, uint32_t seed = 1, double relative = 1e-4, float low = -2, float high = 2) {
  const reference::TensorMap inputs = random_inputs(g, seed, low, high);
  const reference::TensorMap expected = reference::evaluate(g, inputs);
  for (const char* target : {"native", "avx2", "portable"}) {
    const cpu::Executable e(g, options_for(target));
    if (!e.fallback_nodes().empty()) return std::string(target) + ": no loops for " + g.node(e.fallback_nodes()[0]).op;
    const std::string d = difference(e.evaluate(inputs), expected, relative);
    if (!d.empty()) return std::string(target) + ": " + d;
  }
  return "";
}

}  // namespace dlc::test
