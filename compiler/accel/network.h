// The region as the lowering sees it: tensors with their storage, layers with resolved operands. Views
// (reshape) disappear here: they alias the tensor that they view.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/accel/layout.h"
#include "compiler/ir/graph.h"
#include "isa/hwconfig.h"
#include "isa/program.h"

namespace dlc::accel {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }

struct TensorPlan {
  ir::ValueId value;
  std::string name;
  Nchw shape;          // storage shape
  int64_t blocks = 0;  // channel blocks of `rows`
  bool is_signed = false;
  bool region_input = false, region_output = false;
  int producer = -1;  // layer, -1: the host
  int last_use = -1;  // last layer that reads it
  // Decided by residency.cpp:
  bool resident = false;  // the whole tensor has an ACT buffer from its production to its last use
  bool in_dram = false;   // lies in DRAM too (always for region inputs and outputs)
  int buffer = -1;        // ACT buffer when resident
  uint64_t address = 0;   // DRAM
  int64_t words() const { return shape.n * blocks * shape.h * shape.w; }
};

enum class LayerKind { conv, depthwise, pool, add };

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
};

struct Network {
  std::vector<TensorPlan> tensors;
  std::vector<LayerPlan> layers;                          // execution order; index = Program::layers index
  std::vector<Layer> info;                                // for Program::layers
  std::vector<std::pair<ir::ValueId, int>> output_views;  // region outputs that are views of a tensor
};

// Throws UserError(unsupported) for what refusal() refuses.
Network build_network(const ir::Graph& graph, const std::vector<ir::NodeId>& region, const HwConfig& hw);

}  // namespace dlc::accel
