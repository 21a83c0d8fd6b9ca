#include "compiler/driver/partition.h"

#include <algorithm>
#include <set>

#include "compiler/accel/compile.h"
#include "isa/error.h"

namespace dlc {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_compute(const Node& n) { return n.domain == ir::kDlcDomain && !n.is("reshape"); }
bool is_view(const Node& n) { return n.domain == ir::kDlcDomain && n.is("reshape"); }

std::set<NodeId> accelerator_nodes(const Graph& graph) {
  std::set<NodeId> chosen;
  for (NodeId n : graph.nodes())
    if (graph.node(n).domain == ir::kDlcDomain && !accel::refusal(graph, n)) chosen.insert(n);
  // A view belongs to the accelerator only between two of its operators.
  for (bool changed = true; changed;) {
    changed = false;
    for (NodeId n : graph.nodes()) {
      if (!chosen.count(n) || !is_view(graph.node(n))) continue;
      const NodeId producer = graph.producer(graph.node(n).inputs[0]);
      bool inside = producer.valid() && chosen.count(producer);
      bool used = false;
      for (const ir::Use& u : graph.consumers(graph.node(n).outputs[0])) used |= chosen.count(u.node) > 0;
      if (inside && used) continue;
      chosen.erase(n);
      changed = true;
    }
  }
  return chosen;
}

std::string reason_for(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  if (n.is("QuantizeLinear")) return "quantises the network's input";
  if (n.is("DequantizeLinear")) {
    const NodeId producer = graph.producer(n.inputs[0]);
    if (producer.valid() && graph.node(producer).domain == ir::kDlcDomain) return "dequantises the accelerator's output";
    return "works on float values";
  }
  if (is_view(n)) return "a view of host data";
  if (n.domain == ir::kDlcDomain) return accel::refusal(graph, id).value_or("left to the host");
  return "the accelerator has no " + n.op;
}

bool is_boundary(const Node& n) {
  return n.is("QuantizeLinear") || n.is("DequantizeLinear") || is_view(n);
}

void copy_value(const Graph& from, ValueId v, Graph& to, std::map<ValueId, ValueId>& map) {
  if (!v.valid() || map.count(v)) return;
  map[v] = to.add_value(from.value(v));
}

}  // namespace

Graph extract(const Graph& graph, const std::vector<NodeId>& nodes) {
  Graph sub;
  sub.name = graph.name;
  sub.file = graph.file;
  const std::set<NodeId> members(nodes.begin(), nodes.end());
  std::map<ValueId, ValueId> map;
  std::set<ValueId> seen_output;
  for (NodeId id : nodes) {
    Node node = graph.node(id);
    for (ValueId& v : node.inputs) {
      if (!v.valid()) continue;
      const bool first = !map.count(v);
      copy_value(graph, v, sub, map);
      const NodeId producer = graph.producer(v);
      if (first && !graph.value(v).is_constant() && !(producer.valid() && members.count(producer))) sub.add_input(map[v]);
      v = map[v];
    }
    for (ValueId& v : node.outputs) {
      if (!v.valid()) continue;
      copy_value(graph, v, sub, map);
      v = map[v];
    }
    sub.add_node(std::move(node));
  }
  for (NodeId id : nodes)
    for (ValueId v : graph.node(id).outputs) {
      if (!v.valid()) continue;
      bool leaves = graph.is_output(v);
      for (const ir::Use& u : graph.consumers(v)) leaves |= !members.count(u.node);
      if (leaves) sub.add_output(map[v]);
    }
  return sub;
}

Partition partition(const Graph& graph, bool no_fallback) {
  Partition p;
  const std::vector<NodeId> order = graph.topological_order();
  const std::set<NodeId> chosen = accelerator_nodes(graph);
  if (std::none_of(chosen.begin(), chosen.end(), [&](NodeId n) { return is_compute(graph.node(n)); }))
    throw UserError(ErrorKind::unsupported, graph.file,
                    "no operator of this network can run on the accelerator: it needs 8-bit quantised operators "
                    "(QuantizeLinear/DequantizeLinear around Conv, Gemm, Add, pools); quantise the network first");
  // behind: host nodes that depend on the region. An accelerator node that depends on one would need a second region.
  std::set<NodeId> behind;
  std::vector<NodeId> host_order;
  for (NodeId id : order) {
    const Node& n = graph.node(id);
    NodeId host_between;
    bool after = false;
    for (ValueId v : n.inputs) {
      const NodeId producer = v.valid() ? graph.producer(v) : NodeId{};
      if (!producer.valid()) continue;
      if (behind.count(producer)) host_between = producer;
      after |= behind.count(producer) || chosen.count(producer);
    }
    if (chosen.count(id)) {
      if (host_between.valid()) {
        const Node& h = graph.node(host_between);
        throw UserError(ErrorKind::unsupported, h.where(),
                        reason_for(graph, host_between) + ", and it lies between accelerator operators (the next is '" + n.name +
                            "'); only one accelerator region is supported");
      }
      p.region.push_back(id);
      continue;
    }
    host_order.push_back(id);
    if (after) behind.insert(id);
    (after ? p.after : p.before).push_back(n.name);
    if (no_fallback && !is_boundary(n))
      throw UserError(ErrorKind::unsupported, n.where(), "would run on the host (" + reason_for(graph, id) + "), which --no-fallback forbids");
    p.host_nodes.push_back({n.name, n.op, reason_for(graph, id)});
  }
  std::set<ValueId> seen;
  for (NodeId id : p.region) {
    for (ValueId v : graph.node(id).inputs) {
      if (!v.valid() || graph.value(v).is_constant()) continue;
      const NodeId producer = graph.producer(v);
      if ((!producer.valid() || !chosen.count(producer)) && seen.insert(v).second) p.region_inputs.push_back(v);
    }
    for (ValueId v : graph.node(id).outputs) {
      bool leaves = graph.is_output(v);
      for (const ir::Use& u : graph.consumers(v)) leaves |= !chosen.count(u.node);
      if (leaves) p.region_outputs.push_back(v);
    }
  }
  p.host = extract(graph, host_order);
  return p;
}

void add_host_segments(Program& program, const Graph& graph, const Partition& p) {
  auto names = [](const Graph& g, const std::vector<ValueId>& values) {
    std::vector<std::string> out;
    for (ValueId v : values) out.push_back(g.value(v).name);
    return out;
  };
  auto host_segment = [&](const std::vector<std::string>& nodes, const std::string& reason) {
    Segment s;
    s.kind = Segment::Kind::host;
    s.nodes = nodes;
    s.reason = reason;
    std::vector<NodeId> ids;
    for (const std::string& n : nodes) ids.push_back(*graph.find_node(n));
    const Graph sub = extract(graph, ids);
    s.inputs = names(sub, sub.inputs());
    s.outputs = names(sub, sub.outputs());
    return s;
  };
  if (!p.before.empty()) program.segments.insert(program.segments.begin(), host_segment(p.before, "quantises the network's inputs"));
  if (!p.after.empty()) program.segments.push_back(host_segment(p.after, "works on the accelerator's outputs"));
  program.inputs = names(graph, graph.inputs());
  program.outputs = names(graph, graph.outputs());
  program.host_graph = p.before.empty() && p.after.empty() ? "" : ir::print(p.host);
}

}  // namespace dlc
