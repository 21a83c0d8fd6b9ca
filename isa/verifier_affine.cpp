#include "isa/verifier_affine.h"

#include <algorithm>

namespace dlc::verifier {
namespace {

// A loop nest without idle loops, all strides positive and ascending, loops merged where exact.
struct Canonical {
  int64_t base = 0, run = 1;
  std::vector<Loop> loops;
  int64_t count = 1;  // product of the loops' counts, saturated
};

constexpr int64_t kManyIntervals = int64_t{1} << 40;

Canonical canonical(int64_t base, int64_t run, std::span<const Loop> loops) {
  Canonical c{base, run, {}, 1};
  std::vector<Loop> sorted;
  for (const Loop& loop : loops) {
    if (loop.count <= 1 || loop.stride == 0) continue;
    if (loop.stride < 0) c.base += loop.stride * (loop.count - 1);
    sorted.push_back({loop.count, loop.stride < 0 ? -loop.stride : loop.stride});
  }
  std::sort(sorted.begin(), sorted.end(), [](const Loop& a, const Loop& b) { return a.stride < b.stride; });
  for (const Loop& loop : sorted) {
    if (loop.stride <= c.run) {  // the runs touch: one longer run
      c.run += loop.stride * (loop.count - 1);
      continue;
    }
    if (!c.loops.empty()) {
      // {i * s} + {j * k * s} = {i * s} for i < n + k * (m - 1), if k <= n: no gap between the copies.
      Loop& last = c.loops.back();
      const int64_t k = loop.stride / last.stride;
      if (loop.stride % last.stride == 0 && k <= last.count) {
        last.count += k * (loop.count - 1);
        continue;
      }
    }
    c.loops.push_back(loop);
  }
  for (const Loop& loop : c.loops) {
    c.count = loop.count > kManyIntervals / c.count ? kManyIntervals : c.count * loop.count;
  }
  return c;
}

void enumerate(const Canonical& c, IntervalList& out) {
  std::vector<int64_t> index(c.loops.size(), 0);
  int64_t address = c.base;
  out.reserve(static_cast<size_t>(c.count));
  while (true) {
    out.push_back({address, address + c.run});
    size_t loop = 0;
    for (; loop < c.loops.size(); ++loop) {
      if (++index[loop] < c.loops[loop].count) {
        address += c.loops[loop].stride;
        break;
      }
      index[loop] = 0;
      address -= c.loops[loop].stride * (c.loops[loop].count - 1);
    }
    if (loop == c.loops.size()) break;
  }
  normalise(out);
}

// words |= words << distance
void or_shifted(std::vector<uint64_t>& words, int64_t distance) {
  const size_t whole = static_cast<size_t>(distance / 64);
  const int part = static_cast<int>(distance % 64);
  for (size_t i = words.size(); i-- > whole;) {
    uint64_t value = words[i - whole] << part;
    if (part != 0 && i > whole) value |= words[i - whole - 1] >> (64 - part);
    words[i] |= value;
  }
}

// Union of `count` copies at multiples of `stride`, by doubling.
void or_copies(std::vector<uint64_t>& words, int64_t count, int64_t stride) {
  int64_t have = 1;
  while (have < count) {
    const int64_t step = std::min(have, count - have);
    or_shifted(words, step * stride);
    have += step;
  }
}

void by_bitmap(const Canonical& c, IntervalList& out) {
  int64_t span = c.run;
  for (const Loop& loop : c.loops) span += loop.stride * (loop.count - 1);
  std::vector<uint64_t> words(static_cast<size_t>(span / 64 + 1), 0);
  words[0] = 1;
  or_copies(words, c.run, 1);
  for (const Loop& loop : c.loops) or_copies(words, loop.count, loop.stride);
  for (int64_t i = 0; i < span; ++i) {
    if ((words[static_cast<size_t>(i / 64)] >> (i % 64) & 1) == 0) continue;
    const int64_t address = c.base + i;
    if (!out.empty() && out.back().high == address) {
      ++out.back().high;
    } else {
      out.push_back({address, address + 1});
    }
  }
}

}  // namespace

Interval bounds(int64_t base, int64_t run, std::span<const Loop> loops) {
  Interval result{base, base + run};
  for (const Loop& loop : loops) {
    const int64_t reach = loop.stride * (loop.count - 1);
    (reach < 0 ? result.low : result.high) += reach;
  }
  return result;
}

IntervalList affine_set(int64_t base, int64_t run, std::span<const Loop> loops) {
  const Canonical c = canonical(base, run, loops);
  const Interval hull = bounds(base, run, loops);
  IntervalList out;
  if (c.count <= std::max<int64_t>(4096, hull.high - hull.low)) {
    enumerate(c, out);
  } else {
    by_bitmap(c, out);
  }
  return out;
}

IntervalList affine_set_or_hull(int64_t base, int64_t run, std::span<const Loop> loops, int64_t limit) {
  const Canonical c = canonical(base, run, loops);
  if (c.count > limit) return {bounds(base, run, loops)};
  IntervalList out;
  enumerate(c, out);
  return out;
}

void normalise(IntervalList& list) {
  const auto by_low = [](const Interval& a, const Interval& b) { return a.low < b.low; };
  if (!std::is_sorted(list.begin(), list.end(), by_low)) std::sort(list.begin(), list.end(), by_low);
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (kept > 0 && list[i].low <= list[kept - 1].high) {
      list[kept - 1].high = std::max(list[kept - 1].high, list[i].high);
    } else {
      list[kept++] = list[i];
    }
  }
  list.resize(kept);
}

bool overlaps(const IntervalList& a, const IntervalList& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].high <= b[j].low) {
      ++i;
    } else if (b[j].high <= a[i].low) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

int64_t element_count(const IntervalList& list) {
  int64_t sum = 0;
  for (const Interval& interval : list) sum += interval.high - interval.low;
  return sum;
}

}  // namespace dlc::verifier
