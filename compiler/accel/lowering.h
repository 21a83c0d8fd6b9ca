// What the lowerings of all operators share: the DRAM image under construction, views of activations in the
// scratchpad, strip loads and stores, and VECTOR loop nests.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/accel/network.h"
#include "compiler/accel/tile_graph.h"
#include "compiler/accel/tiling.h"
#include "compiler/accel/windows.h"
#include "isa/program.h"

namespace dlc::accel {

// DRAM addresses are handed out upwards; every object starts at a multiple of 64 bytes.
class DramImage {
 public:
  uint64_t reserve(uint64_t bytes);
  uint64_t add_constant(std::string name, std::vector<uint8_t> bytes);
  std::vector<Constant>& constants() { return constants_; }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
  std::vector<Constant> constants_;
};

// Part of a tensor in ACT, blocked: word (block, row, column) at address `base` + ... of its buffer.
struct ActView {
  int buffer = -1;
  int64_t base = 0, block_stride = 0, row_stride = 0;
  int64_t block0 = 0, row0 = 0, column0 = 0;
  int64_t column_stride = 1;  // others only where the tensor is interleaved with others (Placement)
  int64_t at(int64_t block, int64_t row, int64_t column) const {
    return base + (block - block0) * block_stride + (row - row0) * row_stride +
           (column - column0) * column_stride;
  }
};

// A box of a tensor: image, channel blocks, rows, columns.
struct Box {
  int64_t image = 0;
  Range blocks, rows, columns;
  int64_t words() const { return blocks.size() * rows.size() * columns.size(); }
};

// A loop of a VECTOR nest; strides in groups (a, b, d) and PAR words.
struct VectorLoop {
  int64_t count = 1, a = 0, b = 0, d = 0, par = 0, tap = 0;
};

struct Lowering {
  TileGraph& graph;
  Network& net;
  DramImage& dram;
  const HwConfig& hw;
  const LayerTiling& tiling;
  int layer = 0;
  int table = -1;  // buffer of the layer's look-up table, once an instruction needed it

  const LayerPlan& plan() const { return net.layers[layer]; }
  TensorPlan& tensor(int t) { return net.tensors[t]; }

  // The box for reading: a resident tensor's own buffer, or a strip that is loaded here.
  ActView read_box(int t, const Box& box);
  // The box for writing; finish_box() behind the last write stores it if the tensor lies in DRAM.
  ActView write_box(int t, const Box& box);
  void finish_box(int t, const Box& box, const ActView& view, const std::string& note);

  // Loads a region input that stays resident (once, in strips, so that readers can begin early).
  void load_resident_input(int t);

  // Emits `vector` over these loops, outermost first, then the reducing loops of `reduce`. Loops that do not
  // fit the instruction (five in all, parameters in the first two, taps in the first) are unrolled. The layer's
  // look-up, if it has one, is done to what the instruction writes.
  void add_vector(isa::Vector vector, Refs refs, std::vector<VectorLoop> outer,
                  std::vector<VectorLoop> reduce, const std::string& note);

  void load(int buffer, Memory memory, int64_t word, uint64_t dram_address, int64_t bytes,
            const std::string& note);

 private:
  int look_up_table();
  ActView strip(int t, const Box& box, const char* what);
  ActView resident(int t, int64_t image);
};

// How channel groups [g0, g1) lie: group g of an operand with m groups a word is at (g / m) * stride + g % m.
struct GroupLayout {
  int64_t per_word = 1, word_stride = 0;  // in groups
  int64_t at(int64_t g) const { return g / per_word * word_stride + g % per_word; }
};
// Splits [g0, g1) into nests that are affine in every layout and calls visit(first group, loops) for each;
// loops hold only the channel loops, with par = tap = 1 a group (scale them as needed).
void for_group_nests(int64_t g0, int64_t g1, const GroupLayout& a, const GroupLayout& b, const GroupLayout& d,
                     const std::function<void(int64_t, std::vector<VectorLoop>)>& visit);

// Rescale parameters as PAR words: entry of lane l of word g = channel g * lanes + l; channels that do not
// exist have multiplier 0, so that padding lanes come out as the zero point.
std::vector<uint8_t> parameter_words(const ir::Rescale& rescale, int64_t channels, int64_t groups, int lanes);
void write_parameters(const ir::Rescale& rescale, int64_t channels, int64_t group, int lanes, uint8_t* word);

// Operand B from ACT and the second rescale.
void set_linear_combine(isa::Vector& vector, const ir::LinearCombine& combine, bool b_signed);

// The boxes of the output that the tiling makes, images outermost, channel blocks innermost.
void for_boxes(Lowering& l, const std::function<void(const Box&)>& visit);

// The lowerings; each emits the whole layer.
// beside: called between a tile's MATRIX work and its drain, with the tile's output-channel chunk (index of
// count), image, rows and columns: what VECTOR does while MATRIX works. May be empty.
using Beside = std::function<void(int64_t index, int64_t count, int64_t image, Range rows, Range columns)>;
void lower_conv(Lowering& l, const Beside& beside);
void lower_depthwise(Lowering& l);
void lower_pool(Lowering& l);
void lower_combine(Lowering& l);
void lower_copy(Lowering& l);

}  // namespace dlc::accel
