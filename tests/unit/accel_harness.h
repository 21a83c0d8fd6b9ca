// Random graphs of integer operators, and the check that a compiled program computes what the reference does.
#pragma once
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "compiler/accel/compile.h"
#include "compiler/accel/layout.h"
#include "compiler/backends/reference/reference.h"
#include "compiler/ir/graph.h"
#include "isa/device.h"
#include "isa/program_file.h"

namespace dlc::accel_test {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t range(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return range(0, 99) < percent; }

 private:
  std::mt19937_64 engine_;
};

inline const std::vector<std::string>& config_names() {
  static const std::vector<std::string> names{"tiny-4", "edge-8", "edge-16", "wide-8x32"};
  return names;
}
inline HwConfig config(const std::string& name) {
  return load_hwconfig(std::string(DLC_SOURCE_DIR) + "/hwconfigs/" + name + ".yaml");
}

struct WindowSpec {
  int64_t kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1, top = 0, left = 0, bottom = 0, right = 0;
  int64_t out_h(int64_t h) const { return (h + top + bottom - (kh - 1) * dh - 1) / sh + 1; }
  int64_t out_w(int64_t w) const { return (w + left + right - (kw - 1) * dw - 1) / sw + 1; }
};

// Builds graphs of integer operators with random constants whose results spread over the 8-bit range.
class NetBuilder {
 public:
  explicit NetBuilder(uint64_t seed) : random(seed) { graph.name = "test"; }

  ir::ValueId input(ir::Shape shape, bool is_signed) {
    const ir::ValueId v = value("x", std::move(shape), is_signed);
    graph.add_input(v);
    return v;
  }

  ir::ValueId conv(ir::ValueId x, int64_t out_channels, const WindowSpec& w, int64_t groups = 1,
                   ir::ValueId residual = {}) {
    const ir::Shape in = graph.value(x).shape;
    const int64_t per_group = in[1] / groups;
    ir::Tensor weights(random.chance(70) ? ir::ElementType::int8 : ir::ElementType::uint8,
                       {out_channels, per_group, w.kh, w.kw});
    for (auto& b : weights.bytes) b = static_cast<uint8_t>(random.range(0, 255));
    ir::QConv q;
    q.kernel = {w.kh, w.kw};
    q.stride = {w.sh, w.sw};
    q.dilation = {w.dh, w.dw};
    q.pad = {w.top, w.left, w.bottom, w.right};
    q.groups = groups;
    q.x_zero = zero_of(graph.value(x).type);
    q.w_zero = zero_of(weights.type);
    const bool out_signed = random.chance(60);
    const double spread = 60.0 * 60.0 * std::sqrt(static_cast<double>(per_group * w.kh * w.kw));
    const int64_t channels = random.chance(80) ? out_channels : 1;
    for (int64_t c = 0; c < channels; ++c) {
      q.rescale.bias.push_back(static_cast<int32_t>(random.range(-20000, 20000)));
      const double factor = 50.0 / spread * static_cast<double>(random.range(50, 150)) / 100;
      int exponent = 0;
      const double mantissa = std::frexp(factor, &exponent);
      q.rescale.multiplier.push_back(static_cast<uint32_t>(mantissa * 2147483648.0));
      q.rescale.shift.push_back(31 - exponent);
    }
    set_range(q.rescale.zero, q.rescale.low, q.rescale.high, out_signed);
    std::vector<ir::ValueId> inputs{x, graph.add_constant(graph.unique_value_name("w"), weights)};
    bool result_signed = out_signed;
    if (residual.valid()) {
      result_signed = random.chance(60);
      q.residual = combine(q.rescale.zero, graph.value(residual).type, result_signed);
      inputs.push_back(residual);
    }
    return add("qconv", q, inputs, {in[0], out_channels, w.out_h(in[2]), w.out_w(in[3])}, result_signed);
  }

  ir::ValueId sum(ir::ValueId a, ir::ValueId b) {
    const bool result_signed = random.chance(60);
    ir::QAdd q;
    q.combine = combine(zero_of(graph.value(a).type), graph.value(b).type, result_signed);
    return add("qadd", q, {a, b}, broadcast(a, b), result_signed);
  }

  ir::ValueId binary(ir::QBinary::Kind kind, ir::ValueId a, ir::ValueId b) {
    const bool result_signed = random.chance(60);
    ir::QBinary q;
    q.kind = kind;
    q.a_zero = zero_of(graph.value(a).type);
    q.b_zero = zero_of(graph.value(b).type);
    q.shift = kind == ir::QBinary::Kind::multiply ? 31 : 26;
    q.multiplier = static_cast<uint32_t>(random.range(1 << 24, (1 << 26) - 1));
    set_range(q.zero, q.low, q.high, result_signed);
    return add("qbinary", q, {a, b}, broadcast(a, b), result_signed);
  }

  ir::ValueId constant(ir::Shape shape, bool is_signed) {
    ir::Tensor t(is_signed ? ir::ElementType::int8 : ir::ElementType::uint8, std::move(shape));
    for (auto& b : t.bytes) b = static_cast<uint8_t>(random.range(0, 255));
    return graph.add_constant(graph.unique_value_name("k"), t);
  }

  // A 1x1 convolution whose result has this type.
  ir::ValueId conv_as(ir::ValueId x, int64_t out_channels, bool is_signed) {
    const ir::ValueId y = conv(x, out_channels, {});
    auto& q = std::get<ir::QConv>(graph.node(graph.producer(y)).payload);
    set_range(q.rescale.zero, q.rescale.low, q.rescale.high, is_signed);
    graph.value(y).type = is_signed ? ir::ElementType::int8 : ir::ElementType::uint8;
    return y;
  }

  ir::ValueId concat(const std::vector<ir::ValueId>& parts, size_t axis) {
    ir::QPlace q;
    ir::Shape shape = graph.value(parts[0]).shape;
    shape[axis] = 0;
    for (ir::ValueId v : parts) {
      for (size_t d = 0; d < 4; ++d) q.offset.push_back(d == axis ? shape[axis] : 0);
      q.step.insert(q.step.end(), {1, 1, 1, 1});
      shape[axis] += graph.value(v).shape[axis];
    }
    return add("qplace", q, parts, shape, graph.value(parts[0]).type == ir::ElementType::int8);
  }

  // parts[i * sw + j] are the pixels (i, j) of each sh x sw cell; all of one shape.
  ir::ValueId interleave(const std::vector<ir::ValueId>& parts, int64_t sh, int64_t sw) {
    ir::QPlace q;
    ir::Shape shape = graph.value(parts[0]).shape;
    for (int64_t i = 0; i < sh * sw; ++i) {
      q.offset.insert(q.offset.end(), {0, 0, i / sw, i % sw});
      q.step.insert(q.step.end(), {1, 1, sh, sw});
    }
    shape[2] *= sh;
    shape[3] *= sw;
    return add("qplace", q, parts, shape, graph.value(parts[0]).type == ir::ElementType::int8);
  }

  ir::ValueId take(ir::ValueId x, const ir::QTake& q, ir::Shape shape) {
    return add("qtake", q, {x}, std::move(shape), graph.value(x).type == ir::ElementType::int8);
  }

  ir::ValueId pool(ir::ValueId x, ir::QPool::Kind kind, const WindowSpec& w) {
    const ir::Value in = graph.value(x);
    const bool is_signed = in.type == ir::ElementType::int8;
    ir::QPool q;
    q.kind = kind;
    q.kernel = {w.kh, w.kw};
    q.stride = {w.sh, w.sw};
    q.dilation = {w.dh, w.dw};
    q.pad = {w.top, w.left, w.bottom, w.right};
    q.low = is_signed ? -128 : 0;
    q.high = is_signed ? 127 : 255;
    if (kind == ir::QPool::Kind::average) {
      q.x_zero = zero_of(in.type);
      q.zero = zero_of(in.type);
      q.factor.push_back({});
      for (int64_t d = 1; d <= w.kh * w.kw; ++d)
        q.factor.push_back({static_cast<uint32_t>(1.2 * 1073741824.0 / static_cast<double>(d)), 30});
    }
    return add("qpool", q, {x}, {in.shape[0], in.shape[1], w.out_h(in.shape[2]), w.out_w(in.shape[3])},
               is_signed);
  }

  ir::ValueId look_up(ir::ValueId x) {
    ir::QLut q;
    for (auto& b : q.table) b = static_cast<uint8_t>(random.range(0, 255));
    return add("qlut", q, {x}, graph.value(x).shape, random.chance(60));
  }

  ir::ValueId view(ir::ValueId x, ir::Shape shape) {
    return add("reshape", std::monostate{}, {x}, std::move(shape),
               graph.value(x).type == ir::ElementType::int8);
  }

  void output(ir::ValueId v) { graph.add_output(v); }

  ir::Graph graph;
  Random random;

 private:
  ir::ValueId value(const std::string& wish, ir::Shape shape, bool is_signed) {
    ir::Value v;
    v.name = graph.unique_value_name(wish);
    v.type = is_signed ? ir::ElementType::int8 : ir::ElementType::uint8;
    v.shape = std::move(shape);
    return graph.add_value(std::move(v));
  }

  ir::ValueId add(const std::string& op, ir::Payload payload, std::vector<ir::ValueId> inputs,
                  ir::Shape shape, bool is_signed) {
    ir::Node n;
    n.name = graph.unique_node_name(op);
    n.op = op;
    n.domain = ir::kDlcDomain;
    n.payload = std::move(payload);
    n.inputs = std::move(inputs);
    n.outputs = {value("v", std::move(shape), is_signed)};
    const ir::ValueId out = n.outputs[0];
    graph.add_node(std::move(n));
    return out;
  }

  ir::Shape broadcast(ir::ValueId a, ir::ValueId b) const {
    ir::Shape shape = graph.value(a).shape;
    for (size_t i = 0; i < shape.size(); ++i) shape[i] = std::max(shape[i], graph.value(b).shape[i]);
    return shape;
  }

  int32_t zero_of(ir::ElementType t) {
    return static_cast<int32_t>(t == ir::ElementType::int8 ? random.range(-20, 20) : random.range(100, 150));
  }
  void set_range(int32_t& zero, int32_t& low, int32_t& high, bool is_signed) {
    zero = zero_of(is_signed ? ir::ElementType::int8 : ir::ElementType::uint8);
    low = is_signed ? -128 : 0;
    high = is_signed ? 127 : 255;
    if (random.chance(30)) low = zero;  // a fused ReLU
  }
  ir::LinearCombine combine(int32_t a_zero, ir::ElementType b_type, bool result_signed) {
    ir::LinearCombine l;
    l.a_zero = a_zero;
    l.b_zero = zero_of(b_type);
    l.a_multiplier = static_cast<uint32_t>(random.range(1 << 24, (1 << 26) - 1));
    l.b_multiplier = static_cast<uint32_t>(random.range(1 << 24, (1 << 26) - 1));
    l.b_negate = random.chance(20);
    l.shift = 26;
    set_range(l.zero, l.low, l.high, result_signed);
    return l;
  }
};

// One line a node: operator, window, shapes.
inline std::string describe(const ir::Graph& graph) {
  std::string text;
  for (ir::NodeId id : graph.topological_order()) {
    const ir::Node& n = graph.node(id);
    text += n.op;
    auto window = [&](const auto& q) {
      for (int64_t v : {q.kernel[0], q.kernel[1], q.stride[0], q.stride[1], q.dilation[0], q.dilation[1],
                        q.pad[0], q.pad[1], q.pad[2], q.pad[3]})
        text += ' ' + std::to_string(v);
    };
    if (const auto* q = std::get_if<ir::QConv>(&n.payload))
      window(*q), text += " groups " + std::to_string(q->groups);
    if (const auto* q = std::get_if<ir::QPool>(&n.payload)) window(*q);
    for (ir::ValueId v : n.inputs) text += ' ' + ir::shape_text(graph.value(v).shape);
    text += " -> " + ir::shape_text(graph.value(n.outputs[0]).shape) + '\n';
  }
  return text;
}

inline std::vector<ir::NodeId> whole_region(const ir::Graph& graph) { return graph.topological_order(); }

// Runs the program on the functional and the SystemC model with random inputs; every tensor in DRAM must
// equal the reference's.
inline void check_program(const Program& program, const ir::Graph& graph, const HwConfig& hw, uint64_t seed) {
  Random random(seed);
  std::vector<uint8_t> dram = dram_image(program);
  reference::TensorMap inputs;
  auto find = [&](const std::string& name) -> const TensorInfo& {
    for (const TensorInfo& t : program.tensors)
      if (t.name == name) return t;
    throw std::logic_error("no tensor " + name);
  };
  for (const std::string& name : program.inputs) {
    const ir::Value& v = graph.value(*graph.find_value(name));
    ir::Tensor t(v.type, v.shape);
    for (auto& b : t.bytes) b = static_cast<uint8_t>(random.range(0, 255));
    const auto blocked = accel::pack_blocked(v.shape, t.bytes, hw.rows, 0xA5);
    std::copy(blocked.begin(), blocked.end(), dram.begin() + static_cast<int64_t>(find(name).address));
    inputs[name] = std::move(t);
  }
  const auto expected = reference::evaluate(graph, inputs, true);
  std::vector<uint8_t> systemc_dram = dram;
  make_functional_device(hw)->run(program, dram, {});
  const RunResult run = make_systemc_device(hw)->run(program, systemc_dram, {});
  REQUIRE(systemc_dram == dram);
  for (const EngineCounters& e : run.engines)
    REQUIRE(e.busy + e.wait_dependency + e.wait_memory + e.idle == run.total_cycles);
  for (const TensorInfo& t : program.tensors) {
    if (inputs.count(t.name)) continue;
    const std::span<const uint8_t> bytes(dram.data() + t.address, t.bytes);
    const auto got = accel::unpack_blocked(t.shape, bytes, hw.rows);
    INFO("tensor " << t.name);
    const auto& want = expected.at(t.name).bytes;
    REQUIRE(got.size() == want.size());
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < got.size(); ++i)
      if (got[i] != want[i] && wrong++ == 0) first = i;
    INFO(wrong << " of " << got.size() << " bytes differ, first at " << first);
    REQUIRE(wrong == 0);
  }
}

inline void compile_and_check(const ir::Graph& graph, const HwConfig& hw, const accel::AccelOptions& options,
                              uint64_t seed) {
  const Program program = accel::compile_accelerator(graph, whole_region(graph), hw, options);
  check_program(program, graph, hw, seed);
}

// Calls build(builder) for a number of seeds on every configuration, with and without resident tensors.
// with_lut: every machine has look-up tables.
template <typename Build>
void for_random_graphs(int count, uint64_t base, Build&& build, bool with_lut = false) {
  for (const std::string& name : config_names()) {
    HwConfig hw = config(name);
    if (with_lut) hw.functions = {"lut"};
    for (int i = 0; i < count; ++i) {
      const uint64_t seed = base + static_cast<uint64_t>(i);
      NetBuilder b(seed);
      build(b);
      INFO(name << " seed " << seed << "\n" << describe(b.graph));
      compile_and_check(b.graph, hw, {.keep_resident = b.random.chance(50)}, seed);
    }
  }
}

inline ir::Shape random_map(Random& r, int64_t channels, int64_t size) {
  return {r.chance(15) ? 2 : 1, r.range(1, channels), r.range(1, size), r.range(1, size)};
}

}  // namespace dlc::accel_test
