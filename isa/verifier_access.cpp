#include "isa/verifier_access.h"

#include <algorithm>
#include <type_traits>

namespace dlc::verifier {
namespace {

constexpr int64_t kDramIntervals = 1 << 20;
constexpr int kTapsPerWord = 16;

template <size_t N>
std::vector<Loop> loops_of(const std::array<uint32_t, N>& count, const std::array<int32_t, N>& stride,
                           int64_t scale = 1) {
  std::vector<Loop> loops;
  for (size_t i = 0; i < N; ++i) loops.push_back({count[i], stride[i] * scale});
  return loops;
}

template <class Transfer>
void transfer_access(const Transfer& t, const HwConfig& hw, bool to_scratchpad, InstructionAccess& out) {
  const int64_t units = units_per_word(hw, t.memory);
  const int64_t row_words = t.row_bytes / hw.word_bytes(t.memory);
  out.scratchpad.push_back(
      {t.memory, to_scratchpad ? Port::load_write : Port::store, !to_scratchpad, to_scratchpad, true,
       affine_set(t.address * units, row_words * units, loops_of(t.count, t.stride, units))});
  (to_scratchpad ? out.dram_reads : out.dram_writes) = affine_set_or_hull(
      static_cast<int64_t>(t.dram_address), t.row_bytes, loops_of(t.count, t.dram_stride), kDramIntervals);
}

void matrix_access(const isa::Matrix& m, const HwConfig& hw, InstructionAccess& out) {
  const bool data = m.zero_activation == 0;
  const int64_t act_units = units_per_word(hw, Memory::act), acc_units = units_per_word(hw, Memory::acc);
  std::vector<Loop> act = loops_of(m.tile_count, m.act_tile_stride, act_units);
  for (const Loop& loop : loops_of(m.step_count, m.act_step_stride, act_units)) act.push_back(loop);
  out.scratchpad.push_back(
      {Memory::act, Port::matrix, true, false, data, affine_set(m.act_address * act_units, act_units, act)});
  out.scratchpad.push_back(
      {Memory::wgt, Port::matrix, true, false, data,
       affine_set(m.wgt_address, hw.tile_words(), loops_of(m.tile_count, m.wgt_tile_stride))});
  std::vector<Loop> acc = loops_of(m.step_count, m.acc_step_stride, acc_units);
  acc.push_back({m.tile_count[0], m.acc_tile_stride * acc_units});
  out.scratchpad.push_back({Memory::acc, Port::matrix, m.accumulate != 0, true, true,
                            affine_set(m.acc_address * acc_units, acc_units, acc)});
}

IntervalList parameter_words(const isa::Vector& v) {
  const Loop loops[] = {{v.count[0], v.par_stride[0]}, {v.count[1], v.par_stride[1]}};
  return affine_set(v.par_address, 1, loops);
}

void vector_access(const isa::Vector& v, InstructionAccess& out) {
  const Memory a = v.a_source == isa::VectorSource::acc ? Memory::acc : Memory::act;
  const Memory b = v.b_source == isa::VectorSource::acc ? Memory::acc : Memory::act;
  const Memory d = v.destination == isa::VectorDestination::acc ? Memory::acc : Memory::act;
  out.scratchpad.push_back(
      {a, Port::vector_a, true, false, true, affine_set(v.a_address, 1, loops_of(v.count, v.a_stride))});
  if (v.combine != isa::Combine::none) {
    out.scratchpad.push_back(
        {b, Port::vector_b, true, false, true, affine_set(v.b_address, 1, loops_of(v.count, v.b_stride))});
  }
  if (v.premultiply == isa::Premultiply::tap) {
    out.scratchpad.push_back({Memory::par, Port::vector_a, true, false, true, tap_words(v)});
  }
  if (v.rescale == isa::Rescale::parameter) {
    out.scratchpad.push_back({Memory::par, Port::vector_b, true, false, true, parameter_words(v)});
  }
  if (v.lut == isa::Lut::table8) {
    const int64_t table = v.lut_table;
    out.scratchpad.push_back({Memory::lut, Port::vector_b, true, false, true, {{table, table + 1}}});
  }
  out.scratchpad.push_back(
      {d, Port::vector_write, false, true, true, affine_set(v.d_address, 1, loops_of(v.count, v.d_stride))});
}

}  // namespace

isa::Engine engine_of(Port port) {
  switch (port) {
    case Port::matrix:
      return isa::Engine::matrix;
    case Port::store:
      return isa::Engine::store;
    case Port::load_write:
      return isa::Engine::load;
    default:
      return isa::Engine::vector;
  }
}

IntervalList tap_words(const isa::Vector& v) {
  int64_t taps = 1;
  for (size_t i = 5 - v.reduce_loops; i < 5; ++i) taps *= v.count[i];
  IntervalList words;
  const int64_t outer = v.count[0];
  for (int64_t i = 0; i < outer; ++i) {
    const int64_t word = v.tap_address + i * v.tap_stride;
    if (v.reduce_loops == 5) {  // loop 0 takes part in the numbering of the taps
      const int64_t first = i * (taps / outer), last = first + taps / outer - 1;
      words.push_back({word + first / kTapsPerWord, word + last / kTapsPerWord + 1});
    } else {
      words.push_back({word, word + (taps - 1) / kTapsPerWord + 1});
    }
  }
  normalise(words);
  return words;
}

int64_t units_per_word(const HwConfig& hw, Memory memory) {
  if (memory == Memory::act) return hw.act_groups();
  return memory == Memory::acc ? hw.acc_groups() : 1;
}

InstructionAccess access_of(const isa::Instruction& instruction, const HwConfig& hw) {
  InstructionAccess out;
  out.engine = isa::engine_of(instruction);
  std::visit(
      [&](const auto& i) {
        using Kind = std::remove_cvref_t<decltype(i)>;
        if constexpr (std::is_same_v<Kind, isa::Load>) {
          transfer_access(i, hw, true, out);
        } else if constexpr (std::is_same_v<Kind, isa::Matrix>) {
          matrix_access(i, hw, out);
        } else if constexpr (std::is_same_v<Kind, isa::Vector>) {
          vector_access(i, out);
        } else {
          transfer_access(i, hw, false, out);
        }
      },
      instruction);
  return out;
}

}  // namespace dlc::verifier
