// Q/DQ models lowered to integer operators, compared with the float graph that they came from.
#pragma once
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "tests/unit/onnx_model.h"

namespace dlc::test {

// `notes`: what the passes said, a line each.
inline ir::Graph lower(const OnnxModel& m, std::string* notes = nullptr) {
  ir::Graph graph = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  const passes::PipelineResult result = passes::run_pipeline(graph);
  if (notes)
    for (const auto& n : result.notes) *notes += n.node + ": " + n.text + "\n";
  return graph;
}

// Operators of domain dlc and whatever else computes, in order; Q and DQ left out.
inline std::vector<std::string> operators(const ir::Graph& g) {
  std::vector<std::string> names;
  for (ir::NodeId id : g.topological_order())
    if (!g.node(id).is("QuantizeLinear") && !g.node(id).is("DequantizeLinear"))
      names.push_back(g.node(id).op);
  return names;
}

// Every 8-bit tensor that both graphs have: at most `steps` off, in 99.5 % not at all.
inline void agrees(const OnnxModel& m, const ir::Graph& integer, int steps = 1) {
  const ir::Graph original = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx");
  std::mt19937 random(3);
  size_t elements = 0, different = 0;
  for (int trial = 0; trial < 4; ++trial) {
    reference::TensorMap inputs;
    for (ir::ValueId v : original.inputs()) {
      ir::Tensor t(original.value(v).type, original.value(v).shape);
      std::normal_distribution<float> normal(0, 40);
      for (float& f : t.data<float>()) f = normal(random);
      inputs[original.value(v).name] = t;
    }
    const auto want = reference::evaluate(original, inputs, true);
    for (const auto& [name, t] : reference::evaluate(integer, inputs, true)) {
      if (!ir::is_8bit(t.type) || !want.contains(name)) continue;
      for (size_t i = 0; i < t.bytes.size(); ++i) {
        const bool is_signed = t.type == ir::ElementType::int8;
        const uint8_t raw = want.at(name).bytes[i];
        const int a = is_signed ? static_cast<int8_t>(t.bytes[i]) : t.bytes[i];
        const int b = is_signed ? static_cast<int8_t>(raw) : raw;
        REQUIRE(std::abs(a - b) <= steps);
        different += a != b;
        ++elements;
      }
    }
  }
  REQUIRE(elements > 0);
  CHECK(static_cast<double>(different) <= 0.005 * static_cast<double>(elements));
}

using Names = std::vector<std::string>;

// A dequantised int8 weight `name` of random values; scales along `axis` (-1: one).
inline void random_weight(OnnxModel& m, const std::string& name, const Dims& shape, int axis) {
  std::mt19937 random(static_cast<uint32_t>(shape[0] * 31 + shape[1]));
  std::vector<int8_t> values(static_cast<size_t>(ir::element_count(shape)));
  for (int8_t& v : values) v = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  const int64_t count = axis < 0 ? 1 : shape[static_cast<size_t>(axis)];
  std::vector<float> scales;
  for (int64_t i = 0; i < count; ++i) scales.push_back(0.01f + 0.001f * static_cast<float>(random() % 20));
  const Dims parameters = axis < 0 ? Dims{} : Dims{count};
  m.constant<int8_t>(name + "_q", shape, values);
  m.constant<float>(name + "_s", parameters, scales);
  m.constant<int8_t>(name + "_z", parameters, std::vector<int8_t>(static_cast<size_t>(count), 0));
  auto& n = m.node("DequantizeLinear", name + ".DQ", {name + "_q", name + "_s", name + "_z"}, {name});
  if (axis >= 0) set(n, "axis", int64_t{axis});
}

// A float bias `name` of random values.
inline void random_bias(OnnxModel& m, const std::string& name, int64_t channels) {
  std::mt19937 random(static_cast<uint32_t>(channels));
  std::vector<float> values;
  for (int64_t i = 0; i < channels; ++i) values.push_back(static_cast<float>(random() % 200) - 100);
  m.constant<float>(name, {channels}, values);
}

}  // namespace dlc::test
