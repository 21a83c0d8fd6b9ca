// How network.cpp and network_placement.cpp make a Network from the region's nodes, in order.
#pragma once
#include <algorithm>
#include <map>
#include <set>

#include "compiler/accel/network.h"
#include "isa/error.h"

namespace dlc::accel {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

struct NetworkBuilder {
  const Graph& graph;
  const HwConfig& hw;
  Network net;
  std::set<NodeId> members;
  std::map<ValueId, int> storage{};  // value -> tensor; views share their source's
  std::set<NodeId> fused{};          // look-ups that are part of the layer before them

  int tensor_of(ValueId id) {
    if (auto it = storage.find(id); it != storage.end()) return it->second;
    const ir::Value& v = graph.value(id);
    TensorPlan t;
    t.value = id;
    t.name = v.name;
    t.shape = as_nchw(v.shape);
    t.blocks = ceil_div(t.shape.c, hw.rows);
    t.is_signed = v.type == ir::ElementType::int8;
    t.in_dram = true;
    if (v.is_constant()) t.constant = v.data.get();
    net.tensors.push_back(t);
    return storage[id] = static_cast<int>(net.tensors.size()) - 1;
  }

  bool leaves_region(ValueId id) const {
    if (graph.is_output(id)) return true;
    for (const ir::Use& u : graph.consumers(id))
      if (!members.count(u.node)) return true;
    return false;
  }

  int read(ValueId id, int layer) {
    const int t = tensor_of(id);
    const NodeId producer = graph.producer(net.tensors[t].value);
    const TensorPlan& p = net.tensors[t];
    if (!p.constant && p.place.root < 0 && (!producer.valid() || !members.count(producer)))
      net.tensors[t].region_input = true;
    net.tensors[t].last_use = std::max(net.tensors[t].last_use, layer);
    return t;
  }

  void add_view(const Node& node) {
    const int t = tensor_of(node.inputs[0]);
    storage[node.outputs[0]] = t;
    if (!leaves_region(node.outputs[0])) return;
    if (net.tensors[t].shape != as_nchw(graph.value(node.outputs[0]).shape))
      throw UserError(ErrorKind::unsupported, node.where(),
                      "a flattened result cannot leave the accelerator");
    net.tensors[t].region_output = true;
    net.output_views.push_back({node.outputs[0], t});
  }

  // The look-up that alone reads a layer's result; invalid if there is none.
  NodeId sole_look_up(ValueId result) const {
    const auto use = graph.single_use(result);
    const bool inside = use && members.count(use->node);
    return inside && graph.node(use->node).is("qlut") ? use->node : NodeId{};
  }

  void add_layer(NodeId id);
  void describe(const Node& node, const LayerPlan& layer);
  void push(const Node& node, LayerPlan layer);

  // network_placement.cpp
  void add_place(NodeId id);
  void add_take(NodeId id);
  void finish_parts();
  // A part of `root` without a value of its own.
  int add_part(int root, const Nchw& shape, const Placement& place);
  bool leaves(ValueId value) const;
  bool can_live_inside(int t, int root, const Placement& place) const;
  void copy(const Node& node, int x, int y, const Window& window);
  void permute(const Node& node, int x, int y, const std::vector<int64_t>& source, const Window& window);
  int anonymous(const std::string& name, const Nchw& shape, bool is_signed);
  void add_part_of_output(const Node& node, size_t input, int y, const Placement& place);
};

}  // namespace dlc::accel
