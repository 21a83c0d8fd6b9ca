// Graph IR -> loop nests: what the generators of single operators (nests_*.cpp) share.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>

#include "compiler/loop/program.h"

namespace dlc::loop {

using Ints = std::vector<int64_t>;
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
Ints row_major_strides(const ir::Shape& shape);

// Element-wise operators fused behind an anchor (or standing alone): the values they compute become
// expressions of the anchor's result. All have the shape of `out`.
struct Group {
  ir::NodeId anchor;               // invalid: element-wise only
  ir::ValueId anchor_out;          // the anchor's result
  std::vector<ir::NodeId> nodes;   // element-wise, in topological order
  ir::ValueId out;                 // the only value that leaves
};

class Lowering {
 public:
  Lowering(const ir::Graph& graph, const Machine& machine) : graph_(graph), machine_(machine) {}
  LoopProgram run();

  const ir::Graph& graph() const { return graph_; }
  const Machine& machine() const { return machine_; }
  const ir::Value& value(ir::ValueId v) const { return graph_.value(v); }

  // --- storages
  int plain(ir::ValueId v) { return stored(v, {}); }
  // The value in this layout: as it is, packed at compile time (constants), or by a step that reorders it.
  int stored(ir::ValueId v, Layout layout);
  // As above with `pads` (top, left, bottom, right) elements of `fill` around its planes; spatial rank 2.
  int padded(ir::ValueId v, Layout layout, const std::array<int64_t, 4>& pads, double fill);
  bool is_stored(ir::ValueId v, Layout layout) const { return stored_.count({v, layout}) > 0; }
  // The layout that a consumer finds without work: blocked where only that exists.
  Layout natural_layout(ir::ValueId v) const;
  int define(ir::ValueId v, Layout layout);      // storage of a result
  void alias(ir::ValueId v, Layout layout, int storage) { stored_[{v, layout}] = storage; }  // no copy
  int constant(ElementType type, ir::Bytes bytes);
  template <typename T>
  int constant(const std::vector<T>& values) {
    const auto* p = reinterpret_cast<const uint8_t*>(values.data());
    return constant(ir::element_type_of<T>(), ir::Bytes(p, p + values.size() * sizeof(T)));
  }
  int scratch(ElementType type, int64_t elements);
  const Storage& storage(int id) const { return program_.storages[static_cast<size_t>(id)]; }

  void emit(Kernel kernel, std::vector<int> storages, const std::vector<ir::NodeId>& nodes = {});
  void name_steps(std::string name) { step_name_ = std::move(name); }

 private:
  void lower_group(const Group& group);
  void lower_fallback(ir::NodeId node);
  void reorder(ir::ValueId v, int from, Layout from_layout, int to, Layout to_layout);

  const ir::Graph& graph_;
  Machine machine_;
  LoopProgram program_;
  std::string step_name_;
  std::map<std::pair<ir::ValueId, Layout>, int> stored_;
  std::map<std::tuple<ir::ValueId, Layout, std::array<int64_t, 4>, double>, int> padded_;
};

// groups.cpp: every node in exactly one group; groups in an order that respects dependencies.
std::vector<Group> make_groups(const ir::Graph& graph, const Machine& machine);

// pointwise.cpp: element-wise operators on expressions.
bool has_pointwise_row(const ir::Node& node);  // by name only
bool is_pointwise(const ir::Graph& graph, const ir::Node& node);
// args: one per input, all of the same lanes (invalid: left out).
Expr pointwise(const ir::Graph& graph, const ir::Node& node, const std::vector<Expr>& args);

// numerics::rescale on int32 lanes (bias, multiplier and shift: int32 lanes). narrow: acc + bias is known to
// fit in 32 bits.
Expr requantise(const Expr& acc, const Expr& bias, const Expr& multiplier, const Expr& shift, bool narrow, int32_t zero, int32_t low,
                int32_t high, ElementType type);
// The same where acc (bias included) fits in 32 bits and every shift is 31 to 62, so that results do, too: half the
// work. Parameters per block of `lanes` channels: multipliers, shifts, 2^(shift - 1) - 1, of the even channels and
// of the odd ones each.
struct Requantisation {
  static bool usable(const ir::Rescale& r);
  static std::vector<int64_t> parameters(const ir::Rescale& r, int64_t channels, int lanes);
  // channel: the first of the lanes, a multiple of them.
  static Expr apply(const KernelBuilder& b, int buffer, const Expr& sum, const Expr& channel, int32_t zero, int32_t low, int32_t high, ElementType type);
};
// numerics::combine_linear of an already rescaled and clamped result (int32) and the operand read (8 bit).
Expr combine_residual(const ir::LinearCombine& l, const Expr& own, const Expr& other, ElementType type);

// A kernel under construction together with the storages of its buffers.
class NestBuilder : public KernelBuilder {
 public:
  NestBuilder(Lowering& l, const std::string& name) : KernelBuilder(name), lowering_(l) {}
  int in(int storage);   // the same buffer for the same storage
  int out(int storage);
  void emit(const std::vector<ir::NodeId>& nodes);

 private:
  Lowering& lowering_;
  std::vector<int> storages_;
  std::map<int, int> inputs_;
};

// What an operand of a fused chain is, relative to the chain's shape.
enum class OperandKind { full, row, scalar, none };  // row: per channel (blocked), per innermost element (plain)

// The fused chain behind an anchor whose result is computed `lanes` elements at a time.
//   blocked layout: full = storage offset of the lanes, row = channel block index * block + lane offset
//   plain layout:   full = linear index, row = index in the innermost dimension
class Epilogue {
 public:
  Epilogue(Lowering& l, NestBuilder& b, const Group& group, Layout layout);
  // Whether every outside operand of the chain can be read in this layout.
  static bool fits(const Lowering& l, const Group& group, Layout layout);
  // `anchor`: the anchor's result (empty for element-wise groups: operands are then all read).
  Expr operator()(Expr anchor, Expr full, Expr row, int lanes, int valid = 0) const;
  int out_buffer() const { return out_; }

 private:
  struct Operand {
    OperandKind kind;
    int buffer;
  };
  Expr read(ir::ValueId v, const Expr& full, const Expr& row, int lanes, int valid) const;
  Lowering& lowering_;
  NestBuilder& builder_;
  const Group& group_;
  std::map<ir::ValueId, Operand> operands_;
  int out_ = -1;
};
OperandKind operand_kind(const Lowering& l, ir::ValueId operand, const ir::Shape& shape, Layout layout);

// --- generators by family: true if they emitted steps for the group. The anchor is the named operator; a
// generator that cannot fuse the chain refuses (false) a group with one, and is asked again without.
using Generator = bool (*)(Lowering& l, const Group& group);
Generator find_generator(const ir::Node& node);  // nullptr: none
bool lower_elementwise(Lowering& l, const Group& group);  // no anchor
bool lower_conv(Lowering&, const Group&);                 // Conv
bool lower_qconv(Lowering&, const Group&);
bool lower_matmul(Lowering&, const Group&);               // MatMul, Gemm
bool lower_pool(Lowering&, const Group&);                 // MaxPool, AveragePool, Global...
bool lower_qpool(Lowering&, const Group&);
bool lower_view(Lowering&, const Group&);                 // Reshape and its kin
bool lower_transpose(Lowering&, const Group&);
bool lower_concat(Lowering&, const Group&);
bool lower_slice(Lowering&, const Group&);
bool lower_split(Lowering&, const Group&);
bool lower_expand(Lowering&, const Group&);
bool lower_gather(Lowering&, const Group&);
bool lower_qlut(Lowering&, const Group&);
bool lower_qplace(Lowering&, const Group&);
bool lower_qtake(Lowering&, const Group&);
bool lower_softmax(Lowering&, const Group&);
bool lower_reduce(Lowering&, const Group&);
bool lower_layer_norm(Lowering&, const Group&);

// math.cpp: float32 functions as expressions, within 2 units in the last place of 1e-7 relative.
Expr fast_exp(Expr x);
Expr fast_sigmoid(Expr x);
Expr fast_tanh(Expr x);
Expr fast_erf(Expr x);

}  // namespace dlc::loop
