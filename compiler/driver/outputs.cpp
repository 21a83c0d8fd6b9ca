#include "compiler/driver/outputs.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "compiler/driver/file_io.h"
#include "compiler/driver/inputs.h"
#include "compiler/driver/npy.h"
#include "isa/error.h"
#include "simulator/trace/trace.h"

namespace dlc {
namespace {

void make_directory(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) throw UserError(ErrorKind::bad_input, path, "the folder cannot be made: " + code.message());
}

}  // namespace

std::unique_ptr<Device> make_device(const std::string& engine, const HwConfig& hw) {
  if (engine == "functional") return make_functional_device(hw);
  if (engine == "systemc") return make_systemc_device(hw);
  if (engine == "rtl") return make_rtl_device(hw);
  throw UserError(ErrorKind::bad_input, "--engine " + engine, "expected reference, functional, systemc or rtl");
}

void write_tensors(const Options& options, const TensorMap& outputs, const TensorMap& tensors, const Program& program) {
  if (!options.output_dir.empty()) {
    make_directory(options.output_dir);
    for (const auto& [name, t] : outputs) save_npy(options.output_dir + "/" + file_name_for(name) + ".npy", to_npy(t));
  }
  if (options.tensors_dir.empty()) return;
  make_directory(options.tensors_dir);
  nlohmann::ordered_json index;
  index["model"] = program.model;
  index["tensors"] = nlohmann::ordered_json::array();
  for (const auto& [name, t] : tensors) {
    if (!ir::is_8bit(t.type)) continue;
    const std::string file = file_name_for(name) + ".npy";
    save_npy(options.tensors_dir + "/" + file, to_npy(t));
    index["tensors"].push_back({{"name", name}, {"file", file}, {"dtype", std::string(ir::element_name(t.type))}, {"shape", t.shape}});
  }
  write_file(options.tensors_dir + "/index.json", index.dump(1) + "\n");
}

void write_traces(const Options& options, const Program& program, const RunResult& run) {
  if (!options.trace_text.empty()) write_trace_text(options.trace_text, program, run);
  if (!options.trace.empty()) write_trace_json(options.trace, program, run);
}

}  // namespace dlc
