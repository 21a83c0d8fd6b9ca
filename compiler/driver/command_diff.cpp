// dlc diff A.json B.json: two reports, layer by layer, for regressions and for papers.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/driver/commands.h"
#include "compiler/driver/load_report.h"

namespace dlc {
namespace {

using nlohmann::json;

double number(const json& j, const char* key) { return j.contains(key) && j[key].is_number() ? j[key].get<double>() : 0; }

std::string ratio(double a, double b) {
  if (a == 0) return b == 0 ? "=" : "new";
  if (a == b) return "=";
  return fmt::format("{:+.2f} %", 100 * (b - a) / a);
}

void print_row(const std::string& name, size_t width, double a, double b) {
  std::printf("%s\n", fmt::format("{:<{}} {:>16.10g} {:>16.10g} {:>10}", name, width, a, b, ratio(a, b)).c_str());
}

const json* find_layer(const json& report, const std::string& name) {
  for (const json& l : report["layers"])
    if (l.value("name", "") == name) return &l;
  return nullptr;
}

}  // namespace

int command_diff(const Options& options) {
  const json a = load_report(options.model), b = load_report(options.second);
  auto title = [](const json& j) {
    return j.value("model", "?") + " on " + (j.contains("hw") ? j["hw"].value("name", "?") : "?");
  };
  std::printf("A: %s (%s)\nB: %s (%s)\n\n", options.model.c_str(), title(a).c_str(), options.second.c_str(), title(b).c_str());
  size_t width = 22;
  for (const json* j : {&a, &b})
    for (const json& l : (*j)["layers"]) width = std::max(width, l.value("name", "").size());
  std::printf("%s\n", fmt::format("{:<{}} {:>16} {:>16} {:>10}", "", width, "A", "B", "change").c_str());
  for (const char* key : {"total_cycles", "macs", "mac_utilization", "latency_ms", "dram_read_bytes", "dram_write_bytes"})
    print_row(key, width, number(a, key), number(b, key));
  std::printf("\nlayer cycles\n");
  for (const json& l : a["layers"]) {
    const std::string name = l.value("name", "");
    const json* other = find_layer(b, name);
    if (other) print_row(name, width, number(l, "cycles"), number(*other, "cycles"));
    else std::printf("%s\n", fmt::format("{:<{}} {:>16.10g} {:>16} {:>10}", name, width, number(l, "cycles"), "-", "gone").c_str());
  }
  for (const json& l : b["layers"])
    if (!find_layer(a, l.value("name", "")))
      std::printf("%s\n", fmt::format("{:<{}} {:>16} {:>16.10g} {:>10}", l.value("name", ""), width, "-", number(l, "cycles"), "new").c_str());
  return 0;
}

}  // namespace dlc
