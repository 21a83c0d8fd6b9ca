// Which nodes share a loop nest. From each anchor (or first element-wise node) the group grows along the
// graph's order; kept is the longest prefix from which exactly one value leaves. Such a prefix is convex: a
// path out of it and back in would make a second value leave.
#include <algorithm>
#include <set>

#include "compiler/loop/lowering.h"

namespace dlc::loop {
namespace {

constexpr size_t kLargest = 24;  // nodes in a group

class Grouper {
 public:
  explicit Grouper(const ir::Graph& g) : graph_(g), order_(g.topological_order()) {
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i].index] = i;
  }

  std::vector<Group> run() {
    std::vector<std::pair<size_t, Group>> groups;  // by the position of the last node
    for (ir::NodeId n : order_) {
      if (taken_.count(n)) continue;
      Group g = grow(n);
      const ir::NodeId last = g.nodes.empty() ? g.anchor : g.nodes.back();
      groups.emplace_back(position_.at(last.index), std::move(g));
    }
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Group> result;
    for (auto& [at, g] : groups) result.push_back(std::move(g));
    return result;
  }

 private:
  // Values of `inside` that others read.
  std::vector<ir::ValueId> leaving(const std::vector<ir::ValueId>& inside, const std::set<ir::NodeId>& members) const {
    std::vector<ir::ValueId> result;
    for (ir::ValueId v : inside) {
      bool leaves = graph_.is_output(v);
      for (const ir::Use& u : graph_.consumers(v)) leaves |= !members.count(u.node);
      if (leaves) result.push_back(v);
    }
    return result;
  }

  Group grow(ir::NodeId first) {
    const ir::Node& node = graph_.node(first);
    const bool pointwise_first = is_pointwise(graph_, node);
    Group best;
    if (!pointwise_first) {
      best.anchor = first;
      for (ir::ValueId v : node.outputs)
        if (v.valid() && !best.anchor_out.valid()) best.anchor_out = v;
    } else {
      best.nodes = {first};
    }
    taken_.insert(first);
    const ir::ValueId start = pointwise_first ? node.outputs[0] : best.anchor_out;
    best.out = start;
    if (!start.valid() || (!pointwise_first && node.outputs.size() != 1)) return best;
    Group g = best;
    std::vector<ir::ValueId> inside{start};
    std::set<ir::NodeId> members{first};
    for (;;) {
      const ir::NodeId next = candidate(inside, members);
      if (!next.valid() || g.nodes.size() >= kLargest) break;
      members.insert(next);
      g.nodes.push_back(next);
      inside.push_back(graph_.node(next).outputs[0]);
      const std::vector<ir::ValueId> out = leaving(inside, members);
      if (out.size() == 1 && out[0] == inside.back()) {
        g.out = out[0];
        best = g;
      }
    }
    taken_.insert(best.nodes.begin(), best.nodes.end());
    return best;
  }

  // The earliest element-wise node not yet in the group that reads it and keeps its shape.
  ir::NodeId candidate(const std::vector<ir::ValueId>& inside, const std::set<ir::NodeId>& members) const {
    ir::NodeId found;
    size_t at = SIZE_MAX;
    for (ir::ValueId v : inside)
      for (const ir::Use& u : graph_.consumers(v)) {
        if (members.count(u.node) || taken_.count(u.node)) continue;
        const ir::Node& n = graph_.node(u.node);
        if (!is_pointwise(graph_, n) || graph_.value(n.outputs[0]).shape != graph_.value(inside[0]).shape) continue;
        const size_t p = position_.at(u.node.index);
        if (p < at) {
          at = p;
          found = u.node;
        }
      }
    return found;
  }

  const ir::Graph& graph_;
  std::vector<ir::NodeId> order_;
  std::unordered_map<uint32_t, size_t> position_;
  std::set<ir::NodeId> taken_;
};

}  // namespace

std::vector<Group> make_groups(const ir::Graph& graph, const Machine&) { return Grouper(graph).run(); }

}  // namespace dlc::loop
