#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "compiler/passes/passes.h"

namespace dlc::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// Two of these in one graph draw different numbers.
bool is_random(const Node& n) {
  return n.op.starts_with("Random") || n.op == "Bernoulli" || n.op == "Multinomial" || n.op == "Dropout";
}

// No exporter writes a layer twice. Branches with equal weights are topologies whose weights are made up (all
// constant, say), and whoever compiles those wants the cycles of the real ones.
bool has_weights(const Node& n) {
  return n.op == "Conv" || n.op == "ConvTranspose" || n.op == "Gemm" || n.op == "MatMul";
}

// Nodes with equal keys compute the same.
using Key = std::tuple<std::string, std::string, int, std::map<std::string, ir::Attribute>, std::vector<ValueId>, size_t>;

// Equal constants become one, so that nodes on them have equal keys.
void merge_constants(Graph& graph) {
  std::unordered_map<std::string_view, std::vector<ValueId>> by_bytes;
  for (ValueId v : graph.values()) {
    const ir::Value& value = graph.value(v);
    if (!value.is_constant() || graph.is_output(v)) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(value.data->data()), value.data->size());
    std::vector<ValueId>& same = by_bytes[bytes];
    const auto first = std::find_if(same.begin(), same.end(), [&](ValueId o) {
      const ir::Value& other = graph.value(o);
      return other.type == value.type && other.shape == value.shape && other.quantization == value.quantization;
    });
    if (first == same.end()) same.push_back(v);
    else graph.replace_all_uses(v, *first);  // the bytes stay until remove-dead-code: views into them hold
  }
}

bool merge_into(Graph& graph, NodeId duplicate, NodeId original) {
  const Node& d = graph.node(duplicate);
  if (d.outputs.size() != 1) return false;
  const ValueId kept = graph.node(original).outputs[0];
  const std::vector<std::string> names = d.onnx_nodes;
  if (!bypass(graph, duplicate, kept)) return false;
  std::vector<std::string>& all = graph.node(original).onnx_nodes;
  all.insert(all.end(), names.begin(), names.end());
  return true;
}

}  // namespace

void common_subexpressions(Graph& graph, PassContext&) {
  merge_constants(graph);
  std::map<Key, NodeId> seen;
  for (NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    if (!std::holds_alternative<std::monostate>(n.payload) || n.outputs.size() != 1 || is_random(n) ||
        has_weights(n))
      continue;
    const auto [it, is_new] = seen.try_emplace(Key{n.domain, n.op, n.opset, n.attributes, n.inputs, n.outputs.size()}, id);
    if (!is_new) merge_into(graph, id, it->second);
  }
}

}  // namespace dlc::passes
