#include <numeric>

#include "compiler/backends/reference/reference.h"
#include "compiler/passes/passes.h"

namespace dlc::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool moves_data(const Node& n) {
  return (n.is("reshape") && n.domain == ir::kDlcDomain) || n.is("Transpose");
}

// The chain of views and transpositions that makes `value`, nearest first, and the map it starts from.
std::vector<NodeId> movement_chain(const Graph& graph, ValueId value, ValueId& source) {
  std::vector<NodeId> chain;
  source = value;
  for (NodeId p = graph.producer(value); p.valid() && moves_data(graph.node(p)); p = graph.producer(source)) {
    chain.push_back(p);
    source = graph.node(p).inputs[0];
  }
  return chain;
}

// Where each feature of the flattened tensor lies in the source map: the chain run on element numbers.
std::vector<int32_t> trace_features(const Graph& graph, const std::vector<NodeId>& chain,
                                    const ir::Shape& source) {
  ir::Tensor numbers(ir::ElementType::int32, source);
  std::iota(numbers.data<int32_t>().begin(), numbers.data<int32_t>().end(), 0);
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    // The kernels move elements by size; here they move 32-bit numbers in place of bytes.
    const Node& node = graph.node(*it);
    Graph scratch;
    ir::Value x, y;
    x.name = "x";
    y.name = "y";
    x.type = y.type = ir::ElementType::int32;
    x.shape = numbers.shape;
    y.shape = graph.value(node.outputs[0]).shape;
    Node copy = node;
    copy.inputs = {scratch.add_value(x)};
    copy.outputs = {scratch.add_value(y)};
    const NodeId id = scratch.add_node(std::move(copy));
    numbers = std::move(reference::evaluate_node(scratch, id, {&numbers})[0]);
  }
  const auto data = numbers.data<int32_t>();
  return {data.begin(), data.end()};
}

// False where the features are not one whole map each.
bool absorb(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  auto conv = std::get<ir::QConv>(node.payload);
  ValueId source;
  const std::vector<NodeId> chain = movement_chain(graph, node.inputs[0], source);
  const ir::Shape map = graph.value(source).shape;
  const ir::Shape flat = graph.value(node.inputs[0]).shape;
  if (chain.empty() || map.size() != 4 || map[0] != flat[0] || conv.groups != 1) return false;
  const std::vector<int32_t> feature_at = trace_features(graph, chain, map);
  // One row of features must be one map, in the same order for every row.
  for (int64_t i = 0; i < map[0] * flat[1]; ++i) {
    const int64_t row = i / flat[1], first = feature_at[static_cast<size_t>(i % flat[1])];
    if (first >= flat[1] || feature_at[static_cast<size_t>(i)] != first + row * flat[1]) return false;
  }

  const ir::Value& old = graph.value(node.inputs[1]);
  const auto features = static_cast<size_t>(flat[1]);
  ir::Tensor weight(old.type, {old.shape[0], map[1], map[2], map[3]});
  for (size_t o = 0; o < static_cast<size_t>(old.shape[0]); ++o) {
    for (size_t f = 0; f < features; ++f) {
      weight.bytes[o * features + static_cast<size_t>(feature_at[f])] = (*old.data)[o * features + f];
    }
  }
  const auto quantization = old.quantization;
  const ValueId w = graph.add_constant(old.name + ".map", weight);
  graph.value(w).quantization = quantization;
  conv.kernel = {map[2], map[3]};
  graph.set_input(id, 0, source);
  graph.set_input(id, 1, w);
  graph.node(id).payload = conv;
  std::vector<std::string> names;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const auto& n = graph.node(*it).onnx_nodes;
    names.insert(names.end(), n.begin(), n.end());
  }
  auto& all = graph.node(id).onnx_nodes;
  all.insert(all.begin(), names.begin(), names.end());
  return true;
}

}  // namespace

void absorb_reshape(Graph& graph, PassContext&) {
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const auto* conv = std::get_if<ir::QConv>(&node.payload);
    if (!conv || graph.value(node.inputs[0]).shape.size() != 2) continue;
    absorb(graph, id);
  }
}

}  // namespace dlc::passes
