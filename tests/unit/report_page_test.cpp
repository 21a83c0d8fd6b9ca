// dlc report: the page stands alone, shows what the report says, and layer names cannot break it.
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/driver/commands.h"
#include "compiler/driver/file_io.h"
#include "isa/error.h"

using namespace dlc;
namespace fs = std::filesystem;

namespace {

struct Folder {  // removed at the end
  fs::path path = fs::temp_directory_path() / ("dlc_report_test_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

nlohmann::json layer(const std::string& name, const std::string& bound, int cycles) {
  return {{"name", name}, {"op", "Conv"}, {"onnx_nodes", {name}}, {"target", "accelerator"}, {"cycles", cycles}, {"first_cycle", 0},
          {"last_cycle", cycles}, {"macs", 1000}, {"valid_macs", 900}, {"utilization", 0.5}, {"matrix_steps", 10}, {"vector_steps", 5},
          {"dram_read_bytes", 64}, {"dram_write_bytes", 0}, {"bound", bound}};
}

nlohmann::json sample() {
  const nlohmann::json engine = {{"busy_cycles", 20}, {"wait_dependency_cycles", 5}, {"wait_memory_cycles", 3}, {"idle_cycles", 2}};
  nlohmann::json r = {{"model", "m.onnx"}, {"hw", {{"name", "edge-8"}, {"hash", "0"}, {"rows", 8}, {"cols", 8}, {"bandwidth_bytes_per_cycle", 16}}},
      {"total_cycles", 30}, {"macs", 2000}, {"host_macs", 0}, {"mac_utilization", 0.5}, {"latency_ms", 1.5}, {"inferences_per_second", 600},
      {"lower_bound_cycles", {{"matrix", 20}, {"vector", 1}, {"preload", 1}, {"dram", 2}, {"bound", 20}}}, {"host_seconds", 0.001},
      {"dram_read_bytes", 128}, {"dram_write_bytes", 0}, {"fallback", nlohmann::json::array()}, {"compile_seconds", 0.1}, {"simulate_seconds", 0.2}};
  for (const char* e : {"load", "matrix", "vector", "store", "fetch"}) r["engines"][e] = engine;
  r["layers"] = {layer("</script><b>bold", "compute", 20), layer("conv2", "dram", 10)};
  r["checks"] = {{{"engine", "systemc"}, {"against", "reference"}, {"max_abs_error", 0}, {"mismatches", 0}, {"elements", 7}}};
  return r;
}

std::string page_of(const Folder& f, const nlohmann::json& report) {
  Options o;
  o.model = f.path / "r.json";
  o.output = f.path / "r.html";
  o.quiet = true;
  write_file(o.model, report.dump());
  command_report(o);
  return read_text_file(o.output);
}

}  // namespace

TEST_CASE("the report page loads nothing from elsewhere and keeps hostile names inside its data") {
  const Folder f;
  const std::string page = page_of(f, sample());
  for (const char* outside : {" src=", " href=", "@import", "url("}) CHECK(page.find(outside) == std::string::npos);
  CHECK(page.find("</script><b>bold") == std::string::npos);
  CHECK(page.find("\\u003c/script>\\u003cb>bold") != std::string::npos);
}

TEST_CASE("a file that is no report is refused by name") {
  const Folder f;
  CHECK_THROWS_WITH(page_of(f, nlohmann::json::array()), Catch::Contains("r.json") && Catch::Contains("is not a report"));
  nlohmann::json old = sample();
  old.erase("engines");
  CHECK_THROWS_WITH(page_of(f, old), Catch::Contains("no 'engines'"));
}

TEST_CASE("the report page draws itself in a browser without an error") {
  if (!fs::exists("/usr/bin/chromium")) {
    WARN("skipped: no /usr/bin/chromium");
    return;
  }
  const Folder f;
  page_of(f, sample());
  const std::string command = "timeout 60 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=2000 --user-data-dir=" +
                              (f.path / "profile").string() + " --dump-dom file://" + (f.path / "r.html").string() + " 2>/dev/null";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string dom;
  for (char buffer[4096]; const size_t n = std::fread(buffer, 1, sizeof buffer, pipe);) dom.append(buffer, n);
  ::pclose(pipe);
  CHECK(dom.find("data-ready=\"yes\"") != std::string::npos);  // the last line of the script was reached
  CHECK(dom.find("&lt;/script&gt;&lt;b&gt;bold") != std::string::npos);
  CHECK(dom.find("7 elements, 0 mismatches") != std::string::npos);
}
