#include "compiler/quantize/post_training_functions.h"

#include <algorithm>

#include "compiler/quantize/elementwise.h"
#include "compiler/quantize/post_training_plan.h"

namespace dlc::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {}

  ElementFunctions run() {
    for (NodeId id : graph_.topological_order()) {
      const Node& n = graph_.node(id);
      if (n.outputs.size() != 1) continue;
      if (const ValueId s = source_of_result(n); s.valid()) source_[n.outputs[0]] = s;
    }
    for (const auto& [result, source] : source_) {
      if (is_inside(result)) continue;
      std::set<NodeId> nodes;
      collect(result, source, nodes);
      if (!is_function(nodes)) continue;
      found_.nodes.insert(nodes.begin(), nodes.end());
      found_.source[result] = source;
      for (NodeId n : nodes)
        if (is_inside(graph_.node(n).outputs[0])) found_.inside.insert(graph_.node(n).outputs[0]);
    }
    return std::move(found_);
  }

 private:
  ValueId source(ValueId v) const {
    const auto it = source_.find(v);
    return it == source_.end() ? v : it->second;
  }

  // A Relu or Clip that is rounded as part of the operator in front of it.
  bool belongs_to_layer(const Node& n) const {
    const ValueId x = n.inputs[0];
    const NodeId layer = graph_.producer(x);
    if (!is_clamp(n) || !layer.valid() || source(x) != x || !graph_.single_use(x)) return false;
    const Role role = role_of(graph_, layer);
    return role == Role::weighted || role == Role::average || role == Role::arithmetic;
  }

  ValueId source_of_result(const Node& n) const {
    if (!is_elementwise(n) || belongs_to_layer(n)) return {};
    ValueId common;
    for (ValueId v : n.inputs) {
      if (!v.valid() || is_scalar_constant(graph_, v)) continue;
      if (graph_.value(v).is_constant() || graph_.value(v).type != ir::ElementType::float32) return {};
      if (common.valid() && source(v) != common) return {};
      common = source(v);
    }
    const bool same_shape = common.valid() && graph_.value(common).shape == graph_.value(n.outputs[0]).shape;
    return same_shape ? common : ValueId{};
  }

  bool is_inside(ValueId v) const {
    if (graph_.is_output(v) || source(v) == v) return false;
    for (const ir::Use& use : graph_.consumers(v)) {
      const Node& reader = graph_.node(use.node);
      if (reader.outputs.size() != 1 || !source_.contains(reader.outputs[0]) ||
          source(reader.outputs[0]) != source(v))
        return false;
    }
    return true;
  }

  void collect(ValueId v, ValueId stop, std::set<NodeId>& nodes) const {
    const NodeId id = graph_.producer(v);
    if (v == stop || !id.valid() || !source_.contains(v) || !nodes.insert(id).second) return;
    for (ValueId input : graph_.node(id).inputs)
      if (input.valid()) collect(input, stop, nodes);
  }

  bool is_function(const std::set<NodeId>& nodes) const {
    std::vector<NodeId> working;
    for (NodeId n : nodes)
      if (!is_clamp(graph_.node(n))) working.push_back(n);
    if (working.size() != 1) return !working.empty();
    const std::string& op = graph_.node(working[0]).op;
    return op != "Add" && op != "Sub" && op != "Mul" && op != "Div" && op != "Max" && op != "Min";
  }

  const Graph& graph_;
  std::map<ValueId, ValueId> source_;
  ElementFunctions found_;
};

}  // namespace

ElementFunctions find_functions(const Graph& graph) { return Finder(graph).run(); }

}  // namespace dlc::quantize
