// Comparing witnesses: tensors byte by byte, runs cycle by cycle.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/session.h"

namespace dlc {

struct Check {
  std::string engine, against;
  int64_t elements = 0, mismatches = 0, max_abs_error = 0;
  std::string first;  // the first difference: tensor, element, both values, the instruction that stored it
  bool passed() const { return mismatches == 0 && first.empty(); }
};

// Every tensor of `tensors` against the one of the same name in `expected` (8-bit or 32-bit integers; floats
// byte by byte). A tensor missing in `expected` is a mismatch.
Check compare_tensors(const Program& program, const std::string& engine, const TensorMap& tensors,
                      const std::string& against, const TensorMap& expected);

// Total cycles, every counter, every instruction's start and retire; "" if equal, else the first difference in
// program order with its disassembly.
std::string compare_times(const Program& program, const std::string& name_a, const RunResult& a,
                          const std::string& name_b, const RunResult& b);

// The earliest instruction, in program order, whose stored bytes differ between two DRAM images (a byte counts for the
// last STORE that writes it).
struct StoredDifference {
  size_t instruction = SIZE_MAX;  // SIZE_MAX: the byte is in no STORE's range
  uint64_t byte = 0;              // the first one, DRAM address
};
std::optional<StoredDifference> first_stored_difference(const Program& program, const HwConfig& hw,
                                                        const std::vector<uint8_t>& a, const std::vector<uint8_t>& b);

// The first instruction whose start or retire differs; none if all are equal.
std::optional<size_t> first_time_difference(const RunResult& a, const RunResult& b);

// "#12 matrix 'stage1.conv1' tile 3: matrix act_address=..."
std::string describe_instruction(const Program& program, size_t index);

}  // namespace dlc
