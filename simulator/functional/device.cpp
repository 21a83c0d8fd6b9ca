// The functional device: instructions one after another in program order, no time.
#include "isa/device.h"

#include <chrono>

#include "simulator/functional/execute.h"

namespace dlc {
namespace {

class FunctionalDevice final : public Device {
 public:
  explicit FunctionalDevice(const HwConfig& hw) : hw_(hw) {}
  std::string name() const override { return "functional"; }

  RunResult run(const Program& program, std::vector<uint8_t>& dram, const RunOptions& options) override {
    const auto begin = std::chrono::steady_clock::now();
    if (options.values) {
      MachineState state(hw_);
      const size_t count = program.instructions.size();
      for (size_t i = 0; i < count; ++i) {
        execute(state, program.instructions[i], dram);
        if (options.progress && i % kProgressInterval == 0) options.progress(static_cast<double>(i) / count);
      }
    }
    if (options.progress) options.progress(1.0);
    RunResult result;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  }

 private:
  static constexpr size_t kProgressInterval = 256;
  HwConfig hw_;
};

}  // namespace

std::unique_ptr<Device> make_functional_device(const HwConfig& hw) {
  return std::make_unique<FunctionalDevice>(hw);
}

}  // namespace dlc
