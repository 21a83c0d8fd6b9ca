// Random ONNX models, their parts: inputs, constants, quantisation in the form that the model has.
#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "compiler/onnx/import_onnx.h"
#include "tests/unit/accel_harness.h"
#include "tests/unit/onnx_model.h"

namespace dlc::random_models {

using accel_test::Random;
using test::Dims;

enum class Form { float32, qdq, qoperator };

class ModelParts {
 public:
  ModelParts(uint64_t seed, Form form) : random(seed), form_(form) {
    auto* microsoft = m.proto().add_opset_import();
    microsoft->set_domain("com.microsoft");
    microsoft->set_version(1);
  }

  Random random;
  test::OnnxModel m{20};
  bool uses_table = false;  // has a function that needs look-up tables
  std::string text;         // the layers, for messages

  // A real-valued tensor; rounded to 8 bits in quantised forms.
  std::string input(const Dims& shape) {
    const std::string name = fresh("x");
    m.input(name, shape);
    shapes_[name] = shape;
    amplitude_[name] = 3;
    return rounded(name);
  }

  // The model with its output; `bytes()` of it imports.
  void finish(const std::string& y) { m.output(y); }

  Dims shape(const std::string& v) {
    if (const auto it = shapes_.find(v); it != shapes_.end()) return it->second;
    test::OnnxModel whole = m;
    whole.output(v);
    const ir::Graph g = onnx_import::import_onnx_bytes(whole.bytes(), "random.onnx");
    return shapes_[v] = g.value(g.outputs()[0]).shape;
  }

 protected:
  std::string fresh(const std::string& stem) { return stem + std::to_string(count_++); }
  bool quantised() const { return form_ != Form::float32; }

  void note(const std::string& op, const std::string& x, const accel_test::WindowSpec& w = {},
            int64_t groups = 1) {
    text += op + " of " + ir::shape_text(shape(x));
    for (int64_t v : {w.kh, w.kw, w.sh, w.sw, w.dh, w.dw, w.top, w.left, w.bottom, w.right, groups})
      text += ' ' + std::to_string(v);
    text += '\n';
  }

  // ---- quantisation
  static std::string stem(const std::string& real) { return real.substr(0, real.rfind("_dq")); }
  static std::string stored(const std::string& name) { return name + "_q"; }

  // Scale and zero point NAME_s, NAME_z for `amplitude`; the type's zero is somewhere in the middle.
  bool parameters(const std::string& name, double amplitude) {
    const bool is_signed = random.chance(50);
    const auto scale = static_cast<float>(amplitude / 127 * static_cast<double>(random.range(60, 140)) / 100);
    m.constant<float>(name + "_s", {}, {scale});
    const int64_t zero = random.range(-40, 40);
    if (is_signed)
      m.constant<int8_t>(name + "_z", {}, {static_cast<int8_t>(zero)});
    else
      m.constant<uint8_t>(name + "_z", {}, {static_cast<uint8_t>(zero + 128)});
    return is_signed;
  }

  std::string dequantised(const std::string& name) {
    m.node("DequantizeLinear", name + ".DQ", {stored(name), name + "_s", name + "_z"}, {name + "_dq"});
    amplitude_[name + "_dq"] = amplitude_.at(name);
    return name + "_dq";
  }

  std::string rounded(const std::string& real) {
    if (!quantised()) return real;
    parameters(real, amplitude_.at(real));
    m.node("QuantizeLinear", real + ".Q", {real, real + "_s", real + "_z"}, {stored(real)});
    return dequantised(real);
  }

  // The same scale and zero point again, as data movement has.
  std::string moved(const std::string& real, const std::string& like) {
    amplitude_[real] = amplitude_.at(like);
    if (!quantised()) return real;
    if (random.chance(25)) return rounded(real);  // a change of scale as well
    const std::string s = stem(like);
    m.node("QuantizeLinear", real + ".Q", {real, s + "_s", s + "_z"}, {stored(real)});
    m.node("DequantizeLinear", real + ".DQ", {stored(real), s + "_s", s + "_z"}, {real + "_dq"});
    // Later QOperator nodes look for parameters by the tensor's name.
    for (const char* suffix : {"_s", "_z"}) m.node("Identity", "", {s + suffix}, {real + suffix});
    amplitude_[real + "_dq"] = amplitude_.at(like);
    return real + "_dq";
  }

  std::string activation(const std::string& y) {
    if (random.chance(60)) return y;
    const std::string a = fresh("r");
    m.node("Relu", a, {y}, {a});
    amplitude_[a] = amplitude_.at(y);
    return a;
  }

  // ---- constants
  std::vector<float> floats(size_t n, double amplitude) {
    std::vector<float> v(n);
    for (float& f : v)
      f = static_cast<float>(amplitude * (static_cast<double>(random.range(-1000, 1000)) / 1000));
    return v;
  }

  // NAME_w with NAME_ws, NAME_wz; per channel along `axis` in half of the cases.
  void stored_weights(const std::string& name, const Dims& shape, int64_t axis) {
    const bool per_channel = random.chance(60) && shape[static_cast<size_t>(axis)] > 1;
    const int64_t count = per_channel ? shape[static_cast<size_t>(axis)] : 1;
    std::vector<float> scales;
    for (int64_t i = 0; i < count; ++i)
      scales.push_back(0.008f * static_cast<float>(random.range(60, 140)) / 100);
    const Dims p = per_channel ? Dims{count} : Dims{};
    m.constant<float>(name + "_ws", p, scales);
    const auto n = static_cast<size_t>(ir::element_count(shape)), channels = static_cast<size_t>(count);
    if (per_channel || random.chance(60)) {
      std::vector<int8_t> v(n);
      for (auto& b : v) b = static_cast<int8_t>(random.range(-127, 127));
      m.constant<int8_t>(name + "_w", shape, v);
      m.constant<int8_t>(name + "_wz", p, std::vector<int8_t>(channels, 0));
    } else {
      std::vector<uint8_t> v(n);
      for (auto& b : v) b = static_cast<uint8_t>(random.range(0, 255));
      m.constant<uint8_t>(name + "_w", shape, v);
      m.constant<uint8_t>(name + "_wz", p, {static_cast<uint8_t>(random.range(110, 145))});
    }
  }

  std::string weights(const Dims& shape, int64_t axis) {
    const std::string name = fresh("w");
    if (!quantised()) {
      m.constant<float>(name, shape, floats(static_cast<size_t>(ir::element_count(shape)), 1));
      return name;
    }
    stored_weights(name, shape, axis);
    test::set(m.node("DequantizeLinear", name + ".DQ", {name + "_w", name + "_ws", name + "_wz"}, {name}),
              "axis", axis);
    return name;
  }

  std::string bias(int64_t n) {
    if (random.chance(20)) return "";
    const std::string name = fresh("b");
    m.constant<float>(name, {n}, floats(static_cast<size_t>(n), 2));
    return name;
  }

  // Operands of QLinearConv and QLinearMatMul: x, w, the result's parameters, [an int32 bias].
  std::vector<std::string> qlinear_operands(const std::string& x, const Dims& weight, int64_t axis,
                                            const std::string& y, int64_t biases) {
    const std::string s = stem(x);
    stored_weights(y, weight, axis);
    amplitude_[y] = 1 + amplitude_.at(x) *
                            std::sqrt(static_cast<double>(ir::element_count(weight)) /
                                      static_cast<double>(weight[static_cast<size_t>(axis)])) *
                            0.6;
    parameters(y, amplitude_[y]);
    std::vector<std::string> in{stored(s), s + "_s",  s + "_z", y + "_w",
                                y + "_ws", y + "_wz", y + "_s", y + "_z"};
    if (biases > 0 && random.chance(70)) {
      std::vector<int32_t> v;
      for (int64_t i = 0; i < biases; ++i) v.push_back(static_cast<int32_t>(random.range(-3000, 3000)));
      m.constant<int32_t>(y + "_b", {biases}, v);
      in.push_back(y + "_b");
    }
    return in;
  }

  Form form_;
  int count_ = 0;
  std::map<std::string, Dims> shapes_;
  std::map<std::string, double> amplitude_;
};

}  // namespace dlc::random_models
