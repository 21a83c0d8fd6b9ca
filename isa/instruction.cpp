// Encode, decode, print and check instructions: one generic implementation over the generated table.
#include <fmt/format.h>

#include <type_traits>

#include "isa/error.h"
#include "isa/isa_generated.h"

namespace dlc::isa {
namespace {

constexpr int kUnitBits = kUnitBytes * 8;

uint64_t get_bits(std::span<const uint8_t> bytes, int at, int bits) {
  uint64_t value = 0;
  for (int done = 0; done < bits;) {
    const int bit = at + done, low = bit % 8, take = std::min(8 - low, bits - done);
    const uint64_t part = (bytes[static_cast<size_t>(bit / 8)] >> low) & ((1u << take) - 1);
    value |= part << done;
    done += take;
  }
  return value;
}

// The bits are zero before.
void put_bits(std::span<uint8_t> bytes, int at, int bits, uint64_t value) {
  for (int done = 0; done < bits;) {
    const int bit = at + done, low = bit % 8, take = std::min(8 - low, bits - done);
    const uint64_t part = (value >> done) & ((1u << take) - 1);
    bytes[static_cast<size_t>(bit / 8)] |= static_cast<uint8_t>(part << low);
    done += take;
  }
}

template <class T>
struct IsArray : std::false_type {};
template <class T, size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

// Calls f(index, element) for the elements of an array member, or once for a scalar.
template <class M, class F>
void for_each_element(M& member, F&& f) {
  if constexpr (IsArray<std::remove_const_t<M>>::value) {
    for (size_t i = 0; i < member.size(); ++i) f(static_cast<int>(i), member[i]);
  } else {
    f(0, member);
  }
}

const char* enum_name(const EnumInfo& info, uint64_t value) {
  for (const EnumValueInfo& v : info.values) {
    if (v.value == value) return v.name;
  }
  return nullptr;
}

template <class T>
bool fits(const FieldInfo& field, const T& element) {
  const auto value = static_cast<int64_t>(element);
  if (field.enumeration) return enum_name(*field.enumeration, static_cast<uint64_t>(value)) != nullptr;
  return value >= field.low() && value <= field.high();
}

// For an element that does not fit.
std::string misfit(const FieldInfo& field, int index, int64_t value) {
  const std::string name = field.count > 0 ? fmt::format("{}[{}]", field.name, index) : field.name;
  if (field.enumeration)
    return fmt::format("{} = {} is not a value of {}", name, value, field.enumeration->name);
  return fmt::format("{} = {} is out of range, expected {}..{}", name, value, field.low(), field.high());
}

template <class T>
std::string element_text(const FieldInfo& field, const T& element) {
  const auto value = static_cast<int64_t>(element);
  if (field.enumeration) {
    if (const char* name = enum_name(*field.enumeration, static_cast<uint64_t>(value))) return name;
  }
  return fmt::format("{}", value);
}

template <class I>
void read_fields(I& instruction, std::span<const uint8_t> bytes) {
  const int present = static_cast<int>(bytes.size()) * 8;
  for_each_field(instruction, [&](const FieldInfo& field, auto& member) {
    for_each_element(member, [&](int index, auto& element) {
      const int at = field.at + index * field.bits;
      uint64_t value = at + field.bits <= present ? get_bits(bytes, at, field.bits) : 0;
      if (field.is_signed && field.bits < 64 && ((value >> (field.bits - 1)) & 1))
        value |= ~uint64_t{0} << field.bits;
      element = static_cast<std::remove_reference_t<decltype(element)>>(value);
    });
  });
}

void write_fields(const Instruction& instruction, std::vector<uint8_t>& out) {
  const size_t start = out.size();
  const int length = units(instruction);
  out.resize(start + static_cast<size_t>(length * kUnitBytes));
  const std::span<uint8_t> bytes = std::span(out).subspan(start);
  put_bits(bytes, kOpcodeField.at, kOpcodeField.bits, static_cast<uint64_t>(info_of(instruction).opcode));
  put_bits(bytes, kLengthField.at, kLengthField.bits, static_cast<uint64_t>(length));
  std::visit(
      [&](const auto& i) {
        for_each_field(i, [&](const FieldInfo& field, const auto& member) {
          for_each_element(member, [&](int index, const auto& element) {
            const int at = field.at + index * field.bits;
            if (at + field.bits <= length * kUnitBits) {
              put_bits(bytes, at, field.bits, static_cast<uint64_t>(static_cast<int64_t>(element)));
            }
          });
        });
      },
      instruction);
}

template <size_t... Index>
Instruction make_instruction(size_t index, std::index_sequence<Index...>) {
  Instruction result;
  ((Index == index ? void(result.emplace<Index>()) : void()), ...);
  return result;
}

[[noreturn]] void fail_decode(size_t offset, const std::string& message) {
  throw UserError(ErrorKind::bad_input, fmt::format("instruction at byte {}", offset), message);
}

// Bits that decoding dropped are reserved ones: the encoding of what was read shows them.
void check_reserved(const Instruction& instruction, std::span<const uint8_t> bytes, size_t offset) {
  std::vector<uint8_t> canonical;
  write_fields(instruction, canonical);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const unsigned difference = bytes[i] ^ canonical[i];
    for (size_t bit = 0; bit < 8; ++bit) {
      if ((difference >> bit) & 1) {
        fail_decode(offset, fmt::format("{}: reserved bit {} is set, expected 0", info_of(instruction).name,
                                        i * 8 + bit));
      }
    }
  }
}

}  // namespace

Engine engine_of(const Instruction& instruction) { return info_of(instruction).engine; }

std::array<uint32_t, kEngineCount>& wait_of(Instruction& instruction) {
  return std::visit([](auto& i) -> std::array<uint32_t, kEngineCount>& { return i.wait; }, instruction);
}

const std::array<uint32_t, kEngineCount>& wait_of(const Instruction& instruction) {
  return std::visit([](const auto& i) -> const std::array<uint32_t, kEngineCount>& { return i.wait; },
                    instruction);
}

int units(const Instruction& instruction) {
  return std::visit([](const auto& i) { return units(i); }, instruction);
}

const InstructionInfo& info_of(const Instruction& instruction) { return kInstructions[instruction.index()]; }

void encode(const Instruction& instruction, std::vector<uint8_t>& out) {
  const std::string fault = check_fields(instruction);
  if (!fault.empty()) throw UserError(ErrorKind::bad_input, info_of(instruction).name, fault);
  write_fields(instruction, out);
}

Instruction decode(std::span<const uint8_t> bytes, size_t& offset) {
  if (offset > bytes.size() || bytes.size() - offset < static_cast<size_t>(kUnitBytes)) {
    fail_decode(offset, fmt::format("truncated, expected at least {} bytes", kUnitBytes));
  }
  const std::span<const uint8_t> rest = bytes.subspan(offset);
  const int opcode = static_cast<int>(get_bits(rest, kOpcodeField.at, kOpcodeField.bits));
  const int length = static_cast<int>(get_bits(rest, kLengthField.at, kLengthField.bits));
  size_t index = 0;
  while (index < std::size(kInstructions) && kInstructions[index].opcode != opcode) ++index;
  if (index == std::size(kInstructions)) fail_decode(offset, fmt::format("unknown opcode {}", opcode));
  const InstructionInfo& info = kInstructions[index];
  if (length != info.units && (info.section_units == 0 || length != info.section_units)) {
    fail_decode(offset, fmt::format("{}: length {}, expected {} units", info.name, length, info.units));
  }
  const size_t size = static_cast<size_t>(length * kUnitBytes);
  if (rest.size() < size)
    fail_decode(offset, fmt::format("{}: truncated, expected {} bytes", info.name, size));

  Instruction result = make_instruction(index, std::make_index_sequence<std::variant_size_v<Instruction>>());
  std::visit([&](auto& i) { read_fields(i, rest.first(size)); }, result);
  if (units(result) != length) {
    fail_decode(offset, fmt::format("{}: length {}, expected {} units", info.name, length, units(result)));
  }
  const std::string fault = check_fields(result);
  if (!fault.empty()) fail_decode(offset, fmt::format("{}: {}", info.name, fault));
  check_reserved(result, rest.first(size), offset);
  offset += size;
  return result;
}

std::string to_string(const Instruction& instruction) {
  std::string out = info_of(instruction).name;
  std::visit(
      [&](const auto& i) {
        for_each_field(i, [&](const FieldInfo& field, const auto& member) {
          bool differs = false;
          std::string text;
          for_each_element(member, [&](int index, const auto& element) {
            differs |= static_cast<int64_t>(element) != field.initial;
            if (index > 0) text += ',';
            text += element_text(field, element);
          });
          if (!differs) return;
          out += field.count > 0 ? fmt::format(" {}=[{}]", field.name, text)
                                 : fmt::format(" {}={}", field.name, text);
        });
      },
      instruction);
  return out;
}

std::string check_fields(const Instruction& instruction) {
  const bool has_section = units(instruction) == info_of(instruction).section_units;
  std::string fault;
  std::visit(
      [&](const auto& i) {
        for_each_field(i, [&](const FieldInfo& field, const auto& member) {
          for_each_element(member, [&](int index, const auto& element) {
            if (!fault.empty()) return;
            if (!fits(field, element)) {
              fault = misfit(field, index, static_cast<int64_t>(element));
            } else if (field.in_section && !has_section && static_cast<int64_t>(element) != 0) {
              fault = fmt::format("{} is set, but the instruction has no operand section for it", field.name);
            }
          });
        });
      },
      instruction);
  return fault;
}

}  // namespace dlc::isa
