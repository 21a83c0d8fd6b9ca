#include "compiler/driver/rtl_example.h"

#include "isa/error.h"
#include "isa/program_file.h"

namespace dlc {
namespace {

constexpr uint32_t kSteps = 8;  // output positions
constexpr uint32_t kTiles = 2;  // input channel blocks
constexpr uint64_t kProgramAddress = 0x1000;

class Example {
 public:
  explicit Example(const HwConfig& hw) : hw_(hw) {}

  Program build() {
    program_.hw_yaml = canonical_yaml(hw_);
    program_.hw_hash = hwconfig_hash(hw_);
    program_.hw_name = hw_.name;
    program_.model = "rtl-example";
    program_.program_address = kProgramAddress;
    load("activations", Memory::act, kTiles * kSteps, random_bytes(kTiles * kSteps * word(Memory::act)));
    load("weights", Memory::wgt, kTiles * static_cast<uint32_t>(hw_.tile_words()), random_bytes(kTiles * hw_.rows * hw_.cols));
    load("parameters", Memory::par, static_cast<uint32_t>(hw_.acc_groups()), parameters());
    matrix();
    vector();
    store(Memory::acc, 0, kSteps);
    store(Memory::act, result_word(), kSteps * static_cast<uint32_t>(hw_.acc_groups()) / static_cast<uint32_t>(hw_.act_groups()));
    program_.dram_bytes = next_;
    program_.segments = {{Segment::Kind::accelerator, 0, static_cast<uint32_t>(program_.instructions.size()), {}, {}, {}, ""}};
    const std::vector<std::string> faults = verify_program(program_, hw_);
    if (!faults.empty())
      throw UserError(ErrorKind::bad_input, hw_.name, "the scratchpads are too small for the test bench's program: " + faults.front());
    return program_;
  }

 private:
  uint32_t word(Memory memory) const { return static_cast<uint32_t>(hw_.word_bytes(memory)); }
  // A bank of its own, so that no port is shared (one bank: behind the activations).
  uint32_t result_word() const {
    return hw_.activation.banks > 1 ? static_cast<uint32_t>(hw_.bank_words(Memory::act)) : kTiles * kSteps;
  }

  std::vector<uint8_t> random_bytes(int64_t count) {
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < count; ++i) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
      bytes.push_back(static_cast<uint8_t>(state_ >> 56));
    }
    return bytes;
  }

  // Per channel: bias, multiplier 2^30 + something, shift 36: int32 sums to 8 bits.
  std::vector<uint8_t> parameters() {
    std::vector<uint8_t> bytes(static_cast<size_t>(hw_.cols) * 16);
    for (int c = 0; c < hw_.cols; ++c) {
      const uint32_t bias = static_cast<uint32_t>(97 * c), multiplier = (1u << 30) + static_cast<uint32_t>(c) * 54321;
      for (size_t k = 0; k < 4; ++k) {
        bytes[static_cast<size_t>(c) * 16 + k] = static_cast<uint8_t>(bias >> (8 * k));
        bytes[static_cast<size_t>(c) * 16 + 4 + k] = static_cast<uint8_t>(multiplier >> (8 * k));
      }
      bytes[static_cast<size_t>(c) * 16 + 8] = 38;
    }
    return bytes;
  }

  uint64_t place(uint64_t bytes) {
    const uint64_t address = next_;
    next_ += (bytes + 4095) / 4096 * 4096;
    return address;
  }

  void load(const char* name, Memory memory, uint32_t words, std::vector<uint8_t> bytes) {
    isa::Load l;
    l.memory = memory;
    l.row_bytes = words * word(memory);
    bytes.resize(l.row_bytes);
    l.dram_address = place(bytes.size());
    program_.constants.push_back({name, l.dram_address, std::move(bytes)});
    program_.instructions.push_back(l);
  }

  void matrix() {
    isa::Matrix m;
    m.wait = {3, 0, 0, 0};
    m.act_signed = m.wgt_signed = 1;
    m.act_zero = 3;
    m.tile_count = {1, kTiles, 1, 1};
    m.act_tile_stride = {0, static_cast<int32_t>(kSteps), 0, 0};
    m.wgt_tile_stride = {0, hw_.tile_words(), 0, 0};
    m.step_count = {1, 1, kSteps};
    m.act_step_stride = {0, 0, 1};
    m.acc_step_stride = {0, 0, 1};
    program_.instructions.push_back(m);
  }

  void vector() {
    const int groups = hw_.acc_groups();
    isa::Vector v;
    v.wait = {3, 1, 0, 0};
    v.a_source = isa::VectorSource::acc;
    v.rescale = isa::Rescale::parameter;
    v.destination = isa::VectorDestination::act8;
    v.d_address = result_word() * static_cast<uint32_t>(hw_.act_groups());
    v.count = {static_cast<uint32_t>(groups), kSteps, 1, 1, 1};
    v.a_stride = v.d_stride = {1, groups, 0, 0, 0};
    v.par_stride = {1, 0};
    v.zero = -5;
    v.low = -128;
    v.high = 127;
    program_.instructions.push_back(v);
  }

  void store(Memory memory, uint32_t address, uint32_t words) {
    isa::Store s;
    s.wait = {0, 1, 1, 0};
    s.memory = memory;
    s.address = address;
    s.row_bytes = words * word(memory);
    s.dram_address = place(s.row_bytes);
    program_.instructions.push_back(s);
  }

  const HwConfig& hw_;
  Program program_;
  uint64_t next_ = kProgramAddress + 0x1000;
  uint64_t state_ = 2024;
};

}  // namespace

Program rtl_example(const HwConfig& hw) { return Example(hw).build(); }

}  // namespace dlc
