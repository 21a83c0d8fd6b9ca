// The instruction table (isa/isa.yaml) in memory, checked, and the emitters that turn it into every
// language's view. A library so that the tests can prove what it refuses; `isa_gen` is its command line.
//
// Errors: dlc::UserError with file:line:column.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::isa_gen {

struct EnumValue {
  std::string name;
  uint32_t value = 0;
};

struct Enum {
  std::string name;
  std::vector<EnumValue> values;
  int bits = 1;  // of the fields that use it (the widest); at least what the values need
};

struct Field {
  std::string name, doc;
  std::string enumeration;  // empty: a number
  std::string section;      // empty: always present
  int at = 0;               // lowest bit
  int bits = 0;             // of one element
  int count = 0;            // elements of an array; 0: a scalar
  bool is_signed = false;

  int elements() const { return count == 0 ? 1 : count; }
  int end() const { return at + bits * elements(); }  // first bit behind the field
};

// Units behind the instruction's fixed part, present if the enum field `present_if` is not zero.
struct Section {
  std::string name, present_if;
  int units = 0;  // length of the whole instruction with this section
};

struct InstructionDef {
  std::string name, engine, doc;
  int opcode = 0;
  int units = 0;                  // without the section
  std::vector<Section> sections;  // none or one
  std::vector<Field> fields;

  int max_units() const { return sections.empty() ? units : sections.front().units; }
};

struct Table {
  int version = 0;
  int unit_bytes = 0;
  std::vector<std::string> engines;
  std::vector<Enum> enums;
  std::vector<Field> header;  // opcode, length, wait
  std::vector<InstructionDef> instructions;

  int unit_bits() const { return unit_bytes * 8; }
  int max_units() const;
  const Field& header_field(std::string_view name) const;
};

// Parses and checks: every key known, names unique, no overlap, fields inside their instruction (those of
// a section inside the section), enum values fit their bits, opcodes and lengths fit the header.
Table parse_table(std::string_view yaml, const std::string& file_name);

// Bit ranges [first, last] of an instruction that no field uses; they must be zero.
struct BitRange {
  int first = 0, last = 0;
};
std::vector<BitRange> reserved_bits(const Table& table, const InstructionDef& instruction);

std::string emit_cpp_header(const Table& table);  // isa/isa_generated.h
std::string emit_sv_package(const Table& table);  // dlc_isa_pkg.sv
std::string emit_markdown(const Table& table);    // isa/ISA.md

std::string camel_case(const std::string& snake);  // load_mode -> LoadMode
std::string upper_case(const std::string& snake);  // load_mode -> LOAD_MODE

}  // namespace dlc::isa_gen
