// Random ONNX models: layers of every kind, chained, in the three forms that users bring (float, Q/DQ,
// QOperator).
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/unit/random_model_parts.h"

namespace dlc::random_models {

class ModelBuilder : public ModelParts {
 public:
  using ModelParts::ModelParts;

  // One of the kinds of layers below that the tensor's shape allows; the rounded result.
  std::string layer(const std::string& x) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      const std::string y = kind(random.range(0, 15), x);
      if (!y.empty()) return y;
    }
    return x;
  }

  // A layer of this kind, or "" where it does not apply.
  static constexpr int kKinds = 16;
  std::string kind(int64_t number, const std::string& x) {
    const Dims s = shape(x);
    const bool map = s.size() == 4;
    switch (number) {
      case 0:
      case 1:
        return map ? conv(x, random.range(1, 40), groups_of(s[1])) : "";
      case 2:
        return map ? conv(x, s[1], s[1]) : "";
      case 3:
        return map && s[2] * s[3] <= 100 ? conv_transpose(x) : "";
      case 4:
        return map ? pool(x) : "";
      case 5:
        return map ? global_pool(x) : "";
      case 6:
        return s.size() == 2 || map ? product(x) : "";
      case 7:
        return combine(x);
      case 8:
        return function(x);
      case 9:
        return map ? prelu(x) : "";
      case 10:
        return map && s[2] * s[3] <= 150 ? resize(x) : "";
      case 11:
        return concat(x);
      case 12:
        return map ? slice(x) : "";
      case 13:
        return map ? shuffle(x) : "";
      case 14:
        return map ? squeeze_excite(x) : "";
      default:
        return map ? depth(x) : clamp(x);
    }
  }

  std::string conv(const std::string& x, int64_t outputs, int64_t groups, bool plain = false) {
    const Dims s = shape(x);
    outputs = std::max(groups, outputs / groups * groups);
    accel_test::WindowSpec w;
    if (!plain) w = window(s[2], s[3]);
    note("Conv", x, w, groups);
    const Dims weight{outputs, s[1] / groups, w.kh, w.kw};
    const double fan = static_cast<double>(weight[1] * w.kh * w.kw);
    const std::string y = fresh("c");
    const std::vector<std::pair<std::string, Dims>> attributes{
        {"strides", {w.sh, w.sw}}, {"dilations", {w.dh, w.dw}}, {"pads", {w.top, w.left, w.bottom, w.right}}};
    const auto finish_node = [&](onnx::NodeProto& n) {
      for (const auto& [key, values] : attributes) test::set(n, key, values);
      test::set(n, "group", groups);
      amplitude_[y] = 1 + amplitude_.at(x) * std::sqrt(fan) * 0.6;
    };
    if (form_ == Form::qoperator) {
      finish_node(m.node("QLinearConv", y, qlinear_operands(x, weight, 0, y, outputs), {stored(y)}));
      return dequantised(y);
    }
    finish_node(m.node("Conv", y, {x, weights(weight, 0), bias(outputs)}, {y}));
    return rounded(activation(y));
  }

 private:
  // ---- shapes
  int64_t groups_of(int64_t channels) {
    if (random.chance(60)) return 1;
    const int64_t g = random.range(2, 6);
    return channels % g == 0 ? g : 1;
  }

  int64_t kernel_size() {
    const int64_t kind = random.range(0, 99);
    return kind < 65 ? random.range(1, 3) : kind < 88 ? random.range(4, 5) : random.range(6, 11);
  }

  accel_test::WindowSpec window(int64_t h, int64_t w) {
    accel_test::WindowSpec s;
    do {
      s.kh = kernel_size();
      s.kw = random.chance(60) ? s.kh : kernel_size();
      s.sh = random.range(1, 4);
      s.sw = random.chance(60) ? s.sh : random.range(1, 4);
      s.dh = random.chance(20) ? 2 : 1;
      s.dw = random.chance(60) ? s.dh : 1;
      s.top = random.range(0, s.kh - 1);
      s.bottom = random.range(0, s.kh - 1);
      s.left = random.range(0, s.kw - 1);
      s.right = random.range(0, s.kw - 1);
    } while (h + s.top + s.bottom < (s.kh - 1) * s.dh + 1 || w + s.left + s.right < (s.kw - 1) * s.dw + 1);
    return s;
  }

  // ---- layers
  std::string conv_transpose(const std::string& x) {
    const Dims s = shape(x);
    const int64_t groups = random.chance(25) ? s[1] : groups_of(s[1]);
    accel_test::WindowSpec w = window(100, 100);
    w.kh = std::min<int64_t>(w.kh, 5);
    w.kw = std::min<int64_t>(w.kw, 5);
    const auto size = [](int64_t in, int64_t stride, int64_t kernel, int64_t dilation, int64_t pads) {
      return (in - 1) * stride + (kernel - 1) * dilation + 1 - pads;
    };
    if (size(s[2], w.sh, w.kh, w.dh, w.top + w.bottom) < 1 ||
        size(s[3], w.sw, w.kw, w.dw, w.left + w.right) < 1)
      return "";
    note("ConvTranspose", x, w, groups);
    const Dims weight{s[1], random.range(1, 40 / groups + 1), w.kh, w.kw};
    const std::string y = fresh("t");
    auto& n = m.node(
        "ConvTranspose", y,
        {x, weights(weight, groups > 1 && weight[0] == groups ? 0 : 1), bias(weight[1] * groups)}, {y});
    test::set(n, "strides", {w.sh, w.sw});
    test::set(n, "dilations", {w.dh, w.dw});
    test::set(n, "pads", {w.top, w.left, w.bottom, w.right});
    test::set(n, "output_padding", {random.range(0, w.sh - 1), random.range(0, w.sw - 1)});
    test::set(n, "group", groups);
    amplitude_[y] = 1 + amplitude_.at(x) * 0.6 *
                            std::sqrt(static_cast<double>(s[1] / groups * w.kh * w.kw) /
                                      static_cast<double>(w.sh * w.sw));
    return rounded(activation(y));
  }

  std::string pool(const std::string& x) {
    const Dims s = shape(x);
    accel_test::WindowSpec w = window(s[2], s[3]);
    const bool average = random.chance(50);
    // A window may not lie in the padding altogether.
    w.top = std::min({w.top, w.kh - 1, (w.kh - 1) * w.dh / 2});
    w.bottom = std::min(w.bottom, w.top);
    w.left = std::min({w.left, w.kw - 1, (w.kw - 1) * w.dw / 2});
    w.right = std::min(w.right, w.left);
    w.dh = w.dw = 1;
    if (s[2] + w.top + w.bottom < w.kh || s[3] + w.left + w.right < w.kw) return "";
    note(average ? "AveragePool" : "MaxPool", x, w);
    const std::string y = fresh("p");
    const bool microsoft = average && form_ == Form::qoperator;
    if (microsoft) parameters(y, amplitude_.at(x));
    const std::string s_ = stem(x);
    auto& n = microsoft ? m.node("QLinearAveragePool", y,
                                 {stored(s_), s_ + "_s", s_ + "_z", y + "_s", y + "_z"}, {stored(y)})
                        : m.node(average ? "AveragePool" : "MaxPool", y, {x}, {y});
    if (microsoft) n.set_domain("com.microsoft");
    test::set(n, "kernel_shape", {w.kh, w.kw});
    test::set(n, "strides", {w.sh, w.sw});
    test::set(n, "pads", {w.top, w.left, w.bottom, w.right});
    test::set(n, "ceil_mode", random.range(0, 1));
    if (average) test::set(n, "count_include_pad", random.range(0, 1));
    amplitude_[y] = amplitude_.at(x);
    if (microsoft) return dequantised(y);
    return average ? rounded(y) : moved(y, x);
  }

  std::string global_pool(const std::string& x) {
    note("GlobalPool", x);
    const bool average = random.chance(70);
    const std::string y = fresh("g");
    m.node(average ? "GlobalAveragePool" : "GlobalMaxPool", y, {x}, {y});
    amplitude_[y] = amplitude_.at(x) * 0.5;
    return average ? rounded(y) : moved(y, x);
  }

  std::string product(std::string x) {
    Dims s = shape(x);
    if (s.size() == 4) {
      if (s[1] * s[2] * s[3] > 2000) return "";
      const std::string f = fresh("f");
      m.node("Flatten", f, {x}, {f});
      x = moved_view(f, x);
      s = {s[0], s[1] * s[2] * s[3]};
    }
    note("Gemm", x);
    const int64_t outputs = random.range(1, 60);
    const std::string y = fresh("m");
    amplitude_[y] = 1 + amplitude_.at(x) * std::sqrt(static_cast<double>(s[1])) * 0.6;
    if (form_ == Form::qoperator) {
      m.node("QLinearMatMul", y, qlinear_operands(x, {s[1], outputs}, 1, y, 0), {stored(y)});
      return dequantised(y);
    }
    const bool gemm = random.chance(60), transposed = gemm && random.chance(50);
    const std::string w = weights(transposed ? Dims{outputs, s[1]} : Dims{s[1], outputs}, transposed ? 0 : 1);
    auto& n = m.node(gemm ? "Gemm" : "MatMul", y, {x, w}, {y});
    if (transposed) test::set(n, "transB", int64_t{1});
    if (const std::string b = bias(outputs); gemm && !b.empty()) n.add_input(b);
    return rounded(activation(y));
  }

  // A view keeps its operand's scale, so that it stays one.
  std::string moved_view(const std::string& v, const std::string& like) {
    amplitude_[v] = amplitude_.at(like);
    if (!quantised()) return v;
    const std::string s = stem(like);
    for (const char* suffix : {"_s", "_z"}) m.node("Identity", "", {s + suffix}, {v + suffix});
    m.node("QuantizeLinear", v + ".Q", {v, s + "_s", s + "_z"}, {stored(v)});
    return dequantised(v);
  }

  std::string combine(const std::string& x) {
    const Dims s = shape(x);
    note("combine", x);
    static const char* const ops[] = {"Add", "Sub", "Mul", "Max", "Min"};
    const std::string op = ops[random.range(0, 4)];
    Dims other = s;
    for (size_t d = 0; d < s.size(); ++d)
      if (random.chance(25)) other[d] = 1;
    std::string b;
    if (random.chance(40)) {
      b = fresh("k");
      const std::vector<float> values = floats(static_cast<size_t>(ir::element_count(other)), 3);
      if (quantised()) {
        parameters(b, 3);
        std::vector<int8_t> bytes;
        for (float f : values) bytes.push_back(static_cast<int8_t>(f * 40));
        const std::string name = fresh("kk");
        m.constant<int8_t>(name + "_q", other, bytes).constant<float>(name + "_s", {}, {0.025f});
        m.constant<int8_t>(name + "_z", {}, {0});
        m.node("DequantizeLinear", name + ".DQ", {name + "_q", name + "_s", name + "_z"}, {name + "_dq"});
        b = name + "_dq";
        amplitude_[name + "_dq"] = 3;
      } else {
        m.constant<float>(b, other, values);
        amplitude_[b] = 3;
      }
    } else if (random.chance(30) && s.size() == 4) {
      b = conv(x, s[1], 1, true);
    } else {
      b = input(other);
    }
    const std::string y = fresh("e");
    const bool swap = random.chance(30);
    const bool microsoft = form_ == Form::qoperator && (op == "Add" || op == "Mul");
    amplitude_[y] = op == "Mul" ? amplitude_.at(x) * amplitude_.at(b) * 0.4
                                : std::max(amplitude_.at(x), amplitude_.at(b)) * 1.3;
    const std::string first = swap ? b : x, second = swap ? x : b;
    if (!microsoft) {
      m.node(op, y, {first, second}, {y});
      return rounded(activation(y));
    }
    parameters(y, amplitude_[y]);
    const std::string p = stem(first), q = stem(second);
    m.node("QLinear" + op, y,
           {stored(p), p + "_s", p + "_z", stored(q), q + "_s", q + "_z", y + "_s", y + "_z"}, {stored(y)})
        .set_domain("com.microsoft");
    return dequantised(y);
  }

  std::string function(const std::string& x) {
    uses_table = true;
    note("function", x);
    static const char* const ops[] = {"Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "LeakyRelu", "Elu",
                                      "Gelu",    "Mish", "Softplus",  "Selu",        "Celu",      "Softsign"};
    const int64_t which = random.range(0, 13);
    const std::string y = fresh("s");
    amplitude_[y] = std::max(0.5, amplitude_.at(x) * 0.7);
    if (which < 12) {
      m.node(ops[which], y, {x}, {y});
    } else if (which == 12) {  // SiLU in parts
      const std::string g = fresh("s");
      m.node("Sigmoid", g, {x}, {g});
      m.node("Mul", y, {x, g}, {y});
    } else {  // hard-swish in parts
      const std::string a = fresh("s"), c = fresh("s"), d = fresh("s"), k = fresh("k");
      m.constant<float>(k + "3", {}, {3}).constant<float>(k + "0", {}, {0}).constant<float>(k + "6", {}, {6});
      m.node("Add", a, {x, k + "3"}, {a});
      m.node("Clip", c, {a, k + "0", k + "6"}, {c});
      m.node("Mul", d, {x, c}, {d});
      m.node("Div", y, {d, k + "6"}, {y});
    }
    return rounded(y);
  }

  std::string prelu(const std::string& x) {
    const Dims s = shape(x);
    note("PRelu", x);
    const std::string k = fresh("k"), y = fresh("a");
    m.constant<float>(k, {s[1], 1, 1}, floats(static_cast<size_t>(s[1]), 1.2));
    if (s[1] == 1) uses_table = true;
    m.node("PRelu", y, {x, k}, {y});
    amplitude_[y] = amplitude_.at(x);
    return rounded(y);
  }

  std::string resize(const std::string& x) {
    const Dims s = shape(x);
    note("Resize", x);
    const std::string k = fresh("k"), y = fresh("z");
    const bool linear = random.chance(60);
    m.constant<float>(k, {4},
                      {1, 1, static_cast<float>(random.range(1, 3)), static_cast<float>(random.range(1, 3))});
    auto& n = m.node("Resize", y, {x, "", k}, {y});
    test::set_text(n, "mode", linear ? "linear" : "nearest");
    if (linear)
      test::set_text(n, "coordinate_transformation_mode",
                     random.chance(50)   ? "half_pixel"
                     : random.chance(50) ? "pytorch_half_pixel"
                                         : "asymmetric");
    amplitude_[y] = amplitude_.at(x);
    return linear ? rounded(y) : moved(y, x);
  }

  std::string concat(const std::string& x) {
    const Dims s = shape(x);
    note("Concat", x);
    const auto axis =
        static_cast<size_t>(random.chance(60) ? 1 : random.range(0, static_cast<int64_t>(s.size()) - 1));
    std::vector<std::string> parts{x};
    for (int64_t i = random.range(1, 2); i > 0; --i) {
      Dims other = s;
      other[axis] = random.range(1, axis == 1 ? 24 : 3);
      parts.push_back(random.chance(30) && s.size() == 4 && axis == 1 ? conv(x, other[1], 1, true)
                                                                      : input(other));
    }
    if (random.chance(50)) std::swap(parts.front(), parts.back());
    const std::string y = fresh("j");
    amplitude_[y] = 0;
    for (const std::string& p : parts) amplitude_[y] = std::max(amplitude_[y], amplitude_.at(p));
    test::set(m.node("Concat", y, parts, {y}), "axis", static_cast<int64_t>(axis));
    return rounded(y);
  }

  std::string slice(const std::string& x) {
    const Dims s = shape(x);
    note("Slice", x);
    Dims starts, ends, steps;
    for (size_t d = 0; d < 4; ++d) {
      const bool whole = random.chance(50);
      starts.push_back(whole ? 0 : random.range(0, s[d] - 1));
      ends.push_back(whole ? s[d] : random.range(starts[d] + 1, s[d]));
      steps.push_back(d > 0 && random.chance(20) ? 2 : 1);
    }
    const std::string k = fresh("k"), y = fresh("l");
    m.constant<int64_t>(k + "a", {4}, starts).constant<int64_t>(k + "b", {4}, ends);
    m.constant<int64_t>(k + "c", {4}, {0, 1, 2, 3}).constant<int64_t>(k + "d", {4}, steps);
    m.node("Slice", y, {x, k + "a", k + "b", k + "c", k + "d"}, {y});
    return moved(y, x);
  }

  std::string shuffle(const std::string& x) {
    const Dims s = shape(x);
    if (s[1] % 2 != 0) return "";
    note("shuffle", x);
    const std::string k = fresh("k"), a = fresh("h"), b = fresh("h"), y = fresh("h");
    m.constant<int64_t>(k + "a", {5}, {s[0], 2, s[1] / 2, s[2], s[3]}).constant<int64_t>(k + "b", {4}, s);
    m.node("Reshape", a, {x, k + "a"}, {a});
    test::set(m.node("Transpose", b, {a}, {b}), "perm", {0, 2, 1, 3, 4});
    m.node("Reshape", y, {b, k + "b"}, {y});
    return moved(y, x);
  }

  std::string squeeze_excite(const std::string& x) {
    const Dims s = shape(x);
    note("squeeze and excite", x);
    uses_table = true;
    const std::string g = fresh("g"), h = fresh("s"), y = fresh("e");
    m.node("GlobalAveragePool", g, {x}, {g});
    amplitude_[g] = amplitude_.at(x) * 0.5;
    const std::string squeezed = conv(rounded(g), std::max<int64_t>(1, s[1] / 2), 1, true);
    const std::string excited = conv(squeezed, s[1], 1, true);
    m.node(random.chance(50) ? "Sigmoid" : "HardSigmoid", h, {excited}, {h});
    amplitude_[h] = 1;
    m.node("Mul", y, {x, rounded(h)}, {y});
    amplitude_[y] = amplitude_.at(x) * 0.7;
    return rounded(y);
  }

  std::string depth(const std::string& x) {
    const Dims s = shape(x);
    const std::string y = fresh("d");
    const bool down = s[2] % 2 == 0 && s[3] % 2 == 0, up = s[1] % 4 == 0;
    if (!down && !up) return clamp(x);
    note("depth", x);
    test::set(m.node(up ? "DepthToSpace" : "SpaceToDepth", y, {x}, {y}), "blocksize", int64_t{2});
    return moved(y, x);
  }

  std::string clamp(const std::string& x) {
    note("Relu", x);
    const std::string y = fresh("r");
    m.node("Relu", y, {x}, {y});
    amplitude_[y] = amplitude_.at(x);
    return rounded(y);
  }
};

}  // namespace dlc::random_models
