// The functional model's vectorised loops against isa/README.md §3 written out element by element.
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <random>

#include "isa/device.h"
#include "isa/numerics.h"
#include "simulator/functional/execute.h"

namespace dlc {
namespace {

HwConfig config(int rows, int cols, int lanes, int preload_rows) {
  HwConfig hw;
  hw.rows = rows, hw.cols = cols, hw.lanes = lanes, hw.preload_rows = preload_rows;
  hw.bus_bytes = 16;
  hw.activation.size_bytes = 256 * rows;
  hw.weight.size_bytes = 64 * rows * cols;
  hw.accumulator.size_bytes = 256 * cols * 4;
  hw.parameter.size_bytes = 64 * lanes * 16;
  return hw;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t range(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return range(0, 99) < percent; }

 private:
  std::mt19937_64 engine_;
};

void fill(MachineState& state, Random& random) {
  for (auto& b : state.act) b = static_cast<uint8_t>(random.range(0, 255));
  for (auto& b : state.wgt) b = static_cast<uint8_t>(random.range(0, 255));
  for (auto& b : state.par) b = static_cast<uint8_t>(random.range(0, 255));
  for (auto& a : state.acc) {
    a = static_cast<int32_t>(random.range(INT32_MIN, INT32_MAX) >> (random.chance(70) ? 14 : 0));
  }
  // Realistic shifts in half of the PAR entries, all 64 values in the others.
  for (size_t i = 0; i < state.par.size(); i += 32)
    state.par[i + 8] = static_cast<uint8_t>(random.range(25, 45));
}

// Address and strides such that all of the loop nest lies in 0..size-1.
template <size_t N>
uint32_t place(Random& random, int64_t size, const std::array<uint32_t, N>& count,
               std::array<int32_t, N>& stride) {
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < N; ++i) {
    const int64_t limit = (size - 1 - (high - low)) / std::max<int64_t>(1, count[i] - 1);
    stride[i] = static_cast<int32_t>(random.range(-std::min<int64_t>(limit, 9), std::min<int64_t>(limit, 9)));
    (stride[i] < 0 ? low : high) += int64_t{stride[i]} * (count[i] - 1);
  }
  return static_cast<uint32_t>(random.range(-low, size - 1 - high));
}

isa::Matrix random_matrix(Random& random, const HwConfig& hw) {
  isa::Matrix m;
  m.accumulate = random.chance(50), m.zero_activation = random.chance(10);
  m.act_signed = random.chance(50), m.wgt_signed = random.chance(50);
  m.act_zero = static_cast<int32_t>(random.range(-256, 255)),
  m.wgt_zero = static_cast<int32_t>(random.range(-256, 255));
  for (auto& c : m.tile_count) c = static_cast<uint32_t>(random.range(1, 3));
  for (auto& c : m.step_count) c = static_cast<uint32_t>(random.range(1, 5));
  std::array<uint32_t, 7> count;
  std::array<int32_t, 7> stride;
  std::copy_n(m.tile_count.begin(), 4, count.begin());
  std::copy_n(m.step_count.begin(), 3, count.begin() + 4);
  m.act_address = place(random, hw.words(Memory::act), count, stride);
  std::copy_n(stride.begin(), 4, m.act_tile_stride.begin());
  std::copy_n(stride.begin() + 4, 3, m.act_step_stride.begin());
  m.wgt_address = place(random, hw.words(Memory::wgt) - hw.tile_words() + 1, m.tile_count, m.wgt_tile_stride);
  std::array<uint32_t, 4> acc_count{m.tile_count[0], m.step_count[0], m.step_count[1], m.step_count[2]};
  std::array<int32_t, 4> acc_stride;
  m.acc_address = place(random, hw.words(Memory::acc), acc_count, acc_stride);
  m.acc_tile_stride = acc_stride[0];
  std::copy_n(acc_stride.begin() + 1, 3, m.acc_step_stride.begin());
  return m;
}

template <size_t N>
void for_each_index(const std::array<uint32_t, N>& count,
                    const std::function<void(const std::array<int64_t, N>&)>& f, size_t loop = 0,
                    std::array<int64_t, N> index = {}) {
  if (loop == N) return f(index);
  for (index[loop] = 0; index[loop] < count[loop]; ++index[loop]) for_each_index(count, f, loop + 1, index);
}

template <size_t N>
int64_t dot(const std::array<int64_t, N>& index, const std::array<int32_t, N>& stride) {
  int64_t sum = 0;
  for (size_t i = 0; i < N; ++i) sum += index[i] * stride[i];
  return sum;
}

void reference_matrix(MachineState& s, const isa::Matrix& m) {
  const HwConfig& hw = s.hw;
  for_each_index<4>(m.tile_count, [&](const auto& t) {
    for_each_index<3>(m.step_count, [&](const auto& p) {
      const int64_t acc = m.acc_address + t[0] * m.acc_tile_stride + dot(p, m.acc_step_stride);
      const int64_t act = m.act_address + dot(t, m.act_tile_stride) + dot(p, m.act_step_stride);
      const int64_t tile = (m.wgt_address + dot(t, m.wgt_tile_stride)) * hw.preload_rows * hw.cols;
      for (int c = 0; c < hw.cols; ++c) {
        int32_t sum = 0;
        for (int r = 0; r < hw.rows && m.zero_activation == 0; ++r) {
          sum = numerics::wrap_add32(
              sum, numerics::operand9(s.act[act * hw.rows + r], m.act_signed, m.act_zero) *
                       numerics::operand9(s.wgt[tile + r * hw.cols + c], m.wgt_signed, m.wgt_zero));
        }
        int32_t& a = s.acc[acc * hw.cols + c];
        a = m.accumulate == 0 && t[1] + t[2] + t[3] == 0 ? sum : numerics::wrap_add32(a, sum);
      }
    });
  });
}

isa::Vector random_vector(Random& random, const HwConfig& hw) {
  isa::Vector v;
  const auto flag = [&] { return static_cast<uint32_t>(random.range(0, 1)); };
  const auto integer = [&](int64_t low, int64_t high) {
    return static_cast<int32_t>(random.range(low, high));
  };
  v.a_source = static_cast<isa::VectorSource>(flag());
  v.b_source = static_cast<isa::VectorSource>(flag());
  v.destination = static_cast<isa::VectorDestination>(flag());
  v.premultiply = random.chance(30) ? isa::Premultiply::tap : isa::Premultiply::none;
  v.reduce_loops = random.chance(50) ? 0 : static_cast<uint32_t>(random.range(1, 5));
  v.reduce_op = static_cast<isa::ReduceOp>(random.range(0, 2));
  v.rescale = static_cast<isa::Rescale>(random.range(0, 2));
  v.combine = static_cast<isa::Combine>(random.range(0, 4));
  v.a_signed = flag(), v.b_signed = flag(), v.tap_signed = flag(), v.b_negate = flag();
  v.a_zero = integer(-256, 255), v.b_zero = integer(-256, 255), v.tap_zero = integer(-256, 255);
  const bool extreme = random.chance(30);
  v.zero = extreme ? integer(-32768, 32767) : integer(-128, 255);
  v.low = extreme ? integer(-32768, 32767) : -128, v.high = extreme ? integer(-32768, 32767) : 127;
  v.out_zero = extreme ? integer(-32768, 32767) : integer(-128, 255);
  v.out_low = extreme ? integer(-32768, 32767) : -128, v.out_high = extreme ? integer(-32768, 32767) : 127;
  v.bias = integer(INT32_MIN, INT32_MAX) >> (extreme ? 0 : 16);
  v.multiplier = static_cast<uint32_t>(integer(0, INT32_MAX)),
  v.shift = static_cast<uint32_t>(integer(0, 62));
  v.a_multiplier = static_cast<uint32_t>(integer(0, INT32_MAX));
  v.b_multiplier = static_cast<uint32_t>(integer(0, INT32_MAX));
  v.out_shift = static_cast<uint32_t>(integer(0, 62));
  for (auto& c : v.count) c = static_cast<uint32_t>(random.range(1, 3));
  const auto groups = [&](bool acc) {
    return acc ? hw.words(Memory::acc) * hw.acc_groups() : hw.words(Memory::act) * hw.act_groups();
  };
  auto output_count = v.count;
  for (size_t i = 5 - v.reduce_loops; i < 5; ++i) output_count[i] = 1;
  // The upper half is read, the lower half is written: elements may be computed in any order.
  v.a_address = place(random, groups(v.a_source == isa::VectorSource::acc) / 2, v.count, v.a_stride);
  v.b_address = place(random, groups(v.b_source == isa::VectorSource::acc) / 2, output_count, v.b_stride);
  v.a_address += static_cast<uint32_t>(groups(v.a_source == isa::VectorSource::acc) / 2);
  v.b_address += static_cast<uint32_t>(groups(v.b_source == isa::VectorSource::acc) / 2);
  v.d_address =
      place(random, groups(v.destination == isa::VectorDestination::acc) / 2, output_count, v.d_stride);
  for (size_t i = 5 - v.reduce_loops; i < 5; ++i) v.b_stride[i] = v.d_stride[i] = 0;
  for (size_t i = 0; i < 2 && i < 5 - v.reduce_loops; ++i) v.par_stride[i] = integer(-3, 3);
  v.tap_stride = integer(-3, 3);
  v.par_address = v.tap_address = 20;
  return v;
}

int32_t reference_lane(const MachineState& s, const isa::Vector& v, const std::array<int64_t, 5>& index,
                       int lane) {
  const int lanes = s.hw.lanes;
  auto inner = v.count;
  for (size_t i = 0; i < 5 - v.reduce_loops; ++i) inner[i] = 1;
  std::optional<int32_t> total;
  int64_t k = 0;
  for_each_index<5>(inner, [&](const auto& r) {
    auto i = index;
    for (size_t n = 5 - v.reduce_loops; n < 5; ++n) i[n] = r[n];
    const size_t element = static_cast<size_t>((v.a_address + dot(i, v.a_stride)) * lanes + lane);
    int32_t x = v.a_source == isa::VectorSource::acc
                    ? s.acc[element]
                    : numerics::operand9(s.act[element], v.a_signed, v.a_zero);
    if (v.premultiply == isa::Premultiply::tap) {
      const int64_t word = v.tap_address + i[0] * v.tap_stride + k / 16;
      const uint8_t tap = s.par[static_cast<size_t>((word * lanes + lane) * 16 + k % 16)];
      x = numerics::wrap_mul32(x, numerics::operand9(tap, v.tap_signed, v.tap_zero));
    }
    if (!total) {
      total = x;
    } else if (v.reduce_op == isa::ReduceOp::sum) {
      total = numerics::wrap_add32(*total, x);
    } else {
      total = v.reduce_op == isa::ReduceOp::max ? std::max(*total, x) : std::min(*total, x);
    }
    ++k;
  });
  if (v.rescale == isa::Rescale::immediate) {
    return numerics::rescale(*total, v.bias, v.multiplier, static_cast<int>(v.shift), v.zero, v.low, v.high);
  }
  if (v.rescale == isa::Rescale::parameter) {
    const int64_t word = v.par_address + index[0] * v.par_stride[0] + index[1] * v.par_stride[1];
    const uint8_t* entry = s.par.data() + (word * lanes + lane) * 16;
    const auto u32 = [&](int at) {
      return entry[at] | entry[at + 1] << 8 | entry[at + 2] << 16 |
             static_cast<uint32_t>(entry[at + 3]) << 24;
    };
    return numerics::rescale(*total, static_cast<int32_t>(u32(0)), u32(4) & 0x7FFFFFFF, entry[8] & 63, v.zero,
                             v.low, v.high);
  }
  return *total;
}

int32_t reference_combine(const isa::Vector& v, int64_t a, int64_t b) {
  const int shift = static_cast<int>(v.out_shift);
  switch (v.combine) {
    case isa::Combine::linear:
      return numerics::combine_linear(a, v.a_multiplier, b, v.b_multiplier, v.b_negate, shift, v.out_zero,
                                      v.out_low, v.out_high);
    case isa::Combine::multiply:
      return numerics::combine_multiply(a, b, v.a_multiplier, shift, v.out_zero, v.out_low, v.out_high);
    default:
      return numerics::combine_select(a, b, v.combine == isa::Combine::maximum, v.a_multiplier, shift,
                                      v.out_zero, v.out_low, v.out_high);
  }
}

void reference_vector(MachineState& s, const isa::Vector& v) {
  auto outer = v.count;
  for (size_t i = 5 - v.reduce_loops; i < 5; ++i) outer[i] = 1;
  for_each_index<5>(outer, [&](const auto& index) {
    for (int lane = 0; lane < s.hw.lanes; ++lane) {
      int32_t x = reference_lane(s, v, index, lane);
      if (v.combine != isa::Combine::none) {
        const size_t element =
            static_cast<size_t>((v.b_address + dot(index, v.b_stride)) * s.hw.lanes + lane);
        const int32_t b = v.b_source == isa::VectorSource::acc
                              ? s.acc[element]
                              : numerics::operand9(s.act[element], v.b_signed, v.b_zero);
        x = reference_combine(v, int64_t{x} - v.zero, b);
      }
      const size_t element = static_cast<size_t>((v.d_address + dot(index, v.d_stride)) * s.hw.lanes + lane);
      if (v.destination == isa::VectorDestination::acc) {
        s.acc[element] = x;
      } else {
        s.act[element] = static_cast<uint8_t>(x);
      }
    }
  });
}

const std::vector<HwConfig>& configs() {
  static const std::vector<HwConfig> all{config(16, 16, 16, 2), config(4, 4, 4, 1),    config(8, 16, 8, 4),
                                         config(32, 8, 4, 2),   config(64, 32, 32, 4), config(4, 8, 2, 4)};
  return all;
}

TEST_CASE("functional MATRIX computes what the specification says, element by element") {
  Random random(1);
  for (const HwConfig& hw : configs()) {
    MachineState fast(hw);
    fill(fast, random);
    for (int n = 0; n < 60; ++n) {
      MachineState slow = fast;
      const isa::Matrix m = random_matrix(random, hw);
      execute_matrix(fast, m);
      reference_matrix(slow, m);
      INFO(hw.rows << "x" << hw.cols << ", instruction " << n);
      REQUIRE(fast.acc == slow.acc);
    }
  }
}

TEST_CASE("functional VECTOR computes what the specification says, element by element") {
  Random random(2);
  for (const HwConfig& hw : configs()) {
    MachineState fast(hw);
    fill(fast, random);
    for (int n = 0; n < 300; ++n) {
      MachineState slow = fast;
      const isa::Vector v = random_vector(random, hw);
      execute_vector(fast, v);
      reference_vector(slow, v);
      INFO(hw.rows << "x" << hw.cols << ", " << hw.lanes << " lanes, " << isa::to_string(v));
      REQUIRE(fast.acc == slow.acc);
      REQUIRE(fast.act == slow.act);
    }
  }
}

TEST_CASE("functional LOAD and STORE move rows along negative and zero strides") {
  const HwConfig hw = config(4, 4, 4, 1);
  MachineState state(hw);
  std::vector<uint8_t> dram(4096);
  for (size_t i = 0; i < 1024; ++i) dram[i] = static_cast<uint8_t>(i * 7 + i / 256);
  isa::Load load;
  load.memory = Memory::acc, load.dram_address = 512, load.row_bytes = 32, load.address = 40;
  load.count = {2, 1, 3}, load.stride = {8, 0, -2}, load.dram_stride = {-256, 0, 64};
  execute_load(state, load, dram);
  isa::Store store;
  store.memory = Memory::acc, store.dram_address = 2048, store.row_bytes = 16, store.address = 36;
  store.count = {1, 1, 2}, store.stride = {0, 0, 9}, store.dram_stride = {0, 0, 16};
  execute_store(state, store, dram);
  // Word 36 is the first word of row i2 = 2; word 45 the second word of row i0 = 1, i2 = 2.
  CHECK(std::equal(dram.begin() + 2048, dram.begin() + 2064, dram.begin() + 512 + 2 * 64));
  CHECK(std::equal(dram.begin() + 2064, dram.begin() + 2080, dram.begin() + 256 + 2 * 64 + 16));
}

}  // namespace
}  // namespace dlc
