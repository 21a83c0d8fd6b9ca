// MATRIX: a weight tile is expanded once to 9-bit operands, then streams over its steps.
//
// Operands are held as float: a product of two 9-bit operands is at most 2^16 in size and a column sums at
// most 128 of them (2^23), so every partial sum is an exact float in any order, and fused multiply-add is
// what every vector unit does fastest. Sums reach ACC as int32, modulo 2^32.
#include <array>
#include <cassert>
#include <cstring>

#include "isa/numerics.h"
#include "simulator/functional/execute.h"
#include "simulator/functional/loop_nest.h"
#include "isa/multiversion.h"

namespace dlc {
namespace {

constexpr int kMaxRows = 128;
constexpr int kBlock = 4;  // steps that share one pass over the tile's registers

// One vector of output channels; GCC lowers it to what the target has.
template <int kWidth>
struct Columns {
  typedef float Float __attribute__((vector_size(4 * kWidth)));
  typedef int32_t Int __attribute__((vector_size(4 * kWidth)));
};

struct Tile {
  const float* weights;  // rows x cols operands
  int rows, cols;
  const uint8_t* act;
  int32_t* acc;
  bool act_signed, overwrite;
  int32_t act_zero;
};

DLC_INLINE float operand(int32_t byte, int32_t zero) {
  return static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(byte - zero) << 23) >> 23);
}

DLC_INLINE void expand(const uint8_t* bytes, int count, bool is_signed, int32_t zero, float* out) {
  if (is_signed) {
    for (int i = 0; i < count; ++i) out[i] = operand(static_cast<int8_t>(bytes[i]), zero);
  } else {
    for (int i = 0; i < count; ++i) out[i] = operand(bytes[i], zero);
  }
}

// Accumulates `kSteps` steps whose operands are x[step][row].
template <int kWidth, int kSteps>
DLC_INLINE void accumulate(const Tile& tile, const float (*x)[kMaxRows], const int64_t* acc_words) {
  using Float = typename Columns<kWidth>::Float;
  using Int = typename Columns<kWidth>::Int;
  for (int column = 0; column < tile.cols; column += kWidth) {
    Float sum[kSteps] = {};
    const float* weights = tile.weights + column;
    for (int row = 0; row < tile.rows; ++row, weights += tile.cols) {
      Float w;
      std::memcpy(&w, weights, sizeof w);
      for (int step = 0; step < kSteps; ++step) sum[step] += x[step][row] * w;
    }
    // In step order: two steps may name one ACC word.
    for (int step = 0; step < kSteps; ++step) {
      int32_t* acc = tile.acc + acc_words[step] * tile.cols + column;
      Int value = __builtin_convertvector(sum[step], Int);
      if (!tile.overwrite) {
        typedef uint32_t Unsigned __attribute__((vector_size(4 * kWidth)));
        Unsigned old;
        std::memcpy(&old, acc, sizeof old);
        value = (Int)((Unsigned)value + old);
      }
      std::memcpy(acc, &value, sizeof value);
    }
  }
}

template <int kWidth>
DLC_INLINE void stream(const Tile& tile, LoopNest<3, 2>& steps) {
  alignas(64) float x[kBlock][kMaxRows];
  int64_t acc_words[kBlock];
  bool more = true;
  while (more) {
    int filled = 0;
    for (; filled < kBlock && more; ++filled) {
      expand(tile.act + steps.address(0) * tile.rows, tile.rows, tile.act_signed, tile.act_zero, x[filled]);
      acc_words[filled] = steps.address(1);
      more = steps.next();
    }
    if (filled == kBlock) {
      accumulate<kWidth, kBlock>(tile, x, acc_words);
    } else {
      for (int step = 0; step < filled; ++step) accumulate<kWidth, 1>(tile, x + step, acc_words + step);
    }
  }
}

DLC_MULTIVERSION void stream4(const Tile& tile, LoopNest<3, 2>& steps) { stream<4>(tile, steps); }
DLC_MULTIVERSION void stream8(const Tile& tile, LoopNest<3, 2>& steps) { stream<8>(tile, steps); }
DLC_MULTIVERSION void stream16(const Tile& tile, LoopNest<3, 2>& steps) { stream<16>(tile, steps); }

DLC_MULTIVERSION void expand_tile(const uint8_t* bytes, int count, bool is_signed, int32_t zero, float* out) {
  expand(bytes, count, is_signed, zero, out);
}

// zero_activation: every product is zero, so only an overwriting tile has an effect.
void clear(const Tile& tile, LoopNest<3, 2>& steps) {
  if (!tile.overwrite) return;
  do {
    std::memset(tile.acc + steps.address(1) * tile.cols, 0, sizeof(int32_t) * tile.cols);
  } while (steps.next());
}

}  // namespace

void execute_matrix(MachineState& state, const isa::Matrix& m) {
  const HwConfig& hw = state.hw;
  assert(hw.rows <= kMaxRows);
  const int tile_elements = hw.rows * hw.cols;
  std::vector<float> weights(tile_elements);
  Tile tile{weights.data(),   hw.rows,           hw.cols, state.act.data(),
            state.acc.data(), m.act_signed != 0, false,   m.act_zero};

  LoopNest<3, 2> steps;
  for (int s = 0; s < 3; ++s) steps.add_loop(m.step_count[s], {m.act_step_stride[s], m.acc_step_stride[s]});
  // Streams: ACT word, WGT word, ACC word, and a count of the indices 1..3 (zero exactly for the first tile
  // of an output-channel block).
  LoopNest<4, 4> tiles;
  for (int t = 0; t < 4; ++t) {
    tiles.add_loop(m.tile_count[t], {m.act_tile_stride[t], m.wgt_tile_stride[t],
                                     t == 0 ? m.acc_tile_stride : 0, t == 0 ? 0 : 1});
  }
  tiles.restart({m.act_address, m.wgt_address, m.acc_address, 0});
  const int wgt_word_bytes = hw.word_bytes(Memory::wgt);
  do {
    tile.overwrite = m.accumulate == 0 && tiles.address(3) == 0;
    steps.restart({tiles.address(0), tiles.address(2)});
    if (m.zero_activation != 0) {
      clear(tile, steps);
      continue;
    }
    expand_tile(state.wgt.data() + tiles.address(1) * wgt_word_bytes, tile_elements, m.wgt_signed != 0,
                m.wgt_zero, weights.data());
    if (hw.cols % 16 == 0) {
      stream16(tile, steps);
    } else if (hw.cols % 8 == 0) {
      stream8(tile, steps);
    } else {
      assert(hw.cols % 4 == 0);
      stream4(tile, steps);
    }
  } while (tiles.next());
}

}  // namespace dlc
