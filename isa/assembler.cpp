// Assembler text -> Program. The directives are those that the disassembler prints; any order, but an
// instruction's layer must be declared before it.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>

#include "isa/error.h"
#include "isa/near_name.h"
#include "isa/program_file.h"
#include "isa/text_line.h"

namespace dlc {
namespace {

template <class T>
struct IsArray : std::false_type {};
template <class T, size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

class Assembler {
 public:
  Assembler(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  Program run() {
    while (next_line()) {
      TextLine line = cursor();
      if (line.at_end()) continue;
      if (line.accept('.')) {
        directive(line);
      } else {
        instruction(line);
      }
    }
    if (segment_) close_segment();
    program_.layer_of.resize(program_.instructions.size());
    return std::move(program_);
  }

 private:
  bool next_line() {
    if (position_ >= text_.size()) return false;
    const size_t end = std::min(text_.find('\n', position_), text_.size());
    current_ = text_.substr(position_, end - position_);
    position_ = end + 1;
    ++line_number_;
    return true;
  }
  TextLine cursor() const { return TextLine(current_, file_, line_number_); }

  void directive(TextLine& line) {
    using Handler = void (Assembler::*)(TextLine&);
    static const std::map<std::string, Handler> kHandlers = {
        {"isa", &Assembler::isa_version},
        {"model", &Assembler::model},
        {"hw", &Assembler::hw},
        {"dram", &Assembler::dram},
        {"input", &Assembler::input},
        {"output", &Assembler::output},
        {"tensor", &Assembler::tensor},
        {"layer", &Assembler::layer},
        {"constant", &Assembler::constant},
        {"segment", &Assembler::segment},
        {"host_graph", &Assembler::graph},
        {"end", &Assembler::end},
    };
    const std::string name = line.word();
    const auto found = kHandlers.find(name);
    if (found == kHandlers.end()) {
      std::vector<std::string> known;
      for (const auto& entry : kHandlers) known.push_back(entry.first);
      line.fail_last(fmt::format("unknown directive '.{}';{} expected one of .{}", name,
                                 did_you_mean(name, known), fmt::join(known, ", .")));
    }
    (this->*found->second)(line);
    line.expect_end();
  }

  // Reads `key=value` options to the end of the line; f reads the value.
  template <class F>
  void options(TextLine& line, const std::vector<std::string>& known, F&& f) {
    std::vector<std::string> seen;
    while (!line.at_end()) {
      const std::string key = line.word();
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        line.fail_last(fmt::format("unknown key '{}';{} expected one of {}", key, did_you_mean(key, known),
                                   fmt::join(known, ", ")));
      }
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        line.fail_last(fmt::format("'{}' is given twice; expected it once", key));
      seen.push_back(key);
      line.expect('=');
      f(key);
    }
  }

  template <class T>
  T number(TextLine& line) {
    const int64_t value = line.integer();
    if (value < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
        value > static_cast<int64_t>(std::numeric_limits<T>::max())) {
      line.fail_last(fmt::format("{} is out of range, expected {}..{}", value, std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max()));
    }
    return static_cast<T>(value);
  }

  void isa_version(TextLine& line) {
    const int64_t version = line.integer();
    if (version != isa::kIsaVersion)
      line.fail_last(fmt::format("ISA version {}; this dlc knows version {}", version, isa::kIsaVersion));
  }
  void model(TextLine& line) { program_.model = line.quoted(); }
  void input(TextLine& line) { program_.inputs.push_back(line.quoted()); }
  void output(TextLine& line) { program_.outputs.push_back(line.quoted()); }

  // Lines up to '.end', up to `strip` blanks of indentation removed.
  std::string block(TextLine& line, const std::string& directive, int strip) {
    bool unterminated = false;
    if (!line.at_end()) {
      unterminated = line.word() == "unterminated";
      if (!unterminated) line.fail_last("expected nothing or 'unterminated'");
    }
    std::string text;
    while (next_line()) {
      if (current_.starts_with(".end")) {
        if (unterminated && !text.empty()) text.pop_back();
        return text;
      }
      std::string_view content = current_;
      for (int i = 0; i < strip && content.starts_with(' '); ++i) content.remove_prefix(1);
      text += content;
      text += '\n';
    }
    line.fail_last(fmt::format("the block .{} has no .end", directive));
  }

  void hw(TextLine& line) {
    const int first_line = line_number_;
    const std::string yaml = block(line, "hw", 0);
    // Blank lines in front make the YAML reader's line numbers those of this file (columns lose the
    // indentation).
    const HwConfig hw = parse_hwconfig(std::string(static_cast<size_t>(first_line), '\n') + yaml, file_);
    program_.hw_yaml = canonical_yaml(hw);
    program_.hw_name = hw.name;
    program_.hw_hash = hwconfig_hash(hw);
  }

  void graph(TextLine& line) { program_.host_graph = block(line, "host_graph", 2); }

  void dram(TextLine& line) {
    options(line, {"program", "bytes"}, [&](const std::string& key) {
      (key == "program" ? program_.program_address : program_.dram_bytes) = line.address();
    });
  }

  void tensor(TextLine& line) {
    TensorInfo t;
    t.name = line.quoted();
    t.element = line.word();
    t.shape = line.integer_list();
    const std::string layout = line.word();
    if (layout != "linear" && layout != "blocked")
      line.fail_last(fmt::format("expected linear or blocked, got '{}'", layout));
    t.layout = layout == "blocked" ? Layout::blocked : Layout::linear;
    options(line, {"address", "bytes", "scale", "zero_point"}, [&](const std::string& key) {
      if (key == "address") t.address = line.address();
      if (key == "bytes") t.bytes = line.address();
      if (key == "scale") t.scale = line.real();
      if (key == "zero_point") t.zero_point = number<int32_t>(line);
    });
    program_.tensors.push_back(std::move(t));
  }

  void layer(TextLine& line) {
    Layer l;
    l.name = line.quoted();
    options(line, {"op", "macs", "valid_macs", "nodes"}, [&](const std::string& key) {
      if (key == "op") l.op = line.quoted();
      if (key == "macs") l.macs = line.integer();
      if (key == "valid_macs") l.valid_macs = line.integer();
      if (key == "nodes") l.onnx_nodes = line.quoted_list();
    });
    program_.layers.push_back(std::move(l));
  }

  void constant(TextLine& line) {
    Constant c;
    c.name = line.quoted();
    options(line, {"address"}, [&](const std::string&) { c.address = line.address(); });
    while (true) {
      if (!next_line()) line.fail_last("the block .constant has no .end");
      TextLine hex = cursor();
      if (hex.at_end()) continue;
      if (current_.starts_with(".end")) break;
      while (!hex.at_end()) hex_bytes(hex, c.bytes);
    }
    program_.constants.push_back(std::move(c));
  }

  static void hex_bytes(TextLine& line, std::vector<uint8_t>& out) {
    const std::string digits = line.word();
    const auto value = [&](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      line.fail_last(fmt::format("expected hexadecimal digits (0-9, a-f), got '{}'", c));
    };
    if (digits.size() % 2 != 0) line.fail_last("expected two hexadecimal digits a byte, got an odd number");
    for (size_t i = 0; i < digits.size(); i += 2)
      out.push_back(static_cast<uint8_t>(value(digits[i]) * 16 + value(digits[i + 1])));
  }

  void segment(TextLine& line) {
    if (segment_) close_segment();
    Segment s;
    const std::string kind = line.word();
    if (kind != "accelerator" && kind != "host")
      line.fail_last(fmt::format("expected accelerator or host, got '{}'", kind));
    s.kind = kind == "host" ? Segment::Kind::host : Segment::Kind::accelerator;
    s.first_instruction = static_cast<uint32_t>(program_.instructions.size());
    bool counted = false;
    options(line, {"inputs", "outputs", "nodes", "reason", "first", "count"}, [&](const std::string& key) {
      if (key == "inputs") s.inputs = line.quoted_list();
      if (key == "outputs") s.outputs = line.quoted_list();
      if (key == "nodes") s.nodes = line.quoted_list();
      if (key == "reason") s.reason = line.quoted();
      if (key == "first") s.first_instruction = number<uint32_t>(line);
      if (key == "count") s.instruction_count = number<uint32_t>(line);
      counted |= key == "first" || key == "count";
    });
    if (s.kind == Segment::Kind::accelerator && !counted) segment_ = program_.segments.size();
    program_.segments.push_back(std::move(s));
  }

  void close_segment() {
    Segment& s = program_.segments[*segment_];
    s.instruction_count = static_cast<uint32_t>(program_.instructions.size()) - s.first_instruction;
    segment_.reset();
  }

  void end(TextLine& line) {
    if (!segment_) line.fail_last(".end without an open block or segment");
    close_segment();
  }

  void instruction(TextLine& line) {
    const std::string name = line.word();
    isa::Instruction result;
    if (!make(name, result, std::make_index_sequence<std::variant_size_v<isa::Instruction>>())) {
      std::vector<std::string> known;
      for (const isa::InstructionInfo& info : isa::kInstructions) known.push_back(info.name);
      line.fail_last(fmt::format("unknown instruction '{}';{} expected one of {}", name,
                                 did_you_mean(name, known), fmt::join(known, ", ")));
    }
    uint32_t layer = 0;
    std::string note;
    options(line, field_names(result), [&](const std::string& key) {
      if (key == "layer") {
        layer = number<uint32_t>(line);
        if (layer >= std::max<size_t>(program_.layers.size(), 1)) {
          line.fail_last(
              fmt::format("layer {} is not declared; expected below {}", layer, program_.layers.size()));
        }
      } else if (key == "note") {
        note = line.quoted();
      } else {
        std::visit([&](auto& i) { set_field(line, i, key); }, result);
      }
    });
    const std::string fault = isa::check_fields(result);
    if (!fault.empty()) line.fail_last(fmt::format("{}: {}", name, fault));
    program_.instructions.push_back(result);
    program_.layer_of.push_back(layer);
    program_.notes.push_back(std::move(note));
  }

  template <size_t... Index>
  static bool make(const std::string& name, isa::Instruction& out, std::index_sequence<Index...>) {
    return ((name == isa::kInstructions[Index].name && (out.emplace<Index>(), true)) || ...);
  }

  static std::vector<std::string> field_names(const isa::Instruction& instruction) {
    std::vector<std::string> names = {isa::kWaitField.name};
    for (const isa::FieldInfo& field : isa::info_of(instruction).fields) names.push_back(field.name);
    names.push_back("layer");
    names.push_back("note");
    return names;
  }

  template <class I>
  static void set_field(TextLine& line, I& instruction, const std::string& key) {
    isa::for_each_field(instruction, [&](const isa::FieldInfo& field, auto& member) {
      if (key != field.name) return;
      if constexpr (IsArray<std::remove_reference_t<decltype(member)>>::value) {
        line.mark();
        line.expect('[');
        for (size_t i = 0; i < member.size(); ++i) {
          if (i > 0 && !line.accept(','))
            line.fail_next(fmt::format("{}: expected {} values", field.name, member.size()));
          set_element(line, field, member[i]);
        }
        if (!line.accept(']'))
          line.fail_next(fmt::format("{}: expected {} values and ']'", field.name, member.size()));
      } else {
        set_element(line, field, member);
      }
    });
  }

  template <class T>
  static void set_element(TextLine& line, const isa::FieldInfo& field, T& element) {
    if (field.enumeration) {
      const std::string name = line.word();
      std::vector<std::string> known;
      for (const isa::EnumValueInfo& v : field.enumeration->values) {
        if (name == v.name) return void(element = static_cast<T>(v.value));
        known.push_back(v.name);
      }
      line.fail_last(fmt::format("{}: unknown value '{}';{} expected one of {}", field.name, name,
                                 did_you_mean(name, known), fmt::join(known, ", ")));
    }
    const int64_t value = line.integer();
    if (value < field.low() || value > field.high()) {
      line.fail_last(fmt::format("{}: {} is out of range, expected {}..{}", field.name, value, field.low(),
                                 field.high()));
    }
    element = static_cast<T>(value);
  }

  std::string_view text_, current_;
  std::string file_;
  size_t position_ = 0;
  int line_number_ = 0;
  std::optional<size_t> segment_;  // that instructions go to
  Program program_;
};

}  // namespace

Program assemble(std::string_view text, const std::string& file_name) {
  return Assembler(text, file_name).run();
}

}  // namespace dlc
