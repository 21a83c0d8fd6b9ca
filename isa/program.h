// A compiled program: what the compiler makes, the simulators and the RTL run, and the .dlp file holds
// (FlatBuffer, isa/program.fbs). Value type; no pointers into other objects.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "isa/hwconfig.h"
#include "isa/isa_generated.h"  // Instruction, encode/decode (generated from isa.yaml)

namespace dlc {

// How a tensor lies in DRAM.
//   linear:  row-major bytes of the logical shape
//   blocked: (N, ceil(C/rows), H, W, rows), channels padded; rank-2 tensors (N, C) have H = W = 1
enum class Layout { linear, blocked };

struct TensorInfo {
  std::string name;             // ONNX value name (of the quantised tensor)
  std::string element;          // "int8", "uint8", "int32", "float32"
  std::vector<int64_t> shape;   // logical
  Layout layout = Layout::linear;
  uint64_t address = 0;         // DRAM byte address
  uint64_t bytes = 0;           // DRAM bytes, padding included
  float scale = 1;              // real = scale * (q - zero_point); per tensor
  int32_t zero_point = 0;
};

struct Constant {  // bytes that lie in DRAM before the program starts
  std::string name;
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
};

// Where an instruction comes from: index into `layers`.
struct Layer {
  std::string name;                      // name of the main ONNX node
  std::string op;                        // Conv, Add, MaxPool ...
  std::vector<std::string> onnx_nodes;   // every node fused into it
  int64_t macs = 0;                      // nominal, padding included
  int64_t valid_macs = 0;                // without padded taps
};

// A network is an ordered list of segments. An accelerator segment is a range of instructions; a host
// segment names graph nodes (evaluated by the host on `host_graph`, the printed Graph IR).
struct Segment {
  enum class Kind { accelerator, host } kind = Kind::accelerator;
  uint32_t first_instruction = 0, instruction_count = 0;
  std::vector<std::string> nodes;                      // host: node names, in order
  std::vector<std::string> inputs, outputs;            // tensor names
  std::string reason;                                  // host: why, per report
};

struct Program {
  uint64_t hw_hash = 0;   // hash of the hardware configuration it was compiled for
  std::string hw_name;
  std::string hw_yaml;    // canonical YAML of that configuration, so the file is self-contained
  std::string model;      // name of the network
  std::vector<isa::Instruction> instructions;
  std::vector<uint32_t> layer_of;     // per instruction
  std::vector<std::string> notes;     // per instruction, may be empty: tile names
  std::vector<Layer> layers;
  std::vector<Segment> segments;
  std::vector<Constant> constants;
  std::vector<TensorInfo> tensors;    // every tensor that reaches DRAM
  std::vector<std::string> inputs, outputs;  // graph inputs/outputs (names)
  std::string host_graph;             // textual Graph IR, for host segments; may be empty
  uint64_t program_address = 0;       // DRAM address of the encoded instructions (multiple of 4096)
  uint64_t dram_bytes = 0;            // extent of the DRAM image
};

}  // namespace dlc
