// Images with few channels, several pixels a word: the same bytes as before, on the reference and on the machine.
#include "compiler/accel/pack_pixels.h"
#include "compiler/driver/partition.h"
#include "tests/unit/accel_harness.h"

using namespace dlc;
using namespace dlc::accel_test;

namespace {

// The result of the graph's only output for a random image.
ir::Tensor evaluate(const ir::Graph& graph, const ir::Tensor& image) {
  const ir::Value& x = graph.value(graph.inputs()[0]);
  return reference::evaluate(graph, {{x.name, image}}).at(graph.value(graph.outputs()[0]).name);
}

ir::Tensor random_image(const ir::Graph& graph, uint64_t seed) {
  Random random(seed);
  const ir::Value& x = graph.value(graph.inputs()[0]);
  ir::Tensor image(x.type, x.shape);
  for (auto& b : image.bytes) b = static_cast<uint8_t>(random.range(0, 255));
  return image;
}

// What the accelerator gets of a packed graph.
ir::Graph without_packing(const ir::Graph& graph) {
  std::vector<ir::NodeId> nodes;
  for (ir::NodeId n : graph.topological_order())
    if (!graph.node(n).is("pack_pixels")) nodes.push_back(n);
  return extract(graph, nodes);
}

void first_layer(NetBuilder& b) {
  Random& r = b.random;
  WindowSpec w;
  w.kh = r.range(1, 11), w.kw = r.range(1, 11);
  w.sh = r.range(1, 4), w.sw = r.range(1, 4);
  w.top = r.range(0, w.kh - 1), w.bottom = r.range(0, w.kh - 1);
  w.left = r.range(0, w.kw - 1), w.right = r.range(0, w.kw - 1);
  const int64_t h = r.range(std::max<int64_t>(1, w.kh - w.top - w.bottom), 40);
  const int64_t wide = r.range(std::max<int64_t>(1, w.kw - w.left - w.right), 40);
  const ir::ValueId x = b.input({r.chance(20) ? 2 : 1, r.range(1, 4), h, wide}, r.chance(50));
  ir::ValueId y = b.conv(x, r.range(1, 40), w);
  if (r.chance(25)) y = b.look_up(y);
  if (r.chance(40)) y = b.conv(y, r.range(1, 20), {});
  b.output(y);
}

}  // namespace

TEST_CASE("packed pixels change no byte of a first layer, on reference, functional model and SystemC") {
  int packed = 0, phases = 0;
  for (const std::string name : {"tiny-4", "edge-8", "edge-16", "wide-8x32", "narrow-32x8", "vta-16", "large-64"}) {
    const HwConfig hw = config(name);
    for (uint64_t seed = 0; seed < 40; ++seed) {
      NetBuilder b(seed);
      first_layer(b);
      if (!hw.has_lut() && b.graph.node_count() > 1) continue;
      const ir::Tensor image = random_image(b.graph, seed);
      const ir::Tensor expected = evaluate(b.graph, image);
      INFO(name << " seed " << seed << "\n" << describe(b.graph));
      const bool done = !accel::pack_pixels(b.graph, hw).empty();
      packed += done;
      INFO(describe(b.graph));
      ir::verify(b.graph);
      REQUIRE(evaluate(b.graph, image).bytes == expected.bytes);
      if (!done) continue;
      const ir::Graph region = without_packing(b.graph);
      for (ir::NodeId n : region.nodes()) phases += region.node(n).is("qplace");
      compile_and_check(region, hw, {.keep_resident = b.random.chance(50)}, seed);
    }
  }
  CHECK(packed > 150);
  CHECK(phases > 60);
}

TEST_CASE("a packed first layer counts the image's multiply-accumulates, not the words'") {
  NetBuilder b(1);
  const ir::ValueId x = b.input({1, 3, 32, 32}, true);
  b.output(b.conv(x, 16, {.kh = 3, .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1}));
  const HwConfig hw = config("edge-16");
  const Program plain = accel::compile_accelerator(b.graph, whole_region(b.graph), hw, {});
  REQUIRE(!accel::pack_pixels(b.graph, hw).empty());
  const ir::Graph region = without_packing(b.graph);
  const Program packed = accel::compile_accelerator(region, whole_region(region), hw, {});
  int64_t macs = 0, valid = 0;
  for (const Layer& l : packed.layers) {
    macs += l.macs;
    valid += l.valid_macs;
  }
  CHECK(macs == plain.layers.at(0).macs);
  CHECK(valid == plain.layers.at(0).valid_macs);
  CHECK(macs == 32 * 32 * 16 * 27);
}

TEST_CASE("a first layer that would not be faster stays as it is") {
  NetBuilder b(1);
  const ir::ValueId x = b.input({1, 16, 8, 8}, true);
  b.output(b.conv(x, 16, {.kh = 3, .kw = 3}));
  CHECK(accel::pack_pixels(b.graph, config("edge-16")).empty());
}
