// Element-wise functions of one 8-bit tensor become look-up tables. The table is what the reference backend
// computes for all 256 bytes, so it is exactly the Q/DQ graph's function, its roundings included.
#include <algorithm>
#include <map>
#include <string_view>

#include "compiler/backends/reference/reference.h"
#include "compiler/quantize/elementwise.h"
#include "compiler/quantize/lowering.h"

namespace dlc::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Value;
using ir::ValueId;

bool onnx(const Node& n, std::string_view op) { return n.domain.empty() && n.op == op; }

// Which 8-bit tensor a value is an element-wise function of.
class Functions {
 public:
  explicit Functions(Graph& graph) : graph_(graph) {
    for (NodeId id : graph.topological_order()) {
      const Node& n = graph.node(id);
      if (n.outputs.size() != 1) continue;
      const ValueId source = source_of_result(n);
      if (source.valid()) source_[n.outputs[0]] = source;
    }
  }

  ValueId source(ValueId v) const {
    const auto it = source_.find(v);
    return it == source_.end() ? ValueId{} : it->second;
  }

  // The nodes between the source and a value, producers first.
  std::vector<NodeId> nodes_of(ValueId v) const {
    std::vector<NodeId> nodes;
    collect(v, source(v), nodes);
    return nodes;
  }

 private:
  ValueId source_of_result(const Node& n) const {
    if (onnx(n, "DequantizeLinear")) {
      const auto d = dequantised(graph_, n.outputs[0]);
      if (!d || graph_.value(d->stored).is_constant()) return {};
      const ValueId before = source(d->stored);
      return before.valid() ? before : d->stored;
    }
    if (onnx(n, "QuantizeLinear")) {
      const auto q = parameters(graph_, n);
      const bool simple = q && !q->per_axis() && ir::is_8bit(graph_.value(n.outputs[0]).type);
      return simple ? source(n.inputs[0]) : ValueId{};
    }
    if (!is_elementwise(n) || !reference::can_evaluate(n)) return {};
    ValueId common;
    for (ValueId v : n.inputs) {
      if (!v.valid() || is_scalar_constant(graph_, v)) continue;
      const ValueId s = source(v);
      if (!s.valid() || (common.valid() && s != common)) return {};
      common = s;
    }
    const bool same_shape = common.valid() && graph_.value(common).shape == graph_.value(n.outputs[0]).shape;
    return same_shape ? common : ValueId{};
  }

  void collect(ValueId v, ValueId stop, std::vector<NodeId>& nodes) const {
    const NodeId id = graph_.producer(v);
    if (v == stop || !id.valid() || std::find(nodes.begin(), nodes.end(), id) != nodes.end()) return;
    for (ValueId input : graph_.node(id).inputs)
      if (input.valid()) collect(input, stop, nodes);
    nodes.push_back(id);
  }

  Graph& graph_;
  std::map<ValueId, ValueId> source_;
};

// The nodes as a graph of their own, from 256 bytes to 256 bytes.
ir::QLut tabulate(const Graph& graph, const std::vector<NodeId>& nodes, ValueId source, ValueId result) {
  constexpr int64_t kBytes = 256;
  Graph g;
  g.file = graph.file;
  std::map<ValueId, ValueId> map;
  const auto add = [&](ValueId v, ir::Shape shape) {
    Value copy = graph.value(v);
    copy.shape = std::move(shape);
    copy.quantization.reset();
    return map[v] = g.add_value(std::move(copy));
  };
  g.add_input(add(source, {kBytes}));
  for (NodeId id : nodes) {
    Node n = graph.node(id);
    for (ValueId& v : n.inputs) {
      if (!v.valid()) continue;
      if (!map.count(v)) add(v, {graph.value(v).elements()});  // a scalar constant
      v = map.at(v);
    }
    const bool of_constant = graph.value(graph.node(id).inputs[0]).is_constant();
    n.outputs[0] = add(graph.node(id).outputs[0], {of_constant ? 1 : kBytes});
    g.add_node(std::move(n));
  }
  g.add_output(map.at(result));
  ir::Tensor x(graph.value(source).type, {kBytes});
  for (size_t i = 0; i < x.bytes.size(); ++i) x.bytes[i] = static_cast<uint8_t>(i);
  const auto y = reference::evaluate(g, {{graph.value(source).name, x}});
  ir::QLut lut;
  std::copy_n(y.at(graph.value(result).name).bytes.begin(), lut.table.size(), lut.table.begin());
  return lut;
}

bool is_used(const Graph& graph, ValueId v) { return graph.is_output(v) || !graph.consumers(v).empty(); }

// Puts a look-up in the place of the QuantizeLinear; what nobody reads any more goes.
void replace(const LoweringContext& c, NodeId quantize, const std::vector<NodeId>& nodes, ValueId source) {
  Graph& graph = c.graph;
  const Node q = graph.node(quantize);
  const ValueId result = q.outputs[0];
  Node look_up;
  look_up.op = "qlut";
  look_up.domain = ir::kDlcDomain;
  look_up.file = q.file;
  look_up.onnx_nodes = onnx_names(graph, nodes);
  look_up.inputs = {source};
  look_up.outputs = {result};
  look_up.payload = tabulate(graph, nodes, source, result);
  std::string name = q.name;
  for (NodeId n : nodes)
    if (is_elementwise(graph.node(n)) && !is_clamp(graph.node(n))) name = graph.node(n).name;
  if (!graph.value(result).quantization) graph.value(result).quantization = parameters(graph, q);
  graph.erase(quantize);
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    if (*n == quantize) continue;
    const ValueId out = graph.node(*n).outputs[0];
    if (is_used(graph, out)) continue;
    graph.erase(*n);
    graph.erase_value(out);
  }
  look_up.name = graph.unique_node_name(name);
  graph.add_node(std::move(look_up));
}

}  // namespace

void lower_functions(const LoweringContext& c) {
  const Functions functions(c.graph);
  std::vector<NodeId> order = c.graph.topological_order();
  // Last first: a function of a function's result is one function, if nobody else reads what is between.
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (!c.graph.alive(id->index) || !onnx(c.graph.node(*id), "QuantizeLinear")) continue;
    const ValueId result = c.graph.node(*id).outputs[0], source = functions.source(result);
    if (!source.valid()) continue;
    const std::vector<NodeId> nodes = functions.nodes_of(result);
    if (needs_table(c.graph, nodes)) replace(c, *id, nodes, source);
  }
}

}  // namespace dlc::quantize
