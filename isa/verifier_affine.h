// Sets of addresses that affine loop nests touch, as sorted disjoint intervals.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace dlc::verifier {

struct Interval {
  int64_t low = 0, high = 0;  // [low, high)
  friend bool operator==(const Interval&, const Interval&) = default;
};
using IntervalList = std::vector<Interval>;  // ascending, disjoint, not adjacent

struct Loop {
  int64_t count = 1, stride = 0;
};

// Lowest address and one past the highest of { base + sum(i * stride) + 0..run-1 }.
Interval bounds(int64_t base, int64_t run, std::span<const Loop> loops);

// That set exactly, in time of the order of the smaller of its loop count and the distance it spans (which
// must be at most some 2^24). Overlaps are merged, so the result is never longer than the span.
IntervalList affine_set(int64_t base, int64_t run, std::span<const Loop> loops);

// As above for address spaces too large for a bitmap (DRAM): if more than `limit` intervals remain after
// merging loops, the answer is the one interval that covers them all.
IntervalList affine_set_or_hull(int64_t base, int64_t run, std::span<const Loop> loops, int64_t limit);

// Sorts and merges.
void normalise(IntervalList& list);
bool overlaps(const IntervalList& a, const IntervalList& b);
int64_t element_count(const IntervalList& list);

}  // namespace dlc::verifier
