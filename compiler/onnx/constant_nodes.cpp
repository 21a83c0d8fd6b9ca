#include "compiler/onnx/constant_nodes.h"

#include "compiler/onnx/proto_reader.h"
#include "isa/error.h"

namespace dlc::onnx_import {
namespace {

using ir::ElementType;
using ir::Tensor;

constexpr int64_t kLargestFill = int64_t{1} << 28;  // elements

ir::Tensor filled(const onnx::NodeProto& node, const Tensor& element, const ir::Graph& graph,
                  const std::string& where) {
  const auto in = graph.find_value(node.input(0));
  if (!in || !graph.value(*in).is_constant()) {
    throw UserError(ErrorKind::unsupported, where, "the shape must be a constant");
  }
  if (graph.value(*in).type != ElementType::int64 || element.size() != 1) {
    throw UserError(ErrorKind::bad_input, where, "expected an int64 shape and one element");
  }
  Tensor t;
  t.type = element.type;
  const auto dims = graph.value(*in).constant<int64_t>();
  t.shape.assign(dims.begin(), dims.end());
  const auto n = ir::checked_element_count(t.shape);
  if (!n || *n > kLargestFill) {
    throw UserError(ErrorKind::bad_input, where, "impossible shape " + ir::shape_text(t.shape));
  }
  t.bytes.reserve(static_cast<size_t>(*n) * element.bytes.size());
  for (int64_t i = 0; i < *n; ++i) t.bytes.insert(t.bytes.end(), element.bytes.begin(), element.bytes.end());
  return t;
}

// The tensor in an attribute; element type undefined when the attribute holds none.
Tensor attribute_tensor(const onnx::AttributeProto& a, const std::string& model_path,
                        const std::string& where) {
  if (a.name() == "value" && a.has_t()) return read_tensor(a.t(), model_path, where);
  if (a.name() == "value_float") return ir::make_tensor<float>({}, {a.f()});
  if (a.name() == "value_int") return ir::make_tensor<int64_t>({}, {a.i()});
  if (a.name() == "value_floats") {
    return ir::make_tensor<float>({a.floats_size()}, {a.floats().begin(), a.floats().end()});
  }
  if (a.name() == "value_ints") {
    return ir::make_tensor<int64_t>({a.ints_size()}, {a.ints().begin(), a.ints().end()});
  }
  throw UserError(ErrorKind::unsupported, where, "attribute '" + a.name() + "'");
}

}  // namespace

std::optional<ir::Tensor> constant_node(const onnx::NodeProto& node, const ir::Graph& graph,
                                        const std::string& model_path, const std::string& where) {
  const bool fill = node.op_type() == "ConstantOfShape";
  if (node.op_type() != "Constant" && !fill) return std::nullopt;
  if (node.output_size() != 1 || node.output(0).empty() || node.input_size() != (fill ? 1 : 0)) {
    throw UserError(ErrorKind::bad_input, where, "wrong number of inputs or outputs");
  }
  Tensor t;
  if (fill) t = ir::make_tensor<float>({1}, {0.0f});
  for (const auto& a : node.attribute()) t = attribute_tensor(a, model_path, where);
  if (t.type == ElementType::undefined) throw UserError(ErrorKind::bad_input, where, "it holds no value");
  return fill ? filled(node, t, graph, where) : t;
}

}  // namespace dlc::onnx_import
