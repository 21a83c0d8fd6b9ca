#include "compiler/quantize/machine_ranks.h"

#include <algorithm>

#include "compiler/quantize/operands.h"

namespace dlc::quantize {
namespace {

using ir::NodeId;
using ir::Shape;
using ir::ValueId;

bool is_elementwise(const ir::Node& n) {
  return std::holds_alternative<ir::QLut>(n.payload) || std::holds_alternative<ir::QAdd>(n.payload) ||
         std::holds_alternative<ir::QBinary>(n.payload);
}

Shape folded(const Shape& shape) {
  const int64_t columns = shape.empty() ? 1 : shape.back();
  return {columns == 0 ? 0 : ir::element_count(shape) / columns, columns};
}

// `v` under another shape: what it is itself a view of, where that has the shape, else a new view.
ValueId view(const LoweringContext& c, ValueId v, const Shape& shape, NodeId like) {
  const NodeId producer = c.graph.producer(v);
  if (producer.valid() && c.graph.node(producer).is("reshape") &&
      c.graph.node(producer).domain == ir::kDlcDomain) {
    const ValueId source = c.graph.node(producer).inputs[0];
    if (c.graph.value(source).shape == shape) return source;
  }
  ir::Value result = c.graph.value(v);
  result.data = nullptr;
  result.name += ".folded";
  result.shape = shape;
  return add_node(c, "reshape", {}, {v}, std::move(result), like);
}

}  // namespace

void fold_ranks(const LoweringContext& c) {
  for (NodeId id : c.graph.topological_order()) {
    const ir::Node& node = c.graph.node(id);
    if (!is_elementwise(node)) continue;
    const std::vector<ValueId> inputs = node.inputs;
    const ValueId y = node.outputs[0];
    const Shape shape = c.graph.value(y).shape;
    const bool equal = std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) {
      return c.graph.value(v).shape == shape && !c.graph.value(v).is_constant();
    });
    if (shape.size() == 2 || shape.size() == 4 || !equal) continue;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool again = i > 0 && inputs[i] == inputs[0];
      c.graph.set_input(id, i, again ? c.graph.node(id).inputs[0] : view(c, inputs[i], folded(shape), id));
    }
    ir::Value between = c.graph.value(y);
    between.name = c.graph.unique_value_name(between.name + ".folded");
    between.shape = folded(shape);
    c.graph.set_outputs(id, {c.graph.add_value(std::move(between))});
    ir::Node back;
    back.name = c.graph.unique_node_name(c.graph.node(id).name + ".unfold");
    back.op = "reshape";
    back.domain = ir::kDlcDomain;
    back.file = c.graph.node(id).file;
    back.onnx_nodes = c.graph.node(id).onnx_nodes;
    back.inputs = {c.graph.node(id).outputs[0]};
    back.outputs = {y};
    c.graph.add_node(std::move(back));
  }
}

}  // namespace dlc::quantize
