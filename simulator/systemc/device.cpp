// make_systemc_device(): one elaborated core and memory per process, set to the device's configuration before
// each run.
#include <chrono>
#include <mutex>
#include <string>

#include "simulator/functional/machine_state.h"
#include "simulator/systemc/core.h"
#include "simulator/systemc/memory_target.h"

// libsystemc's own main() wants one; nothing calls it, sc_start() is enough.
int sc_main(int, char**) { return 0; }

namespace dlc {
namespace {

using systemc_model::Core;
using systemc_model::MemoryTarget;
using systemc_model::RunContext;

// SystemC's context is one for the process and outlives everything: so does this, never destroyed.
struct Platform {
  Core core{"core"};
  MemoryTarget memory{"memory"};
  std::mutex mutex;  // one run at a time

  Platform() { core.socket().bind(memory.socket); }

  static Platform& instance() {
    static Platform* platform = new Platform;
    return *platform;
  }
};

constexpr int64_t kMaxSteps = int64_t{1} << 40;  // of one instruction: keeps every cycle number in 63 bits

template <size_t N>
bool counts_fit(const std::array<uint32_t, N>& counts, int64_t& product) {
  for (const uint32_t count : counts) {
    if (count == 0) return false;
    product *= count;
    if (product > kMaxSteps) return false;
  }
  return true;
}

bool loops_fit(const isa::Instruction& instruction) {
  int64_t product = 1;
  return std::visit(
      [&](const auto& i) {
        using T = std::decay_t<decltype(i)>;
        if constexpr (std::is_same_v<T, isa::Matrix>) {
          return counts_fit(i.tile_count, product) && counts_fit(i.step_count, product);
        } else if constexpr (std::is_same_v<T, isa::Vector>) {
          return counts_fit(i.count, product);
        } else {
          return counts_fit(i.count, product) && i.row_bytes != 0;
        }
      },
      instruction);
}

// The little that this model relies on; verify_program() (isa/program_file.h) is the full check.
void check_program(const Program& program, std::span<const uint8_t> dram, bool values) {
  if (program.instructions.empty()) {
    throw UserError(ErrorKind::bad_input, "program", "has no instructions: nothing to run");
  }
  if (values && dram.size() < program.dram_bytes) {
    throw UserError(ErrorKind::bad_input, "program",
                    "needs " + std::to_string(program.dram_bytes) + " bytes of DRAM, the image has " +
                        std::to_string(dram.size()));
  }
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    if (!loops_fit(program.instructions[i])) {
      throw UserError(ErrorKind::bad_input, "instruction " + std::to_string(i),
                      "every loop count and row_bytes must be at least 1, and the loops at most 2^40 steps");
    }
  }
}

class SystemcDevice final : public Device {
 public:
  explicit SystemcDevice(const HwConfig& hw) : hw_(hw), memory_(hw) {}

  std::string name() const override { return "systemc"; }

  RunResult run(const Program& program, std::vector<uint8_t>& dram, const RunOptions& options) override {
    const auto begin = std::chrono::steady_clock::now();
    check_program(program, dram, options.values);
    Platform& platform = Platform::instance();
    const std::scoped_lock lock(platform.mutex);

    std::optional<MachineState> state;
    if (options.values) state.emplace(hw_);
    RunContext context{&hw_, &program, &options, state ? &*state : nullptr, {}};
    platform.memory.reset(memory_, dram);
    if (options.values) context.dram = direct_memory(platform.core);
    platform.core.reset(context);
    simulate(platform.core, options);

    RunResult result = platform.core.result();
    if (options.max_cycles > 0 && result.total_cycles > options.max_cycles)
      throw too_long(options.max_cycles);
    if (options.progress) options.progress(1.0);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  }

 private:
  // The DRAM's bytes, asked for as any TLM initiator would.
  static std::span<uint8_t> direct_memory(Core& core) {
    tlm::tlm_generic_payload request;
    request.set_command(tlm::TLM_READ_COMMAND);
    request.set_address(0);
    tlm::tlm_dmi dmi;
    if (!core.socket()->get_direct_mem_ptr(request, dmi)) return {};
    return {dmi.get_dmi_ptr(), static_cast<size_t>(dmi.get_end_address() + 1)};
  }

  static UserError too_long(int64_t max_cycles) {
    return {ErrorKind::bad_input, "program", "is not done after " + std::to_string(max_cycles) + " cycles"};
  }

  // Runs the kernel until nothing happens any more. Every program ends: without progress there are no events.
  static void simulate(Core& core, const RunOptions& options) {
    if (options.max_cycles > 0) {
      sc_core::sc_start(sc_core::sc_time::from_value(static_cast<uint64_t>(options.max_cycles) + 1),
                        sc_core::SC_EXIT_ON_STARVATION);
    } else {
      sc_core::sc_start();
    }
    if (core.failure()) std::rethrow_exception(core.failure());
    if (core.done()) return;
    if (sc_core::sc_pending_activity()) throw too_long(options.max_cycles);
    throw UserError(
        ErrorKind::bad_input, "program",
        "deadlock: no engine can go on (waits must name earlier instructions only)" + core.describe_stuck());
  }

  HwConfig hw_;
  MemoryModel memory_;
};

}  // namespace

std::unique_ptr<Device> make_systemc_device(const HwConfig& hw) {
  return std::make_unique<SystemcDevice>(hw);
}

}  // namespace dlc
