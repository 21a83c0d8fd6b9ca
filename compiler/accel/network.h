// The region as the lowering sees it: tensors with their storage, layers with resolved operands. Views
// (reshape) disappear here: they alias the tensor that they view.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/accel/layout.h"
#include "compiler/accel/windows.h"
#include "compiler/ir/graph.h"
#include "isa/hwconfig.h"
#include "isa/program.h"

namespace dlc::accel {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }

// Where a tensor lies inside another one: its element (n, block, h, w) is the other's at offset + index * step
// (of blocks always step 1).
struct Placement {
  int root = -1;
  int64_t image = 0, block = 0, row = 0, column = 0;
  int64_t row_step = 1, column_step = 1;
  int64_t map_row(int64_t h) const { return row + h * row_step; }
  int64_t map_column(int64_t w) const { return column + w * column_step; }
};

// A tensor with `place.root` >= 0 is part of that tensor (concatenated into it or sliced from it) and has no
// memory of its own; Network::placement resolves chains of them.
struct TensorPlan {
  ir::ValueId value;  // invalid: made by the lowering, without a name in the model
  std::string name;
  Nchw shape;          // storage shape
  int64_t blocks = 0;  // channel blocks of `rows`
  bool is_signed = false;
  bool region_input = false, region_output = false;
  Placement place;                       // relative to place.root
  const ir::Bytes* constant = nullptr;   // row-major values, copied into the program's DRAM image
  int producer = -1;  // layer, -1: the host
  int last_use = -1;  // last layer that reads it
  // Decided by plan.cpp:
  bool resident = false;  // the whole tensor has an ACT buffer from its production to its last use
  bool in_dram = false;   // lies in DRAM too (always for region inputs and outputs)
  int buffer = -1;        // ACT buffer when resident
  uint64_t address = 0;   // DRAM
  int64_t words() const { return shape.n * blocks * shape.h * shape.w; }
};

// combine: addition, multiplication, maximum, minimum of two tensors; copy: bytes unchanged.
enum class LayerKind { conv, depthwise, pool, combine, copy };

// A sliding window over H and W.
struct Window {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<int64_t, 4> pad{0, 0, 0, 0};  // top, left, bottom, right
};

struct LayerPlan {
  LayerKind kind = LayerKind::conv;
  ir::NodeId node;
  std::string where, name;
  int x = -1, second = -1, y = -1;  // tensors; second: residual or the other summand
  Window window;
  // conv and depthwise
  const ir::QConv* conv = nullptr;
  const uint8_t* weights = nullptr;  // (OC, IC/groups, KH, KW)
  bool weights_signed = true;
  int64_t in_channels = 0;  // of `weights` times groups
  const ir::QPool* pool = nullptr;
  const ir::QAdd* add = nullptr;
  const ir::QBinary* binary = nullptr;
  const ir::QLut* lut = nullptr;  // done to the results, by the instructions that write them
  bool permutation = false;        // a convolution made to move channels; not the model's work
  std::vector<Range> band;         // permutation: input blocks that each output block of `cols` reads
};

struct Network {
  std::vector<TensorPlan> tensors;
  std::vector<LayerPlan> layers;                          // execution order; index = Program::layers index
  std::vector<Layer> info;                                // for Program::layers
  std::vector<std::pair<ir::ValueId, int>> output_views;  // region outputs that are views of a tensor
  // Operators that the lowering made (permutations); layers point into them.
  std::vector<std::shared_ptr<const ir::QConv>> own_convs;
  std::vector<std::shared_ptr<const ir::Bytes>> own_weights;

  int root(int t) const { return tensors[t].place.root < 0 ? t : root(tensors[t].place.root); }
  Placement placement(int t) const;  // relative to root(t)
};

// Throws UserError(unsupported) for what refusal() refuses.
Network build_network(const ir::Graph& graph, const std::vector<ir::NodeId>& region, const HwConfig& hw);

}  // namespace dlc::accel
