// Program -> assembler text. Everything in Program has a line, so that assemble() gives it back.
#include <fmt/format.h>

#include <algorithm>

#include "isa/program_file.h"
#include "isa/text_line.h"

namespace dlc {
namespace {

constexpr size_t kHexBytesPerLine = 32;

class Printer {
 public:
  explicit Printer(const Program& program) : p_(program) {}

  std::string print() {
    out_ = "; dlc program. Directives start with '.', blocks end with '.end', ';' starts a comment.\n";
    out_ += fmt::format(".isa {}\n.model {}\n", isa::kIsaVersion, quote(p_.model));
    if (!p_.hw_yaml.empty()) block(".hw", p_.hw_yaml);
    out_ += fmt::format(".dram program={:#x} bytes={:#x}\n", p_.program_address, p_.dram_bytes);
    for (const std::string& name : p_.inputs) out_ += fmt::format(".input {}\n", quote(name));
    for (const std::string& name : p_.outputs) out_ += fmt::format(".output {}\n", quote(name));
    for (const TensorInfo& t : p_.tensors) tensor(t);
    for (size_t i = 0; i < p_.layers.size(); ++i) layer(i);
    for (const Constant& c : p_.constants) constant(c);
    if (!p_.host_graph.empty()) block(".host_graph", p_.host_graph);
    for (const Segment& s : p_.segments) segment(s);
    instructions_until(p_.instructions.size());
    return out_;
  }

 private:
  // Lines are indented by two, so none can look like '.end'. A missing newline at the end is marked.
  void block(const char* directive, const std::string& text) {
    const bool complete = text.ends_with('\n');
    out_ += fmt::format("{}{}\n", directive, complete ? "" : " unterminated");
    for (size_t start = 0; start < text.size();) {
      const size_t end = std::min(text.find('\n', start), text.size());
      out_ += fmt::format("  {}\n", text.substr(start, end - start));
      start = end + 1;
    }
    out_ += ".end\n";
  }

  void tensor(const TensorInfo& t) {
    out_ +=
        fmt::format(".tensor {} {} [{}] {} address={:#x} bytes={:#x} scale={} zero_point={}\n", quote(t.name),
                    t.element, fmt::join(t.shape, ","), t.layout == Layout::blocked ? "blocked" : "linear",
                    t.address, t.bytes, t.scale, t.zero_point);
  }

  void layer(size_t index) {
    const Layer& l = p_.layers[index];
    out_ += fmt::format(".layer {} op={} macs={} valid_macs={} nodes={}  ; layer {}\n", quote(l.name),
                        quote(l.op), l.macs, l.valid_macs, quote_list(l.onnx_nodes), index);
  }

  void constant(const Constant& c) {
    out_ += fmt::format(".constant {} address={:#x}\n", quote(c.name), c.address);
    for (size_t start = 0; start < c.bytes.size(); start += kHexBytesPerLine) {
      const size_t end = std::min(start + kHexBytesPerLine, c.bytes.size());
      out_ += "  ";
      for (size_t i = start; i < end; ++i) {
        constexpr const char* kDigits = "0123456789abcdef";
        out_ += kDigits[c.bytes[i] >> 4];
        out_ += kDigits[c.bytes[i] & 15];
      }
      out_ += '\n';
    }
    out_ += ".end\n";
  }

  // A segment's instructions follow it, up to '.end'.
  void segment(const Segment& s) {
    const uint64_t end = uint64_t{s.first_instruction} + s.instruction_count;
    const bool here =
        s.kind == Segment::Kind::accelerator && s.first_instruction >= next_ && end <= p_.instructions.size();
    if (here) instructions_until(s.first_instruction);
    out_ += fmt::format(".segment {} inputs={} outputs={}",
                        s.kind == Segment::Kind::host ? "host" : "accelerator", quote_list(s.inputs),
                        quote_list(s.outputs));
    if (!s.nodes.empty()) out_ += fmt::format(" nodes={}", quote_list(s.nodes));
    if (!s.reason.empty()) out_ += fmt::format(" reason={}", quote(s.reason));
    if (!here &&
        (s.first_instruction != next_ || s.instruction_count != 0 || s.kind == Segment::Kind::accelerator)) {
      out_ += fmt::format(" first={} count={}", s.first_instruction, s.instruction_count);
    }
    out_ += '\n';
    if (here) {
      instructions_until(end);
      out_ += ".end\n";
    }
  }

  void instructions_until(size_t end) {
    for (; next_ < end; ++next_) {
      out_ += isa::to_string(p_.instructions[next_]);
      if (!p_.layers.empty() && next_ < p_.layer_of.size())
        out_ += fmt::format(" layer={}", p_.layer_of[next_]);
      if (next_ < p_.notes.size() && !p_.notes[next_].empty())
        out_ += fmt::format(" note={}", quote(p_.notes[next_]));
      out_ += '\n';
    }
  }

  const Program& p_;
  std::string out_;
  size_t next_ = 0;  // instruction to print next
};

}  // namespace

std::string disassemble(const Program& program) { return Printer(program).print(); }

}  // namespace dlc
