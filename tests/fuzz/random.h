// Pseudo-random numbers that are the same on every platform (SplitMix64, Steele et al. 2014).
#pragma once
#include <cstdint>

namespace dlc {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // low..high, both included.
  int64_t range(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % (static_cast<uint64_t>(high - low) + 1));
  }
  bool chance(int percent) { return range(0, 99) < percent; }
  uint32_t flag() { return static_cast<uint32_t>(next() >> 63); }

 private:
  uint64_t state_;
};

}  // namespace dlc
