// A small consistent program that uses every part of Program, for the tests of files and text.
#pragma once
#include <string>

#include "isa/program_file.h"

namespace dlc::test {

inline Program sample_program() {
  const HwConfig hw = load_hwconfig(DLC_SOURCE_DIR "/hwconfigs/edge-16.yaml");
  Program p;
  p.hw_yaml = canonical_yaml(hw);
  p.hw_hash = hwconfig_hash(hw);
  p.hw_name = hw.name;
  p.model = "net \"v1\"; with, odd\tname \xc3\xa4";

  isa::Load load;
  load.memory = Memory::wgt;
  load.dram_address = 0x4000;
  load.row_bytes = 64;
  load.count = {1, 2, 3};
  load.stride = {0, -4, 8};
  load.dram_stride = {0, -64, 128};
  isa::Matrix matrix;
  matrix.wait = {1, 0, 0, 0};
  matrix.act_zero = -128;
  matrix.tile_count = {1, 4, 3, 3};
  isa::Vector vector;
  vector.wait = {1, 1, 0, 0};
  vector.combine = isa::Combine::linear;
  vector.rescale = isa::Rescale::parameter;
  vector.b_stride = {1, 2, 3, 4, -5};
  vector.out_low = -128;
  vector.out_high = 127;
  isa::Store store;
  store.dram_address = 0xfffff0;
  store.row_bytes = 16;
  p.instructions = {load, matrix, vector, store};
  p.layer_of = {0, 0, 1, 1};
  p.notes = {"tile 0", "", "tile \"1\"", ""};
  p.layers = {{"conv1", "Conv", {"conv1", "relu1"}, 1000, 900}, {"add", "Add", {"add"}, 0, 0}};
  p.segments = {{Segment::Kind::accelerator, 0, 3, {}, {"x"}, {"y"}, ""},
                {Segment::Kind::host, 0, 0, {"softmax"}, {"y"}, {"z"}, "softmax is not in vector.functions"},
                {Segment::Kind::accelerator, 3, 1, {}, {"z"}, {"out"}, ""}};
  Constant weights{"w", 0x4000, {}};
  for (int i = 0; i < 100; ++i) weights.bytes.push_back(static_cast<uint8_t>(i * 37));
  p.constants = {weights, {"empty", 0x5000, {}}};
  p.tensors = {{"x", "uint8", {1, 3, 4, 5}, Layout::blocked, 0x6000, 320, 0.1f, 128},
               {"out", "int8", {1, 10}, Layout::linear, 0x7000, 10, 1e-9f, -7}};
  p.inputs = {"x"};
  p.outputs = {"out"};
  p.host_graph = "graph {\n  .end\n\n  softmax }";  // hostile to a line-oriented format
  p.program_address = 0x1000;
  p.dram_bytes = 0x100000;
  return p;
}

}  // namespace dlc::test
