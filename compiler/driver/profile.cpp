#include "compiler/driver/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace dlc {
namespace {

template <class Array>
int64_t product(const Array& counts) {
  int64_t p = 1;
  for (auto c : counts) p *= c;
  return p;
}

// Bus bytes that the beats of a LOAD or STORE move.
template <class Transfer>
int64_t beat_bytes(const Transfer& t, const HwConfig& hw) {
  int64_t beats = 0;
  for (uint32_t i = 0; i < t.count[0]; ++i)
    for (uint32_t j = 0; j < t.count[1]; ++j)
      for (uint32_t k = 0; k < t.count[2]; ++k) {
        const int64_t a = static_cast<int64_t>(t.dram_address) + int64_t{t.dram_stride[0]} * i +
                          int64_t{t.dram_stride[1]} * j + int64_t{t.dram_stride[2]} * k;
        beats += (a + t.row_bytes + hw.bus_bytes - 1) / hw.bus_bytes - a / hw.bus_bytes;
      }
  return beats * hw.bus_bytes;
}

void add(Work& sum, const Work& w) {
  sum.matrix_steps += w.matrix_steps;
  sum.preload_cycles += w.preload_cycles;
  sum.vector_steps += w.vector_steps;
  sum.dram_read_bytes += w.dram_read_bytes;
  sum.dram_write_bytes += w.dram_write_bytes;
}

int64_t dram_cycles(int64_t bytes, const HwConfig& hw) {
  return (bytes * hw.bandwidth_den + hw.bandwidth_num - 1) / hw.bandwidth_num;
}

// The scarcest resource of the layer; latency when none is busy for most of its cycles.
std::string bound_of(const LayerProfile& layer, const HwConfig& hw) {
  const int64_t compute = layer.work.matrix_steps;
  const int64_t vector = layer.work.vector_steps;
  const int64_t dram = dram_cycles(layer.work.dram_read_bytes + layer.work.dram_write_bytes, hw);
  const int64_t most = std::max({compute, vector, dram});
  if (most * 10 < layer.cycles * 6) return "latency";
  if (most == compute) return "compute";
  return most == dram ? "dram" : "vector";
}

// Bytes that any schedule must move: constants in, network inputs in, network outputs out.
int64_t compulsory_bytes(const Program& program) {
  int64_t bytes = 0;
  for (const Constant& c : program.constants) bytes += static_cast<int64_t>(c.bytes.size());
  auto add_tensors = [&](const std::vector<std::string>& names) {
    for (const auto& t : program.tensors)
      if (std::find(names.begin(), names.end(), t.name) != names.end()) bytes += static_cast<int64_t>(t.bytes);
  };
  for (const Segment& s : program.segments)
    if (s.kind == Segment::Kind::accelerator) {
      add_tensors(s.inputs);
      add_tensors(s.outputs);
    }
  return bytes;
}

std::vector<LayerProfile> layer_profiles(const Program& program, const HwConfig& hw, const RunResult& run) {
  std::vector<LayerProfile> layers(program.layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& l = program.layers[i];
    layers[i].name = l.name;
    layers[i].op = l.op;
    layers[i].onnx_nodes = l.onnx_nodes;
    layers[i].macs = l.macs;
    layers[i].valid_macs = l.valid_macs;
    layers[i].first_cycle = run.total_cycles;
  }
  int64_t retired_to = 0;  // every instruction so far has retired by this cycle
  size_t last_owner = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const size_t index = program.layer_of[i];
    LayerProfile& layer = layers[index];
    add(layer.work, instruction_work(program.instructions[i], hw));
    layer.first_cycle = std::min(layer.first_cycle, run.times[i].start);
    layer.last_cycle = std::max(layer.last_cycle, run.times[i].retire);
    if (run.times[i].retire > retired_to) {
      layer.cycles += run.times[i].retire - retired_to;
      retired_to = run.times[i].retire;
      last_owner = index;
    }
  }
  if (!layers.empty()) layers[last_owner].cycles += run.total_cycles - retired_to;
  for (LayerProfile& layer : layers) {
    const double peak = static_cast<double>(layer.cycles) * hw.rows * hw.cols;
    layer.utilization = layer.cycles > 0 ? static_cast<double>(layer.macs) / peak : 0;
    layer.bound = bound_of(layer, hw);
  }
  return layers;
}

}  // namespace

Work instruction_work(const isa::Instruction& instruction, const HwConfig& hw) {
  Work w;
  if (const auto* m = std::get_if<isa::Matrix>(&instruction)) {
    const int64_t tiles = product(m->tile_count);
    w.matrix_steps = tiles * product(m->step_count);
    w.preload_cycles = hw.dataflow == Dataflow::weight_stationary ? tiles * hw.tile_words() : 0;
  } else if (const auto* v = std::get_if<isa::Vector>(&instruction)) {
    w.vector_steps = product(v->count);
  } else if (const auto* l = std::get_if<isa::Load>(&instruction)) {
    w.dram_read_bytes = beat_bytes(*l, hw);
  } else if (const auto* s = std::get_if<isa::Store>(&instruction)) {
    w.dram_write_bytes = beat_bytes(*s, hw);
  }
  return w;
}

Profile make_profile(const Program& program, const HwConfig& hw, const RunResult& run) {
  Profile p;
  p.total_cycles = run.total_cycles;
  p.engines = run.engines;
  p.dram_read_bytes = run.dram_read_bytes;
  p.dram_write_bytes = run.dram_write_bytes;
  p.layers = layer_profiles(program, hw, run);
  Work total;
  for (const LayerProfile& l : p.layers) {
    p.macs += l.macs;
    p.valid_macs += l.valid_macs;
    add(total, l.work);
  }
  const double peak = static_cast<double>(p.total_cycles) * hw.rows * hw.cols;
  const double seconds = static_cast<double>(p.total_cycles) / (hw.clock_mhz * 1e6);
  p.mac_utilization = static_cast<double>(p.macs) / peak;
  p.valid_mac_utilization = static_cast<double>(p.valid_macs) / peak;
  p.latency_ms = seconds * 1e3;
  p.inferences_per_second = 1 / seconds;
  p.tops = 2.0 * static_cast<double>(p.valid_macs) / seconds * 1e-12;
  p.lower_bound.matrix = total.matrix_steps;
  p.lower_bound.vector = total.vector_steps;
  p.lower_bound.preload = total.preload_cycles;
  p.lower_bound.dram = dram_cycles(compulsory_bytes(program), hw);
  p.lower_bound.bound = std::max({p.lower_bound.matrix, p.lower_bound.vector, p.lower_bound.preload, p.lower_bound.dram});
  return p;
}

std::string format_profile(const Profile& p, const HwConfig& hw) {
  size_t width = 5;
  for (const LayerProfile& l : p.layers) width = std::max(width, l.name.size());
  width = std::min<size_t>(width, 44);
  auto shorten = [&](const std::string& s) { return s.size() <= width ? s : "..." + s.substr(s.size() - width + 3); };
  std::string out = fmt::format("{:<{}}  {:<12} {:>11} {:>6} {:>11} {:>7}  {:<8} {:>10} {:>10}\n", "layer", width, "op",
                                "cycles", "share", "MACs", "util", "bound", "DRAM read", "DRAM write");
  for (const LayerProfile& l : p.layers)
    out += fmt::format("{:<{}}  {:<12} {:>11} {:>5.1f}% {:>11} {:>6.1f}%  {:<8} {:>10} {:>10}\n", shorten(l.name), width,
                       l.op, l.cycles, 100.0 * static_cast<double>(l.cycles) / static_cast<double>(p.total_cycles), l.macs,
                       100 * l.utilization, l.bound, l.work.dram_read_bytes, l.work.dram_write_bytes);
  out += fmt::format("{:<{}}  {:<12} {:>11} {:>5.1f}% {:>11} {:>6.1f}%  {:<8} {:>10} {:>10}\n\n", "total", width, "",
                     p.total_cycles, 100.0, p.macs, 100 * p.mac_utilization, "", p.dram_read_bytes, p.dram_write_bytes);
  out += fmt::format("{:<8} {:>12} {:>16} {:>12} {:>12}  (cycles)\n", "engine", "busy", "wait dependency", "wait memory", "idle");
  for (int e = 0; e < kEngines; ++e) {
    const EngineCounters& c = p.engines[static_cast<size_t>(e)];
    out += fmt::format("{:<8} {:>12} {:>16} {:>12} {:>12}\n", kEngineNames[e], c.busy, c.wait_dependency, c.wait_memory, c.idle);
  }
  const LowerBound& b = p.lower_bound;
  out += fmt::format(
      "\n{} cycles at {:g} MHz = {:.3f} ms, {:.0f} inferences/s, {:.4f} TOPS; MAC utilisation {:.1f} % ({:.1f} % without padded taps)\n"
      "lower bounds: matrix {}, vector {}, weight preload {}, DRAM {} (compulsory bytes); the run is {:.2f} x the largest\n"
      "DRAM traffic includes instruction fetch in the total line.\n",
      p.total_cycles, hw.clock_mhz, p.latency_ms, p.inferences_per_second, p.tops, 100 * p.mac_utilization,
      100 * p.valid_mac_utilization, b.matrix, b.vector, b.preload, b.dram,
      static_cast<double>(p.total_cycles) / static_cast<double>(std::max<int64_t>(1, b.bound)));
  return out;
}

}  // namespace dlc
