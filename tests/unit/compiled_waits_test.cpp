// Mutation of compiled programs: every wait that the compiler emits is needed. Weakened by one instruction,
// the verifier finds a hazard; a wait without which it finds none costs time for nothing and should not be
// there.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "compiler/driver/compile.h"
#include "isa/program_file.h"

namespace dlc {
namespace {

struct Mutation {
  int waits = 0;
  std::vector<std::string> redundant;  // what the verifier accepts without
};

Mutation weaken_each_wait(Program program, const HwConfig& hw) {
  Mutation result;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    auto& waits = isa::wait_of(program.instructions[i]);
    for (size_t e = 0; e < waits.size(); ++e) {
      if (waits[e] == 0) continue;
      ++result.waits;
      --waits[e];
      if (verify_program(program, hw, 1).empty())
        result.redundant.push_back(fmt::format("instruction {}, engine {}: {} would do", i, e, waits[e]));
      ++waits[e];
    }
  }
  return result;
}

void check_waits(const std::string& model, const std::vector<std::string>& machines) {
  if (!std::filesystem::exists(model)) {
    WARN("skipped: " << model << " is not there (assets absent)");
    return;
  }
  for (const std::string& name : machines) {
    Options options;
    options.hw = std::string(DLC_SOURCE_DIR) + "/hwconfigs/" + name + ".yaml";
    options.model = model;
    const Compiled c = compile_model(options);
    const Mutation m = weaken_each_wait(c.program, c.hw);
    INFO(model << " on " << name << ": " << m.redundant.size() << " of " << m.waits
               << " waits are redundant, the first: " << (m.redundant.empty() ? "" : m.redundant.front()));
    CHECK(m.waits > 40);
    CHECK(m.redundant.empty());
  }
}

TEST_CASE("compiled programs wait for no more than they must: the verifier notices every weakened wait") {
  const std::string root = DLC_SOURCE_DIR, assets = root + "/../shared/assets/models/mlperf_tiny_onnx/";
  check_waits(root + "/tests/models/cifar_resnet_int8.onnx", {"tiny-4", "edge-16", "vta-16", "wide-8x32"});
  check_waits(assets + "kws_dscnn_int8_qdq.onnx", {"edge-8", "edge-16"});
  check_waits(assets + "ad_autoencoder_int8_qdq.onnx", {"tiny-4", "edge-16"});
}

}  // namespace
}  // namespace dlc
