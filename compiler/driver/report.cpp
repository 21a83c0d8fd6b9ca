#include "compiler/driver/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "isa/program_file.h"

namespace dlc {
namespace {

using nlohmann::ordered_json;

ordered_json layer_json(const LayerProfile& l) {
  return {{"name", l.name},
          {"op", l.op},
          {"onnx_nodes", l.onnx_nodes},
          {"target", l.target},
          {"cycles", l.cycles},
          {"first_cycle", l.first_cycle},
          {"last_cycle", l.last_cycle},
          {"macs", l.macs},
          {"valid_macs", l.valid_macs},
          {"utilization", l.utilization},
          {"matrix_steps", l.work.matrix_steps},
          {"vector_steps", l.work.vector_steps},
          {"dram_read_bytes", l.work.dram_read_bytes},
          {"dram_write_bytes", l.work.dram_write_bytes},
          {"bound", l.bound}};
}

ordered_json engines_json(const Profile& p) {
  ordered_json engines;
  for (size_t e = 0; e < kEngines; ++e)
    engines[kEngineNames[e]] = {{"busy_cycles", p.engines[e].busy},
                                {"wait_dependency_cycles", p.engines[e].wait_dependency},
                                {"wait_memory_cycles", p.engines[e].wait_memory},
                                {"idle_cycles", p.engines[e].idle}};
  return engines;
}

ordered_json checks_json(const Report& r) {
  ordered_json checks = ordered_json::array();
  for (const Check& c : r.checks) {
    checks.push_back({{"engine", c.engine},
                      {"against", c.against},
                      {"max_abs_error", c.max_abs_error},
                      {"mismatches", c.mismatches},
                      {"elements", c.elements}});
    if (c.max_float_error > 0) checks.back()["max_float_error"] = c.max_float_error;
  }
  return checks;
}

ordered_json nodes_json(const std::vector<HostNode>& nodes) {
  ordered_json list = ordered_json::array();
  for (const HostNode& h : nodes) list.push_back({{"node", h.node}, {"op", h.op}, {"reason", h.reason}, {"macs", h.macs}});
  return list;
}

void add_cpu(const Report& r, ordered_json* j) {
  for (const auto& [engine, seconds] : r.run_seconds) (*j)["run_seconds"][engine] = seconds;
  if (!r.cpu) return;
  (*j)["cpu"] = {{"kernels", r.cpu->kernels},
                 {"kernels_from_cache", r.cpu->from_cache},
                 {"jit_seconds", r.cpu->jit_seconds},
                 {"tensor_bytes", r.cpu->arena_bytes},
                 {"threads", r.cpu->threads},
                 {"reference_nodes", nodes_json(r.cpu->fallback)}};
}

}  // namespace

std::string host_report_json(const Report& r) {
  ordered_json j;
  j["model"] = r.model;
  add_cpu(r, &j);
  j["checks"] = checks_json(r);
  j["compile_seconds"] = r.compile_seconds;
  return j.dump(2) + "\n";
}

std::string report_json(const Report& r) {
  const Profile& p = r.profile;
  ordered_json j;
  j["model"] = r.model;
  j["hw"] = {{"name", r.hw.name},
             {"hash", fmt::format("{:016x}", hwconfig_hash(r.hw))},
             {"rows", r.hw.rows},
             {"cols", r.hw.cols},
             {"clock_mhz", r.hw.clock_mhz},
             {"bandwidth_bytes_per_cycle", static_cast<double>(r.hw.bandwidth_num) / static_cast<double>(r.hw.bandwidth_den)}};
  j["total_cycles"] = p.total_cycles;
  j["macs"] = p.macs;
  j["valid_macs"] = p.valid_macs;
  j["host_macs"] = r.host_macs;
  j["mac_utilization"] = p.mac_utilization;
  j["valid_mac_utilization"] = p.valid_mac_utilization;
  j["latency_ms"] = p.latency_ms;
  j["inferences_per_second"] = p.inferences_per_second;
  j["tops"] = p.tops;
  j["lower_bound_cycles"] = {{"matrix", p.lower_bound.matrix},
                             {"vector", p.lower_bound.vector},
                             {"preload", p.lower_bound.preload},
                             {"dram", p.lower_bound.dram},
                             {"bound", p.lower_bound.bound}};
  j["host_seconds"] = r.host_seconds;
  j["dram_read_bytes"] = p.dram_read_bytes;
  j["dram_write_bytes"] = p.dram_write_bytes;
  j["engines"] = engines_json(p);
  j["layers"] = ordered_json::array();
  for (const LayerProfile& l : p.layers) j["layers"].push_back(layer_json(l));
  j["fallback"] = nodes_json(r.fallback);
  j["checks"] = checks_json(r);
  add_cpu(r, &j);
  if (r.dataset_rows > 0) {
    j["dataset"] = {{"rows", r.dataset_rows}};
    if (r.has_labels) {
      j["dataset"]["correct"] = r.dataset_correct;
      j["dataset"]["accuracy"] = static_cast<double>(r.dataset_correct) / static_cast<double>(r.dataset_rows);
    }
  }
  j["compile_seconds"] = r.compile_seconds;
  j["simulate_seconds"] = r.simulate_seconds;
  return j.dump(2) + "\n";
}

}  // namespace dlc
