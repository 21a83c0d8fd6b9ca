// An affine loop nest that yields one address per stream and iteration, innermost loop fastest.
#pragma once
#include <array>
#include <cstdint>

namespace dlc {

template <int kLoops, int kStreams>
class LoopNest {
 public:
  // Appends a loop inside the ones given so far.
  void add_loop(int64_t count, const std::array<int64_t, kStreams>& stride) {
    count_[loops_] = count;
    stride_[loops_] = stride;
    ++loops_;
  }
  // Back to the first iteration, whose addresses are `base`.
  void restart(const std::array<int64_t, kStreams>& base) {
    address_ = base;
    index_.fill(0);
  }
  // To the next iteration; false (and all indices zero again) after the last one.
  bool next() {
    for (int loop = loops_ - 1; loop >= 0; --loop) {
      if (++index_[loop] < count_[loop]) {
        for (int s = 0; s < kStreams; ++s) address_[s] += stride_[loop][s];
        return true;
      }
      index_[loop] = 0;
      for (int s = 0; s < kStreams; ++s) address_[s] -= stride_[loop][s] * (count_[loop] - 1);
    }
    return false;
  }
  int64_t address(int stream) const { return address_[stream]; }

 private:
  int loops_ = 0;
  std::array<int64_t, kLoops> count_{}, index_{};
  std::array<std::array<int64_t, kStreams>, kLoops> stride_{};
  std::array<int64_t, kStreams> address_{};
};

}  // namespace dlc
