// What cosim says when the hardware is wrong, and the design that `dlc rtl` hands over.
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = DLC_SOURCE_DIR;

struct Result {
  int status = -1;
  std::string output;  // both streams
};

Result shell(const std::string& command) {
  Result r;
  FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) r.output.append(buffer.data(), n);
  const int status = pclose(pipe);
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return r;
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("dlc-rtl-report-" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

void replace_in(const fs::path& file, const std::string& from, const std::string& to) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::string s = text.str();
  const size_t at = s.find(from);
  REQUIRE(at != std::string::npos);
  s.replace(at, from.size(), to);
  std::ofstream(file) << s;
}

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != std::string::npos) return line;
  return "";
}

}  // namespace

TEST_CASE("cosim of faulty hardware names the first diverging instructions, its values and cycles, and writes a waveform") {
  Folder folder;
  fs::copy(kRoot / "rtl", folder.path / "rtl", fs::copy_options::recursive);
  for (const char* used : {"isa", "simulator"}) fs::create_symlink(kRoot / used, folder.path / used);
  // VECTOR rounds half up instead of half to even and then some; MATRIX retires a cycle late.
  replace_in(folder.path / "rtl/dlc_vector_lane.sv", "floor + 64'(", "floor + 64'd1 + 64'(");
  replace_in(folder.path / "rtl/dlc_matrix.sv", "dlc_pkg::MATRIX_PATH + dlc_config_pkg::MATRIX_DRAIN;",
             "dlc_pkg::MATRIX_PATH + dlc_config_pkg::MATRIX_DRAIN + 1;");
  const fs::path waveform = folder.path / "window.fst";
  const Result r = shell("DLC_RTL_DIR=" + (folder.path / "rtl").string() + " " + DLC_BINARY + " cosim -q --hw " +
                         (kRoot / "hwconfigs/tiny-4.yaml").string() + " --fst " + waveform.string() + " " +
                         (kRoot / "tests/models/cifar_resnet_int8.onnx").string());
  INFO(r.output);
  CHECK(r.status == 1);
  const std::string bytes = line_with(r.output, "mismatch: DRAM byte 0x");
  CHECK(bytes.find(" in systemc, ") != std::string::npos);
  CHECK(bytes.find(" in rtl; stored by instruction #") != std::string::npos);
  CHECK(bytes.find(" store of '") != std::string::npos);
  CHECK(bytes.find(": store ") != std::string::npos);  // its disassembly
  const std::string times = line_with(r.output, "mismatch: instruction #");
  CHECK(times.find(" matrix of 'stem.conv'") != std::string::npos);
  CHECK(times.find("retires in cycle ") != std::string::npos);
  CHECK(line_with(r.output, "waveform: ").find("window.fst, cycles ") != std::string::npos);
  REQUIRE(fs::exists(waveform));
  CHECK(fs::file_size(waveform) > 1000);
}

TEST_CASE("dlc rtl: the folder builds with Verilator alone, lint is clean, its test bench passes, and fails if it must") {
  Folder folder;
  const std::string design = (folder.path / "design").string();
  Result r = shell(std::string(DLC_BINARY) + " rtl --hw " + (kRoot / "hwconfigs/tiny-4.yaml").string() + " -o " + design);
  INFO(r.output);
  REQUIRE(r.status == 0);
  r = shell("make -C " + design + " lint");
  INFO(r.output);
  CHECK(r.status == 0);
  r = shell("make -C " + design + " CFLAGS=-O0");
  INFO(r.output);
  CHECK(r.status == 0);
  CHECK(r.output.find("PASS: ") != std::string::npos);

  // Another expectation in the last word of memory.
  const fs::path expected = fs::path(design) / "tb/expected.hex";
  std::ostringstream text;
  text << std::ifstream(expected).rdbuf();
  const std::string all = text.str();
  std::ofstream(expected) << all.substr(0, all.size() - 2) << (all[all.size() - 2] == '5' ? "6\n" : "5\n");
  r = shell("make -C " + design + " CFLAGS=-O0");
  INFO(r.output);
  CHECK(r.status != 0);
  CHECK(r.output.find("FAIL: 1 words of memory differ") != std::string::npos);
}
