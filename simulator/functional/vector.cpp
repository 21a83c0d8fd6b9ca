// VECTOR: per output group A -> premultiply -> reduce -> rescale -> combine with B -> look up -> D (isa/README.md §3).
//
// Each stage is a loop over a chunk of at most 16 lanes that vectorises; the choice of variant is made per
// group, outside of these loops. Rescale parameters and taps are unpacked from PAR when their word changes.
#include <array>
#include <cassert>
#include <cstring>
#include <limits>
#include <vector>

#include "isa/numerics.h"
#include "simulator/functional/execute.h"
#include "simulator/functional/loop_nest.h"
#include "isa/multiversion.h"

namespace dlc {
namespace {

constexpr int kMaxLanes = 128;
constexpr int kTapsPerWord = 16;
constexpr int kParEntryBytes = 16;

// Arithmetic shift right with round half to even, branch free: numerics::round_shift for 0..63.
// unit = 2^shift: GCC 12 does not vectorise a shift of a constant.
DLC_INLINE int64_t round_shift(int64_t value, int64_t shift, uint64_t unit) {
  const int64_t floor = value >> shift;
  const uint64_t remainder = static_cast<uint64_t>(value) & (unit - 1);
  return floor + (2 * remainder + static_cast<uint64_t>(floor & 1) > unit ? 1 : 0);
}
DLC_INLINE int32_t clamp(int64_t value, int64_t low, int64_t high) {
  value = value < low ? low : value;
  return static_cast<int32_t>(value > high ? high : value);
}
DLC_INLINE int32_t operand9(int32_t byte, int32_t zero) {
  return static_cast<int32_t>(static_cast<uint32_t>(byte - zero) << 23) >> 23;
}

// Rescale parameters by lane.
struct Parameters {
  int32_t bias[kMaxLanes];
  int64_t multiplier[kMaxLanes], shift[kMaxLanes];
  uint64_t unit[kMaxLanes];  // 2^shift

  void read(const uint8_t* word, int lanes) {
    for (int lane = 0; lane < lanes; ++lane) {
      const uint8_t* entry = word + lane * kParEntryBytes;
      uint32_t raw_bias, raw_multiplier;
      std::memcpy(&raw_bias, entry, 4);
      std::memcpy(&raw_multiplier, entry + 4, 4);
      bias[lane] = static_cast<int32_t>(raw_bias);
      multiplier[lane] = raw_multiplier & 0x7FFFFFFFu;
      shift[lane] = entry[8] & 63;
      unit[lane] = uint64_t{1} << shift[lane];
    }
  }
  void fill(int32_t b, uint32_t m, uint32_t s) {
    for (int lane = 0; lane < kMaxLanes; ++lane) {
      bias[lane] = b, multiplier[lane] = m, shift[lane] = s, unit[lane] = uint64_t{1} << s;
    }
  }
};

// The 16 taps of one PAR word as operands, tap by tap.
struct Taps {
  int64_t word = -1;
  int32_t value[kTapsPerWord][kMaxLanes];

  void read(const uint8_t* bytes, int64_t new_word, int lanes, bool is_signed, int32_t zero) {
    word = new_word;
    for (int lane = 0; lane < lanes; ++lane) {
      for (int tap = 0; tap < kTapsPerWord; ++tap) {
        value[tap][lane] = numerics::operand9(bytes[lane * kParEntryBytes + tap], is_signed, zero);
      }
    }
  }
};

struct Operand {
  const uint8_t* act;  // one of the two is null
  const int32_t* acc;
  bool is_signed;
  int32_t zero;
};

Operand operand(const MachineState& state, isa::VectorSource source, bool is_signed, int32_t zero) {
  const bool from_acc = source == isa::VectorSource::acc;
  return {from_acc ? nullptr : state.act.data(), from_acc ? state.acc.data() : nullptr, is_signed, zero};
}

template <int kChunk>
DLC_INLINE void read_operand(const Operand& from, int64_t element, int32_t* out) {
  if (from.acc) {
    for (int l = 0; l < kChunk; ++l) out[l] = from.acc[element + l];
  } else if (from.is_signed) {
    const uint8_t* bytes = from.act + element;
    for (int l = 0; l < kChunk; ++l) out[l] = operand9(static_cast<int8_t>(bytes[l]), from.zero);
  } else {
    const uint8_t* bytes = from.act + element;
    for (int l = 0; l < kChunk; ++l) out[l] = operand9(bytes[l], from.zero);
  }
}

template <int kChunk>
DLC_INLINE void reduce(isa::ReduceOp op, const int32_t* x, int32_t* total) {
  if (op == isa::ReduceOp::sum) {
    for (int l = 0; l < kChunk; ++l) total[l] = numerics::wrap_add32(total[l], x[l]);
  } else if (op == isa::ReduceOp::max) {
    for (int l = 0; l < kChunk; ++l) total[l] = x[l] > total[l] ? x[l] : total[l];
  } else {
    for (int l = 0; l < kChunk; ++l) total[l] = x[l] < total[l] ? x[l] : total[l];
  }
}

// The value each reduction starts from.
int32_t neutral(isa::ReduceOp op) {
  if (op == isa::ReduceOp::max) return std::numeric_limits<int32_t>::min();
  if (op == isa::ReduceOp::min) return std::numeric_limits<int32_t>::max();
  return 0;
}

template <int kChunk>
DLC_INLINE void rescale(const Parameters& p, int lane, int32_t zero, int32_t low, int32_t high, int32_t* x) {
  const int32_t* bias = p.bias + lane;
  const int64_t* multiplier = p.multiplier + lane;
  const int64_t* shift = p.shift + lane;
  const uint64_t* unit = p.unit + lane;
  int64_t value[kChunk];
  for (int l = 0; l < kChunk; ++l) value[l] = (static_cast<int64_t>(x[l]) + bias[l]) * multiplier[l];
  for (int l = 0; l < kChunk; ++l) x[l] = clamp(round_shift(value[l], shift[l], unit[l]) + zero, low, high);
}

template <int kChunk>
DLC_INLINE void finish_combine(const isa::Vector& v, const uint64_t* product, int32_t* out) {
  const int64_t shift = v.out_shift;
  const uint64_t unit = uint64_t{1} << shift;
  for (int l = 0; l < kChunk; ++l) {
    const int64_t rounded = round_shift(static_cast<int64_t>(product[l]), shift, unit);
    out[l] = clamp(numerics::wrap_add64(rounded, v.out_zero), v.out_low, v.out_high);
  }
}

// x becomes combine(x - zero, b). Products are taken in uint64_t: they wrap.
template <int kChunk>
DLC_INLINE void combine(const isa::Vector& v, const int32_t* b, int32_t* x) {
  uint64_t product[kChunk];
  const uint64_t a_multiplier = v.a_multiplier;
  const int64_t zero = v.zero;
  switch (v.combine) {
    case isa::Combine::none:
      return;
    case isa::Combine::linear: {
      const uint64_t b_multiplier = v.b_negate != 0 ? -uint64_t{v.b_multiplier} : uint64_t{v.b_multiplier};
      for (int l = 0; l < kChunk; ++l) {
        product[l] = static_cast<uint64_t>(x[l] - zero) * a_multiplier +
                     static_cast<uint64_t>(static_cast<int64_t>(b[l])) * b_multiplier;
      }
      break;
    }
    case isa::Combine::multiply:
      for (int l = 0; l < kChunk; ++l) {
        product[l] = static_cast<uint64_t>(x[l] - zero) * static_cast<uint64_t>(static_cast<int64_t>(b[l])) *
                     a_multiplier;
      }
      break;
    default: {  // maximum, minimum
      const bool take_max = v.combine == isa::Combine::maximum;
      for (int l = 0; l < kChunk; ++l) {
        const int64_t a = x[l] - zero;
        const int64_t chosen = (a < b[l]) == take_max ? b[l] : a;
        product[l] = static_cast<uint64_t>(chosen) * a_multiplier;
      }
      break;
    }
  }
  finish_combine<kChunk>(v, product, x);
}

enum Stream { kA, kB, kD, kPar, kTap, kStreams };

// One VECTOR instruction; its parts are called by the multiversioned run functions below.
struct Execution {
  MachineState& state;
  const isa::Vector& v;
  int lanes;
  Operand a, b;
  LoopNest<5, kStreams> outputs;
  LoopNest<5, 2> reduction;  // streams: A, tap word
  const uint8_t* table;  // of lut
  int64_t par_word = -1;
  Parameters parameters;
  std::array<Taps, 4> taps;  // by PAR word modulo 4: kernels up to 64 taps are unpacked once

  Execution(MachineState& s, const isa::Vector& vector)
      : state(s),
        v(vector),
        lanes(s.hw.lanes),
        a(operand(s, vector.a_source, vector.a_signed != 0, vector.a_zero)),
        b(operand(s, vector.b_source, vector.b_signed != 0, vector.b_zero)),
        table(s.lut.empty() ? nullptr : s.lut.data() + vector.lut_table * kLutTableBytes) {
    const int first_reducing = 5 - static_cast<int>(v.reduce_loops);
    for (int i = 0; i < 5; ++i) {
      const int64_t tap_stride = i == 0 ? v.tap_stride : 0;
      if (i < first_reducing) {
        outputs.add_loop(v.count[i], {v.a_stride[i], v.b_stride[i], v.d_stride[i],
                                      i < 2 ? v.par_stride[i] : 0, tap_stride});
      } else {
        reduction.add_loop(v.count[i], {v.a_stride[i], tap_stride});
      }
    }
    outputs.restart({v.a_address, v.b_address, v.d_address, v.par_address, v.tap_address});
    if (v.rescale == isa::Rescale::immediate) parameters.fill(v.bias, v.multiplier, v.shift);
  }

  const int32_t* tap_operands(int64_t word, int tap) {
    Taps& entry = taps[word % taps.size()];
    if (entry.word != word) {
      entry.read(state.par.data() + word * lanes * kParEntryBytes, word, lanes, v.tap_signed != 0,
                 v.tap_zero);
    }
    return entry.value[tap];
  }

  template <int kChunk>
  DLC_INLINE void reduce_chunk(int lane, int32_t* total) {
    for (int l = 0; l < kChunk; ++l) total[l] = neutral(v.reduce_op);
    reduction.restart({outputs.address(kA), outputs.address(kTap)});
    int64_t position = 0;
    do {
      int32_t x[kChunk];
      read_operand<kChunk>(a, reduction.address(0) * lanes + lane, x);
      if (v.premultiply == isa::Premultiply::tap) {
        const int64_t word = reduction.address(1) + position / kTapsPerWord;
        const int32_t* tap = tap_operands(word, static_cast<int>(position % kTapsPerWord)) + lane;
        for (int l = 0; l < kChunk; ++l) x[l] = numerics::wrap_mul32(x[l], tap[l]);
      }
      reduce<kChunk>(v.reduce_op, x, total);
      ++position;
    } while (reduction.next());
  }

  template <int kChunk>
  DLC_INLINE void write(int64_t element, const int32_t* x) {
    if (v.destination == isa::VectorDestination::acc) {
      int32_t* out = state.acc.data() + element;
      for (int l = 0; l < kChunk; ++l) out[l] = x[l];
    } else if (v.lut == isa::Lut::table8) {
      uint8_t* out = state.act.data() + element;
      for (int l = 0; l < kChunk; ++l) out[l] = table[static_cast<uint8_t>(x[l])];
    } else {
      uint8_t* out = state.act.data() + element;
      for (int l = 0; l < kChunk; ++l) out[l] = static_cast<uint8_t>(x[l]);
    }
  }

  // Lanes lane .. lane + kChunk - 1 of the current output group.
  template <int kChunk>
  DLC_INLINE void run_chunk(int lane) {
    int32_t x[kChunk], operand_b[kChunk];
    if (v.reduce_loops == 0 && v.premultiply == isa::Premultiply::none) {
      read_operand<kChunk>(a, outputs.address(kA) * lanes + lane, x);
    } else {
      reduce_chunk<kChunk>(lane, x);
    }
    if (v.rescale != isa::Rescale::none) rescale<kChunk>(parameters, lane, v.zero, v.low, v.high, x);
    if (v.combine != isa::Combine::none) {
      read_operand<kChunk>(b, outputs.address(kB) * lanes + lane, operand_b);
      combine<kChunk>(v, operand_b, x);
    }
    write<kChunk>(outputs.address(kD) * lanes + lane, x);
  }

  template <int kChunk>
  DLC_INLINE void run() {
    do {
      if (v.rescale == isa::Rescale::parameter && outputs.address(kPar) != par_word) {
        par_word = outputs.address(kPar);
        parameters.read(state.par.data() + par_word * lanes * kParEntryBytes, lanes);
      }
      for (int lane = 0; lane < lanes; lane += kChunk) run_chunk<kChunk>(lane);
    } while (outputs.next());
  }
};

DLC_MULTIVERSION void run1(Execution& execution) { execution.run<1>(); }
DLC_MULTIVERSION void run4(Execution& execution) { execution.run<4>(); }
DLC_MULTIVERSION void run8(Execution& execution) { execution.run<8>(); }
DLC_MULTIVERSION void run16(Execution& execution) { execution.run<16>(); }

}  // namespace

void execute_vector(MachineState& state, const isa::Vector& vector) {
  assert(state.hw.lanes <= kMaxLanes);
  Execution execution(state, vector);
  if (state.hw.lanes % 16 == 0) {
    run16(execution);
  } else if (state.hw.lanes == 8) {
    run8(execution);
  } else if (state.hw.lanes == 4) {
    run4(execution);
  } else {
    run1(execution);
  }
}

}  // namespace dlc
