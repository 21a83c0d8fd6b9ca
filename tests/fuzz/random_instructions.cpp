#include "tests/fuzz/random_instructions.h"

#include <algorithm>
#include <limits>

namespace dlc {

using verifier::Interval;

isa::Instruction RandomInstructions::draw(isa::Engine engine) {
  switch (engine) {
    case isa::Engine::load:
      return load();
    case isa::Engine::matrix:
      return matrix();
    case isa::Engine::vector:
      return vector();
    default:
      return store();
  }
}

const Interval& RandomInstructions::area(Memory memory) {
  const auto& list = areas_.words[static_cast<size_t>(memory)];
  return list[static_cast<size_t>(random_.range(0, static_cast<int64_t>(list.size()) - 1))];
}

int64_t RandomInstructions::steps() {
  const int64_t kind = random_.range(0, 9);
  if (kind < 3) return random_.range(1, 4);
  if (kind < 6) return random_.range(5, 20);
  return kind < 9 ? random_.range(20, 80) : random_.range(80, 250);
}

// Counts whose product is at most `product`, and mostly near it.
template <size_t N>
void RandomInstructions::draw_counts(std::array<uint32_t, N>& count, int64_t product) {
  count.fill(1);
  for (size_t tries = 0; tries < N && product > 1; ++tries) {
    uint32_t& c = count[static_cast<size_t>(random_.range(0, N - 1))];
    if (c != 1) continue;
    c = static_cast<uint32_t>(tries + 1 == N ? product : random_.range(1, std::min<int64_t>(product, 9)));
    product /= c;
  }
}

// Strides, returned in `stride`, and the first address, such that the loop nest lies within the area; each
// address stands for `run` words from there. The area must have at least `run` words.
template <size_t N>
int64_t RandomInstructions::place(const Interval& area, int64_t run, const std::array<uint32_t, N>& count,
                                  std::array<int32_t, N>& stride, int64_t most) {
  const int64_t size = area.high - area.low;
  int64_t low = 0, high = run;
  for (size_t i = N; i-- > 0;) {  // innermost loop first, so that outer loops can continue it densely
    stride[i] = 0;
    if (count[i] <= 1) {
      // An idle loop's stride must not matter.
      if (random_.chance(30))
        stride[i] =
            static_cast<int32_t>(random_.range(-std::min<int64_t>(most, 500), std::min<int64_t>(most, 500)));
      continue;
    }
    const int64_t limit = std::min((size - (high - low)) / (count[i] - 1), most);
    int64_t s = 0;
    switch (random_.range(0, 5)) {
      case 0:
        break;
      case 1:
      case 2:
        s = std::min<int64_t>(limit, 1);
        break;
      case 3:
        s = std::min<int64_t>(limit, run);
        break;
      case 4:
        s = std::min<int64_t>(limit, high - low);
        break;
      default:
        s = random_.range(0, limit);
        break;
    }
    if (random_.chance(30)) s = -s;
    stride[i] = static_cast<int32_t>(s);
    (s < 0 ? low : high) += s * (count[i] - 1);
  }
  return area.low + random_.range(-low, size - high);
}

template <class Transfer>
void RandomInstructions::draw_transfer(Transfer& t, const Interval& dram) {
  const Interval& target = area(t.memory);
  const int64_t word = hw_.word_bytes(t.memory), chunk = hw_.chunk_bytes(t.memory);
  const int64_t most_words =
      std::max<int64_t>(1, std::min(target.high - target.low, (dram.high - dram.low) / 2 / word));
  const int64_t row = std::min(most_words, random_.chance(40) ? random_.range(1, 4) : steps());
  t.row_bytes = static_cast<uint32_t>(row * word);
  draw_counts(t.count,
              random_.chance(40) ? 1 : std::max<int64_t>(1, std::min<int64_t>(12, 4096 / t.row_bytes)));
  t.address = static_cast<uint32_t>(place(target, row, t.count, t.stride));
  const Interval chunks{dram.low / chunk, dram.high / chunk};
  t.dram_address = static_cast<uint64_t>(place(chunks, t.row_bytes / chunk, t.count, t.dram_stride) * chunk);
  for (int32_t& stride : t.dram_stride) stride = static_cast<int32_t>(stride * chunk);
}

isa::Load RandomInstructions::load() {
  isa::Load load;
  const int64_t kind = random_.range(0, 9);
  load.memory = kind < 4 ? Memory::act : kind < 7 ? Memory::wgt : kind < 8 ? Memory::acc : Memory::par;
  if (hw_.has_lut() && random_.chance(12)) load.memory = Memory::lut;
  const bool parameters = load.memory == Memory::par && random_.chance(70);
  draw_transfer(load, random_.chance(25) ? areas_.work : parameters ? areas_.parameters : areas_.constants);
  return load;
}

isa::Load RandomInstructions::fill(Memory memory, const Interval& target) {
  isa::Load load;
  load.memory = memory;
  load.address = static_cast<uint32_t>(target.low);
  load.row_bytes = static_cast<uint32_t>((target.high - target.low) * hw_.word_bytes(memory));
  const Interval& dram = memory == Memory::par && random_.chance(70) ? areas_.parameters : areas_.constants;
  const int64_t chunk = hw_.chunk_bytes(memory);
  load.dram_address =
      static_cast<uint64_t>(random_.range(dram.low / chunk, (dram.high - load.row_bytes) / chunk) * chunk);
  return load;
}

isa::Store RandomInstructions::store() {
  isa::Store store;
  store.memory = random_.chance(60) ? Memory::act : Memory::acc;
  draw_transfer(store, areas_.work);
  return store;
}

isa::Matrix RandomInstructions::matrix() {
  isa::Matrix m;
  m.accumulate = random_.chance(40), m.zero_activation = random_.chance(8);
  m.act_signed = random_.flag(), m.wgt_signed = random_.flag();
  const bool extreme = random_.chance(30);
  const auto zero = [&] {
    return static_cast<int32_t>(extreme ? random_.range(-256, 255) : random_.range(-2, 2));
  };
  m.act_zero = zero(), m.wgt_zero = zero();
  draw_counts(m.tile_count, random_.range(1, 9));
  draw_counts(m.step_count, random_.chance(30) ? hw_.tile_words() + random_.range(-1, 1) : steps());
  std::array<uint32_t, 7> count;
  std::array<int32_t, 7> stride;
  std::copy_n(m.tile_count.begin(), 4, count.begin());
  std::copy_n(m.step_count.begin(), 3, count.begin() + 4);
  m.act_address = static_cast<uint32_t>(place(area(Memory::act), 1, count, stride));
  std::copy_n(stride.begin(), 4, m.act_tile_stride.begin());
  std::copy_n(stride.begin() + 4, 3, m.act_step_stride.begin());
  m.wgt_address =
      static_cast<uint32_t>(place(area(Memory::wgt), hw_.tile_words(), m.tile_count, m.wgt_tile_stride));
  const std::array<uint32_t, 4> acc_count{m.tile_count[0], m.step_count[0], m.step_count[1], m.step_count[2]};
  std::array<int32_t, 4> acc_stride;
  m.acc_address = static_cast<uint32_t>(place(area(Memory::acc), 1, acc_count, acc_stride));
  m.acc_tile_stride = acc_stride[0];
  std::copy_n(acc_stride.begin() + 1, 3, m.acc_step_stride.begin());
  return m;
}

isa::Vector RandomInstructions::vector() {
  isa::Vector v;
  const auto source = [&](int act) {
    return random_.chance(act) ? isa::VectorSource::act8 : isa::VectorSource::acc;
  };
  v.a_source = source(50);
  v.destination = random_.chance(70) ? isa::VectorDestination::act8 : isa::VectorDestination::acc;
  v.reduce_loops = random_.chance(50) ? 0 : static_cast<uint32_t>(random_.range(1, 5));
  v.reduce_op = static_cast<isa::ReduceOp>(random_.range(0, 2));
  v.premultiply =
      random_.chance(v.reduce_loops > 0 ? 45 : 15) ? isa::Premultiply::tap : isa::Premultiply::none;
  v.rescale = static_cast<isa::Rescale>(random_.range(0, 2));
  v.combine = random_.chance(50) ? isa::Combine::none : static_cast<isa::Combine>(random_.range(1, 4));
  if (v.combine != isa::Combine::none) v.b_source = source(70);
  if (hw_.has_lut() && v.destination == isa::VectorDestination::act8 && random_.chance(35)) {
    v.lut = isa::Lut::table8;
    v.lut_table = static_cast<uint32_t>(random_.range(0, kLutTables - 1));
  }
  draw_operands(v);
  draw_arithmetic(v);
  return v;
}

void RandomInstructions::draw_operands(isa::Vector& v) {
  draw_counts(v.count, steps());
  auto outputs = v.count;
  for (size_t i = 5 - v.reduce_loops; i < 5; ++i) outputs[i] = 1;
  const auto groups = [&](bool in_acc) {
    const int64_t units = in_acc ? hw_.acc_groups() : hw_.act_groups();
    const Interval& words = area(in_acc ? Memory::acc : Memory::act);
    return Interval{words.low * units, words.high * units};
  };
  const auto clear_reducing = [&](std::array<int32_t, 5>& stride) {
    for (size_t i = 5 - v.reduce_loops; i < 5; ++i) stride[i] = 0;
  };
  const bool a_acc = v.a_source == isa::VectorSource::acc,
             d_acc = v.destination == isa::VectorDestination::acc;
  v.a_address = static_cast<uint32_t>(place(groups(a_acc), 1, v.count, v.a_stride));
  v.d_address = static_cast<uint32_t>(place(groups(d_acc), 1, outputs, v.d_stride));
  if (a_acc == d_acc && v.reduce_loops == 0 && random_.chance(30))
    v.d_address = v.a_address, v.d_stride = v.a_stride;
  clear_reducing(v.d_stride);
  if (v.combine != isa::Combine::none) {
    v.b_address =
        static_cast<uint32_t>(place(groups(v.b_source == isa::VectorSource::acc), 1, outputs, v.b_stride));
    clear_reducing(v.b_stride);
  }
  constexpr int64_t kMostParStride = 2000;
  std::array<uint32_t, 2> par_count{outputs[0], outputs[1]};
  v.par_address = static_cast<uint32_t>(place(area(Memory::par), 1, par_count, v.par_stride, kMostParStride));
  for (size_t i = 0; i < 2; ++i) {
    if (i + v.reduce_loops >= 5) v.par_stride[i] = 0;
  }
  int64_t taps = 1;
  for (size_t i = 5 - v.reduce_loops; i < 5; ++i) taps *= v.count[i];
  const Interval& words = area(Memory::par);
  const int64_t tap_words = std::min((taps + 15) / 16, words.high - words.low);
  std::array<uint32_t, 1> tap_count{v.count[0]};
  std::array<int32_t, 1> tap_stride;
  v.tap_address = static_cast<uint32_t>(place(words, tap_words, tap_count, tap_stride, kMostParStride));
  v.tap_stride = tap_stride[0];
}

void RandomInstructions::draw_arithmetic(isa::Vector& v) {
  const auto integer = [&](int64_t low, int64_t high) {
    return static_cast<int32_t>(random_.range(low, high));
  };
  const bool extreme = random_.chance(25);
  const auto nine = [&] { return extreme ? integer(-256, 255) : integer(-128, 127); };
  const auto zero = [&] { return extreme ? integer(-32768, 32767) : integer(-128, 255); };
  const auto multiplier = [&]() -> uint32_t {
    const int64_t kind = random_.range(0, 9);
    if (kind == 0) return 0;
    if (kind == 1) return std::numeric_limits<int32_t>::max();
    return static_cast<uint32_t>(kind < 5 ? random_.range(0, 3)
                                          : random_.range(1 << 29, std::numeric_limits<int32_t>::max()));
  };
  // Shifts that leave some of a product's bits, and any shift.
  const auto shift = [&](uint32_t m) {
    return static_cast<uint32_t>(extreme ? random_.range(0, 62)
                                 : m < 8 ? random_.range(0, 4)
                                         : random_.range(29, 42));
  };
  v.a_signed = random_.flag(), v.tap_signed = random_.flag();
  v.a_zero = nine(), v.tap_zero = nine();
  v.zero = zero(), v.low = extreme ? zero() : -128, v.high = extreme ? zero() : 255;
  v.bias = extreme ? integer(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())
                   : integer(-4096, 4096);
  v.multiplier = multiplier(), v.shift = shift(v.multiplier);
  if (v.combine == isa::Combine::none) return;
  v.b_signed = random_.flag(), v.b_negate = random_.flag(), v.b_zero = nine();
  v.a_multiplier = multiplier(), v.b_multiplier = multiplier(), v.out_shift = shift(v.a_multiplier);
  v.out_zero = zero(), v.out_low = extreme ? zero() : -128, v.out_high = extreme ? zero() : 127;
}

}  // namespace dlc
