#include "compiler/accel/schedule.h"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>

#include "compiler/accel/dependencies.h"
#include "isa/timing.h"

namespace dlc::accel {
namespace {

// Cycles between an engine's start and its first request at the memory, and back: queue and channel
// registers.
constexpr int64_t kRequestPath = 4;

template <typename Array>
int64_t product(const Array& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{1}, std::multiplies<>());
}

class Machine {
 public:
  explicit Machine(const HwConfig& hw) : hw_(hw) {}

  int64_t front_free(isa::Engine e) const {
    const auto& inflight = inflight_[static_cast<int>(e)];
    const size_t limit = e == isa::Engine::load    ? timing::kLoadInflight
                         : e == isa::Engine::store ? timing::kStoreInflight
                                                   : SIZE_MAX;
    const int64_t front = front_free_[static_cast<int>(e)];
    return inflight.size() < limit ? front : std::max(front, inflight[inflight.size() - limit] + 1);
  }

  // Starts the instruction in this cycle; its retire cycle.
  int64_t start(const isa::Instruction& instruction, int64_t cycle) {
    memory_free_ += memory_cycles(isa::units(instruction) * isa::kUnitBytes);  // FETCH shares the memory
    const int64_t retire = std::visit([&](const auto& i) { return run(i, cycle); }, instruction);
    return retire;
  }

 private:
  int64_t memory_cycles(int64_t bytes) const {
    const int64_t beats = (bytes + hw_.bus_bytes - 1) / hw_.bus_bytes;
    return std::max(beats, (bytes * hw_.bandwidth_den + hw_.bandwidth_num - 1) / hw_.bandwidth_num);
  }

  int64_t retired(isa::Engine e, int64_t front, int64_t retire) {
    const int i = static_cast<int>(e);
    front_free_[i] = front;
    if (!inflight_[i].empty()) retire = std::max(retire, inflight_[i].back() + 1);
    inflight_[i].push_back(retire);
    if (inflight_[i].size() > 16) inflight_[i].pop_front();
    return retire;
  }

  template <typename Copy>
  int64_t transfer(const Copy& c, int64_t cycle, int64_t* last_request) {
    const int64_t rows = product(c.count);
    const int64_t burst_bytes = int64_t{hw_.max_burst} * hw_.bus_bytes;
    const int64_t bursts = rows * ((c.row_bytes + burst_bytes - 1) / burst_bytes);
    const int64_t busy = rows * memory_cycles(c.row_bytes);
    const int64_t begin = std::max(cycle + kRequestPath + hw_.memory_latency, memory_free_);
    memory_free_ = begin + busy;
    const int64_t window = hw_.max_outstanding * memory_cycles(std::min<int64_t>(burst_bytes, c.row_bytes));
    *last_request = std::max(cycle + bursts, memory_free_ - hw_.memory_latency - window);
    return memory_free_;
  }

  int64_t run(const isa::Load& load, int64_t cycle) {
    int64_t last_request = 0;
    const int64_t end = transfer(load, cycle, &last_request);
    return retired(isa::Engine::load, std::max(cycle + 1, last_request), end + timing::kLoadRetire);
  }
  int64_t run(const isa::Store& store, int64_t cycle) {
    int64_t last_request = 0;
    const int64_t end = transfer(store, cycle, &last_request);
    return retired(isa::Engine::store, std::max(cycle + 1, last_request), end + timing::kStoreRetire);
  }
  int64_t run(const isa::Matrix& matrix, int64_t cycle) {
    const auto t =
        timing::matrix_times(hw_, cycle, matrix_end_, product(matrix.tile_count), product(matrix.step_count));
    matrix_end_ = t.end;
    return retired(isa::Engine::matrix, t.front_free, t.retire);
  }
  int64_t run(const isa::Vector& vector, int64_t cycle) {
    const auto t = timing::vector_times(cycle, product(vector.count));
    return retired(isa::Engine::vector, t.front_free, t.retire);
  }

  const HwConfig& hw_;
  std::array<int64_t, isa::kEngineCount> front_free_{};
  std::array<std::deque<int64_t>, isa::kEngineCount> inflight_;
  int64_t matrix_end_ = 0, memory_free_ = 0;
};

class Scheduler {
 public:
  explicit Scheduler(const TileGraph& graph)
      : g_(graph), machine_(graph.hw()), retire_(graph.task_count(), -1) {
    for (int t = 0; t < g_.task_count(); ++t) {
      const int s = static_cast<int>(stream_of(g_.task(t).instruction));
      streams_[s].push_back(t);
    }
    result_.start.assign(g_.task_count(), 0);
  }

  Schedule run() {
    for (int left = g_.task_count(); left > 0; --left) {
      const auto [cycle, task] = next();
      const isa::Instruction& instruction = g_.task(task).instruction;
      result_.start[task] = cycle;
      retire_[task] = machine_.start(instruction, cycle);
      result_.cycles = std::max(result_.cycles, retire_[task] + 1);
      streams_[static_cast<int>(stream_of(instruction))].pop_front();
    }
    result_.order.resize(g_.task_count());
    std::iota(result_.order.begin(), result_.order.end(), 0);
    std::stable_sort(result_.order.begin(), result_.order.end(),
                     [&](int a, int b) { return result_.start[a] < result_.start[b]; });
    return std::move(result_);
  }

 private:
  // The stream head that can start first; the earlier task on a tie. The first task of all that are left has
  // all its predecessors behind it, so there always is one.
  std::pair<int64_t, int> next() const {
    std::pair<int64_t, int> best{INT64_MAX, INT32_MAX};
    for (const auto& stream : streams_) {
      if (stream.empty()) continue;
      const int t = stream.front();
      int64_t ready = 0;
      bool known = true;
      for (auto [e, end] = boost::in_edges(t, g_.dag()); e != end; ++e) {
        const int64_t r = retire_[boost::source(*e, g_.dag())];
        known &= r >= 0;
        ready = std::max(ready, r + 1);
      }
      if (!known) continue;
      ready = std::max(ready, machine_.front_free(isa::engine_of(g_.task(t).instruction)));
      best = std::min(best, {ready, t});
    }
    return best;
  }

  const TileGraph& g_;
  Machine machine_;
  std::vector<int64_t> retire_;
  std::array<std::deque<int>, kStreams> streams_;
  Schedule result_;
};

}  // namespace

Schedule schedule(const TileGraph& graph) { return Scheduler(graph).run(); }

}  // namespace dlc::accel
