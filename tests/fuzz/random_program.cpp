#include "tests/fuzz/random_program.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>

#include "isa/program_file.h"
#include "isa/verifier_hazards.h"
#include "tests/fuzz/random_instructions.h"

namespace dlc {
namespace {

using verifier::Clock;
using verifier::HazardTracker;
using verifier::InstructionAccess;
using verifier::Interval;

// DRAM map: program, constants (kinds of data one after another), work area, results.
constexpr int64_t kProgramBytes = 1 << 16;
constexpr int64_t kKindBytes = 1 << 14;
constexpr int64_t kConstants = kProgramBytes;
constexpr int64_t kParameters = kConstants + 3 * kKindBytes;
constexpr int64_t kWork = kParameters + kKindBytes;
constexpr int64_t kResults = kWork + (1 << 15);

std::vector<uint8_t> random_bytes(Random& random) {
  std::vector<uint8_t> bytes(4 * kKindBytes);
  constexpr uint8_t kExtremes[] = {0, 1, 127, 128, 129, 254, 255};
  for (int64_t i = 0; i < kKindBytes; ++i) {
    bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(random.next());
    bytes[static_cast<size_t>(kKindBytes + i)] = kExtremes[random.range(0, 6)];
    bytes[static_cast<size_t>(2 * kKindBytes + i)] = static_cast<uint8_t>(random.range(-3, 3));
  }
  for (int64_t entry = 0; entry < kKindBytes; entry += 16) {  // PAR entries as a compiler makes them
    uint8_t* at = bytes.data() + 3 * kKindBytes + entry;
    const auto put = [&](int offset, uint32_t value) {
      for (int i = 0; i < 4; ++i) at[offset + i] = static_cast<uint8_t>(value >> (8 * i));
    };
    put(0, static_cast<uint32_t>(random.range(-20000, 20000)));
    put(4, static_cast<uint32_t>(random.range(1 << 30, INT32_MAX)));
    put(8, static_cast<uint32_t>(random.range(34, 44)));
    put(12, static_cast<uint32_t>(random.next()));
  }
  return bytes;
}

class Generator {
 public:
  Generator(const HwConfig& hw, uint64_t seed, const RandomProgramOptions& options)
      : hw_(hw), options_(options), random_(seed), tracker_(hw), source_(hw_, areas_, random_) {
    program_.hw_name = hw.name;
    program_.hw_yaml = canonical_yaml(hw);
    program_.hw_hash = hwconfig_hash(hw);
    program_.model = "random " + std::to_string(seed);
    program_.layers.push_back({"random", "Random", {}, 0, 0});
    program_.constants.push_back({"random", static_cast<uint64_t>(kConstants), random_bytes(random_)});
  }

  Program run() {
    choose_areas();
    prefill();
    while (static_cast<int>(program_.instructions.size()) < options_.instructions && cost_ < options_.steps)
      add_any();
    store_results();
    finish();
    return std::move(program_);
  }

 private:
  void choose_areas() {
    areas_.constants = {kConstants, kConstants + 3 * kKindBytes};
    areas_.parameters = {kParameters, kParameters + kKindBytes};
    areas_.work = {kWork, kResults};
    const int64_t total = options_.area_words;
    add_areas(Memory::act, random_.range(2, 5), total);
    add_areas(Memory::wgt, random_.range(1, 3), std::max<int64_t>(total / 4, 6 * hw_.tile_words()));
    add_areas(Memory::acc, random_.range(1, 4), total / 2);
    add_areas(Memory::par, random_.range(1, 2), 24);
    if (hw_.has_lut()) add_areas(Memory::lut, 1, kLutTables);
  }

  void add_areas(Memory memory, int64_t count, int64_t total) {
    const int64_t words = hw_.words(memory), bank = hw_.bank_words(memory);
    const int64_t least = memory == Memory::wgt ? hw_.tile_words() : 1;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t size = std::min(words, std::max(least, total / count + random_.range(-4, 4)));
      int64_t low = random_.range(0, words - size);
      if (random_.chance(50)) low = low / bank * bank;  // from a bank's start, or across the end of one
      if (random_.chance(50)) low += bank - random_.range(0, size);
      low = std::clamp<int64_t>(low, 0, words - size);
      areas_.words[static_cast<size_t>(memory)].push_back({low, low + size});
    }
  }

  void prefill() {
    std::vector<std::pair<Memory, Interval>> all;
    for (const Memory memory : {Memory::act, Memory::wgt, Memory::acc, Memory::par, Memory::lut}) {
      for (const Interval& area : areas_.words[static_cast<size_t>(memory)]) all.push_back({memory, area});
    }
    for (size_t i = all.size(); i > 1; --i)
      std::swap(all[i - 1], all[static_cast<size_t>(random_.range(0, static_cast<int64_t>(i) - 1))]);
    for (const auto& [memory, area] : all) {
      if (!random_.chance(options_.prefill)) continue;
      const bool added = add(source_.fill(memory, area));
      assert(added);
      (void)added;
    }
  }

  void add_any() {
    const int64_t kind = random_.range(0, 99);
    const isa::Engine engine = kind < 20   ? isa::Engine::load
                               : kind < 48 ? isa::Engine::matrix
                               : kind < 85 ? isa::Engine::vector
                                           : isa::Engine::store;
    for (int tries = 0; tries < 8; ++tries) {
      if (add(source_.draw(engine))) return;
    }
    // Most probably it read what is not written yet.
    constexpr Memory kFillable[] = {Memory::act, Memory::act, Memory::wgt,
                                    Memory::wgt, Memory::acc, Memory::par};
    const Memory memory = kFillable[random_.range(0, 5)];
    const auto& areas = areas_.words[static_cast<size_t>(memory)];
    add(source_.fill(memory,
                     areas[static_cast<size_t>(random_.range(0, static_cast<int64_t>(areas.size()) - 1))]));
  }

  using Waits = std::array<uint32_t, isa::kEngineCount>;

  std::vector<verifier::Hazard> hazards(const InstructionAccess& access, const Waits& wait) const {
    return tracker_.hazards(access, tracker_.clock_of(access.engine, wait));
  }

  // False if no waits make the instruction valid.
  bool raise_waits(const InstructionAccess& access, Waits& wait) {
    while (true) {
      const std::vector<verifier::Hazard> found = hazards(access, wait);
      if (found.empty()) return true;
      for (const verifier::Hazard& hazard : found) {
        if (hazard.others.empty()) return false;
        const int64_t last = static_cast<int64_t>(hazard.others.size()) - 1;
        const verifier::EngineIndex other = hazard.others[static_cast<size_t>(random_.range(0, last))];
        uint32_t& w = wait[static_cast<size_t>(other.engine)];
        w = std::max(w, other.index + 1);
      }
    }
  }

  // A wait may be implied by one that was raised later: none is larger than necessary afterwards.
  void lower_waits(const InstructionAccess& access, Waits& wait) const {
    for (uint32_t& w : wait) {
      while (w > 0) {
        --w;
        if (hazards(access, wait).empty()) continue;
        ++w;
        break;
      }
    }
  }

  // Appends the instruction with waits that make it valid; false if none do.
  bool add(isa::Instruction instruction) {
    if (!verifier::static_fault(instruction, hw_, kResults + (1 << 24)).empty()) return false;
    const InstructionAccess access = verifier::access_of(instruction, hw_);
    auto& wait = isa::wait_of(instruction);
    if (!raise_waits(access, wait)) return false;
    lower_waits(access, wait);
    if (random_.chance(options_.superfluous_waits)) add_superfluous(wait);
    tracker_.commit(access, tracker_.clock_of(access.engine, wait));
    cost_ += cost(instruction);
    program_.instructions.push_back(std::move(instruction));
    return true;
  }

  void add_superfluous(Waits& wait) {
    const bool barrier = random_.chance(20);
    for (size_t e = 0; e < wait.size(); ++e) {
      const uint32_t earlier = tracker_.count(static_cast<isa::Engine>(e));
      if (barrier) {
        wait[e] = earlier;
      } else if (random_.chance(40) && earlier > wait[e]) {
        wait[e] = static_cast<uint32_t>(random_.range(wait[e], earlier));
      }
    }
  }

  int64_t cost(const isa::Instruction& instruction) const {
    const auto product = [](const auto& counts) {
      int64_t p = 1;
      for (const uint32_t c : counts) p *= c;
      return p;
    };
    if (const auto* l = std::get_if<isa::Load>(&instruction))
      return product(l->count) * l->row_bytes / hw_.bus_bytes;
    if (const auto* s = std::get_if<isa::Store>(&instruction))
      return product(s->count) * s->row_bytes / hw_.bus_bytes;
    if (const auto* v = std::get_if<isa::Vector>(&instruction)) return product(v->count);
    const auto& m = std::get<isa::Matrix>(instruction);
    return product(m.tile_count) * std::max<int64_t>(product(m.step_count), hw_.tile_words());
  }

  // One STORE for each run of written words of an area.
  void store_results() {
    for (const Memory memory : {Memory::act, Memory::acc}) {
      const int64_t units = verifier::units_per_word(hw_, memory);
      verifier::IntervalList words = areas_.words[static_cast<size_t>(memory)];
      verifier::normalise(words);
      for (const Interval& area : words) {
        int64_t first = area.low;
        for (int64_t word = area.low; word <= area.high; ++word) {
          bool written = word < area.high;
          for (int64_t u = 0; written && u < units; ++u)
            written = tracker_.is_written(memory, word * units + u);
          if (written) continue;
          if (word > first) store_result(memory, first, word - first);
          first = word + 1;
        }
      }
    }
  }

  void store_result(Memory memory, int64_t first, int64_t words) {
    isa::Store store;
    store.memory = memory;
    store.address = static_cast<uint32_t>(first);
    store.row_bytes = static_cast<uint32_t>(words * hw_.word_bytes(memory));
    store.dram_address = static_cast<uint64_t>(kResults + result_bytes_);
    result_bytes_ += (store.row_bytes + 63) / 64 * 64;
    const bool added = add(store);
    assert(added);
    (void)added;
  }

  void finish() {
    const auto tensor = [&](const char* name, int64_t address, int64_t bytes) {
      program_.tensors.push_back({name,
                                  "uint8",
                                  {bytes},
                                  Layout::linear,
                                  static_cast<uint64_t>(address),
                                  static_cast<uint64_t>(bytes),
                                  1.0F,
                                  0});
      program_.outputs.push_back(name);
    };
    tensor("work", kWork, kResults - kWork);
    tensor("results", kResults, result_bytes_);
    const size_t count = program_.instructions.size();
    program_.layer_of.assign(count, 0);
    program_.notes.assign(count, "");
    Segment segment;
    segment.instruction_count = static_cast<uint32_t>(count);
    segment.outputs = program_.outputs;
    program_.segments.push_back(segment);
    program_.program_address = static_cast<uint64_t>(random_.range(0, 3)) * 4096;
    program_.dram_bytes = static_cast<uint64_t>(kResults + result_bytes_ + 4095) / 4096 * 4096;
  }

  const HwConfig& hw_;
  const RandomProgramOptions options_;
  Random random_;
  HazardTracker tracker_;
  RandomAreas areas_;
  RandomInstructions source_;
  Program program_;
  int64_t cost_ = 0, result_bytes_ = 0;
};

}  // namespace

Program random_program(const HwConfig& hw, uint64_t seed, const RandomProgramOptions& options) {
  return Generator(hw, seed, options).run();
}

RandomProgramOptions random_options(uint64_t seed) {
  Random random(seed * 2 + 1);
  RandomProgramOptions o;
  o.instructions = static_cast<int>(random.chance(20) ? random.range(3, 20) : random.range(20, 120));
  o.steps = random.range(500, 8000);
  o.area_words = static_cast<int>(random.chance(30) ? random.range(16, 60) : random.range(60, 260));
  o.superfluous_waits = static_cast<int>(random.chance(50) ? 0 : random.range(1, 40));
  o.prefill = static_cast<int>(random.range(0, 100));
  return o;
}

HwConfig vary_memory(const HwConfig& hw, uint64_t seed) {
  Random random(seed * 3 + 2);
  HwConfig out = hw;
  out.memory_latency = static_cast<int>(random.chance(30) ? random.range(1, 8) : random.range(8, 200));
  // At most one beat a cycle: bandwidth <= bus.
  out.bandwidth_num = random.range(1, hw.bus_bytes * 7), out.bandwidth_den = 7;
  if (random.chance(40)) out.bandwidth_num = hw.bus_bytes, out.bandwidth_den = 1;
  return out;
}

}  // namespace dlc
