#include "compiler/accel/allocate.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace dlc::accel {
namespace {

struct Interval {
  int64_t begin, end;
};

bool lives_with(const Buffer& a, const Buffer& b) {
  return a.first_task <= b.last_task && b.first_task <= a.last_task;
}

// Free intervals of [0, words), given what is taken.
std::vector<Interval> gaps(std::vector<Interval> taken, int64_t words) {
  std::sort(taken.begin(), taken.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> free;
  int64_t at = 0;
  for (const Interval& t : taken) {
    if (t.begin > at) free.push_back({at, t.begin});
    at = std::max(at, t.end);
  }
  if (at < words) free.push_back({at, words});
  return free;
}

enum class Writer { none, load, vector };

class Placer {
 public:
  Placer(TileGraph& graph, const std::set<int>& compact) : g_(graph), hw_(graph.hw()), compact_(compact) {}

  std::optional<PlacementFailure> run() {
    find_partners();
    order_.resize(g_.buffers().size());
    std::iota(order_.begin(), order_.end(), 0);
    if (auto failure = place_pinned()) return failure;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int a, int b) { return buffer(a).first_task < buffer(b).first_task; });
    bank_writer_.assign(hw_.activation.banks, {Writer::none, 0});
    for (int b : order_) {
      if (buffer(b).pinned) {
        note_writer(b);
        continue;
      }
      if (auto failure = place(b)) return failure;
    }
    return std::nullopt;
  }

 private:
  Buffer& buffer(int b) { return g_.buffers()[b]; }

  // Both operands of one VECTOR instruction: with a single read port they may not share a bank.
  void find_partners() {
    partners_.resize(g_.buffers().size());
    if (hw_.activation.read_ports > 1) return;
    for (int t = 0; t < g_.task_count(); ++t) {
      const Refs& r = g_.task(t).refs;
      if (!std::holds_alternative<isa::Vector>(g_.task(t).instruction) || r.b < 0) continue;
      if (buffer(r.a).memory != Memory::act) continue;
      partners_[r.a].push_back(r.b);
      partners_[r.b].push_back(r.a);
    }
  }

  bool shares_bank_with_partner(int b, int64_t at) const {
    const int64_t bank = hw_.bank_words(Memory::act);
    for (int other : partners_[b]) {
      const Buffer& p = g_.buffers()[other];
      if (other == b) return true;
      if (p.address < 0) continue;
      const int64_t end = at + g_.buffers()[b].words - 1, other_end = p.address + p.words - 1;
      if (at / bank <= other_end / bank && p.address / bank <= end / bank) return true;
    }
    return false;
  }

  // First so that a tensor that LOAD writes shares no bank with one that VECTOR writes; if that wastes too
  // much space, without that wish.
  std::optional<PlacementFailure> place_pinned() {
    std::vector<int> pinned;
    for (int b : order_)
      if (buffer(b).pinned) pinned.push_back(b);
    std::stable_sort(pinned.begin(), pinned.end(),
                     [&](int a, int b) { return buffer(a).words > buffer(b).words; });
    const auto failure = place_pinned(pinned, true);
    return failure ? place_pinned(pinned, false) : failure;
  }

  std::optional<PlacementFailure> place_pinned(const std::vector<int>& pinned, bool keep_writers_apart) {
    pinned_.clear();
    for (int b : pinned) {
      Buffer& x = buffer(b);
      x.address = -1;
      std::vector<Interval> taken;
      for (int other : pinned_)
        if (lives_with(x, buffer(other)))
          taken.push_back({buffer(other).address, buffer(other).address + buffer(other).words});
      std::pair<int64_t, int64_t> best{INT64_MAX, INT64_MAX};
      for (const Interval& gap : gaps(taken, hw_.words(Memory::act)))
        for (int64_t at : candidates(x, gap, gap.begin))
          if (!shares_bank_with_partner(b, at))
            best = std::min(best, {keep_writers_apart ? writers_met(x, at) : 0, at});
      if (best.second == INT64_MAX) return PlacementFailure{b, 0};
      x.address = best.second;
      pinned_.push_back(b);
    }
    return std::nullopt;
  }

  // Resident tensors of another writer that would share a bank during their lives.
  int64_t writers_met(const Buffer& x, int64_t at) const {
    const int64_t bank = hw_.bank_words(Memory::act);
    int64_t met = 0;
    for (int other : pinned_) {
      const Buffer& o = g_.buffers()[other];
      met += lives_with(x, o) && writer_of(x) != writer_of(o) &&
             at / bank <= (o.address + o.words - 1) / bank && o.address / bank <= (at + x.words - 1) / bank;
    }
    return met;
  }

  std::optional<PlacementFailure> place(int b) {
    Buffer& x = buffer(b);
    const int m = static_cast<int>(x.memory);
    auto& live = live_[m];
    std::erase_if(live, [&](int other) { return buffer(other).last_task < x.first_task; });
    std::vector<Interval> taken;
    for (int other : live)
      taken.push_back({buffer(other).address, buffer(other).address + buffer(other).words});
    if (x.memory == Memory::act)
      for (int other : pinned_)
        if (lives_with(x, buffer(other)))
          taken.push_back({buffer(other).address, buffer(other).address + buffer(other).words});

    const bool compact = compact_.count(x.layer) > 0;
    const int64_t from = compact ? 0 : next_[m];
    const std::vector<Interval> free = gaps(taken, hw_.words(x.memory));
    int64_t best = -1;
    std::pair<int64_t, int64_t> best_cost{INT64_MAX, INT64_MAX};
    for (const Interval& gap : free)
      for (int64_t at : candidates(x, gap, from)) {
        if (shares_bank_with_partner(b, at)) continue;
        const int64_t distance = at >= from ? at - from : at - from + hw_.words(x.memory);
        const std::pair cost{compact ? 0 : bank_cost(x, at), distance};
        if (cost < best_cost) best_cost = cost, best = at;
      }
    if (best < 0) {
      int64_t sum = 0;
      for (const Interval& gap : free) sum += gap.end - gap.begin;
      return PlacementFailure{b, sum};
    }
    x.address = best;
    next_[m] = (best + x.words) % hw_.words(x.memory);
    live.push_back(b);
    note_writer(b);
    return std::nullopt;
  }

  // Addresses worth trying in a gap: its start, where the rotation stands, and the starts of banks.
  std::vector<int64_t> candidates(const Buffer& x, const Interval& gap, int64_t from) const {
    std::vector<int64_t> at;
    const int64_t last = gap.end - x.words, bank = hw_.bank_words(x.memory);
    auto add = [&](int64_t a) {
      if (a >= gap.begin && a <= last) at.push_back(a);
    };
    if (x.memory != Memory::acc) {
      add(gap.begin);
      add(from);
    }
    if (x.memory == Memory::acc || x.memory == Memory::act)
      for (int64_t a = (gap.begin + bank - 1) / bank * bank; a <= last; a += bank) add(a);
    return at;
  }

  Writer writer_of(const Buffer& x) const {
    return std::holds_alternative<isa::Load>(g_.task(x.first_task).instruction) ? Writer::load
                                                                                : Writer::vector;
  }

  // Banks that a strip with another writer used lately: the two writers would wait for each other.
  int64_t bank_cost(const Buffer& x, int64_t at) const {
    if (x.memory != Memory::act) return 0;
    constexpr int kLately = 12;
    const int64_t bank = hw_.bank_words(Memory::act);
    int64_t cost = 0;
    for (int64_t b = at / bank; b <= (at + x.words - 1) / bank; ++b) {
      const auto& [writer, when] = bank_writer_[b];
      cost += writer != Writer::none && writer != writer_of(x) && placed_ - when < kLately;
    }
    return cost;
  }

  void note_writer(int b) {
    const Buffer& x = buffer(b);
    if (x.memory != Memory::act) return;
    const int64_t bank = hw_.bank_words(Memory::act);
    ++placed_;
    for (int64_t i = x.address / bank; i <= (x.address + x.words - 1) / bank; ++i)
      bank_writer_[i] = {writer_of(x), placed_};
  }

  TileGraph& g_;
  const HwConfig& hw_;
  const std::set<int>& compact_;
  std::vector<int> order_, pinned_;
  std::vector<std::vector<int>> partners_;
  std::array<std::vector<int>, 5> live_;
  std::array<int64_t, 5> next_{};
  std::vector<std::pair<Writer, int64_t>>
      bank_writer_;  // per ACT bank: who writes the last buffer there, and when placed
  int64_t placed_ = 0;
};

}  // namespace

std::optional<PlacementFailure> place_buffers(TileGraph& graph, const std::set<int>& compact) {
  for (Buffer& b : graph.buffers()) b.address = -1;
  return Placer(graph, compact).run();
}

}  // namespace dlc::accel
