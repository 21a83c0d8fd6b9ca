// Random models in every form, through import, quantisation, passes and partition, on all shipped
// configurations in turn: whole on the machine, and reference = functional model = SystemC.
#include "tests/unit/random_models.h"

#include <filesystem>
#include <set>

#include "compiler/driver/partition.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/quantize/post_training.h"

namespace dlc::random_models {
namespace {

std::vector<HwConfig> shipped() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(DLC_SOURCE_DIR) + "/hwconfigs"))
    if (entry.path().extension() == ".yaml") names.insert(entry.path().stem());
  std::vector<HwConfig> all;
  for (const std::string& name : names) all.push_back(accel_test::config(name));
  return all;
}

ir::Graph lowered(const ModelBuilder& b, Form form, std::string& notes) {
  ir::Graph graph = onnx_import::import_onnx_bytes(b.m.bytes(), "random.onnx");
  if (form == Form::float32) {
    Random random(1);
    std::vector<reference::TensorMap> rows(2);
    for (reference::TensorMap& row : rows)
      for (ir::ValueId v : graph.inputs()) {
        ir::Tensor t(ir::ElementType::float32, graph.value(v).shape);
        for (float& f : t.data<float>()) f = static_cast<float>(random.range(-3000, 3000)) / 1000;
        row[graph.value(v).name] = t;
      }
    quantize::quantize_graph(graph, rows);
  }
  for (const auto& note : passes::run_pipeline(graph).notes) notes += note.node + ": " + note.text + "\n";
  return graph;
}

void check_on(const HwConfig& hw, const ir::Graph& graph, bool uses_table, uint64_t seed) {
  const Partition parts = partition(graph, hw, hw.has_lut() || !uses_table);  // true: --no-fallback
  for (const HostNode& n : parts.host_nodes) {
    INFO(n.node << " " << n.op << ": " << n.reason);
    CHECK(n.macs == 0);
  }
  if (!parts.has_accelerator()) {  // nothing but a function, on a machine without tables
    CHECK((uses_table && !hw.has_lut()));
    return;
  }
  for (const Partition::Part& part : parts.parts) {
    if (part.kind == Segment::Kind::host) continue;
    accel_test::compile_and_check(extract(graph, part.nodes), hw, {.keep_resident = seed % 4 != 0}, seed);
  }
}

ModelBuilder random_model(uint64_t seed, int index, int most_layers) {
  const auto form = static_cast<Form>(index % 3);
  ModelBuilder b(seed, form);
  const int64_t size = most_layers > 1 ? 20 : 14;
  std::string x = b.input(
      {b.random.chance(20) ? 2 : 1, b.random.range(1, 40), b.random.range(1, size), b.random.range(1, size)});
  if (form == Form::float32)
    x = b.conv(x, b.random.range(1, 24), 1, true);  // what makes it a network to quantise
  if (most_layers == 1) {
    const std::string y = b.kind(index / 3 % ModelBuilder::kKinds, x);
    x = y.empty() ? b.layer(x) : y;
  }
  for (int64_t layers = most_layers > 1 ? b.random.range(3, most_layers) : 0; layers > 0; --layers)
    x = b.layer(x);
  // What lies behind the last layer of a float network is post-processing, and stays float.
  if (form == Form::float32) x = b.shape(x).size() == 4 ? b.conv(x, 5, 1, true) : b.kind(6, x);
  b.finish(x);
  return b;
}

// How often each configuration was met.
std::map<std::string, int> check_models(int count, uint64_t base, int most_layers) {
  static const std::vector<HwConfig> machines = shipped();
  const size_t n = machines.size();
  std::map<std::string, int> met;
  for (int i = 0; i < count; ++i) {
    const uint64_t seed = base + static_cast<uint64_t>(i);
    const ModelBuilder b = random_model(seed, i, most_layers);
    std::string notes;
    INFO("seed " << seed << " form " << i % 3 << "\n" << b.text);
    const ir::Graph graph = lowered(b, static_cast<Form>(i % 3), notes);
    INFO(notes);
    const size_t at = static_cast<size_t>(i);
    for (const size_t machine : {at % n, (at + 1 + at / n % (n - 1)) % n}) {
      INFO(machines[machine].name);
      check_on(machines[machine], graph, b.uses_table, seed);
      ++met[machines[machine].name];
    }
  }
  return met;
}

}  // namespace

TEST_CASE(
    "300 random layers of every kind and form run whole on the machine, equal to the reference, on two "
    "configurations each") {
  const auto met = check_models(300, 40000, 1);
  CHECK(met.size() == 9);
  for (const auto& [name, times] : met) {
    INFO(name);
    CHECK(times >= 60);
  }
}

TEST_CASE(
    "100 random networks of every form run whole on the machine, equal to the reference, on two "
    "configurations each") {
  const auto met = check_models(100, 50000, 7);
  CHECK(met.size() == 9);
  for (const auto& [name, times] : met) {
    INFO(name);
    CHECK(times >= 20);
  }
}

}  // namespace dlc::random_models
