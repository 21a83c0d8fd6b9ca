// dlc report RESULT.json -o FILE.html: one self-contained page, readable without a network.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "compiler/driver/commands.h"
#include "compiler/driver/file_io.h"
#include "compiler/driver/load_report.h"
#include "isa/error.h"

namespace dlc {

extern const char* const kReportPage;   // page/report.html
extern const char* const kChartScript;  // Chart.js (MIT licence), as Debian packages it

namespace {

void replace(std::string& text, const std::string& mark, const std::string& by) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) throw std::logic_error("the report page has no " + mark);
  text.replace(at, mark.size(), by);
}

// JSON inside a <script>: no '<' may stand in it, whatever a layer is called.
std::string script_safe(const nlohmann::json& report) {
  std::string text;
  for (const char c : report.dump()) {
    if (c == '<') text += "\\u003c";
    else text += c;
  }
  return text;
}

// What the page reads; a report of an older version lacks some of it.
void require_keys(const nlohmann::json& report, const std::string& path) {
  for (const char* key : {"model", "hw", "lower_bound_cycles", "engines", "fallback", "checks", "latency_ms", "host_macs"})
    if (!report.contains(key))
      throw UserError(ErrorKind::bad_input, path, "the report has no '" + std::string(key) + "'; write it again with dlc run --report");
}

}  // namespace

int command_report(const Options& options) {
  const nlohmann::json report = load_report(options.model);
  require_keys(report, options.model);
  std::string page = kReportPage;
  replace(page, "/*DATA*/", script_safe(report));
  replace(page, "/*CHART*/", kChartScript);
  write_file(options.output, page);
  if (!options.quiet) std::printf("%s: open it in a browser\n", options.output.c_str());
  return 0;
}

}  // namespace dlc
