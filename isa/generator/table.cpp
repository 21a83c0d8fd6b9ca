// isa.yaml -> Table. Reading and checking are separate: read_* know the YAML, check_* the rules.
#include "isa/generator/table.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <set>

#include "isa/error.h"

namespace dlc::isa_gen {
namespace {

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  [[noreturn]] void fail(const YAML::Node& node, const std::string& message) const {
    const YAML::Mark mark = node.Mark();
    throw UserError(ErrorKind::bad_input,
                    mark.is_null() ? file_ : fmt::format("{}:{}:{}", file_, mark.line + 1, mark.column + 1),
                    message);
  }

  Table read(const YAML::Node& root) {
    check_keys(root, "the table", {"version", "unit_bytes", "engines", "enums", "header", "instructions"});
    Table table;
    table.version = integer(root, "version");
    table.unit_bytes = integer(root, "unit_bytes");
    if (table.unit_bytes < 4 || table.unit_bytes > 64) fail(root["unit_bytes"], "unit_bytes: expected 4..64");
    read_engines(required(root, "engines"), table);
    read_enums(required(root, "enums"), table);
    read_header(required(root, "header"), table);
    for (const YAML::Node& node : required(root, "instructions")) read_instruction(node, table);
    if (table.instructions.empty()) fail(root["instructions"], "expected at least one instruction");
    return table;
  }

 private:
  void check_keys(const YAML::Node& node, const std::string& what, const std::vector<std::string>& known) {
    if (!node.IsMap()) fail(node, fmt::format("{}: expected a mapping", what));
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.Scalar();
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        fail(entry.first,
             fmt::format("unknown key '{}' in {}; expected one of {}", key, what, fmt::join(known, ", ")));
      }
      if (!seen.insert(key).second) fail(entry.first, fmt::format("duplicate key '{}' in {}", key, what));
    }
  }

  YAML::Node required(const YAML::Node& node, const std::string& key) const {
    const YAML::Node value = node[key];
    if (!value) fail(node, fmt::format("missing key '{}'", key));
    return value;
  }

  int integer(const YAML::Node& node, const std::string& key) const {
    const YAML::Node value = required(node, key);
    try {
      return value.as<int>();
    } catch (const YAML::Exception&) {
      fail(value, fmt::format("{}: expected an integer", key));
    }
  }

  std::string identifier(const YAML::Node& node) const {
    const std::string name = node.IsScalar() ? node.Scalar() : "";
    const bool good = !name.empty() && std::islower(static_cast<unsigned char>(name[0])) &&
                      std::all_of(name.begin(), name.end(), [](unsigned char c) {
                        return std::islower(c) || std::isdigit(c) || c == '_';
                      });
    if (!good) fail(node, fmt::format("'{}': expected a name in snake_case", name));
    return name;
  }

  void read_engines(const YAML::Node& node, Table& table) {
    for (const YAML::Node& engine : node) {
      const std::string name = identifier(engine);
      if (std::count(table.engines.begin(), table.engines.end(), name)) {
        fail(engine, fmt::format("duplicate engine '{}'", name));
      }
      table.engines.push_back(name);
    }
  }

  void read_enums(const YAML::Node& node, Table& table) {
    for (const auto& entry : node) {
      Enum e;
      e.name = identifier(entry.first);
      for (const Enum& other : table.enums) {
        if (other.name == e.name) fail(entry.first, fmt::format("duplicate enum '{}'", e.name));
      }
      uint32_t largest = 0;
      for (const auto& pair : entry.second) {
        const EnumValue value{identifier(pair.first),
                              static_cast<uint32_t>(integer(entry.second, pair.first.Scalar()))};
        for (const EnumValue& other : e.values) {
          if (other.name == value.name) fail(pair.first, fmt::format("duplicate value '{}'", value.name));
          if (other.value == value.value)
            fail(pair.first, fmt::format("'{}' has the number of '{}'", value.name, other.name));
        }
        largest = std::max(largest, value.value);
        e.values.push_back(value);
      }
      if (e.values.empty()) fail(entry.first, fmt::format("enum '{}' has no values", e.name));
      e.bits = std::max(1, static_cast<int>(std::bit_width(largest)));
      table.enums.push_back(std::move(e));
    }
  }

  Field read_field(const YAML::Node& node, Table& table) {
    check_keys(node, "a field", {"name", "at", "bits", "count", "signed", "enum", "section", "doc"});
    Field field;
    field.name = identifier(required(node, "name"));
    field.at = integer(node, "at");
    field.bits = integer(node, "bits");
    if (node["count"]) field.count = integer(node, "count");
    if (node["signed"]) field.is_signed = node["signed"].as<bool>();
    if (node["enum"]) field.enumeration = identifier(node["enum"]);
    if (node["section"]) field.section = identifier(node["section"]);
    if (node["doc"]) field.doc = node["doc"].Scalar();
    if (field.at < 0) fail(node["at"], fmt::format("{}: a bit position is not negative", field.name));
    if (field.bits < 1 || field.bits > 62)
      fail(node["bits"], fmt::format("{}: expected 1..62 bits", field.name));
    if (node["count"] && field.count < 1)
      fail(node["count"], fmt::format("{}: expected count >= 1", field.name));
    if (!field.enumeration.empty()) check_enum(node, field, table);
    return field;
  }

  void check_enum(const YAML::Node& node, const Field& field, Table& table) {
    const auto e = std::find_if(table.enums.begin(), table.enums.end(),
                                [&](const Enum& candidate) { return candidate.name == field.enumeration; });
    if (e == table.enums.end())
      fail(node["enum"], fmt::format("{}: no enum '{}'", field.name, field.enumeration));
    if (field.is_signed) fail(node["signed"], fmt::format("{}: an enum field is not signed", field.name));
    for (const EnumValue& value : e->values) {
      if (std::bit_width(value.value) > static_cast<unsigned>(field.bits)) {
        fail(node["bits"], fmt::format("{}: value '{}' = {} of enum '{}' does not fit {} bits", field.name,
                                       value.name, value.value, e->name, field.bits));
      }
    }
    e->bits = std::max(e->bits, field.bits);
  }

  void read_header(const YAML::Node& node, Table& table) {
    for (const YAML::Node& item : node) {
      Field field = read_field(item, table);
      if (!field.section.empty()) fail(item["section"], "the header has no sections");
      if (field.end() > table.unit_bits()) fail(item, fmt::format("{}: beyond the first unit", field.name));
      check_against(item, field, table.header);
      table.header.push_back(std::move(field));
    }
    for (const char* name : {"opcode", "length", "wait"}) {
      if (std::none_of(table.header.begin(), table.header.end(),
                       [&](const Field& f) { return f.name == name; })) {
        fail(node, fmt::format("the header needs the field '{}'", name));
      }
    }
    if (table.header_field("wait").count != static_cast<int>(table.engines.size())) {
      fail(node, fmt::format("wait: expected one element an engine, {}", table.engines.size()));
    }
  }

  // Neither the name nor a bit of `field` may be taken already.
  void check_against(const YAML::Node& node, const Field& field, const std::vector<Field>& others) const {
    for (const Field& other : others) {
      if (other.name == field.name) fail(node, fmt::format("duplicate field '{}'", field.name));
      if (field.at < other.end() && other.at < field.end()) {
        fail(node, fmt::format("{} (bits {}..{}) overlaps {} (bits {}..{})", field.name, field.at,
                               field.end() - 1, other.name, other.at, other.end() - 1));
      }
    }
  }

  void read_instruction(const YAML::Node& node, Table& table) {
    check_keys(node, "an instruction", {"name", "opcode", "units", "engine", "sections", "doc", "fields"});
    InstructionDef def;
    def.name = identifier(required(node, "name"));
    def.opcode = integer(node, "opcode");
    def.units = integer(node, "units");
    def.engine = identifier(required(node, "engine"));
    if (node["doc"]) def.doc = node["doc"].Scalar();
    if (node["sections"]) read_sections(node["sections"], def);
    check_instruction(node, def, table);
    for (const YAML::Node& item : required(node, "fields")) {
      Field field = read_field(item, table);
      check_against(item, field, table.header);
      check_against(item, field, def.fields);
      check_inside(item, field, def, table);
      def.fields.push_back(std::move(field));
    }
    for (const Section& section : def.sections) {
      const bool found = std::any_of(def.fields.begin(), def.fields.end(), [&](const Field& f) {
        return f.name == section.present_if && !f.enumeration.empty() && f.section.empty() && f.count == 0;
      });
      if (!found)
        fail(node["sections"],
             fmt::format("section {}: present_if needs an enum field outside the section", section.name));
    }
    table.instructions.push_back(std::move(def));
  }

  void read_sections(const YAML::Node& node, InstructionDef& def) {
    for (const auto& entry : node) {
      check_keys(entry.second, "a section", {"units", "present_if"});
      def.sections.push_back({identifier(entry.first), identifier(required(entry.second, "present_if")),
                              integer(entry.second, "units")});
      if (def.sections.back().units <= def.units) {
        fail(entry.second, fmt::format("section {}: expected more than the {} units without it",
                                       def.sections.back().name, def.units));
      }
    }
    if (def.sections.size() > 1) fail(node, "at most one section an instruction");
  }

  void check_instruction(const YAML::Node& node, const InstructionDef& def, const Table& table) const {
    for (const InstructionDef& other : table.instructions) {
      if (other.name == def.name) fail(node["name"], fmt::format("duplicate instruction '{}'", def.name));
      if (other.opcode == def.opcode) {
        fail(node["opcode"],
             fmt::format("opcode {} of '{}' is that of '{}'", def.opcode, def.name, other.name));
      }
    }
    const int opcodes = 1 << table.header_field("opcode").bits;
    const int lengths = 1 << table.header_field("length").bits;
    if (def.opcode < 1 || def.opcode >= opcodes) {
      fail(node["opcode"], fmt::format("expected an opcode from 1 to {} (0 is padding)", opcodes - 1));
    }
    if (def.units < 1 || def.max_units() >= lengths) {
      fail(node["units"], fmt::format("expected 1 to {} units", lengths - 1));
    }
    if (!std::count(table.engines.begin(), table.engines.end(), def.engine)) {
      fail(node["engine"], fmt::format("unknown engine '{}'; expected one of {}", def.engine,
                                       fmt::join(table.engines, ", ")));
    }
  }

  void check_inside(const YAML::Node& node, const Field& field, const InstructionDef& def,
                    const Table& table) const {
    if (field.section.empty()) {
      const int end = def.units * table.unit_bits();
      if (field.end() > end) {
        fail(node, fmt::format("{} (bits {}..{}) lies beyond the {} units ({} bits) of {}", field.name,
                               field.at, field.end() - 1, def.units, end, def.name));
      }
      return;
    }
    if (def.sections.empty() || def.sections.front().name != field.section) {
      fail(node["section"], fmt::format("{}: {} has no section '{}'", field.name, def.name, field.section));
    }
    const int first = def.units * table.unit_bits(), end = def.max_units() * table.unit_bits();
    if (field.at < first || field.end() > end) {
      fail(node, fmt::format("{} (bits {}..{}) lies outside section {} (bits {}..{})", field.name, field.at,
                             field.end() - 1, field.section, first, end - 1));
    }
  }

  std::string file_;
};

}  // namespace

int Table::max_units() const {
  int units = 0;
  for (const InstructionDef& def : instructions) units = std::max(units, def.max_units());
  return units;
}

const Field& Table::header_field(std::string_view name) const {
  return *std::find_if(header.begin(), header.end(), [&](const Field& f) { return f.name == name; });
}

Table parse_table(std::string_view yaml, const std::string& file_name) {
  try {
    return Reader(file_name).read(YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& e) {
    throw UserError(ErrorKind::bad_input,
                    fmt::format("{}:{}:{}", file_name, e.mark.line + 1, e.mark.column + 1), e.msg);
  }
}

std::vector<BitRange> reserved_bits(const Table& table, const InstructionDef& instruction) {
  std::vector<bool> used(static_cast<size_t>(instruction.max_units() * table.unit_bits()));
  for (const std::vector<Field>* fields : {&table.header, &instruction.fields}) {
    for (const Field& field : *fields) std::fill(used.begin() + field.at, used.begin() + field.end(), true);
  }
  std::vector<BitRange> ranges;
  for (int bit = 0; bit < static_cast<int>(used.size()); ++bit) {
    if (used[static_cast<size_t>(bit)]) continue;
    if (!ranges.empty() && ranges.back().last == bit - 1) {
      ranges.back().last = bit;
    } else {
      ranges.push_back({bit, bit});
    }
  }
  return ranges;
}

std::string camel_case(const std::string& snake) {
  std::string out;
  bool start = true;
  for (const char c : snake) {
    if (c == '_') {
      start = true;
    } else {
      out += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      start = false;
    }
  }
  return out;
}

std::string upper_case(const std::string& snake) {
  std::string out = snake;
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace dlc::isa_gen
