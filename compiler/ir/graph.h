// Graph IR: operators and typed tensors of a whole network on a Boost.Graph adjacency list.
//
// The graph is bipartite: a vertex is a node (operator) or a value (tensor); edges run value -> node
// (an input) and node -> value (an output), so producers and use lists are the graph's own adjacency.
// A node keeps its inputs and outputs in order; Graph's functions keep both views in step.
//
// Operators are ONNX's own (domain "" and the opset's semantics, attributes in the map) or the integer
// operators of quant_ops.h (domain "dlc", op "qconv" | "qadd" | "qpool" | "qbinary" | "qplace" | "qtake" | "qlut", the
// operator in
// `payload`).
// Further operators of domain "dlc": "reshape" = the first input's bytes under the output's shape (a view);
// "pack_pixels" (attributes rows, columns, zero) = neighbouring pixels as channels (compiler/accel/pack_pixels.h), done
// by the host where it hands an image to the accelerator.
//
// Everything is deterministic: ids are handed out in order and never reused, lists are in order.
#pragma once
#include <boost/graph/adjacency_list.hpp>
#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/quant_ops.h"
#include "compiler/ir/tensor.h"

namespace dlc::ir {

// Handles. They stay valid until the node or value is erased; clone() renumbers.
struct NodeId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  auto operator<=>(const NodeId&) const = default;
};
struct ValueId {
  uint32_t index = UINT32_MAX;  // invalid: an optional ONNX input that is left out
  bool valid() const { return index != UINT32_MAX; }
  auto operator<=>(const ValueId&) const = default;
};

// real = (stored - zero) * scale. One entry, or one per index of `axis`.
struct Quantization {
  std::vector<float> scale;
  std::vector<int32_t> zero;
  int axis = 0;  // meaningless when there is one scale
  bool per_axis() const { return scale.size() > 1; }
  bool operator==(const Quantization&) const = default;
};

struct Value {
  std::string name;  // unique in the graph
  ElementType type = ElementType::undefined;
  Shape shape;
  std::optional<Quantization> quantization;  // of 8-bit (or int32 bias) tensors, where known
  std::shared_ptr<const Bytes> data;         // set: a constant

  bool is_constant() const { return data != nullptr; }
  int64_t elements() const { return element_count(shape); }
  size_t byte_size() const { return static_cast<size_t>(elements()) * element_size(type); }
  template <typename T>
  std::span<const T> constant() const {  // precondition: is_constant() and T fits the type
    return {reinterpret_cast<const T*>(data->data()), data->size() / sizeof(T)};
  }
};

using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                               std::vector<std::string>>;
using Payload = std::variant<std::monostate, QConv, QAdd, QPool, QBinary, QPlace, QTake, QLut>;

inline constexpr const char* kDlcDomain = "dlc";

struct Node {
  std::string name;  // the ONNX node's name; made up when empty; unique in the graph
  std::string op;    // "Conv", "qconv", ...
  std::string domain;
  int opset = 0;  // of its domain; 0 for domain "dlc"
  std::map<std::string, Attribute> attributes;
  Payload payload;
  std::vector<std::string> onnx_nodes;  // every ONNX node that this one stands for, in graph order
  std::string file;                     // where it came from; for messages
  std::vector<ValueId> inputs;          // invalid entries: optional inputs left out
  std::vector<ValueId> outputs;         // invalid entries: optional outputs left out

  bool is(std::string_view op_name) const { return op == op_name; }
  // Attribute of this type, or the default. (A wrong type was refused at import.)
  template <typename T>
  T attribute(const std::string& key, T otherwise = T{}) const {
    auto it = attributes.find(key);
    if (it == attributes.end()) return otherwise;
    const T* v = std::get_if<T>(&it->second);
    return v ? *v : otherwise;
  }
  // "file: node 'conv1' (Conv)" for error messages.
  std::string where() const;
};

struct Use {  // one input slot that reads a value
  NodeId node;
  size_t input = 0;
};

class Graph {
 public:
  std::string name;
  std::string file;  // the model's path as the user wrote it

  // --- building. Names must be unique (a clash gets a suffix: unique_*_name); ids are stable.
  ValueId add_value(Value value);
  ValueId add_constant(const std::string& name, const Tensor& tensor);
  NodeId add_node(Node node);  // node.inputs / node.outputs name existing values of this graph
  void add_input(ValueId v) { inputs_.push_back(v); }
  void add_output(ValueId v) { outputs_.push_back(v); }
  std::string unique_node_name(const std::string& wish) const;
  std::string unique_value_name(const std::string& wish) const;

  // --- looking. nodes() and values() are in id order; live ones only.
  const Node& node(NodeId id) const;
  const Value& value(ValueId id) const;
  Node& node(
      NodeId id);  // change attributes and payload freely; inputs/outputs/name only with the calls below
  Value& value(ValueId id);  // change type, shape, data freely; name only with rename()
  std::vector<NodeId> nodes() const;
  std::vector<ValueId> values() const;
  size_t node_count() const { return node_count_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  bool is_input(ValueId v) const;
  bool is_output(ValueId v) const;
  std::optional<ValueId> find_value(const std::string& name) const;
  std::optional<NodeId> find_node(const std::string& name) const;
  NodeId producer(ValueId v) const;             // invalid for graph inputs and constants
  std::vector<Use> consumers(ValueId v) const;  // by node id, then input slot
  // The value's only use when it has exactly one and is no graph output.
  std::optional<Use> single_use(ValueId v) const;

  // Producers before consumers; among ready nodes the lowest id first. Fewer nodes than node_count() means
  // a cycle (verify() and the importer refuse those).
  std::vector<NodeId> topological_order() const;

  // --- changing.
  void set_input(NodeId n, size_t slot, ValueId v);  // slot may be == inputs.size(): appends
  void set_outputs(NodeId n, std::vector<ValueId> outputs);
  // Every use of `from` (graph outputs too) reads `to` instead.
  void replace_all_uses(ValueId from, ValueId to);
  void rename(ValueId v, const std::string& new_name);  // precondition: new_name is free
  // Exchanges the names of two values: a value that takes over a graph output keeps the user's name for it.
  void swap_names(ValueId a, ValueId b);
  void erase(NodeId n);         // its outputs stay, without a producer
  void erase_value(ValueId v);  // precondition: no producer, no consumer, no graph input/output
  // Same graph, ids renumbered without gaps in topological order of nodes.
  Graph clone() const;

  // The underlying Boost graph, for graph algorithms. Erased vertices stay, isolated (see alive()).
  struct Erased {};
  using Vertex = std::variant<Erased, Node, Value>;
  struct Edge {
    size_t slot = 0;  // index among the node's inputs or outputs
  };
  using BoostGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Vertex, Edge>;
  const BoostGraph& boost_graph() const { return g_; }
  bool alive(uint32_t vertex) const { return !std::holds_alternative<Erased>(g_[vertex]); }

 private:
  void connect(NodeId id);
  void remove_edge(uint32_t from, uint32_t to, size_t slot);

  BoostGraph g_;
  size_t node_count_ = 0;
  std::vector<ValueId> inputs_, outputs_;
  std::unordered_map<std::string, uint32_t> node_names_, value_names_;
};

// Text form. `print` and `parse_graph` are inverses when constants are printed in full.
struct PrintOptions {
  bool full_constants = true;  // false: constants longer than 16 bytes are shortened (not parsable)
};
std::string print(const Graph& graph, const PrintOptions& options = {});
// Throws UserError(bad_input) "file:line:column: ..." for text that print() would not have written.
Graph parse_graph(const std::string& text, const std::string& file);

// Structure (every use has a producer, input or constant; no cycles; unique names; outputs exist), and per
// operator: number of inputs, types and shapes of the integer operators. Throws std::logic_error naming the
// node: passes are to blame, not the user.
void verify(const Graph& graph);

}  // namespace dlc::ir
