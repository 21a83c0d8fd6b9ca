// Random valid programs, the same for a seed on every platform, and their reduction to what still fails.
#pragma once
#include <cstdint>
#include <functional>

#include "isa/program.h"

namespace dlc {

struct RandomProgramOptions {
  int instructions = 70;       // before the final STOREs
  int64_t steps = 6000;        // bound on the work (beats, matrix and vector steps) before them
  int area_words = 160;        // ACT words that the program works on, in a few areas; other memories likewise
  int superfluous_waits = 10;  // per cent of instructions with more waits than needed
  int prefill = 60;  // per cent of the areas that are filled at the start, the others when first needed
};

// Random instructions with the waits that verify_program demands and mostly no more, so that engines overlap
// as far as a program may let them. Ends with STOREs of all that was written to ACT and ACC. The work area
// and these results are tensors of the program.
Program random_program(const HwConfig& hw, uint64_t seed, const RandomProgramOptions& options = {});

// Sizes and waits that vary with the seed: short and long, few and many dependencies.
RandomProgramOptions random_options(uint64_t seed);

// The configuration with another memory latency, bandwidth and outstanding limits: same RTL, other times.
HwConfig vary_memory(const HwConfig& hw, uint64_t seed);

// A smaller program that is still valid and for which `fails` still holds; the result of at most
// `most_runs` calls of it. Instructions are dropped (waits renumbered), counts reduced, fields cleared.
Program shrink(const Program& program, const HwConfig& hw, const std::function<bool(const Program&)>& fails,
               int most_runs = 2000);

}  // namespace dlc
