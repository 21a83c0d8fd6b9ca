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
  for (const Segment& s : program.segments) {
    if (s.kind == Segment::Kind::accelerator) {
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

Inference Session::infer(Device& device, const TensorMap& inputs, const RunOptions& options) const {
  Inference result;
  TensorMap values = inputs;
  result.dram = image_;
  const auto begin = std::chrono::steady_clock::now();
  double device_seconds = 0;
  for (size_t i = 0; i < program_.segments.size(); ++i) {
    const Segment& segment = program_.segments[i];
    if (host_parts_[i]) {
      TensorMap arguments;
      for (const std::string& name : segment.inputs) arguments[name] = values.at(name);
      for (auto& [name, t] : host_parts_[i]->evaluator->evaluate(arguments)) values[name] = std::move(t);
      continue;
    }
    for (const std::string& name : segment.inputs) write_tensor(result.dram, tensor(name), rows_, values.at(name));
    const auto device_begin = std::chrono::steady_clock::now();
    result.run = device.run(program_, result.dram, options);
    device_seconds += seconds_since(device_begin);
    for (const TensorInfo& info : program_.tensors) {
      ir::Tensor t = read_tensor(result.dram, info, rows_);
      if (std::find(segment.outputs.begin(), segment.outputs.end(), info.name) != segment.outputs.end()) values[info.name] = t;
      result.device_tensors[info.name] = std::move(t);
    }
  }
  for (const std::string& name : program_.outputs) result.outputs[name] = values.at(name);
  result.host_seconds = seconds_since(begin) - device_seconds;
  return result;
}

}  // namespace dlc
