// Whole networks on all witnesses: graph reference = functional = SystemC = RTL in every byte of every tensor
// that reaches DRAM; SystemC = RTL in total cycles, every counter, every instruction's start and retire.
#include <catch2/catch.hpp>
#include <filesystem>

#include "compiler/driver/compare.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/inputs.h"
#include "compiler/driver/outputs.h"
#include "compiler/driver/profile.h"

using namespace dlc;

namespace {

const std::string kRoot = DLC_SOURCE_DIR;
const std::string kAssets = kRoot + "/../shared/assets";

void check_adds_up(const Compiled& c, const RunResult& run) {
  const Profile p = make_profile(c.program, c.hw, run);
  for (size_t e = 0; e < kEngines; ++e) {
    const EngineCounters& n = run.engines[e];
    CHECK(n.busy + n.wait_dependency + n.wait_memory + n.idle == run.total_cycles);
  }
  int64_t cycles = 0, macs = 0;
  for (const LayerProfile& l : p.layers) {
    cycles += l.cycles;
    macs += l.macs;
  }
  CHECK(cycles == run.total_cycles);
  CHECK(macs == p.macs);
  CHECK(p.total_cycles >= p.lower_bound.bound);
}

void check_witnesses(const std::string& hw, const std::string& model,
                     const std::vector<std::string>& engines = {"functional", "systemc", "rtl"}) {
  Options options;
  options.hw = kRoot + "/hwconfigs/" + hw + ".yaml";
  options.model = model;
  const Compiled c = compile_model(options);
  const Session session(c.program, c.hw);
  TensorMap inputs;
  for (const ir::Tensor& t : session.input_signature()) {
    ir::Tensor x = random_input(t, 7);
    // Pixel-like values reach the whole range of the input quantisation.
    if (x.type == ir::ElementType::float32)
      for (float& v : x.data<float>()) v *= 255;
    inputs[t.name] = x;
  }
  TensorMap expected = reference::Evaluator(c.graph).evaluate(inputs, true);
  std::map<std::string, Inference> runs;
  for (const std::string& engine : engines) {
    auto device = make_device(engine, c.hw);
    runs[engine] = session.infer(*device, inputs, {});
    const Check check =
        compare_tensors(c.program, engine, runs[engine].device_tensors, "reference", expected);
    INFO(engine << ": " << check.first);
    CHECK(check.elements > 0);
    CHECK(check.mismatches == 0);
  }
  CHECK(runs["functional"].dram == runs["systemc"].dram);
  if (runs.contains("rtl")) {
    CHECK(runs["systemc"].dram == runs["rtl"].dram);
    CHECK(compare_times(c.program, "systemc", runs["systemc"].run, "rtl", runs["rtl"].run) == "");
  }
  check_adds_up(c, runs["systemc"].run);
}

const std::vector<std::string> kSimulators = {"functional", "systemc"};

// RTL too where a build is a matter of seconds; the other machines' arrays are no different.
void check_on_all_configurations(const std::string& model) {
  if (!std::filesystem::exists(model)) {
    WARN("skipped: " << model << " is not there (assets absent)");
    return;
  }
  for (const std::string hw : {"tiny-4", "edge-8", "edge-16", "wide-8x32"}) {
    INFO(model << " on " << hw);
    check_witnesses(hw, model);
  }
  for (const std::string hw : {"narrow-32x8", "vta-16", "gemmini-16", "starved-16", "large-64"}) {
    INFO(model << " on " << hw);
    check_witnesses(hw, model, kSimulators);
  }
}

}  // namespace

TEST_CASE("the project's CIFAR network agrees on all witnesses in every byte and every cycle") {
  check_on_all_configurations(kRoot + "/tests/models/cifar_resnet_int8.onnx");
}

TEST_CASE("the project's CIFAR network agrees on RTL of a broadcast and of a narrow array") {
  for (const std::string hw : {"vta-16", "narrow-32x8"})
    check_witnesses(hw, kRoot + "/tests/models/cifar_resnet_int8.onnx");
}

TEST_CASE("ic_resnet8 agrees on all witnesses in every byte and every cycle") {
  check_on_all_configurations(kAssets + "/models/mlperf_tiny_onnx/ic_resnet8_int8_qdq.onnx");
}

TEST_CASE("kws_dscnn agrees on all witnesses in every byte and every cycle") {
  check_on_all_configurations(kAssets + "/models/mlperf_tiny_onnx/kws_dscnn_int8_qdq.onnx");
}
