// Small float networks and comparisons for the tests of post-training quantisation.
#pragma once
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/quantize/post_training.h"
#include "tests/unit/onnx_model.h"

namespace dlc::ptq_test {

using reference::TensorMap;

inline std::vector<float> random_floats(uint64_t seed, size_t count, float scale = 1.0f, float shift = 0.0f) {
  std::mt19937_64 engine(seed);
  std::vector<float> v(count);
  for (float& x : v) x = (static_cast<float>(engine() >> 40) * 0x1p-23f - 1.0f) * scale + shift;
  return v;
}

// A 3x3 convolution of `from` to `to` channels with padding 1, its constants named after it.
inline void add_conv(test::OnnxModel& m, const std::string& name, const std::string& in,
                     const std::string& out, int64_t from, int64_t to, uint64_t seed, bool bias = true) {
  m.constant<float>(name + ".w", {to, from, 3, 3},
                    random_floats(seed, static_cast<size_t>(from * to * 9), 0.4f));
  std::vector<std::string> inputs{in, name + ".w"};
  if (bias) {
    m.constant<float>(name + ".b", {to}, random_floats(seed + 1000, static_cast<size_t>(to)));
    inputs.push_back(name + ".b");
  }
  test::set(m.node("Conv", name, inputs, {out}), "pads", test::Dims{1, 1, 1, 1});
}

inline ir::Graph import(const test::OnnxModel& m) {
  return onnx_import::import_onnx_bytes(m.bytes(), "test.onnx");
}

inline TensorMap random_row(const ir::Graph& g, uint64_t seed) {
  TensorMap row;
  for (ir::ValueId v : g.inputs()) {
    const ir::Value& value = g.value(v);
    row[value.name] =
        ir::make_tensor<float>(value.shape, random_floats(seed++, static_cast<size_t>(value.elements())));
  }
  return row;
}
inline std::vector<TensorMap> random_rows(const ir::Graph& g, uint64_t seed, size_t count) {
  std::vector<TensorMap> rows;
  for (size_t i = 0; i < count; ++i) rows.push_back(random_row(g, seed + 100 * i));
  return rows;
}

// Signal over noise of all outputs together, in dB, on `rows`; 300 where they are equal.
inline double sqnr(const ir::Graph& exact, const ir::Graph& other, const std::vector<TensorMap>& rows) {
  double signal = 0, noise = 0;
  for (const TensorMap& row : rows) {
    const TensorMap a = reference::evaluate(exact, row), b = reference::evaluate(other, row);
    for (const std::pair<const std::string, ir::Tensor>& entry : a) {
      const auto x = entry.second.data<float>(), y = b.at(entry.first).data<float>();
      REQUIRE(x.size() == y.size());
      for (size_t i = 0; i < x.size(); ++i) {
        signal += static_cast<double>(x[i]) * x[i];
        noise += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
      }
    }
  }
  return noise == 0 ? 300 : 10 * std::log10(signal / noise);
}

inline size_t count_op(const ir::Graph& g, const std::string& op) {
  size_t n = 0;
  for (ir::NodeId id : g.nodes()) n += g.node(id).op == op;
  return n;
}

// The operators that are left for the host after the default passes, in order.
inline std::vector<std::string> host_operators(ir::Graph& g) {
  passes::run_pipeline(g);
  std::vector<std::string> ops;
  for (ir::NodeId id : g.topological_order()) {
    if (g.node(id).domain != ir::kDlcDomain) ops.push_back(g.node(id).op);
  }
  return ops;
}

}  // namespace dlc::ptq_test
