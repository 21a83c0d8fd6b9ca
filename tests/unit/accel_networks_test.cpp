// Whole networks: random graphs with branches, unusual machines, and the project's own model.
#include "compiler/driver/partition.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/passes/pass_manager.h"
#include "isa/error.h"
#include "tests/unit/accel_harness.h"

namespace dlc::accel_test {
namespace {

HwConfig machine(int rows, int cols, int lanes, int preload_rows, int act_kib, int read_ports,
                 int acc_banks) {
  HwConfig hw = config("edge-8");
  hw.name = "unusual";
  hw.rows = rows;
  hw.cols = cols;
  hw.lanes = lanes;
  hw.preload_rows = preload_rows;
  hw.activation = {static_cast<uint64_t>(act_kib) * 1024, 4, read_ports};
  hw.weight.size_bytes = 32 * 1024;
  hw.accumulator = {16 * 1024, acc_banks, 1};
  hw.parameter.size_bytes = 8 * 1024;
  return hw;
}

// A chain of random layers with skip connections, views and a pooled, fully connected end.
void random_network(NetBuilder& b) {
  Random& r = b.random;
  ir::ValueId x = b.input({1, r.range(1, 8), r.range(8, 20), r.range(8, 20)}, r.chance(50));
  const WindowSpec same{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  for (int64_t block = r.range(2, 4); block > 0; --block) {
    const ir::Shape shape = b.graph.value(x).shape;
    const int64_t kind = r.range(0, 4);
    if (kind == 0) {
      const auto y = b.conv(x, shape[1], same);
      x = b.conv(y, shape[1], same, 1, x);
    } else if (kind == 1) {
      x = b.conv(b.conv(x, shape[1], same, shape[1]), r.range(4, 40), {});
    } else if (kind == 2) {
      WindowSpec half = same;
      half.sh = half.sw = 2;
      WindowSpec shortcut;
      shortcut.sh = shortcut.sw = 2;
      const int64_t channels = r.range(4, 40);
      const auto y = b.conv(x, channels, half);
      x = b.sum(b.conv(y, channels, same), b.conv(x, channels, shortcut));
    } else if (kind == 3) {
      x = b.sum(x, b.conv(x, shape[1], same));
    } else {
      x = b.pool(x, r.chance(50) ? ir::QPool::Kind::max : ir::QPool::Kind::average,
                 {2, 2, 1, 1, 1, 1, 0, 1, 1, 0});
    }
    if (r.chance(15)) b.output(x);
  }
  const ir::Shape shape = b.graph.value(x).shape;
  if (r.chance(50)) {
    x = b.pool(x, ir::QPool::Kind::average, {shape[2], shape[3]});
    x = b.view(x, {1, shape[1]});
  } else {
    x = b.view(x, {1, shape[1] * shape[2] * shape[3]});
  }
  b.output(b.conv(b.view(x, {1, b.graph.value(x).shape[1], 1, 1}), 10, {}));
}

void check_random_network(const HwConfig& hw, uint64_t seed) {
  NetBuilder b(seed);
  random_network(b);
  INFO(hw.name << " " << hw.rows << "x" << hw.cols << " seed " << seed << "\n" << describe(b.graph));
  compile_and_check(b.graph, hw, {.keep_resident = b.random.chance(75)}, seed);
}

}  // namespace

TEST_CASE("random networks with branches match the reference on every configuration") {
  for (const std::string& name : config_names())
    for (uint64_t seed = 7000; seed < 7025; ++seed) check_random_network(config(name), seed);
}

TEST_CASE("machines of any aspect ratio, lane count and bank count compute the same") {
  const HwConfig machines[] = {
      machine(16, 4, 4, 2, 64, 2, 2),  machine(32, 8, 8, 4, 64, 1, 2), machine(8, 8, 4, 1, 32, 1, 4),
      machine(16, 16, 4, 1, 64, 2, 1), machine(4, 16, 2, 1, 32, 1, 2), machine(32, 16, 4, 2, 128, 2, 4),
  };
  for (const HwConfig& hw : machines)
    for (uint64_t seed = 8000; seed < 8015; ++seed) check_random_network(hw, seed);
}

TEST_CASE("the project's own network compiles for every configuration and matches the reference") {
  ir::Graph graph =
      onnx_import::import_onnx(std::string(DLC_SOURCE_DIR) + "/tests/models/cifar_resnet_int8.onnx");
  passes::run_pipeline(graph);
  const Partition parts = partition(graph, config("tiny-4"), false);
  REQUIRE(parts.parts.size() == 3);  // host, accelerator, host
  const ir::Graph region = extract(graph, parts.parts[1].nodes);
  for (const std::string& name : config_names())
    for (const bool keep_resident : {true, false}) {
      INFO(name << " resident " << keep_resident);
      compile_and_check(region, config(name), {.keep_resident = keep_resident}, 1);
    }
}

TEST_CASE("compiling twice gives the same bytes") {
  NetBuilder b(9000);
  random_network(b);
  const HwConfig hw = config("edge-8");
  const auto once = accel::compile_accelerator(b.graph, whole_region(b.graph), hw);
  const auto again = accel::compile_accelerator(b.graph, whole_region(b.graph), hw);
  REQUIRE(disassemble(once) == disassemble(again));
}

TEST_CASE("a layer that does not fit is refused with the node and the scratchpad") {
  HwConfig hw = config("tiny-4");
  hw.activation.size_bytes = 256;
  hw.activation.banks = 2;
  NetBuilder b(9100);
  b.output(b.conv(b.input({1, 64, 9, 9}, true), 8, {9, 9}));
  try {
    accel::compile_accelerator(b.graph, whole_region(b.graph), hw);
    FAIL("not refused");
  } catch (const UserError& e) {
    REQUIRE(e.kind() == ErrorKind::unsupported);
    REQUIRE_THAT(e.what(), Catch::Contains("'qconv'") && Catch::Contains("activation scratchpad"));
  }
}

}  // namespace dlc::accel_test
