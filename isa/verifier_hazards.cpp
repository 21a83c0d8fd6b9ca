#include "isa/verifier_hazards.h"

#include <algorithm>
#include <span>

namespace dlc::verifier {
namespace {

constexpr int kEngines = isa::kEngineCount;

int index_of(isa::Engine engine) { return static_cast<int>(engine); }
int engine_of_port(int port) { return index_of(engine_of(static_cast<Port>(port))); }

// The latest of several hazards of one kind with one engine: waiting for it removes them all.
struct Latest {
  std::array<uint32_t, kEngines> number{};  // index + 1
  std::array<int64_t, kEngines> where{};

  void add(int engine, uint32_t n, int64_t unit) {
    if (n > number[static_cast<size_t>(engine)]) {
      number[static_cast<size_t>(engine)] = n;
      where[static_cast<size_t>(engine)] = unit;
    }
  }
  void report(Hazard::Kind kind, Memory memory, const Clock& clock, int exempt,
              std::vector<Hazard>& out) const {
    for (size_t e = 0; e < kEngines; ++e) {
      if (static_cast<int>(e) == exempt || number[e] <= clock[e]) continue;
      out.push_back({kind, memory, where[e], {{static_cast<isa::Engine>(e), number[e] - 1}}});
    }
  }
};

}  // namespace

// ---- RangeMap ----

void RangeMap::split(int64_t at) {
  auto it = parts_.upper_bound(at);
  if (it == parts_.begin()) return;
  --it;
  if (it->first == at || it->second.high <= at) return;
  const Part right = it->second;
  it->second.high = at;
  parts_.emplace(at, right);
}

void RangeMap::assign(const Interval& range, uint32_t value) {
  split(range.low);
  split(range.high);
  const auto first = parts_.lower_bound(range.low), last = parts_.lower_bound(range.high);
  parts_.erase(first, last);
  parts_.emplace(range.low, Part{range.high, value});
}

uint32_t RangeMap::maximum(const Interval& range, int64_t* where) const {
  auto it = parts_.upper_bound(range.low);
  if (it != parts_.begin() && std::prev(it)->second.high > range.low) --it;
  uint32_t result = 0;
  for (; it != parts_.end() && it->first < range.high; ++it) {
    if (it->second.value > result) {
      result = it->second.value;
      *where = std::max(it->first, range.low);
    }
  }
  return result;
}

// ---- HazardTracker ----

HazardTracker::HazardTracker(const HwConfig& hw) : hw_(hw) {
  for (const Memory m : {Memory::act, Memory::wgt, Memory::acc, Memory::par, Memory::lut}) {
    cells_[static_cast<size_t>(m)].resize(static_cast<size_t>(hw.words(m) * units_per_word(hw, m)));
  }
  banks_[0].resize(static_cast<size_t>(hw.activation.banks));
  banks_[1].resize(static_cast<size_t>(hw.accumulator.banks));
}

Clock HazardTracker::clock_of(isa::Engine engine, const std::array<uint32_t, kEngines>& wait) const {
  Clock clock{};
  const auto join = [&](const Clock& other) {
    for (size_t e = 0; e < kEngines; ++e) clock[e] = std::max(clock[e], other[e]);
  };
  const auto& own = clocks_[static_cast<size_t>(engine)];
  if (!own.empty()) join(own.back());
  for (size_t e = 0; e < kEngines; ++e) {
    if (wait[e] == 0) continue;
    join(clocks_[e][wait[e] - 1]);
    clock[e] = std::max(clock[e], wait[e]);
  }
  return clock;
}

std::vector<Hazard> HazardTracker::hazards(const InstructionAccess& access, const Clock& clock) const {
  std::vector<Hazard> out;
  for (const ScratchpadAccess& a : access.scratchpad) {
    if (!a.data) continue;
    if (a.reads) read_hazards(a, access.engine, clock, out);
    if (a.writes) write_hazards(a, access.engine, clock, out);
  }
  dram_hazards(access, clock, out);
  for (const PortUse& use : port_use(access)) bank_hazards(use, access.engine, clock, out);
  return out;
}

void HazardTracker::read_hazards(const ScratchpadAccess& a, isa::Engine engine, const Clock& clock,
                                 std::vector<Hazard>& out) const {
  const std::vector<Cell>& memory = cells(a.memory);
  Latest latest;
  bool complete = true;
  for (const Interval& range : a.units) {
    for (int64_t unit = range.low; unit < range.high; ++unit) {
      const uint32_t writer = memory[static_cast<size_t>(unit)].writer;
      if (writer == 0) {
        if (complete) out.push_back({Hazard::Kind::unwritten, a.memory, unit, {}});
        complete = false;
      } else {
        latest.add(static_cast<int>(writer % 4), writer / 4, unit);
      }
    }
  }
  // MATRIX forwards its own accumulators; VECTOR does not see its own results before they retire.
  const int exempt = engine == isa::Engine::matrix ? index_of(engine) : -1;
  latest.report(Hazard::Kind::read_after_write, a.memory, clock, exempt, out);
}

void HazardTracker::write_hazards(const ScratchpadAccess& a, isa::Engine engine, const Clock& clock,
                                  std::vector<Hazard>& out) const {
  const std::vector<Cell>& memory = cells(a.memory);
  Latest writers, readers;
  for (const Interval& range : a.units) {
    for (int64_t unit = range.low; unit < range.high; ++unit) {
      const Cell& cell = memory[static_cast<size_t>(unit)];
      if (cell.writer != 0) writers.add(static_cast<int>(cell.writer % 4), cell.writer / 4, unit);
      for (int e = 0; e < kEngines; ++e) readers.add(e, cell.reader[static_cast<size_t>(e)], unit);
    }
  }
  // Within an engine reads and writes happen in program order.
  writers.report(Hazard::Kind::write_after_write, a.memory, clock, index_of(engine), out);
  readers.report(Hazard::Kind::write_after_read, a.memory, clock, index_of(engine), out);
}

void HazardTracker::dram_hazards(const InstructionAccess& access, const Clock& clock,
                                 std::vector<Hazard>& out) const {
  const auto check = [&](const IntervalList& ranges, const RangeMap& map, isa::Engine engine,
                         Hazard::Kind kind) {
    uint32_t latest = 0;
    int64_t where = 0;
    for (const Interval& range : ranges) {
      int64_t at = 0;
      const uint32_t number = map.maximum(range, &at);
      if (number > latest) latest = number, where = at;
    }
    if (latest > clock[static_cast<size_t>(engine)])
      out.push_back({kind, Memory::act, where, {{engine, latest - 1}}});
  };
  check(access.dram_reads, stored_, isa::Engine::store, Hazard::Kind::dram_read_after_write);
  check(access.dram_writes, loaded_, isa::Engine::load, Hazard::Kind::dram_write_after_read);
}

std::array<HazardTracker::PortUse, 2> HazardTracker::port_use(const InstructionAccess& access) const {
  std::array<PortUse, 2> use;
  for (const Memory memory : {Memory::act, Memory::acc}) {
    PortUse& u = use[memory == Memory::acc];
    u.memory = memory;
    u.ports.assign(banks(memory).size(), 0);
    const int64_t bank_units = hw_.bank_words(memory) * units_per_word(hw_, memory);
    for (const ScratchpadAccess& a : access.scratchpad) {
      if (a.memory != memory) continue;
      for (const Interval& range : a.units) {
        for (int64_t b = range.low / bank_units; b <= (range.high - 1) / bank_units; ++b) {
          u.ports[static_cast<size_t>(b)] |= static_cast<uint8_t>(1u << static_cast<int>(a.port));
        }
      }
    }
  }
  return use;
}

// Two ports that may never be in use at a time in one bank.
bool HazardTracker::conflict(Memory memory, int port, int other) const {
  if (port == other) return false;
  const auto writes = [](int p) {
    return p == static_cast<int>(Port::load_write) || p == static_cast<int>(Port::vector_write);
  };
  if (memory == Memory::acc) {
    const int matrix = static_cast<int>(Port::matrix);
    return port == matrix || other == matrix || writes(port) == writes(other);
  }
  if (writes(port) || writes(other)) return writes(port) && writes(other);
  return hw_.activation.read_ports < 2;
}

bool HazardTracker::concurrent(EngineIndex x, EngineIndex y) const {
  if (x.engine == y.engine)
    return x.index == y.index;  // an engine's steps, and with them its reads, are in order
  const size_t ex = static_cast<size_t>(x.engine), ey = static_cast<size_t>(y.engine);
  if (order_[ex][x.index] > order_[ey][y.index]) return concurrent(y, x);
  return x.index >= clocks_[ey][y.index][ex];
}

void HazardTracker::bank_hazards(const PortUse& use, isa::Engine engine, const Clock& clock,
                                 std::vector<Hazard>& out) const {
  for (size_t b = 0; b < use.ports.size(); ++b) {
    if (use.ports[b] == 0) continue;
    const Bank& bank = banks(use.memory)[b];
    for (int port = 0; port < kPorts; ++port) {
      if ((use.ports[b] >> port & 1) == 0) continue;
      for (int other = 0; other < kPorts; ++other) {
        if (!conflict(use.memory, port, other)) continue;
        if (port < other && (use.ports[b] >> other & 1)) {
          out.push_back({Hazard::Kind::bank_ports, use.memory, static_cast<int64_t>(b), {}});
        }
        const std::vector<uint32_t>& users = bank.users[static_cast<size_t>(other)];
        const int e = engine_of_port(other);
        if (e == index_of(engine)) continue;
        if (!users.empty() && users.back() >= clock[static_cast<size_t>(e)]) {
          out.push_back({Hazard::Kind::bank_ports,
                         use.memory,
                         static_cast<int64_t>(b),
                         {{static_cast<isa::Engine>(e), users.back()}}});
        }
      }
    }
    if (use.memory == Memory::act && hw_.activation.read_ports >= 2)
      triple_hazards(use, b, engine, clock, out);
  }
}

// Two read ports: looks for three different ports that are in use at a time, one of them by the instruction.
void HazardTracker::triple_hazards(const PortUse& use, size_t bank, isa::Engine engine, const Clock& clock,
                                   std::vector<Hazard>& out) const {
  constexpr int kReaders = 4;  // Port::matrix .. Port::store
  const int own = use.ports[bank] & ((1 << kReaders) - 1);
  if (own == 0) return;
  const auto candidates = [&](int port) {
    const std::vector<uint32_t>& users = banks(Memory::act)[bank].users[static_cast<size_t>(port)];
    const uint32_t retired = clock[static_cast<size_t>(engine_of_port(port))];
    return std::span<const uint32_t>(std::lower_bound(users.begin(), users.end(), retired), users.end());
  };
  const auto report = [&](std::vector<EngineIndex> others) {
    out.push_back({Hazard::Kind::bank_ports, Memory::act, static_cast<int64_t>(bank), std::move(others)});
  };
  const bool two_own = (own & (own - 1)) != 0;
  for (int p = 0; p < kReaders; ++p) {
    if (own >> p & 1) continue;
    const isa::Engine ep = engine_of(static_cast<Port>(p));
    if (ep == engine) continue;
    const std::span<const uint32_t> first = candidates(p);
    if (first.empty()) continue;
    if (two_own) {
      report({{ep, first.back()}});
      continue;
    }
    for (int q = p + 1; q < kReaders; ++q) {
      if (own >> q & 1) continue;
      const isa::Engine eq = engine_of(static_cast<Port>(q));
      if (eq == engine) continue;
      const std::span<const uint32_t> second = candidates(q);
      // For a y, if any x is concurrent, then so is the last x before or the first x after it in the program.
      for (const uint32_t y : second) {
        const uint32_t at = order_[static_cast<size_t>(eq)][y];
        const auto after = std::partition_point(
            first.begin(), first.end(), [&](uint32_t x) { return order_[static_cast<size_t>(ep)][x] <= at; });
        const bool hit_before = after != first.begin() && concurrent({ep, *std::prev(after)}, {eq, y});
        const bool hit_after = !hit_before && after != first.end() && concurrent({ep, *after}, {eq, y});
        if (!hit_before && !hit_after) continue;
        report({{ep, hit_before ? *std::prev(after) : *after}, {eq, y}});
        break;
      }
    }
  }
}

void HazardTracker::commit(const InstructionAccess& access, const Clock& clock) {
  const size_t engine = static_cast<size_t>(access.engine);
  const uint32_t number = count(access.engine) + 1;
  const auto for_each_cell = [&](const ScratchpadAccess& a, auto&& f) {
    for (const Interval& range : a.units) {
      for (int64_t unit = range.low; unit < range.high; ++unit)
        f(cells_[static_cast<size_t>(a.memory)][static_cast<size_t>(unit)]);
    }
  };
  for (const ScratchpadAccess& a : access.scratchpad) {
    if (a.reads && !a.writes && a.data) for_each_cell(a, [&](Cell& cell) { cell.reader[engine] = number; });
  }
  for (const ScratchpadAccess& a : access.scratchpad) {
    if (a.writes)
      for_each_cell(a, [&](Cell& cell) { cell = {number * 4 + static_cast<uint32_t>(engine), {}}; });
  }
  for (const Interval& range : access.dram_writes) stored_.assign(range, number);
  for (const Interval& range : access.dram_reads) loaded_.assign(range, number);
  for (const PortUse& use : port_use(access)) {
    for (size_t b = 0; b < use.ports.size(); ++b) {
      for (int port = 0; port < kPorts; ++port) {
        if (use.ports[b] >> port & 1)
          banks_[use.memory == Memory::acc][b].users[static_cast<size_t>(port)].push_back(number - 1);
      }
    }
  }
  clocks_[engine].push_back(clock);
  order_[engine].push_back(position_++);
}

}  // namespace dlc::verifier
