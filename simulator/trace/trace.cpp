#include "simulator/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "isa/error.h"

namespace dlc {
namespace {

// A file that reports what goes wrong, with buffered formatted output.
class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (!file_) throw UserError(ErrorKind::bad_input, path, "cannot be opened for writing");
  }
  ~Writer() {
    if (file_) std::fclose(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::print(file_, format, std::forward<Args>(args)...);
  }

  void close() {
    const bool failed = std::ferror(file_) != 0;
    const bool close_failed = std::fclose(file_) != 0;
    file_ = nullptr;
    if (failed || close_failed) throw UserError(ErrorKind::bad_input, path_, "cannot be written: disk full?");
  }

 private:
  std::string path_;
  std::FILE* file_;
};

int engine_index(const Program& program, size_t i) {
  return static_cast<int>(isa::engine_of(program.instructions[i]));
}

const Layer* layer_of(const Program& program, size_t i) {
  if (i >= program.layer_of.size() || program.layer_of[i] >= program.layers.size()) return nullptr;
  return &program.layers[program.layer_of[i]];
}

std::string note_of(const Program& program, size_t i) {
  return i < program.notes.size() ? program.notes[i] : std::string();
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

void check_times(const Program& program, const RunResult& result) {
  if (result.times.size() != program.instructions.size()) {
    throw UserError(ErrorKind::bad_input, "trace",
                    "the engine that ran the program has no times: use systemc or rtl");
  }
}

// --- Chrome trace events ---

constexpr int kLayerTrack = isa::kEngineCount;

void write_tracks(Writer& out, const Program& program) {
  out.print("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  out.print("{{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
            json_string(program.model.empty() ? "program" : program.model));
  for (int e = 0; e <= isa::kEngineCount; ++e) {
    out.print(
        ",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":\"{}\"}}}}", e,
        e == kLayerTrack ? "layers" : kEngineNames[e]);
    out.print(
        ",\n{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}"
        "}}",
        e, e);
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

void write_instructions(Writer& out, const Program& program, const RunResult& result) {
  // Backwards, so that each instruction knows its engine's next start.
  std::vector<int64_t> slice_end(program.instructions.size());
  std::array<int64_t, isa::kEngineCount> next_start;
  next_start.fill(result.total_cycles);
  for (size_t i = program.instructions.size(); i-- > 0;) {
    int64_t& next = next_start[engine_index(program, i)];
    slice_end[i] = std::min(next, result.times[i].retire + 1);
    next = result.times[i].start;
  }
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Layer* layer = layer_of(program, i);
    const auto [start, retire] = result.times[i];
    std::string name = note_of(program, i);
    if (name.empty()) name = layer ? layer->name : isa::info_of(program.instructions[i]).name;
    out.print(
        ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":{},\"args\":{{",
        engine_index(program, i), start, slice_end[i] - start, json_string(name),
        json_string(layer ? layer->op : "instruction"));
    out.print("\"index\":{},\"start\":{},\"retire\":{}", i, start, retire);
    if (layer) {
      out.print(",\"layer\":{},\"onnx\":{}", json_string(layer->name),
                json_string(joined(layer->onnx_nodes)));
    }
    out.print(",\"instruction\":{}}}}}", json_string(isa::to_string(program.instructions[i])));
  }
}

// A layer owns the cycles in which it owns the oldest unretired instruction: its slices never overlap.
void write_layers(Writer& out, const Program& program, const RunResult& result) {
  int64_t begin = 0;
  const Layer* current = nullptr;
  const auto slice = [&](int64_t end) {
    if (current == nullptr || end <= begin) return;
    out.print(",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":{}}}",
              kLayerTrack, begin, end - begin, json_string(current->name), json_string(current->op));
  };
  int64_t reached = 0;  // everything before instruction i has retired in this cycle
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    if (const Layer* layer = layer_of(program, i); layer != current) {
      slice(reached);
      if (reached > begin || current == nullptr) begin = reached;
      current = layer;
    }
    reached = std::max(reached, result.times[i].retire + 1);
  }
  slice(reached);
}

template <class Transfer>
int64_t transfer_bytes(const Transfer& t) {
  return int64_t{t.row_bytes} * t.count[0] * t.count[1] * t.count[2];
}

void write_traffic(Writer& out, const Program& program, const RunResult& result) {
  for (const bool write : {false, true}) {
    std::map<int64_t, double> change;  // bytes per cycle, by cycle
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      int64_t bytes = 0;
      if (const auto* load = std::get_if<isa::Load>(&program.instructions[i]); load && !write) {
        bytes = transfer_bytes(*load);
      } else if (const auto* store = std::get_if<isa::Store>(&program.instructions[i]); store && write) {
        bytes = transfer_bytes(*store);
      }
      if (bytes == 0) continue;
      const auto [start, retire] = result.times[i];
      const double rate = static_cast<double>(bytes) / static_cast<double>(retire + 1 - start);
      change[start] += rate;
      change[retire + 1] -= rate;
    }
    double rate = 0;
    for (const auto& [cycle, delta] : change) {
      rate += delta;
      out.print(
          ",\n{{\"ph\":\"C\",\"pid\":1,\"ts\":{},\"name\":\"DRAM {}\",\"args\":{{\"bytes per "
          "cycle\":{:.2f}}}}}",
          cycle, write ? "write" : "read", std::max(0.0, rate));
    }
  }
}

}  // namespace

void write_trace_text(const std::string& path, const Program& program, const RunResult& result) {
  check_times(program, result);
  Writer out(path);
  out.print("# index engine start retire layer note instruction; total {} cycles\n", result.total_cycles);
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Layer* layer = layer_of(program, i);
    const std::string note = note_of(program, i);
    out.print("{:6} {:6} {:10} {:10} {} {} {}\n", i, kEngineNames[engine_index(program, i)],
              result.times[i].start, result.times[i].retire, layer ? layer->name : "-",
              note.empty() ? "-" : note, isa::to_string(program.instructions[i]));
  }
  out.close();
}

void write_trace_json(const std::string& path, const Program& program, const RunResult& result) {
  check_times(program, result);
  Writer out(path);
  write_tracks(out, program);
  write_instructions(out, program, result);
  write_layers(out, program, result);
  write_traffic(out, program, result);
  out.print("\n]}}\n");
  out.close();
}

}  // namespace dlc
