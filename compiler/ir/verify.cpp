// verify(): the Graph IR's invariants. A failure is a bug of the pass that ran before.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "compiler/ir/graph.h"

namespace dlc::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : g_(graph) {}

  void run() {
    std::set<std::string> names;
    for (ValueId v : g_.values()) check_value(v, names);
    for (NodeId n : g_.nodes()) check_node(n);
    if (g_.topological_order().size() != g_.node_count()) fail("the graph has a cycle");
    std::set<ValueId> outputs;
    for (ValueId v : g_.outputs()) {
      if (!live_value(v)) fail("a graph output was erased");
      if (!outputs.insert(v).second) fail("value '" + g_.value(v).name + "' is an output twice");
      require_defined(v, "graph output");
    }
    for (ValueId v : g_.inputs()) {
      if (!live_value(v)) fail("a graph input was erased");
      if (g_.producer(v).valid() || g_.value(v).is_constant())
        fail("graph input '" + g_.value(v).name + "' has a producer");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw std::logic_error("graph '" + g_.name + "' (" + g_.file + "): " + at_ + message);
  }
  void require(bool condition, const std::string& message) const {
    if (!condition) fail(message);
  }

  bool live_value(ValueId v) const {
    return v.index < boost::num_vertices(g_.boost_graph()) &&
           std::holds_alternative<Value>(g_.boost_graph()[v.index]);
  }

  void require_defined(ValueId v, const std::string& what) const {
    if (g_.producer(v).valid() || g_.value(v).is_constant() || g_.is_input(v)) return;
    fail(what + " '" + g_.value(v).name + "' has no producer and is no input or constant");
  }

  void check_value(ValueId id, std::set<std::string>& names) {
    const Value& v = g_.value(id);
    at_ = "value '" + v.name + "': ";
    require(!v.name.empty() && names.insert(v.name).second, "its name is empty or not unique");
    require(g_.find_value(v.name) == id, "it is not found under its name");
    require(v.type != ElementType::undefined, "it has no element type");
    require(checked_element_count(v.shape).has_value(), "impossible shape " + shape_text(v.shape));
    require(boost::in_degree(id.index, g_.boost_graph()) <= 1, "it has several producers");
    if (v.is_constant()) {
      require(v.data->size() == v.byte_size(), "its data does not fit its shape");
      require(!g_.producer(id).valid(), "it is a constant with a producer");
    }
    if (v.quantization) {
      const Quantization& q = *v.quantization;
      require(q.scale.size() == q.zero.size() && !q.scale.empty(), "scales and zero points differ in number");
      if (q.per_axis()) {
        require(q.axis >= 0 && static_cast<size_t>(q.axis) < v.shape.size(),
                "quantisation axis outside the shape");
        require(static_cast<int64_t>(q.scale.size()) == v.shape[static_cast<size_t>(q.axis)],
                "number of scales does not fit the shape");
      }
    }
    at_.clear();
  }

  // The node's own lists and the graph's edges must say the same.
  void check_edges(NodeId id, const Node& n) {
    const auto& g = g_.boost_graph();
    size_t inputs = 0, outputs = 0;
    for (ValueId v : n.inputs) {
      if (!v.valid()) continue;
      ++inputs;
      require(live_value(v), "an input was erased");
      require_defined(v, "input");
    }
    for (ValueId v : n.outputs) {
      if (!v.valid()) continue;
      ++outputs;
      require(live_value(v), "an output was erased");
      require(g_.producer(v) == id, "output '" + g_.value(v).name + "' has another producer");
    }
    require(boost::in_degree(id.index, g) == inputs && boost::out_degree(id.index, g) == outputs,
            "edges and operand lists differ");
    for (auto [e, end] = boost::in_edges(id.index, g); e != end; ++e) {
      require(g[*e].slot < n.inputs.size() && n.inputs[g[*e].slot].index == boost::source(*e, g),
              "edges and operand lists differ");
    }
  }

  void check_node(NodeId id) {
    const Node& n = g_.node(id);
    at_ = "node '" + n.name + "' (" + n.op + "): ";
    require(!n.name.empty() && g_.find_node(n.name) == id, "it is not found under its name");
    require(!n.op.empty() && !n.outputs.empty(), "it has no operator or no outputs");
    check_edges(id, n);
    if (n.domain == kDlcDomain) check_dlc(n);
    at_.clear();
  }

  const Value& in(const Node& n, size_t i) const { return g_.value(n.inputs[i]); }
  const Value& out(const Node& n) const { return g_.value(n.outputs[0]); }

  void check_dlc(const Node& n) {
    if (n.op == "qconv") {
      require(std::holds_alternative<QConv>(n.payload), "its payload is not a QConv");
      check_qconv(n, std::get<QConv>(n.payload));
    } else if (n.op == "qadd") {
      require(std::holds_alternative<QAdd>(n.payload), "its payload is not a QAdd");
      require(n.inputs.size() == 2, "expected 2 inputs");
      for (size_t i = 0; i < 2; ++i) check_elements(in(n, i), "input");
      check_broadcast(n);
      check_combine(std::get<QAdd>(n.payload).combine, in(n, 0).type, in(n, 1).type, out(n).type);
    } else if (n.op == "qpool") {
      require(std::holds_alternative<QPool>(n.payload), "its payload is not a QPool");
      check_qpool(n, std::get<QPool>(n.payload));
    } else if (n.op == "qbinary") {
      require(std::holds_alternative<QBinary>(n.payload), "its payload is not a QBinary");
      check_qbinary(n, std::get<QBinary>(n.payload));
    } else if (n.op == "qplace") {
      require(std::holds_alternative<QPlace>(n.payload), "its payload is not a QPlace");
      check_qplace(n, std::get<QPlace>(n.payload));
    } else if (n.op == "qtake") {
      require(std::holds_alternative<QTake>(n.payload), "its payload is not a QTake");
      check_qtake(n, std::get<QTake>(n.payload));
    } else if (n.op == "qlut") {
      require(std::holds_alternative<QLut>(n.payload), "its payload is not a QLut");
      require(n.inputs.size() == 1, "expected 1 input");
      require(is_8bit(in(n, 0).type) && is_8bit(out(n).type), "an operand is not an 8-bit tensor");
      require(in(n, 0).shape == out(n).shape, "its shapes differ");
    } else if (n.op == "reshape") {
      require(n.inputs.size() == 1, "expected 1 input");
      require(in(n, 0).type == out(n).type && in(n, 0).elements() == out(n).elements(),
              "it changes the type or the number of elements");
    } else if (n.op == "pack_pixels") {
      check_pack_pixels(n);
    } else {
      fail("no such operator in domain dlc");
    }
  }

  void check_pack_pixels(const Node& n) {
    require(n.inputs.size() == 1, "expected 1 input");
    check_8bit(in(n, 0), "input");
    const auto rows = n.attribute<int64_t>("rows"), columns = n.attribute<int64_t>("columns");
    const Shape& x = in(n, 0).shape;
    require(x.size() == 4 && rows >= 1 && columns >= 1 && in(n, 0).type == out(n).type, "impossible packing");
    require(out(n).shape == Shape{x[0], x[1] * rows * columns, (x[2] + rows - 1) / rows, (x[3] + columns - 1) / columns},
            "the output has another shape");
    check_zero(static_cast<int32_t>(n.attribute<int64_t>("zero")), in(n, 0).type);
  }

  void check_8bit(const Value& v, const std::string& what) {
    require(is_8bit(v.type), what + " '" + v.name + "' is not an 8-bit tensor");
    require(v.shape.size() == 4 || v.shape.size() == 2, what + " '" + v.name + "' is not NCHW or N,C");
  }

  // Of elementwise operators, which do not mind what the dimensions are.
  void check_elements(const Value& v, const std::string& what) {
    require(is_8bit(v.type), what + " '" + v.name + "' is not an 8-bit tensor");
    require(v.shape.size() >= 2 && v.shape.size() <= 4, what + " '" + v.name + "' has another rank than 2 to 4");
  }

  void check_range(int32_t zero, int32_t low, int32_t high, ElementType type) {
    const int32_t lowest = type == ElementType::int8 ? -128 : 0;
    require(low >= lowest && high <= lowest + 255 && low <= high, "clamp limits outside the output type");
    require(zero >= lowest && zero <= lowest + 255, "zero point outside the output type");
  }

  void check_zero(int32_t zero, ElementType type) {
    require(type == ElementType::int8 ? zero >= -128 && zero <= 127 : zero >= 0 && zero <= 255,
            "zero point outside the input type");
  }

  void check_combine(const LinearCombine& l, ElementType a, ElementType b, ElementType y) {
    check_zero(l.a_zero, a);
    check_zero(l.b_zero, b);
    check_range(l.zero, l.low, l.high, y);
    require(l.shift >= 0 && l.shift <= numerics::kMaxShift, "shift outside 0..62");
    require((l.a_multiplier | l.b_multiplier) < (1u << 31), "multiplier of more than 31 bits");
  }

  // Negative padding: the first (only `inside`) or last rows or columns are not read.
  void check_window(const Value& x, const Value& y, const std::array<int64_t, 2>& kernel,
                    const std::array<int64_t, 2>& stride, const std::array<int64_t, 2>& dilation,
                    const std::array<int64_t, 4>& pad, bool inside) {
    for (size_t i = 0; i < 2; ++i) {
      require(kernel[i] >= 1 && stride[i] >= 1 && dilation[i] >= 1, "impossible window");
      require(inside || pad[i] >= 0, "negative padding");
      const int64_t in = x.shape.size() == 4 ? x.shape[2 + i] : 1;
      const int64_t have = y.shape.size() == 4 ? y.shape[2 + i] : 1;
      const int64_t span = in + pad[i] + pad[i + 2] - ((kernel[i] - 1) * dilation[i] + 1);
      require(span >= 0 && span / stride[i] + 1 == have, "the window gives another output size");
    }
  }

  void check_qconv(const Node& n, const QConv& q) {
    require(n.inputs.size() == (q.residual ? 3u : 2u), "wrong number of inputs");
    const Value &x = in(n, 0), &w = in(n, 1), &y = out(n);
    check_8bit(x, "input");
    check_8bit(y, "output");
    require(is_8bit(w.type) && w.is_constant() && w.shape.size() == 4,
            "the weight is no 8-bit constant of rank 4");
    require(q.groups >= 1 && w.shape[0] % q.groups == 0 && x.shape[1] == w.shape[1] * q.groups,
            "channels and groups do not fit");
    require(y.shape[0] == x.shape[0] && y.shape[1] == w.shape[0],
            "the output has another batch or channel count");
    require(q.kernel[0] == w.shape[2] && q.kernel[1] == w.shape[3], "kernel and weight differ");
    check_window(x, y, q.kernel, q.stride, q.dilation, q.pad, true);
    check_zero(q.x_zero, x.type);
    check_zero(q.w_zero, w.type);
    const Rescale& r = q.rescale;
    for (size_t size : {r.bias.size(), r.multiplier.size(), r.shift.size()}) {
      require(size == 1 || size == static_cast<size_t>(w.shape[0]),
              "rescale parameters do not fit the channels");
    }
    for (uint32_t m : r.multiplier) require(m < (1u << 31), "multiplier of more than 31 bits");
    for (int s : r.shift) require(s >= 0 && s <= numerics::kMaxShift, "shift outside 0..62");
    const ElementType own = q.residual && r.low < 0 ? ElementType::int8 : ElementType::uint8;
    if (!q.residual) return check_range(r.zero, r.low, r.high, y.type);
    require(r.low <= r.high && r.low >= -128 && r.high <= (r.low < 0 ? 127 : 255),
            "first clamp outside 8 bits");
    check_8bit(in(n, 2), "residual");
    require(in(n, 2).elements() == y.elements(), "the residual has another size");
    const int32_t a_zero = q.residual->a_zero;
    require(a_zero >= -128 && a_zero <= 255, "zero point outside 8 bits");
    LinearCombine l = *q.residual;
    l.a_zero = own == ElementType::int8 ? -1 : 0;  // checked above: the clamp may hide the stored type
    check_combine(l, own, in(n, 2).type, y.type);
  }

  void check_qpool(const Node& n, const QPool& q) {
    require(n.inputs.size() == 1, "expected 1 input");
    const Value &x = in(n, 0), &y = out(n);
    check_8bit(x, "input");
    check_8bit(y, "output");
    require(x.shape[0] == y.shape[0] && x.shape[1] == y.shape[1],
            "the output has another batch or channel count");
    check_window(x, y, q.kernel, q.stride, q.dilation, q.pad, false);
    if (q.kind == QPool::Kind::max) {
      require(x.type == y.type, "a maximum does not change the type");
      return check_range(0, q.low, q.high,
                         y.type == ElementType::int8 ? ElementType::int8 : ElementType::uint8);
    }
    check_zero(q.x_zero, x.type);
    check_range(q.zero, q.low, q.high, y.type);
    for (const auto& f : q.factor) {
      require(f.multiplier < (1u << 31) && f.shift >= 0 && f.shift <= numerics::kMaxShift,
              "impossible factor");
    }
  }

  void check_broadcast(const Node& n) {
    const Shape &a = in(n, 0).shape, &b = in(n, 1).shape, &y = out(n).shape;
    require(a.size() == y.size() && b.size() == y.size(), "its ranks differ");
    for (size_t i = 0; i < y.size(); ++i) {
      require((a[i] == y[i] || a[i] == 1) && (b[i] == y[i] || b[i] == 1) && y[i] == std::max(a[i], b[i]),
              "its shapes do not broadcast");
    }
  }

  void check_qbinary(const Node& n, const QBinary& q) {
    require(n.inputs.size() == 2, "expected 2 inputs");
    for (size_t i = 0; i < 2; ++i) check_elements(in(n, i), "input");
    check_elements(out(n), "output");
    check_broadcast(n);
    check_zero(q.a_zero, in(n, 0).type);
    check_zero(q.b_zero, in(n, 1).type);
    check_range(q.zero, q.low, q.high, out(n).type);
    require(q.shift >= 0 && q.shift <= numerics::kMaxShift, "shift outside 0..62");
    require(q.multiplier < (1u << 31), "multiplier of more than 31 bits");
  }

  static int64_t dim(const Value& v, size_t i) { return i < v.shape.size() ? v.shape[i] : 1; }

  void check_qplace(const Node& n, const QPlace& q) {
    require(!n.inputs.empty(), "it has no inputs");
    require(q.offset.size() == 4 * n.inputs.size() && q.step.size() == q.offset.size(),
            "offsets and steps do not fit the inputs");
    check_8bit(out(n), "output");
    int64_t covered = 0;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      check_8bit(in(n, i), "input");
      require(in(n, i).type == out(n).type, "types differ");
      covered += in(n, i).elements();
      for (size_t d = 0; d < 4; ++d) {
        const int64_t offset = q.offset[4 * i + d], step = q.step[4 * i + d];
        require(offset >= 0 && step >= 1 && offset + (dim(in(n, i), d) - 1) * step < dim(out(n), d),
                "an input lies outside the output");
      }
    }
    require(covered == out(n).elements(), "the inputs do not cover the output once");
  }

  void check_qtake(const Node& n, const QTake& q) {
    require(n.inputs.size() == 1, "expected 1 input");
    check_8bit(in(n, 0), "input");
    check_8bit(out(n), "output");
    require(in(n, 0).type == out(n).type, "types differ");
    for (size_t d = 0; d < 4; ++d) {
      require(q.offset[d] >= 0 && q.step[d] >= 1, "impossible offset or step");
      require(q.offset[d] + (dim(out(n), d) - 1) * q.step[d] < dim(in(n, 0), d) ||
                  (d == 1 && !q.channels.empty()),
              "it reads outside its input");
    }
    if (q.channels.empty()) return;
    require(static_cast<int64_t>(q.channels.size()) == dim(out(n), 1), "channel list and output differ");
    for (int64_t c : q.channels) require(c >= 0 && c < dim(in(n, 0), 1), "no such channel");
  }

  const Graph& g_;
  std::string at_;  // "node ...: " of the check that is running
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace dlc::ir
