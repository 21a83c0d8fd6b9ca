// The command line after parsing: plain data, one struct for all commands (a command reads what it needs).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dlc {

struct Options {
  std::string hw;                      // --hw
  std::string model;                   // MODEL.onnx or PROGRAM.dlp or FILE.s
  std::string second;                  // the second file of dlc diff
  std::string output;                  // -o
  std::vector<std::string> inputs;     // --input [NAME=]FILE
  std::string output_dir;              // --output-dir
  std::string tensors_dir;             // --dump-tensors: every tensor that reaches DRAM, as .npy + index.json
  bool compare_graph = false;          // --compare-tensors without a folder
  std::string compare_folder;          // --compare-tensors DIR
  std::string dataset, labels;         // --dataset, --labels
  int64_t limit = 0;                   // --limit, 0: all
  std::vector<std::string> calibrate;  // --calibrate [NAME=]FILE: example inputs of a float network
  std::string calibration_method = "minmax";  // --calibration-method
  double calibration_percentile = 99.99;      // --calibration-percentile
  std::vector<std::string> dims;       // --dim NAME=VALUE
  std::vector<std::string> engines;    // --engine
  std::string report, trace, trace_text;
  std::string fst;                     // --fst FILE: waveform of the RTL around the first difference, or of --fst-window
  std::string fst_window;              // --fst-window FIRST:LAST, cycles
  std::string dump_ir;
  std::vector<std::string> skip_passes;
  std::string passes;                  // --passes LIST (comma separated); empty: the default pipeline
  int passes_bisect_limit = -1;
  double input_scale = 1;              // --input-scale, --input-zero: real = (value - zero) * scale
  int64_t input_zero = 0;
  bool no_fallback = false;
  std::string schedule, emit_schedule;  // --schedule FILE.yaml, --emit-schedule FILE.yaml
  bool no_packing = false;             // --no-packing: first layers with few channels stay as they are
  bool no_residency = false;           // --no-residency: every layer's output goes to DRAM
  uint64_t seed = 0;
  int jobs = 1;
  bool quiet = false;
  int verbose = 0;
};

}  // namespace dlc
