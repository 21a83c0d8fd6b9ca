#include "compiler/backends/cpu/jit.h"

#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dlc::cpu {
namespace {

namespace fs = std::filesystem;

// FNV-1a: names files and symbols; equality is checked on the whole text.
uint64_t hash(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return h;
}

std::string hex(uint64_t v) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(v));
  return text;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void check(LLVMErrorRef error) {
  if (!error) return;
  char* message = LLVMGetErrorMessage(error);
  std::string text = std::string("LLVM ORC: ") + message;
  LLVMDisposeErrorMessage(message);
  throw std::logic_error(text);
}

}  // namespace

struct Jit::Linker {
  LLVMOrcLLJITRef jit = nullptr;
  Linker() {
    check(LLVMOrcCreateLLJIT(&jit, nullptr));
    // Functions of the mathematics library, memset and memcpy come from this process.
    LLVMOrcDefinitionGeneratorRef process = nullptr;
    check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, LLVMOrcLLJITGetGlobalPrefix(jit), nullptr, nullptr));
    LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit), process);
  }
  ~Linker() {
    if (LLVMErrorRef error = LLVMOrcDisposeLLJIT(jit)) LLVMConsumeError(error);
  }
  void add(const Entry& e) {
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(e.object.data(), e.object.size(), e.symbol.c_str());
    check(LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), buffer));
  }
  KernelFunction look_up(const std::string& symbol) {
    LLVMOrcExecutorAddress address = 0;
    check(LLVMOrcLLJITLookup(jit, &address, symbol.c_str()));
    return reinterpret_cast<KernelFunction>(address);
  }
};

Jit::Jit(Target target, std::string cache_folder) : target_(std::move(target)), folder_(std::move(cache_folder)) {}
Jit::~Jit() = default;

std::string Jit::default_cache_folder() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::string(xdg) + "/dlc";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/dlc";
  return "";
}

size_t Jit::add(const loop::Kernel& kernel) {
  std::string text = loop::print(kernel, false);
  const auto [it, fresh] = by_text_.try_emplace(text, entries_.size());
  if (fresh) entries_.push_back({kernel, text, "dlc_" + hex(hash(text)) + "_" + std::to_string(text.size()), "", nullptr});
  return it->second;
}

// The symbol is a part of the object, so it is a part of the key.
std::string Jit::key(const Entry& e) const {
  return emitter_version() + "\n" + target_.cpu + "\n" + target_.features + "\n" + std::to_string(target_.machine.lanes) + "\n" +
         e.symbol + "\n" + e.text;
}

bool Jit::read_cached(Entry& e) const {
  if (folder_.empty()) return false;
  const std::string k = key(e);
  std::ifstream in(folder_ + "/" + hex(hash(k)) + ".o", std::ios::binary);
  if (!in) return false;
  std::stringstream all;
  all << in.rdbuf();
  const std::string content = std::move(all).str();
  // "size of the object\nkey\0object"
  char* end = nullptr;
  const unsigned long long size = std::strtoull(content.c_str(), &end, 10);
  const auto header = static_cast<size_t>(end - content.c_str()) + 1;
  if (content.size() != header + k.size() + 1 + size || content.compare(header, k.size(), k) != 0) return false;
  e.object = content.substr(header + k.size() + 1);
  return true;
}

// A cache that cannot be written is no error. The file appears whole or not at all.
void Jit::write_cached(const Entry& e) const {
  if (folder_.empty()) return;
  static std::atomic<unsigned> serial{0};
  const std::string k = key(e), path = folder_ + "/" + hex(hash(k)) + ".o";
  const std::string temporary = path + "." + std::to_string(getpid()) + "." + std::to_string(serial++);
  std::ofstream out(temporary, std::ios::binary);
  out << e.object.size() << '\n' << k << '\0' << e.object;
  out.close();
  std::error_code code;
  if (out) fs::rename(temporary, path, code);
  if (!out || code) fs::remove(temporary, code);
}

void Jit::build(int jobs) {
  auto begin = std::chrono::steady_clock::now();
  statistics_.kernels = entries_.size();
  std::error_code code;
  if (!folder_.empty()) fs::create_directories(folder_, code);
  std::atomic<size_t> compiled{0};
  tbb::task_arena arena(std::clamp(jobs, 1, tbb::info::default_concurrency()));
  arena.execute([&] {
    tbb::parallel_for(size_t{0}, entries_.size(), [&](size_t i) {
      Entry& e = entries_[i];
      if (read_cached(e)) return;
      e.object = emit(e.kernel, e.symbol, target_).object;
      ++compiled;
      write_cached(e);
    });
  });
  statistics_.compiled = compiled;
  statistics_.from_cache = entries_.size() - compiled;
  statistics_.compile_seconds = seconds_since(begin);
  begin = std::chrono::steady_clock::now();
  initialize_llvm();
  linker_ = std::make_unique<Linker>();
  for (const Entry& e : entries_) linker_->add(e);
  for (Entry& e : entries_) {
    e.function = linker_->look_up(e.symbol);
    e.object.clear();
  }
  statistics_.link_seconds = seconds_since(begin);
}

KernelFunction Jit::function(size_t handle) const { return entries_.at(handle).function; }

}  // namespace dlc::cpu
