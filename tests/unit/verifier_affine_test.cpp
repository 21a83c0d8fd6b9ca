// Affine address sets against plain enumeration.
#include "isa/verifier_affine.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

namespace dlc::verifier {
namespace {

IntervalList by_enumeration(int64_t base, int64_t run, const std::vector<Loop>& loops) {
  std::set<int64_t> starts{base};
  for (const Loop& loop : loops) {
    std::set<int64_t> next;
    for (const int64_t s : starts) {
      for (int64_t i = 0; i < loop.count; ++i) next.insert(s + i * loop.stride);
    }
    starts = std::move(next);
  }
  IntervalList list;
  for (const int64_t s : starts) list.push_back({s, s + run});
  normalise(list);
  return list;
}

TEST_CASE("affine sets hold exactly the addresses of the loop nest") {
  std::mt19937_64 random(7);
  const auto range = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int n = 0; n < 2000; ++n) {
    std::vector<Loop> loops;
    for (int64_t i = range(0, 5); i > 0; --i) loops.push_back({range(1, 9), range(-40, 40)});
    const int64_t run = range(1, 6);
    CAPTURE(n);
    REQUIRE(affine_set(100, run, loops) == by_enumeration(100, run, loops));
    const Interval hull = bounds(100, run, loops);
    REQUIRE(hull.low == by_enumeration(100, run, loops).front().low);
    REQUIRE(hull.high == by_enumeration(100, run, loops).back().high);
  }
}

TEST_CASE("affine sets of loop nests far longer than their span are still exact and fast") {
  const std::vector<Loop> loops{{65535, 3}, {65535, 5}, {65535, -7}, {1000, 1001}};
  const IntervalList set = affine_set(0, 1, loops);
  // All but a few addresses at the ends can be made of 3, 5, 7 and 1001.
  CHECK(set.size() < 20);
  CHECK(set.front().low == -7 * 65534);
  CHECK(set.back().high == 3 * 65534 + 5 * 65534 + 1001 * 999 + 1);
}

}  // namespace
}  // namespace dlc::verifier
