#include "compiler/onnx/composite_nodes.h"

#include "compiler/onnx/expansion.h"
#include "isa/error.h"

namespace dlc::onnx_import {
namespace {

const std::vector<std::string> kConvAttributes{"auto_pad",     "dilations", "group",
                                               "kernel_shape", "pads",      "strides"};
const std::vector<std::string> kPoolAttributes{
    "auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"};

void qlinear_conv(Expansion& e) {
  e.require_inputs(8, 9);
  if (e.integer("channels_last", 0) != 0) e.unsupported("channels_last 1");
  const std::string x = e.dequantised(0), w = e.dequantised(3, 0);
  std::string bias;
  if (!e.input(8).empty()) {
    bias = e.dequantised(e.input(8), e.emit_between("Mul", {e.input(1), e.input(4)}), "", 0);
  }
  e.quantise(e.emit_between("Conv", {x, w, bias}, kConvAttributes), 6);
}

void qlinear_matmul(Expansion& e) {
  e.require_inputs(8, 8);
  const std::string a = e.dequantised(0, -2), b = e.dequantised(3, -1);
  e.quantise(e.emit_between("MatMul", {a, b}), 6);
}

// a, a_scale, a_zero, b, b_scale, b_zero [, c [, y_scale, y_zero]]; c is int32 of scale alpha * a_scale *
// b_scale; without y_scale the result stays float.
void q_gemm(Expansion& e) {
  e.require_inputs(6, 9);
  const bool transposed = e.integer("transB", 0) != 0;
  const std::string a = e.dequantised(0), b = e.dequantised(3, transposed ? 0 : 1);
  std::string c;
  if (!e.input(6).empty()) {
    std::string scale = e.emit_between("Mul", {e.input(1), e.input(4)});
    const float alpha = e.real("alpha", 1.0f);
    if (alpha != 1.0f) scale = e.emit_between("Mul", {scale, e.real_constant(alpha)});
    c = e.dequantised(e.input(6), scale, "", -1);
  }
  const std::vector<std::string> attributes{"alpha", "transA", "transB"};
  if (e.input(7).empty()) {
    e.emit("Gemm", {a, b, c}, e.result(), attributes);
  } else {
    e.quantise(e.emit_between("Gemm", {a, b, c}, attributes), 7);
  }
}

template <int kind>  // 0: Add, 1: Mul
void qlinear_binary(Expansion& e) {
  e.require_inputs(7, 8);
  const std::string a = e.dequantised(0), b = e.dequantised(3);
  e.quantise(e.emit_between(kind == 0 ? "Add" : "Mul", {a, b}), 6);
}

// x, x_scale, x_zero, y_scale, y_zero: one operator between dequantisation and quantisation.
void qlinear_unary(Expansion& e, const std::string& op, const std::vector<std::string>& attributes) {
  e.require_inputs(4, 5);
  e.quantise(e.emit_between(op, {e.dequantised(0)}, attributes), 3);
}

void qlinear_sigmoid(Expansion& e) { qlinear_unary(e, "Sigmoid", {}); }
void qlinear_leaky_relu(Expansion& e) { qlinear_unary(e, "LeakyRelu", {"alpha"}); }

void qlinear_softmax(Expansion& e) {
  // Before opset 13 everything behind the axis is one row: the two agree on the last axis only.
  const bool old = e.integer("opset", e.opset()) < 13;
  if (old != (e.opset() < 13) && e.integer("axis", old ? 1 : -1) != -1) {
    e.require_inputs(4, 5);
    const std::string flat = e.between("Flatten");
    if (!old) e.unsupported("opset 13 semantics in a model of opset " + std::to_string(e.opset()));
    // Flattened to rows, normalised along the last axis, and back to the shape of x.
    const std::string x = e.dequantised(0);
    auto& flatten = e.emit("Flatten", {x}, flat);
    Expansion::add_integer(flatten, "axis", e.integer("axis", 1));
    const std::string rows = e.between("Softmax");
    Expansion::add_integer(e.emit("Softmax", {flat}, rows), "axis", -1);
    const std::string shape = e.emit_between("Shape", {x});
    e.quantise(e.emit_between("Reshape", {rows, shape}), 3);
    return;
  }
  qlinear_unary(e, "Softmax", {"axis"});
}

// The pools may be in NHWC order: transposed around.
void qlinear_pool(Expansion& e, const std::string& op, const std::vector<std::string>& attributes) {
  if (e.integer("channels_last", 0) == 0) return qlinear_unary(e, op, attributes);
  e.require_inputs(4, 5);
  const std::string nchw = e.between("Transpose"), nhwc = e.between("Transpose");
  Expansion::add_integers(e.emit("Transpose", {e.dequantised(0)}, nchw), "perm", {0, 3, 1, 2});
  const std::string y = e.emit_between(op, {nchw}, attributes);
  Expansion::add_integers(e.emit("Transpose", {y}, nhwc), "perm", {0, 2, 3, 1});
  e.quantise(nhwc, 3);
}

void qlinear_average_pool(Expansion& e) { qlinear_pool(e, "AveragePool", kPoolAttributes); }
void qlinear_global_average_pool(Expansion& e) { qlinear_pool(e, "GlobalAveragePool", {}); }

void qlinear_concat(Expansion& e) {
  e.require_inputs(5, 1 << 20);
  if (e.inputs() % 3 != 2) e.require_inputs(-1, -1);
  std::vector<std::string> operands;
  for (int i = 2; i < e.inputs(); i += 3) operands.push_back(e.dequantised(i));
  e.quantise(e.emit_between("Concat", operands, {"axis"}), 0);
}

void quantize_linear(Expansion& e) {
  e.require_inputs(2, 3);
  e.emit("QuantizeLinear", {e.input(0), e.input(1), e.input(2)}, e.result(), {"axis"});
}
void dequantize_linear(Expansion& e) {
  e.require_inputs(2, 3);
  e.emit("DequantizeLinear", {e.input(0), e.input(1), e.input(2)}, e.result(), {"axis"});
}

// The activation that ONNX Runtime fused into its producer.
void activation(Expansion& e, const std::string& x) {
  const auto* a = e.attribute("activation");
  const std::string op = a ? a->s() : "";
  if (op.empty()) {
    e.emit("Identity", {x}, e.result());
    return;
  }
  const auto* p = e.attribute("activation_params");
  const auto parameter = [&](int i) {
    if (!p || i >= p->floats_size()) e.unsupported("activation " + op + " without activation_params");
    return p->floats(i);
  };
  if (op == "LeakyRelu") {
    const float alpha = e.attribute("leaky_relu_alpha") ? e.real("leaky_relu_alpha", 0.01f) : parameter(0);
    Expansion::add_real(e.emit(op, {x}, e.result()), "alpha", alpha);
  } else if (op == "Clip" && e.opset() >= 11) {
    const std::string low = e.real_constant(parameter(0)), high = e.real_constant(parameter(1));
    e.emit(op, {x, low, high}, e.result());
  } else if (op == "Clip") {
    auto& n = e.emit(op, {x}, e.result());
    Expansion::add_real(n, "min", parameter(0));
    Expansion::add_real(n, "max", parameter(1));
  } else if (op == "HardSigmoid") {
    auto& n = e.emit(op, {x}, e.result());
    Expansion::add_real(n, "alpha", parameter(0));
    Expansion::add_real(n, "beta", parameter(1));
  } else if (op == "Relu" || op == "Sigmoid" || op == "Tanh") {
    e.emit(op, {x}, e.result());
  } else {
    e.unsupported("activation " + op);
  }
}

void fused_conv(Expansion& e) {
  e.require_inputs(2, 4);
  std::string y = e.emit_between("Conv", {e.input(0), e.input(1), e.input(2)}, kConvAttributes);
  if (!e.input(3).empty()) y = e.emit_between("Add", {y, e.input(3)});
  activation(e, y);
}

void fused_gemm(Expansion& e) {
  e.require_inputs(2, 3);
  activation(
      e, e.emit_between("Gemm", {e.input(0), e.input(1), e.input(2)}, {"alpha", "beta", "transA", "transB"}));
}

void fused_matmul(Expansion& e) {
  e.require_inputs(2, 2);
  for (const char* name : {"transA", "transB", "transBatchA", "transBatchB"}) {
    if (e.integer(name, 0) != 0) e.unsupported(std::string("attribute ") + name + " 1");
  }
  const float alpha = e.real("alpha", 1.0f);
  if (alpha == 1.0f) {
    e.emit("MatMul", {e.input(0), e.input(1)}, e.result());
  } else {
    const std::string y = e.emit_between("MatMul", {e.input(0), e.input(1)});
    e.emit("Mul", {y, e.real_constant(alpha)}, e.result());
  }
}

void gelu(Expansion& e) {  // 0.5 x (1 + erf(x / sqrt(2)))
  e.require_inputs(1, 1);
  const std::string erf =
      e.emit_between("Erf", {e.emit_between("Mul", {e.input(0), e.real_constant(0.70710678f)})});
  const std::string half = e.emit_between("Mul", {e.input(0), e.real_constant(0.5f)});
  e.emit("Mul", {half, e.emit_between("Add", {erf, e.real_constant(1.0f)})}, e.result());
}

std::string sum_of_inputs(Expansion& e, const std::string& last) {
  std::string total = e.input(0);
  for (int i = 1; i < e.inputs(); ++i) {
    const std::string output = i + 1 == e.inputs() && !last.empty() ? last : e.between("Add");
    e.emit("Add", {total, e.input(i)}, output);
    total = output;
  }
  return total;
}

void sum(Expansion& e) {
  e.require_inputs(1, 1 << 20);
  if (e.inputs() == 1) {
    e.emit("Identity", {e.input(0)}, e.result());
  } else {
    sum_of_inputs(e, e.result());
  }
}

void mean(Expansion& e) {
  e.require_inputs(1, 1 << 20);
  const std::string total = sum_of_inputs(e, "");
  e.emit("Mul", {total, e.real_constant(1.0f / static_cast<float>(e.inputs()))}, e.result());
}

// Max or Min of any number but two, which is an operator of the Graph IR.
template <bool largest>
void extreme(Expansion& e) {
  e.require_inputs(1, 1 << 20);
  if (e.inputs() == 1) {
    e.emit("Identity", {e.input(0)}, e.result());
    return;
  }
  const std::string op = largest ? "Max" : "Min";
  std::string so_far = e.input(0);
  for (int i = 1; i + 1 < e.inputs(); ++i) so_far = e.emit_between(op, {so_far, e.input(i)});
  e.emit(op, {so_far, e.input(e.inputs() - 1)}, e.result());
}

struct CompositeRow {
  const char* domain;
  const char* op;
  void (*expand)(Expansion&);
};

constexpr CompositeRow kRows[] = {
    {"", "Max", extreme<true>},
    {"", "Mean", mean},
    {"", "Min", extreme<false>},
    {"", "QLinearConv", qlinear_conv},
    {"", "QLinearMatMul", qlinear_matmul},
    {"", "Sum", sum},
    {kMicrosoft, "Attention", expand_attention},
    {kMicrosoft, "BiasGelu", expand_bias_gelu},
    {kMicrosoft, "DequantizeLinear", dequantize_linear},
    {kMicrosoft, "EmbedLayerNormalization", expand_embed_layer_normalization},
    {kMicrosoft, "FastGelu", expand_fast_gelu},
    {kMicrosoft, "FusedConv", fused_conv},
    {kMicrosoft, "FusedGemm", fused_gemm},
    {kMicrosoft, "FusedMatMul", fused_matmul},
    {kMicrosoft, "Gelu", gelu},
    {kMicrosoft, "QGemm", q_gemm},
    {kMicrosoft, "QLinearAdd", qlinear_binary<0>},
    {kMicrosoft, "QLinearAveragePool", qlinear_average_pool},
    {kMicrosoft, "QLinearConcat", qlinear_concat},
    {kMicrosoft, "QLinearConv", qlinear_conv},
    {kMicrosoft, "QLinearGlobalAveragePool", qlinear_global_average_pool},
    {kMicrosoft, "QLinearLeakyRelu", qlinear_leaky_relu},
    {kMicrosoft, "QLinearMul", qlinear_binary<1>},
    {kMicrosoft, "QLinearSigmoid", qlinear_sigmoid},
    {kMicrosoft, "QLinearSoftmax", qlinear_softmax},
    {kMicrosoft, "QuantizeLinear", quantize_linear},
    {kMicrosoft, "QuickGelu", expand_quick_gelu},
    {kMicrosoft, "SkipLayerNormalization", expand_skip_layer_normalization},
};

const CompositeRow* find_row(const onnx::NodeProto& node) {
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  if (domain.empty() && (node.op_type() == "Max" || node.op_type() == "Min") && node.input_size() == 2) return nullptr;
  for (const CompositeRow& row : kRows) {
    if (domain == row.domain && node.op_type() == row.op) return &row;
  }
  return nullptr;
}

int onnx_opset(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return static_cast<int>(import.version());
  }
  return 0;
}

}  // namespace

void expand_composite_nodes(onnx::ModelProto& model, const std::string& path,
                            std::vector<std::string>& origins) {
  onnx::GraphProto& graph = *model.mutable_graph();
  origins.assign(static_cast<size_t>(graph.node_size()), "");
  bool any = false;
  for (const auto& node : graph.node()) any = any || find_row(node);
  if (!any) return;
  const int opset = onnx_opset(model);
  google::protobuf::RepeatedPtrField<onnx::NodeProto> old;
  old.Swap(graph.mutable_node());
  origins.clear();
  for (int i = 0; i < old.size(); ++i) {
    const CompositeRow* row = find_row(old[i]);
    if (!row) {
      *graph.add_node() = old[i];
      origins.emplace_back();
      continue;
    }
    const std::string name =
        old[i].name().empty() ? old[i].op_type() + "_" + std::to_string(i) : old[i].name();
    const std::string where = path + ": node '" + name + "' (" + old[i].op_type() +
                              (old[i].domain().empty() ? "" : ", domain " + old[i].domain()) + ")";
    Expansion expansion(old[i], name, where, graph, opset);
    row->expand(expansion);
    origins.resize(static_cast<size_t>(graph.node_size()), name);
  }
}

std::vector<CompositeOperator> composite_operators() {
  std::vector<CompositeOperator> result;
  for (const CompositeRow& row : kRows) {
    const std::string_view op = row.op;
    if (op != "Max" && op != "Min") result.push_back({row.domain, row.op});  // of two they are no composites
  }
  return result;
}

}  // namespace dlc::onnx_import
