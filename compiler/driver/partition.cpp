#include "compiler/driver/partition.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/accel/compile.h"
#include "isa/error.h"

namespace dlc {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_view(const Node& n) { return n.domain == ir::kDlcDomain && n.is("reshape"); }

std::set<NodeId> accelerator_nodes(const Graph& graph, const HwConfig& hw) {
  std::set<NodeId> chosen;
  for (NodeId n : graph.nodes())
    if (graph.node(n).domain == ir::kDlcDomain && !accel::refusal(graph, n, hw)) chosen.insert(n);
  // A view belongs to the accelerator only between two of its operators.
  for (bool changed = true; changed;) {
    changed = false;
    for (NodeId n : graph.nodes()) {
      if (!chosen.count(n) || !is_view(graph.node(n))) continue;
      const NodeId producer = graph.producer(graph.node(n).inputs[0]);
      const bool inside = producer.valid() && chosen.count(producer);
      bool used = false;
      for (const ir::Use& u : graph.consumers(graph.node(n).outputs[0])) used |= chosen.count(u.node) > 0;
      if (inside && used) continue;
      chosen.erase(n);
      changed = true;
    }
  }
  return chosen;
}

std::string reason_for(const Graph& graph, NodeId id, const HwConfig& hw, const HostReasons& reasons) {
  const Node& n = graph.node(id);
  if (const auto it = reasons.find(n.name); it != reasons.end() && n.domain.empty()) return it->second;
  if (n.is("QuantizeLinear")) return "quantises a float tensor";
  if (n.is("DequantizeLinear")) {
    const NodeId producer = graph.producer(n.inputs[0]);
    if (producer.valid() && graph.node(producer).domain == ir::kDlcDomain) return "dequantises the accelerator's output";
    return "works on float values";
  }
  if (is_view(n)) return "a view of host data";
  if (n.is("pack_pixels")) return "lays out the image for the accelerator";
  if (n.domain == ir::kDlcDomain) return accel::refusal(graph, id, hw).value_or("left to the host");
  return "the accelerator has no " + n.op;
}

bool is_boundary(const Node& n) { return n.is("QuantizeLinear") || n.is("DequantizeLinear") || n.is("pack_pixels") || is_view(n); }

// Multiply-accumulates of convolutions and matrix products, whatever their element type.
int64_t count_macs(const Graph& graph, const Node& n) {
  const std::string_view op = n.op;
  const bool convolution = op == "Conv" || op == "qconv";
  if (!convolution && op != "ConvTranspose" && op != "Gemm" && op != "MatMul") return 0;
  const ir::Shape& second = graph.value(n.inputs[1]).shape;
  if (op == "ConvTranspose")  // each input element goes through its channel's kernels
    return second[0] > 0 ? graph.value(n.inputs[0]).elements() * (ir::element_count(second) / second[0]) : 0;
  const int64_t outputs = graph.value(n.outputs[0]).elements();
  if (convolution && !second.empty() && second[0] > 0) return outputs * (ir::element_count(second) / second[0]);
  const ir::Shape& first = graph.value(n.inputs[0]).shape;
  if (first.empty()) return 0;
  return outputs * (op == "Gemm" && n.attribute<int64_t>("transA") ? first[0] : first.back());
}

void copy_value(const Graph& from, ValueId v, Graph& to, std::map<ValueId, ValueId>& map) {
  if (v.valid() && !map.count(v)) map[v] = to.add_value(from.value(v));
}

std::vector<std::string> names(const Graph& g, const std::vector<ValueId>& values) {
  std::vector<std::string> out;
  for (ValueId v : values) out.push_back(g.value(v).name);
  return out;
}

// A DRAM range of a part and by how much it moves in the joined program.
struct Move {
  uint64_t begin = 0, end = 0;
  int64_t by = 0;
};

uint64_t moved(uint64_t address, const std::vector<Move>& shared, uint64_t base) {
  for (const Move& m : shared)
    if (address >= m.begin && address < m.end) return static_cast<uint64_t>(static_cast<int64_t>(address) + m.by);
  return address + base;
}

void append(Program& whole, Program&& part, uint64_t base) {
  std::vector<Move> shared;
  for (TensorInfo& t : part.tensors) {
    const auto same = std::find_if(whole.tensors.begin(), whole.tensors.end(), [&](const TensorInfo& w) { return w.name == t.name; });
    if (same != whole.tensors.end()) {
      shared.push_back({t.address, t.address + t.bytes, static_cast<int64_t>(same->address) - static_cast<int64_t>(t.address)});
      continue;
    }
    t.address += base;
    whole.tensors.push_back(std::move(t));
  }
  for (Constant& c : part.constants) {
    c.address += base;
    whole.constants.push_back(std::move(c));
  }
  const auto first_layer = static_cast<uint32_t>(whole.layers.size());
  const auto first_instruction = static_cast<uint32_t>(whole.instructions.size());
  for (isa::Instruction& i : part.instructions) {
    if (auto* l = std::get_if<isa::Load>(&i)) l->dram_address = moved(l->dram_address, shared, base);
    if (auto* s = std::get_if<isa::Store>(&i)) s->dram_address = moved(s->dram_address, shared, base);
    whole.instructions.push_back(std::move(i));
  }
  for (uint32_t l : part.layer_of) whole.layer_of.push_back(l + first_layer);
  part.notes.resize(part.instructions.size());
  std::move(part.notes.begin(), part.notes.end(), std::back_inserter(whole.notes));
  std::move(part.layers.begin(), part.layers.end(), std::back_inserter(whole.layers));
  for (Segment s : part.segments) {
    s.first_instruction += first_instruction;
    whole.segments.push_back(std::move(s));
  }
}

Segment host_segment(const Graph& graph, const std::vector<NodeId>& nodes, const Partition& p) {
  Segment s;
  s.kind = Segment::Kind::host;
  for (NodeId n : nodes) s.nodes.push_back(graph.node(n).name);
  const Graph sub = extract(graph, nodes);
  s.inputs = names(sub, sub.inputs());
  s.outputs = names(sub, sub.outputs());
  const auto first = std::find_if(p.host_nodes.begin(), p.host_nodes.end(),
                                  [&](const HostNode& n) { return n.node == s.nodes.front(); });
  if (first != p.host_nodes.end()) s.reason = first->reason;
  return s;
}

}  // namespace

bool Partition::has_accelerator() const {
  return std::any_of(parts.begin(), parts.end(), [](const Part& p) { return p.kind == Segment::Kind::accelerator; });
}

Graph extract(const Graph& graph, const std::vector<NodeId>& nodes) {
  Graph sub;
  sub.name = graph.name;
  sub.file = graph.file;
  const std::set<NodeId> members(nodes.begin(), nodes.end());
  std::map<ValueId, ValueId> map;
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

Partition partition(const Graph& graph, const HwConfig& hw, bool no_fallback, const HostReasons& reasons) {
  Partition p;
  const std::set<NodeId> chosen = accelerator_nodes(graph, hw);
  std::map<NodeId, int> phase;  // even: host, odd: accelerator
  std::map<int, std::vector<NodeId>> members;
  for (NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    const bool machine = chosen.count(id) > 0;
    int earliest = 0;
    for (ValueId v : n.inputs) {
      const NodeId producer = v.valid() ? graph.producer(v) : NodeId{};
      if (producer.valid()) earliest = std::max(earliest, phase.at(producer));
    }
    if ((earliest % 2 == 1) != machine) ++earliest;
    phase[id] = earliest;
    members[earliest].push_back(id);
    if (machine) continue;
    if (no_fallback && !is_boundary(n))
      throw UserError(ErrorKind::unsupported, n.where(), "would run on the host (" + reason_for(graph, id, hw, reasons) + "), which --no-fallback forbids");
    p.host_nodes.push_back({n.name, n.op, reason_for(graph, id, hw, reasons), count_macs(graph, n)});
    p.host_macs += p.host_nodes.back().macs;
  }
  for (auto& [number, nodes] : members)
    p.parts.push_back({number % 2 == 1 ? Segment::Kind::accelerator : Segment::Kind::host, std::move(nodes)});
  return p;
}

Program assemble_program(const Graph& graph, const Partition& p, std::vector<Program> accelerator_parts) {
  Program whole;
  uint64_t end = 0;  // of the data so far
  size_t next = 0;
  std::vector<NodeId> host;
  for (const Partition::Part& part : p.parts) {
    if (part.kind == Segment::Kind::host) {
      whole.segments.push_back(host_segment(graph, part.nodes, p));
      host.insert(host.end(), part.nodes.begin(), part.nodes.end());
      continue;
    }
    Program& program = accelerator_parts.at(next++);
    const uint64_t data_end = program.program_address;  // the code lies behind the data
    append(whole, std::move(program), end);
    end += data_end;
  }
  whole.inputs = names(graph, graph.inputs());
  whole.outputs = names(graph, graph.outputs());
  if (!host.empty()) whole.host_graph = ir::print(extract(graph, host));
  whole.program_address = end;
  return whole;
}

}  // namespace dlc
