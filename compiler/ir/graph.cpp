#include "compiler/ir/graph.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <stdexcept>

namespace dlc::ir {

std::string Node::where() const {
  std::string s = file.empty() ? "" : file + ": ";
  s += "node '" + name + "' (" + op;
  if (domain != kDlcDomain && (opset > 0 || !domain.empty())) {
    s +=
        ", domain " + (domain.empty() ? std::string("ai.onnx") : domain) + ", opset " + std::to_string(opset);
  }
  return s + ")";
}

// ------------------------------------------------------------------------------------------- building

std::string Graph::unique_node_name(const std::string& wish) const {
  if (!wish.empty() && !node_names_.contains(wish)) return wish;
  const std::string stem = wish.empty() ? "node" : wish;
  for (int i = 1;; ++i) {
    std::string name = stem + "_" + std::to_string(i);
    if (!node_names_.contains(name)) return name;
  }
}

std::string Graph::unique_value_name(const std::string& wish) const {
  if (!wish.empty() && !value_names_.contains(wish)) return wish;
  const std::string stem = wish.empty() ? "value" : wish;
  for (int i = 1;; ++i) {
    std::string name = stem + "_" + std::to_string(i);
    if (!value_names_.contains(name)) return name;
  }
}

ValueId Graph::add_value(Value value) {
  value.name = unique_value_name(value.name);
  const auto v = static_cast<uint32_t>(boost::num_vertices(g_));
  value_names_.emplace(value.name, v);
  boost::add_vertex(Vertex(std::move(value)), g_);
  return {v};
}

ValueId Graph::add_constant(const std::string& name, const Tensor& tensor) {
  Value v;
  v.name = name;
  v.type = tensor.type;
  v.shape = tensor.shape;
  v.data = std::make_shared<const Bytes>(tensor.bytes);
  return add_value(std::move(v));
}

NodeId Graph::add_node(Node node) {
  node.name = unique_node_name(node.name.empty() ? node.op : node.name);
  const auto v = static_cast<uint32_t>(boost::num_vertices(g_));
  node_names_.emplace(node.name, v);
  boost::add_vertex(Vertex(std::move(node)), g_);
  ++node_count_;
  connect({v});
  return {v};
}

void Graph::connect(NodeId id) {
  const Node& n = node(id);
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i].valid()) boost::add_edge(n.inputs[i].index, id.index, Edge{i}, g_);
  }
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i].valid()) boost::add_edge(id.index, n.outputs[i].index, Edge{i}, g_);
  }
}

// -------------------------------------------------------------------------------------------- looking

const Node& Graph::node(NodeId id) const { return std::get<Node>(g_[id.index]); }
const Value& Graph::value(ValueId id) const { return std::get<Value>(g_[id.index]); }
Node& Graph::node(NodeId id) { return std::get<Node>(g_[id.index]); }
Value& Graph::value(ValueId id) { return std::get<Value>(g_[id.index]); }

std::vector<NodeId> Graph::nodes() const {
  std::vector<NodeId> result;
  result.reserve(node_count_);
  for (uint32_t v = 0; v < boost::num_vertices(g_); ++v) {
    if (std::holds_alternative<Node>(g_[v])) result.push_back({v});
  }
  return result;
}

std::vector<ValueId> Graph::values() const {
  std::vector<ValueId> result;
  for (uint32_t v = 0; v < boost::num_vertices(g_); ++v) {
    if (std::holds_alternative<Value>(g_[v])) result.push_back({v});
  }
  return result;
}

bool Graph::is_input(ValueId v) const {
  return std::find(inputs_.begin(), inputs_.end(), v) != inputs_.end();
}
bool Graph::is_output(ValueId v) const {
  return std::find(outputs_.begin(), outputs_.end(), v) != outputs_.end();
}

std::optional<ValueId> Graph::find_value(const std::string& wanted) const {
  auto it = value_names_.find(wanted);
  return it == value_names_.end() ? std::nullopt : std::optional<ValueId>(ValueId{it->second});
}

std::optional<NodeId> Graph::find_node(const std::string& wanted) const {
  auto it = node_names_.find(wanted);
  return it == node_names_.end() ? std::nullopt : std::optional<NodeId>(NodeId{it->second});
}

NodeId Graph::producer(ValueId v) const {
  auto [begin, end] = boost::in_edges(v.index, g_);
  return begin == end ? NodeId{} : NodeId{static_cast<uint32_t>(boost::source(*begin, g_))};
}

std::vector<Use> Graph::consumers(ValueId v) const {
  std::vector<Use> uses;
  for (auto [e, end] = boost::out_edges(v.index, g_); e != end; ++e) {
    uses.push_back({NodeId{static_cast<uint32_t>(boost::target(*e, g_))}, g_[*e].slot});
  }
  std::sort(uses.begin(), uses.end(),
            [](const Use& a, const Use& b) { return std::tie(a.node, a.input) < std::tie(b.node, b.input); });
  return uses;
}

std::optional<Use> Graph::single_use(ValueId v) const {
  if (boost::out_degree(v.index, g_) != 1 || is_output(v)) return std::nullopt;
  return consumers(v).front();
}

std::vector<NodeId> Graph::topological_order() const {
  std::unordered_map<uint32_t, size_t> missing;  // inputs of a node whose producer has not been placed
  std::set<uint32_t> ready;
  for (NodeId n : nodes()) {
    size_t count = 0;
    for (ValueId v : node(n).inputs) count += v.valid() && producer(v).valid();
    missing[n.index] = count;
    if (count == 0) ready.insert(n.index);
  }
  std::vector<NodeId> order;
  order.reserve(node_count_);
  while (!ready.empty()) {
    const NodeId n{*ready.begin()};
    ready.erase(ready.begin());
    order.push_back(n);
    for (ValueId out : node(n).outputs) {
      if (!out.valid()) continue;
      for (auto [e, end] = boost::out_edges(out.index, g_); e != end; ++e) {
        const auto consumer = static_cast<uint32_t>(boost::target(*e, g_));
        if (--missing[consumer] == 0) ready.insert(consumer);
      }
    }
  }
  return order;
}

// ------------------------------------------------------------------------------------------- changing

void Graph::remove_edge(uint32_t from, uint32_t to, size_t slot) {
  for (auto [e, end] = boost::out_edges(from, g_); e != end; ++e) {
    if (boost::target(*e, g_) == to && g_[*e].slot == slot) {
      boost::remove_edge(*e, g_);
      return;
    }
  }
}

void Graph::set_input(NodeId n, size_t slot, ValueId v) {
  Node& nd = node(n);
  assert(slot <= nd.inputs.size());
  if (slot == nd.inputs.size()) {
    nd.inputs.push_back(ValueId{});
  } else if (nd.inputs[slot].valid()) {
    remove_edge(nd.inputs[slot].index, n.index, slot);
  }
  nd.inputs[slot] = v;
  if (v.valid()) boost::add_edge(v.index, n.index, Edge{slot}, g_);
}

void Graph::set_outputs(NodeId n, std::vector<ValueId> outputs) {
  boost::clear_out_edges(n.index, g_);
  Node& nd = node(n);
  nd.outputs = std::move(outputs);
  for (size_t i = 0; i < nd.outputs.size(); ++i) {
    if (nd.outputs[i].valid()) boost::add_edge(n.index, nd.outputs[i].index, Edge{i}, g_);
  }
}

void Graph::replace_all_uses(ValueId from, ValueId to) {
  if (from == to) return;
  for (const Use& use : consumers(from)) set_input(use.node, use.input, to);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::rename(ValueId v, const std::string& new_name) {
  assert(!value_names_.contains(new_name));
  Value& val = value(v);
  value_names_.erase(val.name);
  val.name = new_name;
  value_names_.emplace(new_name, v.index);
}

void Graph::swap_names(ValueId a, ValueId b) {
  std::swap(value(a).name, value(b).name);
  value_names_[value(a).name] = a.index;
  value_names_[value(b).name] = b.index;
}

void Graph::erase(NodeId n) {
  node_names_.erase(node(n).name);
  boost::clear_vertex(n.index, g_);
  g_[n.index] = Erased{};
  --node_count_;
}

void Graph::erase_value(ValueId v) {
  assert(boost::degree(v.index, g_) == 0 && !is_input(v) && !is_output(v));
  value_names_.erase(value(v).name);
  g_[v.index] = Erased{};
}

Graph Graph::clone() const {
  Graph copy;
  copy.name = name;
  copy.file = file;
  std::unordered_map<uint32_t, ValueId> to;
  for (ValueId v : values()) to[v.index] = copy.add_value(value(v));
  std::vector<NodeId> order = topological_order();
  assert(order.size() == node_count_);
  for (NodeId id : order) {
    Node n = node(id);
    for (ValueId& v : n.inputs) v = v.valid() ? to.at(v.index) : v;
    for (ValueId& v : n.outputs) v = v.valid() ? to.at(v.index) : v;
    copy.add_node(std::move(n));
  }
  for (ValueId v : inputs_) copy.add_input(to.at(v.index));
  for (ValueId v : outputs_) copy.add_output(to.at(v.index));
  return copy;
}

}  // namespace dlc::ir
