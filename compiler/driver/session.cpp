#include "compiler/driver/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "compiler/accel/layout.h"
#include "compiler/driver/partition.h"
#include "isa/error.h"
#include "isa/program_file.h"

namespace dlc {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

ir::Tensor read_tensor(const std::vector<uint8_t>& dram, const TensorInfo& info, int rows) {
  const auto type = ir::parse_element_type(info.element);
  if (!type) throw std::logic_error("program tensor '" + info.name + "' has unknown element type " + info.element);
  ir::Tensor t(*type, info.shape);
  t.name = info.name;
  if (info.address + info.bytes > dram.size()) throw std::logic_error("program tensor '" + info.name + "' lies outside the DRAM image");
  const std::span<const uint8_t> bytes(dram.data() + info.address, info.bytes);
  if (info.layout == Layout::blocked) t.bytes = accel::unpack_blocked(info.shape, bytes, rows);
  else std::memcpy(t.bytes.data(), bytes.data(), t.bytes.size());
  return t;
}

void write_tensor(std::vector<uint8_t>& dram, const TensorInfo& info, int rows, const ir::Tensor& t) {
  if (info.address + info.bytes > dram.size()) throw std::logic_error("program tensor '" + info.name + "' lies outside the DRAM image");
  const bool blocked = info.layout == Layout::blocked;
  const std::vector<uint8_t> packed = blocked ? accel::pack_blocked(info.shape, t.bytes, rows, 0) : t.bytes;
  if (packed.size() > info.bytes) throw std::logic_error("tensor '" + info.name + "' is larger than its place in DRAM");
  std::copy(packed.begin(), packed.end(), dram.begin() + static_cast<std::ptrdiff_t>(info.address));
}

Session::Session(const Program& program, const HwConfig& hw) : program_(program), rows_(hw.rows), image_(dram_image(program)) {
  ir::Graph host;
  if (!program.host_graph.empty()) host = ir::parse_graph(program.host_graph, "host graph of " + program.model);
  for (size_t i = 0; i < program.segments.size(); ++i) {
    const Segment& s = program.segments[i];
    if (s.kind == Segment::Kind::accelerator) {
      auto part = std::make_unique<MachinePart>();
      part->program = segment_program(program, i);
      part->code = encode_program(part->program);
      machine_parts_.push_back(std::move(part));
      host_parts_.push_back(nullptr);
      continue;
    }
    std::vector<ir::NodeId> nodes;
    for (const std::string& name : s.nodes) {
      const auto id = host.find_node(name);
      if (!id) throw UserError(ErrorKind::bad_input, program.model, "the program's host graph has no node '" + name + "'; compile it again");
      nodes.push_back(*id);
    }
    auto part = std::make_unique<HostPart>();
    part->graph = extract(host, nodes);
    part->evaluator = std::make_unique<reference::Evaluator>(part->graph);
    host_parts_.push_back(std::move(part));
    machine_parts_.push_back(nullptr);
  }
}

const TensorInfo& Session::tensor(const std::string& name) const {
  for (const TensorInfo& t : program_.tensors)
    if (t.name == name) return t;
  throw UserError(ErrorKind::bad_input, program_.model, "the program has no tensor '" + name + "'; compile it again");
}

std::vector<ir::Tensor> Session::input_signature() const {
  std::vector<ir::Tensor> signature;
  for (const std::string& name : program_.inputs) {
    ir::Tensor found;
    for (const auto& part : host_parts_) {
      if (!part) continue;
      for (ir::ValueId v : part->graph.inputs())
        if (part->graph.value(v).name == name) found = ir::Tensor(part->graph.value(v).type, part->graph.value(v).shape);
    }
    if (found.type == ir::ElementType::undefined) {
      const TensorInfo& info = tensor(name);
      found = ir::Tensor(ir::parse_element_type(info.element).value_or(ir::ElementType::uint8), info.shape);
    }
    found.name = name;
    signature.push_back(std::move(found));
  }
  return signature;
}

void Session::run_machine_part(const MachinePart& part, Device& device, const RunOptions& options, TensorMap& values,
                               Inference& result) const {
  const Segment& segment = part.program.segments[0];
  for (const std::string& name : segment.inputs) write_tensor(result.dram, tensor(name), rows_, values.at(name));
  std::copy(part.code.begin(), part.code.end(), result.dram.begin() + static_cast<std::ptrdiff_t>(program_.program_address));
  // The waveform's window counts the cycles of all machine parts.
  RunOptions of_part = options;
  of_part.waveform_first -= result.run.total_cycles;
  of_part.waveform_last -= result.run.total_cycles;
  if (of_part.waveform_last < 0) of_part.waveform.clear();
  RunResult run = device.run(part.program, result.dram, of_part);
  for (const std::string& name : segment.outputs) values[name] = read_tensor(result.dram, tensor(name), rows_);
  RunResult& sum = result.run;
  for (InstructionTimes& t : run.times) sum.times.push_back({t.start + sum.total_cycles, t.retire + sum.total_cycles});
  sum.total_cycles += run.total_cycles;
  for (size_t e = 0; e < kEngines; ++e) {
    sum.engines[e].busy += run.engines[e].busy;
    sum.engines[e].wait_dependency += run.engines[e].wait_dependency;
    sum.engines[e].wait_memory += run.engines[e].wait_memory;
    sum.engines[e].idle += run.engines[e].idle;
  }
  sum.dram_read_bytes += run.dram_read_bytes;
  sum.dram_write_bytes += run.dram_write_bytes;
  sum.seconds += run.seconds;
}

Inference Session::infer(Device& device, const TensorMap& inputs, const RunOptions& options) const {
  Inference result;
  TensorMap values = inputs;
  result.dram = image_;
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < program_.segments.size(); ++i) {
    if (machine_parts_[i]) {
      run_machine_part(*machine_parts_[i], device, options, values, result);
      continue;
    }
    TensorMap arguments;
    for (const std::string& name : program_.segments[i].inputs) arguments[name] = values.at(name);
    for (auto& [name, t] : host_parts_[i]->evaluator->evaluate(arguments)) values[name] = std::move(t);
  }
  for (const TensorInfo& info : program_.tensors) result.device_tensors[info.name] = read_tensor(result.dram, info, rows_);
  for (const std::string& name : program_.outputs) result.outputs[name] = values.at(name);
  result.host_seconds = seconds_since(begin) - result.run.seconds;
  return result;
}

}  // namespace dlc
