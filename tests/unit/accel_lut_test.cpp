// Look-up tables in compiled programs: fused into the layer before, or a layer of their own.
#include "tests/unit/accel_harness.h"

namespace dlc::accel_test {
namespace {

HwConfig with_lut(const std::string& name) {
  HwConfig hw = config(name);
  hw.functions = {"lut"};
  return hw;
}

template <typename Build>
void for_random_graphs_with_lut(int count, uint64_t base, const Build& build) {
  for_random_graphs(count, base, build, true);
}

size_t layers_named(const Program& p, const std::string& op) {
  size_t n = 0;
  for (const Layer& l : p.layers) n += l.op == op;
  return n;
}

size_t look_ups(const Program& p) {
  size_t n = 0;
  for (const isa::Instruction& i : p.instructions)
    if (const auto* v = std::get_if<isa::Vector>(&i)) n += v->lut == isa::Lut::table8;
  return n;
}

Program compile(const ir::Graph& graph, const HwConfig& hw) {
  ir::verify(graph);
  return accel::compile_accelerator(graph, whole_region(graph), hw, {});
}

}  // namespace

TEST_CASE("a look-up is a layer of its own where it reads an input or a tensor that others read too") {
  for_random_graphs_with_lut(12, 21000, [](NetBuilder& b) {
    const auto x = b.input(random_map(b.random, 40, 14), b.random.chance(50));
    const auto y = b.look_up(x);
    b.output(b.random.chance(50) ? b.sum(b.look_up(y), y) : b.look_up(y));
  });
  NetBuilder b(1);
  const auto y = b.conv(b.input({1, 8, 6, 6}, true), 8, {});
  b.output(b.sum(b.look_up(y), y));
  const Program p = compile(b.graph, with_lut("edge-8"));
  CHECK(layers_named(p, "Lut") == 1);
}

TEST_CASE("a look-up that alone reads a result is done by the instructions that write it") {
  for_random_graphs_with_lut(20, 22000, [](NetBuilder& b) {
    const auto shape = random_map(b.random, 40, 12);
    const auto x = b.input(shape, b.random.chance(50));
    switch (b.random.range(0, 3)) {
      case 0:
        return b.output(b.look_up(b.conv(x, b.random.range(1, 40), {3, 3, 1, 1, 1, 1, 1, 1, 1, 1})));
      case 1:
        return b.output(b.look_up(b.conv(x, shape[1], {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, shape[1])));
      case 2:
        return b.output(b.look_up(b.sum(x, x)));
      default:
        return b.output(b.look_up(b.pool(x, ir::QPool::Kind::average, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1})));
    }
  });
  NetBuilder b(2);
  b.output(b.look_up(b.conv(b.input({1, 8, 6, 6}, true), 8, {})));
  const Program p = compile(b.graph, with_lut("edge-8"));
  CHECK(p.layers.size() == 1);
  CHECK(look_ups(p) > 0);
}

TEST_CASE("more look-ups than the machine has tables share them in turn") {
  for_random_graphs_with_lut(3, 23000, [](NetBuilder& b) {
    auto v = b.input({1, 16, 6, 6}, true);
    for (int i = 0; i < 9; ++i) v = b.random.chance(50) ? b.look_up(v) : b.look_up(b.conv(v, 16, {}));
    b.output(v);
  });
}

TEST_CASE("a machine without tables refuses look-ups by name, one with them does not") {
  NetBuilder b(3);
  const auto y = b.look_up(b.input({1, 4, 4, 4}, true));
  b.output(y);
  const ir::NodeId node = b.graph.producer(y);
  const auto why = accel::refusal(b.graph, node, config("tiny-4"));
  REQUIRE(why);
  CHECK(*why == "tiny-4 has no look-up tables (vector.functions: [lut])");
  CHECK_FALSE(accel::refusal(b.graph, node, with_lut("tiny-4")));
}

TEST_CASE("a look-up survives printing and parsing; a table of another size does not") {
  NetBuilder b(4);
  b.output(b.look_up(b.input({1, 4, 4, 4}, false)));
  const std::string text = ir::print(b.graph);
  CHECK(ir::print(ir::parse_graph(text, "t.ir")) == text);
  std::string shorter = text;
  const auto table = shorter.find("table = [") + 9;
  shorter.erase(table, shorter.find(", ", table) + 2 - table);
  CHECK_THROWS_WITH(ir::parse_graph(shorter, "t.ir"), Catch::Contains("expected 256 numbers"));
}

}  // namespace dlc::accel_test
