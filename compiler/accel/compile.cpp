#include "compiler/accel/compile.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "compiler/accel/allocate.h"
#include "compiler/accel/dependencies.h"
#include "compiler/accel/layout.h"
#include "compiler/accel/lowering.h"
#include "compiler/accel/plan.h"
#include "compiler/accel/schedule.h"
#include "compiler/accel/user_schedule.h"
#include "compiler/accel/waits.h"
#include "isa/error.h"
#include "isa/program_file.h"

namespace dlc::accel {
namespace {

void lower_layer(Lowering& l) {
  switch (l.plan().kind) {
    case LayerKind::conv:
      return lower_conv(l, {});
    case LayerKind::depthwise:
      return lower_depthwise(l);
    case LayerKind::pool:
      return lower_pool(l);
    case LayerKind::combine:
      return lower_combine(l);
    case LayerKind::copy:
      return lower_copy(l);
  }
}

struct Lowered {
  Network net;
  std::optional<TileGraph> graph;
  DramImage dram;
  ChosenSchedule chosen;
};

void place_in_dram(TensorPlan& t, DramImage& dram, const HwConfig& hw) {
  if (!t.in_dram || t.place.root >= 0) return;
  if (t.constant)
    t.address = dram.add_constant(
        t.name, pack_blocked({t.shape.n, t.shape.c, t.shape.h, t.shape.w}, *t.constant, hw.rows, 0));
  else
    t.address = dram.reserve(static_cast<uint64_t>(t.words() * hw.rows));
}

// Lowers under growing limits until every buffer has a place.
Lowered lower_network(const Network& network, const HwConfig& hw, const AccelOptions& options) {
  PlanLimits limits;
  if (options.schedule) apply_schedule(*options.schedule, network, hw, limits);
  while (true) {
    Lowered out{network, std::nullopt, {}, {}};
    out.graph.emplace(hw);
    const std::vector<LayerTiling> tilings = plan_layers(out.net, hw, options.keep_resident, limits);
    for (TensorPlan& t : out.net.tensors) place_in_dram(t, out.dram, hw);
    for (int layer = 0; layer < static_cast<int>(out.net.layers.size()); ++layer) {
      Lowering l{*out.graph, out.net, out.dram, hw, tilings[layer], layer};
      lower_layer(l);
    }
    const auto failure = place_buffers(*out.graph, limits.compact);
    if (!failure) {
      out.chosen = chosen_schedule(out.net, tilings);
      return out;
    }
    const Buffer& b = out.graph->buffers()[failure->buffer];
    if (!relax(out.net, b.layer, b.memory, limits))
      throw UserError(ErrorKind::unsupported, out.net.layers[b.layer].where,
                      "does not fit on " + hw.name + ": no room for its " + b.name + " of " +
                          std::to_string(b.words * hw.word_bytes(b.memory)) + " bytes; " +
                          std::to_string(failure->free_words * hw.word_bytes(b.memory)) +
                          " bytes are free in smaller pieces");
  }
}

TensorInfo tensor_info(const ir::Graph& graph, ir::ValueId value, const TensorPlan& t, const HwConfig& hw) {
  const ir::Value& v = graph.value(value);
  TensorInfo info;
  info.name = v.name;
  info.element = t.is_signed ? "int8" : "uint8";
  info.shape = v.shape;
  info.layout = Layout::blocked;
  info.address = t.address;
  info.bytes = static_cast<uint64_t>(t.words() * hw.rows);
  if (v.quantization && v.quantization->scale.size() == 1) {
    info.scale = v.quantization->scale[0];
    info.zero_point = v.quantization->zero.empty() ? 0 : v.quantization->zero[0];
  }
  return info;
}

void add_tensors(Program& p, const ir::Graph& graph, const Network& net, const HwConfig& hw) {
  for (const TensorPlan& t : net.tensors) {
    if (!t.in_dram || !t.value.valid() || t.constant || t.place.root >= 0) continue;
    p.tensors.push_back(tensor_info(graph, t.value, t, hw));
    if (t.region_input) p.inputs.push_back(t.name);
  }
  for (const auto& [value, t] : net.output_views)
    p.tensors.push_back(tensor_info(graph, value, net.tensors[t], hw));
  for (const TensorPlan& t : net.tensors)
    if (t.region_output) p.outputs.push_back(t.name);
}

void add_instructions(Program& p, const TileGraph& graph, const std::vector<int>& order) {
  p.instructions = emit_with_waits(graph, order);
  for (int t : order) {
    p.layer_of.push_back(static_cast<uint32_t>(graph.task(t).layer));
    p.notes.push_back(graph.task(t).note);
  }
}

void place_program(Program& p, DramImage& dram) {
  p.constants = std::move(dram.constants());
  p.program_address = (dram.end() + 4095) / 4096 * 4096;
  p.dram_bytes = p.program_address + encode_program(p).size();
}

void check(const Program& p, const HwConfig& hw) {
  if (p.dram_bytes > hw.memory_bytes)
    throw UserError(ErrorKind::unsupported, p.model,
                    "needs " + std::to_string(p.dram_bytes) + " bytes of memory; " + hw.name + " has " +
                        std::to_string(hw.memory_bytes) + " (memory.size)");
}

}  // namespace

Program compile_accelerator(const ir::Graph& graph, const std::vector<ir::NodeId>& region, const HwConfig& hw,
                            const AccelOptions& options, ChosenSchedule* chosen) {
  const Network network = build_network(graph, region, hw);  // layers and tensors, views resolved
  Lowered lowered = lower_network(network, hw, options);     // residency, tiles, buffers, addresses
  add_dependencies(*lowered.graph);                          // hazards and bank ports -> edges
  const Schedule plan = schedule(*lowered.graph);            // program order

  if (chosen) *chosen = std::move(lowered.chosen);
  Program p;
  p.hw_hash = hwconfig_hash(hw);
  p.hw_name = hw.name;
  p.hw_yaml = canonical_yaml(hw);
  p.model = graph.name;
  p.layers = lowered.net.info;
  add_tensors(p, graph, lowered.net, hw);
  add_instructions(p, *lowered.graph, plan.order);  // waits, absolute addresses
  place_program(p, lowered.dram);
  Segment segment;
  segment.instruction_count = static_cast<uint32_t>(p.instructions.size());
  segment.inputs = p.inputs;
  segment.outputs = p.outputs;
  p.segments.push_back(segment);
  check(p, hw);
  if (options.verify)
    if (const auto faults = verify_program(p, hw, 3); !faults.empty())
      throw std::logic_error("compiled program is invalid: " + faults.front());
  return p;
}

}  // namespace dlc::accel
