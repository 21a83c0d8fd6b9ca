// Random instructions within given areas of the scratchpads and of DRAM. They are in range and aligned;
// whether they read written words only, and what they must wait for, the caller finds out.
#pragma once
#include <array>
#include <vector>

#include "isa/isa_generated.h"
#include "isa/verifier_affine.h"
#include "tests/fuzz/random.h"

namespace dlc {

// Where a random program works.
struct RandomAreas {
  std::array<std::vector<verifier::Interval>, 5> words;  // by memory
  verifier::Interval constants, parameters;              // DRAM bytes that are only read; parameters suit PAR
  verifier::Interval work;                               // DRAM bytes that are stored and loaded
};

class RandomInstructions {
 public:
  RandomInstructions(const HwConfig& hw, const RandomAreas& areas, Random& random)
      : hw_(hw), areas_(areas), random_(random) {}

  isa::Instruction draw(isa::Engine engine);
  // Fills one area with one LOAD.
  isa::Load fill(Memory memory, const verifier::Interval& area);

 private:
  isa::Load load();
  isa::Store store();
  isa::Matrix matrix();
  isa::Vector vector();
  template <class Transfer>
  void draw_transfer(Transfer& t, const verifier::Interval& dram);
  void draw_operands(isa::Vector& v);
  void draw_arithmetic(isa::Vector& v);

  const verifier::Interval& area(Memory memory);
  int64_t steps();  // a loop length: often short, seldom long
  template <size_t N>
  void draw_counts(std::array<uint32_t, N>& count, int64_t product);
  template <size_t N>
  int64_t place(const verifier::Interval& area, int64_t run, const std::array<uint32_t, N>& count,
                std::array<int32_t, N>& stride, int64_t most = int64_t{1} << 19);

  const HwConfig& hw_;
  const RandomAreas& areas_;
  Random& random_;
};

}  // namespace dlc
