#include "compiler/quantize/post_training_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "compiler/quantize/elementwise.h"
#include "compiler/quantize/post_training_functions.h"

namespace dlc::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr std::array kArithmetic{"Add", "Sub", "Mul", "Max", "Min", "Concat", "PRelu"};
constexpr std::array kAverage{"AveragePool", "GlobalAveragePool", "ReduceMean"};
constexpr std::array kMovement{"MaxPool",      "GlobalMaxPool", "Reshape", "Flatten", "Transpose",
                               "Squeeze",      "Unsqueeze",     "Slice",   "Split",   "DepthToSpace",
                               "SpaceToDepth", "Gather",        "Expand",  "Tile",    "Relu",
                               "Clip",         "Identity",      "Dropout"};

template <typename List>
bool contains(const List& list, const std::string& op) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

bool is_float_constant(const Graph& graph, const Node& node, size_t slot) {
  if (slot >= node.inputs.size() || !node.inputs[slot].valid()) return false;
  const ir::Value& v = graph.value(node.inputs[slot]);
  return v.is_constant() && v.type == ir::ElementType::float32 && v.elements() > 0;
}

bool is_weighted(const Graph& graph, const Node& node) {
  const bool bias = node.inputs.size() > 2 && node.inputs[2].valid();
  if (!is_float_constant(graph, node, 1) || (bias && !is_float_constant(graph, node, 2))) return false;
  const ir::Shape& weight = graph.value(node.inputs[1]).shape;
  if (node.op == "Conv" || node.op == "ConvTranspose") return weight.size() == 4;
  if (node.op == "MatMul") return weight.size() == 2;
  // prepare_for_quantization brought those that can be computed into this form.
  return node.op == "Gemm" && node.attribute<int64_t>("transA") == 0 &&
         node.attribute<int64_t>("transB") == 1 && node.attribute<float>("alpha", 1.0f) == 1.0f &&
         node.attribute<float>("beta", 1.0f) == 1.0f &&
         (!bias || graph.value(node.inputs[2]).shape == ir::Shape{weight[0]});
}

// Linear Resize and Upsample: computed like a layer.
bool is_interpolation(const Node& node) {
  return (node.op == "Resize" || node.op == "Upsample") && node.attribute<std::string>("mode", "nearest") != "nearest";
}

// The inputs that hold activations (constants among an arithmetic operator's operands too).
std::vector<ValueId> data_inputs(const Graph& graph, NodeId id, Role role) {
  const Node& node = graph.node(id);
  if (role != Role::arithmetic || is_interpolation(node) || node.op == "PRelu") return {node.inputs[0]};
  std::vector<ValueId> result;
  for (ValueId v : node.inputs) {
    if (v.valid()) result.push_back(v);
  }
  return result;
}

class Planner {
 public:
  Planner(const Graph& graph, const Calibration& calibration)
      : graph_(graph), calibration_(calibration), functions_(find_functions(graph)) {}

  Plan run() {
    order_ = graph_.topological_order();
    for (NodeId n : order_) roles_[n.index] = functions_.nodes.contains(n) ? Role::function : role_of(graph_, n);
    find_leading();
    for (NodeId n : order_) {
      const Role r = role(n);
      if (r == Role::weighted || r == Role::average || 
          ((r == Role::arithmetic || r == Role::function) && leads_.contains(n)))
        take(n);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (NodeId n : order_) {
        if (plan_.nodes.contains(n) || !joins(n)) continue;
        take(n);
        changed = true;
      }
    }
    group();
    set_scales();
    return std::move(plan_);
  }

 private:
  Role role(NodeId n) const { return roles_.at(n.index); }

  // Nodes from which a weighted operator or an average pool can be reached. Arithmetic behind the last of
  // those is post-processing (box decoding and the like), which 8 bits would ruin.
  void find_leading() {
    for (auto n = order_.rbegin(); n != order_.rend(); ++n) {
      for (ValueId out : graph_.node(*n).outputs) {
        if (!out.valid()) continue;
        for (const ir::Use& use : graph_.consumers(out)) {
          const Role r = role(use.node);
          if (r == Role::weighted || r == Role::average || leads_.contains(use.node)) leads_.insert(*n);
        }
      }
    }
  }

  bool is_quantized(ValueId v) const { return values_.contains(v); }

  // Whether a node's neighbours make it 8 bit.
  bool joins(NodeId id) const {
    const Node& node = graph_.node(id);
    if (role(id) == Role::movement) {
      return is_quantized(node.inputs[0]) || std::any_of(node.outputs.begin(), node.outputs.end(),
                                                         [&](ValueId v) { return is_quantized(v); });
    }
    if (role(id) == Role::function) return is_quantized(source_of(id)) && ends_network(id);
    if (role(id) == Role::arithmetic && is_interpolation(node)) return is_quantized(node.inputs[0]);
    // A residual connection at the end of the network.
    return role(id) == Role::arithmetic && node.op == "Add" && is_quantized(node.inputs[0]) &&
           is_quantized(node.inputs[1]) &&
           graph_.value(node.inputs[0]).shape == graph_.value(node.inputs[1]).shape;
  }

  // Which tensor the function with this node is a function of.
  ValueId source_of(NodeId id) const {
    ValueId v = graph_.node(id).outputs[0];
    while (functions_.inside.contains(v)) v = graph_.node(graph_.consumers(v)[0].node).outputs[0];
    return functions_.source.at(v);
  }

  // Whether the function's result is the network's, as it is or moved.
  bool ends_network(NodeId id) const {
    ValueId v = graph_.node(id).outputs[0];
    while (!graph_.is_output(v)) {
      const std::vector<ir::Use> uses = graph_.consumers(v);
      if (uses.empty() || (role(uses[0].node) != Role::function && role(uses[0].node) != Role::movement)) return false;
      v = graph_.node(uses[0].node).outputs[0];
    }
    return true;
  }

  void take(NodeId id) {
    plan_.nodes.insert(id);
    if (role(id) == Role::function) return take_function(id);
    for (ValueId v : data_inputs(graph_, id, role(id))) values_.insert(v);
    for (ValueId v : graph_.node(id).outputs) {
      if (v.valid()) values_.insert(role(id) == Role::movement ? v : behind_activation(v));
    }
  }

  // A function is rounded where it begins and where it ends. Its constants stay as they are.
  void take_function(NodeId id) {
    const ValueId source = source_of(id), result = graph_.node(id).outputs[0];
    for (ValueId v : graph_.node(id).inputs)
      if (v == source) values_.insert(v);
    if (!functions_.inside.contains(result)) values_.insert(result);
  }

  // The value that is rounded: behind a Relu or Clip that is the only reader of an operator's result.
  ValueId behind_activation(ValueId v) {
    const auto use = graph_.single_use(v);
    if (!use || use->input != 0) return v;
    const Node& next = graph_.node(use->node);
    if (next.op != "Relu" && next.op != "Clip") return v;
    plan_.nodes.insert(use->node);
    merged_.insert(use->node);
    return next.outputs[0];
  }

  Range range_of(ValueId v) const {
    const ir::Value& value = graph_.value(v);
    Range range;
    if (value.is_constant()) {
      for (float x : value.constant<float>()) range = {std::min(range.low, x), std::max(range.high, x)};
      return range;
    }
    const auto it = calibration_.ranges.find(value.name);
    if (it == calibration_.ranges.end())
      throw std::logic_error("no calibrated range for tensor '" + value.name + "'");
    return it->second;
  }

  ValueId find(ValueId v) const {
    for (auto it = parent_.find(v); it != parent_.end(); it = parent_.find(v)) v = it->second;
    return v;
  }

  void join(ValueId a, ValueId b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    if (b < a) std::swap(a, b);  // the lowest id represents its group
    parent_[b] = a;
    ranges_[a] = {std::min(ranges_[a].low, ranges_[b].low), std::max(ranges_[a].high, ranges_[b].high)};
  }

  // Values that share one scale.
  void group() {
    for (ValueId v : values_) ranges_[v] = range_of(v);
    for (NodeId n : order_) {
      if (role(n) != Role::movement || !plan_.nodes.contains(n) || merged_.contains(n)) continue;
      for (ValueId out : graph_.node(n).outputs) {
        if (out.valid()) join(graph_.node(n).inputs[0], out);
      }
    }
    for (NodeId n : order_) {
      if (graph_.node(n).op == "Concat" && plan_.nodes.contains(n)) join_concat(n);
    }
  }

  // A concatenation whose parts have its scale is pure data movement. Only a part with other readers that
  // would lose more than two bits keeps its own scale (and is rounded anew for the concatenation).
  void join_concat(NodeId n) {
    const ValueId whole = rounded_output(n);
    for (ValueId part : graph_.node(n).inputs) {
      const Range a = ranges_[find(part)], b = ranges_[find(whole)];
      const bool alone = graph_.single_use(part) && is_ungrouped(part);
      const bool similar = (a.high - a.low) * 4 >= b.high - b.low;
      if (similar || alone || graph_.value(part).is_constant()) join(part, whole);
    }
  }

  ValueId rounded_output(NodeId n) const {
    const ValueId out = graph_.node(n).outputs[0];
    return values_.contains(out) ? out : graph_.node(graph_.single_use(out)->node).outputs[0];
  }

  bool is_ungrouped(ValueId v) const {
    return !parent_.contains(v) &&
           std::none_of(parent_.begin(), parent_.end(), [&](const auto& entry) { return entry.second == v; });
  }

  void set_scales() {
    for (ValueId v : values_) plan_.values[v] = activation_quantization(ranges_[find(v)]);
  }

  const Graph& graph_;
  const Calibration& calibration_;
  const ElementFunctions functions_;
  Plan plan_;
  std::vector<NodeId> order_;
  std::unordered_map<uint32_t, Role> roles_;
  std::set<NodeId> leads_, merged_;
  std::set<ValueId> values_;
  std::map<ValueId, ValueId> parent_;
  std::map<ValueId, Range> ranges_;
};

}  // namespace

Role role_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.domain.empty() || node.inputs.empty() || !node.inputs[0].valid()) return Role::host;
  for (ValueId v : node.inputs) {
    const bool data = v.valid() && (contains(kArithmetic, node.op) || v == node.inputs[0]);
    if (data && graph.value(v).type != ir::ElementType::float32) return Role::host;
  }
  if (graph.value(node.inputs[0]).is_constant() && !contains(kArithmetic, node.op)) return Role::host;
  if (is_weighted(graph, node)) return Role::weighted;
  if (contains(kAverage, node.op)) return Role::average;
  if (contains(kArithmetic, node.op)) return Role::arithmetic;
  if (node.op == "Resize" || node.op == "Upsample")
    return is_interpolation(node) ? Role::arithmetic : Role::movement;
  if (node.op == "Pad") {
    return node.attributes.contains("pads") && node.attribute<float>("value") == 0.0f ? Role::movement
                                                                                      : Role::host;
  }
  return contains(kMovement, node.op) ? Role::movement : Role::host;
}

ir::Quantization activation_quantization(const Range& range) {
  const double low = std::min(0.0f, range.low), high = std::max(0.0f, range.high);
  // Below this, products of scales would leave float32's normal range.
  if (!(high - low > 1e-15)) return {{1.0f}, {low < 0 ? 127 : -128}, 0};
  const auto scale = static_cast<float>((high - low) / 255.0);
  const double zero = std::nearbyint(-128.0 - low / static_cast<double>(scale));
  return {{scale}, {static_cast<int32_t>(std::clamp(zero, -128.0, 127.0))}, 0};
}

ValueId rounded_output(const Graph& graph, const Plan& plan, NodeId node) {
  const ValueId out = graph.node(node).outputs[0];
  return plan.values.contains(out) ? out : graph.node(graph.single_use(out)->node).outputs[0];
}

Plan make_plan(const Graph& graph, const Calibration& calibration) {
  return Planner(graph, calibration).run();
}

}  // namespace dlc::quantize
