// --schedule and --emit-schedule: what is written can be read back, edited, and refused with a place.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "compiler/accel/user_schedule.h"
#include "isa/error.h"
#include "tests/unit/accel_harness.h"

using namespace dlc;
using namespace dlc::accel_test;

namespace {

const std::string kFile = (std::filesystem::temp_directory_path() / ("dlc_schedule_" + std::to_string(::getpid()) + ".yaml")).string();

accel::UserSchedule from_text(const std::string& text) {
  std::ofstream(kFile) << text;
  const auto remove = [] { std::filesystem::remove(kFile); };
  try {
    accel::UserSchedule s = accel::load_schedule(kFile);
    remove();
    return s;
  } catch (...) {
    remove();
    throw;
  }
}

void build(NetBuilder& b) {
  const ir::ValueId x = b.input({1, 24, 16, 12}, true);
  const ir::ValueId y = b.conv(x, 40, {.kh = 3, .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1});
  const ir::ValueId d = b.conv(y, 40, {.kh = 3, .kw = 3, .sh = 2, .sw = 2, .top = 1, .left = 1, .bottom = 1, .right = 1}, 40);
  const ir::ValueId p = b.pool(d, ir::QPool::Kind::max, {.kh = 2, .kw = 2, .sh = 2, .sw = 2});
  b.output(b.conv(p, 10, {.kh = 4, .kw = 3}));
}

// Compiles with this schedule and checks the bytes; what was chosen, as text.
std::string compile(const std::string& machine, const std::string& schedule, bool keep_resident = true) {
  NetBuilder b(3);
  build(b);
  const HwConfig hw = config(machine);
  accel::AccelOptions options;
  options.keep_resident = keep_resident;
  accel::UserSchedule user;
  if (!schedule.empty()) options.schedule = &(user = from_text(schedule));
  accel::ChosenSchedule chosen;
  const Program program = accel::compile_accelerator(b.graph, whole_region(b.graph), hw, options, &chosen);
  if (!schedule.empty()) accel::check_names(user, {chosen});
  check_program(program, b.graph, hw, 3);
  return accel::schedule_text({chosen});
}

}  // namespace

TEST_CASE("an emitted schedule, fed back, gives itself") {
  for (const std::string machine : {"tiny-4", "edge-8", "edge-16", "wide-8x32", "vta-16", "starved-16", "large-64"}) {
    INFO(machine);
    const std::string chosen = compile(machine, "");
    CHECK(compile(machine, chosen) == chosen);
  }
}

TEST_CASE("an edited schedule is obeyed and changes no byte of the result") {
  const std::string edited = compile("edge-16", "version: 1\nlayers:\n  - {layer: qconv, rows: 3, columns: 6, order: channels-outer}\n"
                                                "  - {layer: qconv_1, engine: vector}\n"
                                                "tensors:\n  - {tensor: v, keep: dram}\n");
  CHECK(edited.find("order: channels-outer") != std::string::npos);
  CHECK(std::regex_search(edited, std::regex("layer: qconv\\n(.*\\n){3} +rows: 3\\n +columns: 6\\n")));
  CHECK(std::regex_search(edited, std::regex("layer: qconv_1\\n +engine: vector")));
  CHECK(edited.find("tensor: v\n    keep: dram") != std::string::npos);
}

TEST_CASE("an impossible schedule is refused with its place, the scratchpad and the bytes") {
  const auto refused = [](const std::string& entry, const std::string& message) {
    INFO(entry);
    CHECK_THROWS_WITH(compile("tiny-4", "version: 1\nlayers:\n  - {layer: qconv, " + entry + "}\n"),
                      Catch::Contains(kFile + ":3:5") && Catch::Contains(message));
  };
  refused("rows: 16, columns: 12, output_blocks: 10", "bytes of the accumulator scratchpad, which has");
  refused("rows: 17", "rows: 17 is more than the layer has (16)");
  refused("engine: vector", "this convolution runs on MATRIX only");
  refused("engine: shared", "only depthwise layers can be shared");
  refused("kernel_rows: 1, input_blocks: 3", "no tiling with these choices together");
  CHECK_THROWS_WITH(compile("tiny-4", "version: 1\nlayers:\n  - {layer: qconw}\n"), Catch::Contains("no layer 'qconw'") && Catch::Contains("qconv"));
  CHECK_THROWS_WITH(compile("tiny-4", "version: 1\ntensors:\n  - {tensor: q, keep: dram}\n"), Catch::Contains("no tensor 'q'"));
}

TEST_CASE("a malformed schedule is refused with line and column") {
  const auto refused = [](const std::string& text, const std::string& message) {
    INFO(text);
    CHECK_THROWS_WITH(from_text(text), Catch::Contains(message));
  };
  refused("version: 2\n", ":1:10: expected version 1");
  refused("layers: {a: 1}\n", ":1:9: expected a list");
  refused("layer: []\n", "no key 'layer' here; did you mean 'layers'?");
  refused("layers:\n  - {rows: 3}\n", ":2:5: expected a key 'layer'");
  refused("layers:\n  - {layer: a, rows: many}\n", ":2:22: expected an integer of at least 1");
  refused("layers:\n  - {layer: a}\n  - {layer: a}\n", ":3:5: layer 'a' is given twice");
  refused("tensors:\n  - {tensor: a, keep: here}\n", "expected scratchpad or dram");
  refused("layers: [\n", "is no YAML");
  CHECK_THROWS_WITH(accel::load_schedule("/nowhere.yaml"), Catch::Contains("/nowhere.yaml: cannot be read"));
}
