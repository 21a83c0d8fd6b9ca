// What commands write besides the terminal: outputs, tensors, traces.
#pragma once
#include <memory>
#include <string>

#include "compiler/driver/options.h"
#include "compiler/driver/session.h"

namespace dlc {

// "functional", "systemc" or "rtl".
std::unique_ptr<Device> make_device(const std::string& engine, const HwConfig& hw);

// --output-dir: the network's outputs; --dump-tensors: the DRAM tensors with index.json.
void write_tensors(const Options& options, const TensorMap& outputs, const TensorMap& tensors, const Program& program);

// --trace, --trace-text.
void write_traces(const Options& options, const Program& program, const RunResult& run);

}  // namespace dlc
