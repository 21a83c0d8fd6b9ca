// The event-driven SystemC model against the clocked one on random programs and random machines; and, where
// RTL runs, the shipped machines on the same kind of program. More traffic than tests/fuzz has, values of no
// interest.
#include <random>

#include "tests/timing/clocked_model.h"
#include "tests/timing/machine.h"

namespace dlc::timing_test {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  // Sizes that change the order of events: few buffers, slow and fractional memories, short bursts.
  HwConfig hardware() {
    HwConfig hw = machine("tiny-4");
    hw.name = "random";
    hw.rows = 1 << range(2, 4);
    hw.cols = 1 << range(2, 4);
    hw.preload_rows = 1 << range(0, 2);
    if (chance(30)) hw.dataflow = Dataflow::broadcast;
    hw.lanes = 4;
    hw.bus_bytes = 4 << range(0, 3);
    hw.max_burst = static_cast<int>(1 << range(0, 5));
    hw.max_burst = std::max(hw.max_burst, 16 / hw.bus_bytes);
    hw.max_outstanding = static_cast<int>(range(1, chance(50) ? 4 : 20));
    hw.queue_depth = static_cast<int>(range(2, 6));
    randomise_memory(hw);
    return hw;
  }

  // A shipped machine with a random memory.
  HwConfig shipped(const std::string& name) {
    HwConfig hw = machine(name);
    randomise_memory(hw);
    return hw;
  }

  // A valid program as far as time is concerned: waits name earlier instructions.
  Program program(const HwConfig& hw, int instructions) {
    std::array<uint32_t, isa::kEngineCount> issued{};
    std::vector<isa::Instruction> list;
    const int wait_percent = static_cast<int>(range(0, 60));
    for (int i = 0; i < instructions; ++i) {
      list.push_back(instruction(hw));
      Waits& waits = isa::wait_of(list.back());
      for (int e = 0; e < isa::kEngineCount; ++e) {
        if (issued[e] > 0 && chance(wait_percent)) {
          waits[e] = chance(50) ? issued[e] : static_cast<uint32_t>(range(1, issued[e]));
        }
      }
      ++issued[static_cast<int>(isa::engine_of(list.back()))];
    }
    return program_of(std::move(list));
  }

 private:
  void randomise_memory(HwConfig& hw) {
    hw.memory_latency = static_cast<int>(range(1, chance(50) ? 10 : 120));
    hw.bandwidth_den = range(1, 7);
    hw.bandwidth_num = range(1, hw.bus_bytes * hw.bandwidth_den);
    if (chance(30)) hw.bandwidth_num = hw.bus_bytes, hw.bandwidth_den = 1;
  }
  int64_t range(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return range(0, 99) < percent; }
  uint32_t count(int64_t most) { return static_cast<uint32_t>(range(1, chance(70) ? most : 1)); }

  template <class Transfer>
  Transfer transfer(const HwConfig& hw) {
    Transfer t;
    t.memory = Memory::act;
    const int chunk = hw.chunk_bytes(Memory::act);
    t.dram_address = static_cast<uint64_t>(range(0, 4096)) * chunk;
    t.row_bytes = static_cast<uint32_t>(hw.rows * range(1, chance(30) ? 600 / hw.rows : 4));
    t.count = {count(2), count(2), count(6)};
    for (auto& stride : t.dram_stride) stride = static_cast<int32_t>(chunk * range(0, 300));
    return t;
  }

  // Each engine keeps to banks of its own (LOAD 0, STORE 1, MATRIX 2, VECTOR 3 -> 1): RTL asserts the bank
  // rule.
  isa::Instruction instruction(const HwConfig& hw) {
    const auto bank = static_cast<uint32_t>(hw.bank_words(Memory::act));
    switch (range(0, 5)) {
      case 0: {
        isa::Matrix m = matrix(count(6), count(30));
        m.act_address = 2 * bank;
        return m;
      }
      case 1:
      case 2: {
        isa::Vector v = vector(count(40));
        v.a_address = static_cast<uint32_t>(3 * bank * hw.act_groups());
        if (chance(30) && hw.activation.read_ports > 1) {  // A and B in one bank
          v.combine = isa::Combine::linear;  // eight units
          v.b_address = v.a_address;
        }
        v.d_address = static_cast<uint32_t>(bank * hw.act_groups());
        return v;
      }
      case 3: {
        isa::Store s = transfer<isa::Store>(hw);
        s.address = bank;
        s.dram_address += kStoreArea;
        return s;
      }
      default:
        return transfer<isa::Load>(hw);
    }
  }

  static constexpr uint64_t kStoreArea = kProgramAddress + 0x10000;  // behind the program: it must stay whole

  std::mt19937_64 random_;
};

TEST_CASE("SystemC and the clocked model agree on every cycle of random programs on random machines") {
  RunOptions options;
  options.values = false;
  std::vector<uint8_t> dram;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Generator generator(seed);
    const HwConfig hw = generator.hardware();
    const Program program = generator.program(hw, 5 + static_cast<int>(seed % 60));
    const RunResult expected = ClockedModel(hw, program).run();
    const RunResult result = make_systemc_device(hw)->run(program, dram, options);
    check_sums(result);
    INFO("seed " << seed);
    REQUIRE(result.total_cycles == expected.total_cycles);
    REQUIRE(result.times == expected.times);
    REQUIRE(result.engines == expected.engines);
    REQUIRE(result.dram_read_bytes == expected.dram_read_bytes);
    REQUIRE(result.dram_write_bytes == expected.dram_write_bytes);
  }
}

TEST_CASE("SystemC and RTL agree on every cycle of programs with heavy traffic and any memory") {
  for (const char* name : {"tiny-4", "edge-8", "edge-16", "wide-8x32", "vta-16"}) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      Generator generator(1'000'000 + seed);
      const HwConfig hw = generator.shipped(name);
      INFO(name << ", seed " << seed);
      run(hw, generator.program(hw, 20 + static_cast<int>(seed)).instructions);
    }
  }
}

}  // namespace
}  // namespace dlc::timing_test
