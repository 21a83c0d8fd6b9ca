// The .dlp program file (FlatBuffer, isa/program.fbs), the DRAM image, assembler and disassembler,
// the hardware configuration's file form and the verifier's entry points.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.h"

namespace dlc {

// --- hardware configuration (isa/hwconfig.cpp). Errors: UserError with file:line:column. ---
HwConfig load_hwconfig(const std::string& path);
HwConfig parse_hwconfig(std::string_view yaml, const std::string& file_name);
std::string canonical_yaml(const HwConfig& hw);  // parses back to an equal configuration
uint64_t hwconfig_hash(const HwConfig& hw);      // of everything but name and file

// --- program file (isa/program_file.cpp). Written to a temporary and renamed. ---
void save_program(const Program& program, const std::string& path);
Program load_program(const std::string& path);

// Encoded instructions, padded with zero bytes to a multiple of 256 (the largest fetch burst).
std::vector<uint8_t> encode_program(const Program& program);
// Number of 16-byte units, without padding.
uint64_t program_units(const Program& program);
// An accelerator segment as a program of its own: its instructions with their layers and notes, everything else
// as it is. Waits count from the segment's start; the host writes its code to program_address and starts it.
Program segment_program(const Program& program, size_t segment);
// dram_bytes of DRAM: constants and encoded program in place, everything else zero.
std::vector<uint8_t> dram_image(const Program& program);

// --- assembler (isa/assembler.cpp): disassemble(assemble(text)) is a fixed point. The text holds all of
// Program (directives for metadata, constants as hex), so that `dlc asm` of `dlc disasm` gives an equal file.
std::string disassemble(const Program& program);
Program assemble(std::string_view text, const std::string& file_name);

// --- verifier (isa/verifier.cpp). Empty result: valid. One message per fault, most important first, at
// most `limit`. Checks: field ranges, addresses inside the memories, alignment, reserved modes, waits
// (program-order rule, 24 bits), data hazards and bank ports by happens-before, write-before-read of
// every scratchpad word.
std::vector<std::string> verify_program(const Program& program, const HwConfig& hw, size_t limit = 10);
// The same for each accelerator segment of a whole network's program.
std::vector<std::string> verify_segments(const Program& program, const HwConfig& hw, size_t limit = 10);

}  // namespace dlc
