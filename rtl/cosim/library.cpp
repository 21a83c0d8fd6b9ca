#include "rtl/cosim/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "isa/error.h"
#include "isa/hash.h"
#include "isa/hwconfig_sv.h"
#include "rtl/cosim/rtl_sources.h"
#include "rtl/cosim/subprocess.h"

namespace dlc {
namespace {

namespace fs = std::filesystem;

// Random registers and memories at power-up come from +verilator+rand+reset at run time (initial_state).
const std::vector<std::string> kVerilatorOptions = {"--cc",        "-O3",      "--x-assign", "fast",
                                                    "--x-initial", "unique",   "--assert",   "--no-timing",
                                                    "-Wno-fatal",  "--prefix", "Vdlc",       "--top-module",
                                                    "dlc_top",     "--Mdir",   "model",
                                                    // Loops over the elements of a row become vector code.
                                                    "--unroll-count", "256"};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw UserError(ErrorKind::bad_input, path.string(), "cannot be read; it is needed to build the RTL");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush())
    throw UserError(ErrorKind::bad_input, path.string(), "cannot be written: is the disk full?");
}

fs::path cache_directory() {
  const auto set = [](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
  };
  if (const char* own = set("DLC_CACHE_DIR")) return own;
  if (const char* xdg = set("XDG_CACHE_HOME")) return fs::path(xdg) / "dlc";
  if (const char* home = set("HOME")) return fs::path(home) / ".cache" / "dlc";
  throw UserError(ErrorKind::bad_input, "", "no place for the RTL cache: set DLC_CACHE_DIR to a folder");
}

// The processor's abilities: a library compiled with -march=native must not be taken on another machine.
std::string cpu_flags() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) return line;
  }
  return "";
}

// What verilator and g++ say about themselves. Asked once a process: each question starts a program.
struct Tools {
  std::string verilator_root, versions, cpu;
  bool native = false;  // g++ knows -march=native here
};

Tools ask_tools() {
  if (!in_path("verilator") || !in_path("g++")) {
    throw UserError(ErrorKind::bad_input, "RTL", "verilator and g++ are needed (apt-get install verilator g++)");
  }
  Tools t;
  std::istringstream root(output_of({"verilator", "--getenv", "VERILATOR_ROOT"}));
  std::getline(root, t.verilator_root);
  t.versions = output_of({"verilator", "--version"}) + output_of({"g++", "--version"});
  t.cpu = cpu_flags();
  t.native = !output_of({"g++", "-march=native", "-E", "-dM", "-x", "c++", "/dev/null"}).empty();
  return t;
}

const Tools& tools() {
  static const Tools t = ask_tools();
  return t;
}

class Lock {
 public:
  explicit Lock(const fs::path& path) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ < 0 || flock(fd_, LOCK_EX) != 0) {
      if (fd_ >= 0) close(fd_);
      throw UserError(ErrorKind::bad_input, path.string(),
                      "cannot be locked: set DLC_CACHE_DIR to a writable folder");
    }
  }
  ~Lock() { close(fd_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

class Build {
 public:
  Build(const HwConfig& hw, bool waveform)
      : hw_(hw),
        waveform_(waveform),
        root_(fs::path(rtl_directory()).parent_path()),
        sources_(rtl_sources()) {
    flags_ = {"-std=c++20",
              "-fPIC",
              "-fvisibility=hidden",
              "-fno-gnu-unique",
              "-w",
              "-DVL_USER_STOP",
              "-DVL_USER_FATAL",
              fmt::format("-DDLC_RTL_BUS_BYTES={}", hw.bus_bytes)};
    if (tools().native) flags_.push_back("-march=native");
    if (waveform) flags_.push_back("-DDLC_RTL_WAVEFORM");
    if (coverage_) flags_.push_back("-DDLC_RTL_COVERAGE");
  }

  // The library's path; built if the cache has none.
  fs::path library() {
    const fs::path cache = cache_directory();
    const std::string name = fmt::format("rtl-{:016x}", key());
    const fs::path place = cache / name, file = place / "libdlc_rtl.so";
    if (fs::exists(file)) return file;
    std::error_code error;
    fs::create_directories(cache, error);
    const Lock lock(cache / (name + ".lock"));
    if (fs::exists(file)) return file;  // another process has built it meanwhile
    const fs::path work = cache / fmt::format("{}.build-{}", name, getpid());
    fs::remove_all(work, error);
    fs::create_directories(work);
    build(work);
    fs::create_directories(work / "done");
    fs::rename(work / "libdlc_rtl.so", work / "done" / "libdlc_rtl.so");
    fs::copy_file(work / "build.log", work / "done" / "build.log");
    fs::rename(work / "done", place);
    fs::remove_all(work, error);
    return file;
  }

 private:
  uint64_t key() const {
    std::string all =
        fmt::format("{:x} {} {}\n{}", hwconfig_structural_hash(hw_), waveform_, tools().cpu, tools().versions);
    for (const std::string& option : kVerilatorOptions) all += option + "\n";
    for (const std::string& flag : flags_) all += flag + "\n";
    all += isa_verilog_package();
    for (const std::string& source : sources_) all += read_file(source);
    for (const char* file :
         {"rtl/cosim/harness.cpp", "rtl/cosim/harness.h", "simulator/memory/memory_model.h", "isa/hwconfig.h",
          "isa/error.h", "rtl/cosim/library.cpp"}) {
      all += read_file(root_ / file);
    }
    return fnv1a(all);
  }

  void build(const fs::path& work) {
    write_file(work / "dlc_config_pkg.sv", hwconfig_verilog_package(hw_));
    write_file(work / "dlc_isa_pkg.sv", isa_verilog_package());
    Command verilator = {"verilator"};
    verilator.insert(verilator.end(), kVerilatorOptions.begin(), kVerilatorOptions.end());
    if (waveform_) verilator.insert(verilator.end(), {"--trace-fst", "--trace-structs"});
    if (coverage_) verilator.insert(verilator.end(), {"--coverage-line", "--coverage-user"});
    verilator.insert(verilator.end(), {"dlc_config_pkg.sv", "dlc_isa_pkg.sv"});
    verilator.insert(verilator.end(), sources_.begin(), sources_.end());
    run({verilator}, work, "verilator");
    std::vector<Command> compile;
    Command link = {"g++", "-shared", "-o", "libdlc_rtl.so"};
    for (const fs::path& source : sources_to_compile(work)) {
      compile.push_back(compile_command(source));
      link.push_back(source.stem().string() + ".o");
    }
    link.push_back("-pthread");
    if (waveform_) link.push_back("-lz");
    run(compile, work, "the C++ compiler");
    run({link}, work, "the linker");
  }

  // The largest first: they take longest.
  std::vector<fs::path> sources_to_compile(const fs::path& work) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(work / "model")) {
      if (entry.path().extension() == ".cpp") files.push_back(entry.path());
    }
    const fs::path include = fs::path(tools().verilator_root) / "include";
    for (const char* file : {"verilated.cpp", "verilated_threads.cpp"}) files.push_back(include / file);
    if (waveform_) files.push_back(include / "verilated_fst_c.cpp");
    if (coverage_) files.push_back(include / "verilated_cov.cpp");
    files.push_back(root_ / "rtl/cosim/harness.cpp");
    std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
      return std::pair(fs::file_size(b), a) < std::pair(fs::file_size(a), b);
    });
    return files;
  }

  // The model's files by relative path: ccache then knows them again in another build folder.
  Command compile_command(const fs::path& source) const {
    const bool of_model = source.parent_path().filename() == "model";
    const fs::path name = of_model ? fs::path("model") / source.filename() : source;
    Command command;
    if (in_path("ccache")) command.push_back("ccache");
    command.push_back("g++");
    command.insert(command.end(), flags_.begin(), flags_.end());
    // Slow files run once: initialisation.
    command.push_back(source.string().find("Slow") != std::string::npos ? "-O0" : "-O2");
    const std::string include = tools().verilator_root + "/include";
    command.insert(command.end(),
                   {"-Imodel", "-I" + root_.string(), "-I" + include, "-I" + include + "/vltstd", "-c",
                    name.string(), "-o", source.stem().string() + ".o"});
    return command;
  }

  void run(const std::vector<Command>& commands, const fs::path& work, const std::string& what) const {
    const std::string log = (work / "build.log").string();
    const int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    if (!run_commands(commands, work.string(), log, jobs)) {
      throw UserError(ErrorKind::bad_input, log,
                      what + " failed while building the RTL simulation; see this log");
    }
  }

  const HwConfig& hw_;
  bool waveform_;
  bool coverage_ = !coverage_folder().empty();
  fs::path root_;  // dlc's source tree: the harness includes isa/ and simulator/memory/
  std::vector<std::string> sources_;
  std::vector<std::string> flags_;
};

}  // namespace

std::string coverage_folder() {
  const char* folder = std::getenv("DLC_RTL_COVERAGE");
  return folder ? folder : "";
}

RtlLibrary::RtlLibrary(const HwConfig& hw, bool waveform) {
  path_ = Build(hw, waveform).library().string();
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_) run_ = reinterpret_cast<decltype(run_)>(dlsym(handle_, "dlc_rtl_run"));
  if (!run_) {
    const char* reason = dlerror();
    throw UserError(
        ErrorKind::bad_input, path_,
        fmt::format("cannot be loaded ({}); remove it, it will be built again", reason ? reason : "?"));
  }
}

RtlLibrary::~RtlLibrary() {
  if (handle_) dlclose(handle_);
}

}  // namespace dlc
