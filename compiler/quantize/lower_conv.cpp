// Conv, Gemm and MatMul on quantised operands -> qconv.
#include "compiler/quantize/operands.h"
#include "compiler/quantize/product.h"

namespace dlc::quantize {
namespace {

using ir::ElementType;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// `rows`: the shape that a matrix product's result has on the machine, where that is not the graph's.
bool finish(const LoweringContext& c, Product& p, const ir::Shape& rows = {}) {
  const auto out = finish_product(c, p);
  if (!out) return false;
  // Rank 2 weights and transposed ones become a new constant; Conv's own is used as it is.
  ValueId weight = p.w.stored;
  if (c.graph.value(weight).shape != p.weight.shape) {
    p.weight.type = c.graph.value(weight).type;
    weight = c.graph.add_constant(c.graph.unique_value_name(c.graph.value(weight).name + ".oihw"), p.weight);
  }
  ir::Quantization q{
      {p.w.scale.begin(), p.w.scale.end()}, std::vector<int32_t>(p.w.scale.size(), p.w.zero), 0};
  c.graph.value(weight).quantization = q;
  if (rows.empty()) {
    c.emit("qconv", p.conv, {p.x.stored, weight}, *out, p.shared, p.chain);
    return true;
  }
  const ValueId product =
      add_node(c, "qconv", p.conv, {p.x.stored, weight}, stored_like(c, *out, ".rows", rows), p.node);
  c.emit("reshape", {}, {product}, *out, p.shared, p.chain);
  return true;
}

// The stored operand of a product as a matrix: more than two dimensions are folded into rows; of `transposed` ones
// the columns become rows. Both move bytes on the host where they are no views.
ValueId as_matrix(const LoweringContext& c, NodeId id, const Dequantised& x, const ir::Shape& rows, bool transposed) {
  ir::Value v = c.graph.value(x.stored);
  v.data = nullptr;
  if (!transposed) {
    v.name += ".rows";
    v.shape = rows;
    return add_node(c, "reshape", {}, {x.stored}, std::move(v), id);
  }
  v.name += ".transposed";
  v.shape = {v.shape[1], v.shape[0]};
  const ValueId y = add_node(c, "Transpose", {}, {x.stored}, std::move(v), id);
  Node& node = c.graph.node(c.graph.producer(y));
  node.domain.clear();
  node.opset = c.graph.node(x.node).opset;
  node.attributes["perm"] = std::vector<int64_t>{1, 0};
  return y;
}

}  // namespace

bool lower_conv(const LoweringContext& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const auto x = dequantised(c.graph, node.inputs[0]);
  if (!x) return false;
  std::string reason;
  const auto w = quantised_weight(c.graph, node.inputs[1], 0, reason);
  if (!w) {
    c.note(id, reason);
    return false;
  }
  Product p{id, *x, *w, {}, {}, node.outputs[0], {}, 1, {x->node, w->node}, {id}};
  if (!read_bias(c, p, 2)) return false;
  const ir::Value& stored = c.graph.value(w->stored);
  p.weight.shape = stored.shape;
  p.weight.bytes = *stored.data;
  p.conv.stride = pair_attribute(node, "strides");
  p.conv.dilation = pair_attribute(node, "dilations");
  const auto pads = node.attribute<std::vector<int64_t>>("pads");
  p.conv.pad = {pads[0], pads[1], pads[2], pads[3]};
  p.conv.groups = node.attribute<int64_t>("group", 1);
  match_bias_add(c.graph, p, stored.shape[0], 2);
  return finish(c, p);
}

bool lower_matrix(const LoweringContext& c, NodeId id) {
  const Node node = c.graph.node(id);
  const auto x = dequantised(c.graph, node.inputs[0]);
  if (!x) return false;
  const bool gemm = node.op == "Gemm";
  const bool transposed = gemm && node.attribute<int64_t>("transB") != 0;  // B is (outputs, inputs)
  std::string reason;
  const auto w = quantised_weight(c.graph, node.inputs[1], transposed ? 0 : 1, reason);
  const double alpha = gemm ? static_cast<double>(node.attribute<float>("alpha", 1.0f)) : 1.0;
  const ir::Shape from = c.graph.value(node.inputs[0]).shape;
  if (!w || from.size() < 2 || c.graph.value(node.inputs[1]).shape.size() != 2 || !(alpha > 0)) {
    c.note(id, !w ? reason : "only products of a tensor with a constant matrix are lowered (alpha > 0)");
    return false;
  }
  const ir::Value& stored = c.graph.value(w->stored);
  const int64_t outputs = stored.shape[transposed ? 0 : 1], inputs = stored.shape[transposed ? 1 : 0];
  Product p{id,
            *x,
            *w,
            ir::Tensor(stored.type, {outputs, inputs, 1, 1}),
            {},
            node.outputs[0],
            {},
            alpha,
            {x->node, w->node},
            {id}};
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      p.weight.bytes[static_cast<size_t>(o * inputs + i)] =
          (*stored.data)[static_cast<size_t>(transposed ? o * inputs + i : i * outputs + o)];
    }
  }
  if (gemm && node.inputs.size() > 2 && node.inputs[2].valid()) {
    const auto bias = constant_reals(c.graph, node.inputs[2]);
    const ir::Shape& shape = c.graph.value(node.inputs[2]).shape;
    if (!bias ||
        (bias->size() != 1 && (static_cast<int64_t>(bias->size()) != outputs || shape.back() != outputs))) {
      c.note(id, "its input C is not one constant per output");
      return false;
    }
    const double beta = node.attribute<float>("beta", 1.0f);
    for (int64_t o = 0; o < outputs; ++o) {
      p.bias.push_back(beta * (*bias)[bias->size() == 1 ? 0 : static_cast<size_t>(o)]);
    }
    if (const NodeId b = c.graph.producer(node.inputs[2]); b.valid()) p.shared.push_back(b);
  }
  match_bias_add(c.graph, p, outputs, 0);
  if (!requantised(c.graph, p.result)) return finish(c, p);  // notes why not
  const int64_t rows = c.graph.value(node.outputs[0]).elements() / outputs;
  if (node.attribute<int64_t>("transA") != 0) p.x.stored = as_matrix(c, id, *x, {}, true);
  if (from.size() == 2) return finish(c, p);
  p.x.stored = as_matrix(c, id, *x, {rows, inputs}, false);
  return finish(c, p, {rows, outputs});
}

}  // namespace dlc::quantize
