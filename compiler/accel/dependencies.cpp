#include "compiler/accel/dependencies.h"

#include <algorithm>
#include <map>
#include <optional>

namespace dlc::accel {
namespace {

using Clock = std::array<int, kStreams>;  // per stream: number of tasks known to have retired

constexpr int kReaders = 3;  // streams that read scratchpads: matrix, vector, store

struct Unit {
  int writer = -1;
  std::array<int, kReaders> reader{-1, -1, -1};
};

int reader_index(Stream s) { return static_cast<int>(s) - static_cast<int>(Stream::matrix); }

struct BankUse {
  int sequence, task, writes, reads;
};

// Ports that one task needs of one bank.
struct Ports {
  int writes = 0, reads = 0;
};

class Builder {
 public:
  explicit Builder(TileGraph& graph) : g_(graph), hw_(graph.hw()) {
    for (Memory m : {Memory::act, Memory::wgt, Memory::acc, Memory::par, Memory::lut})
      units_[static_cast<int>(m)].resize(static_cast<size_t>(hw_.words(m) * units_per_word(m)));
    for (int acc = 0; acc < 2; ++acc)
      banks_[acc].resize(hw_.scratchpad(acc ? Memory::acc : Memory::act).banks);
  }

  void run() {
    for (int t = 0; t < g_.task_count(); ++t) add(t);
  }

 private:
  int64_t units_per_word(Memory m) const {
    return m == Memory::act ? hw_.act_groups() : m == Memory::acc ? hw_.acc_groups() : 1;
  }

  void add(int t) {
    const isa::Instruction instruction = g_.bound(t);
    stream_ = stream_of(instruction);
    const int s = static_cast<int>(stream_);
    wanted_.clear();
    known_ = started_.empty() || last_[s] < 0 ? Clock{} : started_[last_[s]];
    const std::vector<Access> accesses = accesses_of(instruction, hw_);
    for (const Access& a : accesses) data_hazards(t, a);
    dram_hazards(t, instruction);
    std::sort(wanted_.begin(), wanted_.end(), std::greater<>());
    for (int u : wanted_) order_after(u, t);
    bank_hazards(t, accesses);
    started_.push_back(known_);
    stream_of_.push_back(stream_);
    sequence_.push_back(count_[s]++);
    last_[s] = t;
  }

  // Makes t wait for u, unless it does already.
  void order_after(int u, int t) {
    const int s = static_cast<int>(stream_of_[u]);
    if (known_[s] > sequence_[u]) return;
    g_.add_dependency(u, t);
    for (int i = 0; i < kStreams; ++i) known_[i] = std::max(known_[i], started_[u][i]);
    known_[s] = sequence_[u] + 1;
  }

  void want(int u) {
    if (u >= 0 && (wanted_.empty() || wanted_.back() != u)) wanted_.push_back(u);
  }

  void data_hazards(int t, const Access& a) {
    auto& units = units_[static_cast<int>(a.memory)];
    for (int64_t i = a.begin; i < a.end; ++i) {
      Unit& u = units[i];
      if (!a.write) {
        want(u.writer);
        u.reader[reader_index(stream_)] = t;
        continue;
      }
      // Writes of one stream land in order, and its own earlier reads come before them.
      if (u.writer >= 0 && u.writer != t && stream_of_[u.writer] != stream_) want(u.writer);
      for (int r = 0; r < kReaders; ++r)
        if (u.reader[r] >= 0 && u.reader[r] != t && stream_of_[u.reader[r]] != stream_) want(u.reader[r]);
      u = Unit{};
      u.writer = t;
    }
  }

  // Only a STORE makes DRAM bytes that a LOAD reads; each tensor has its own addresses, so nothing is
  // overwritten.
  void dram_hazards(int t, const isa::Instruction& instruction) {
    auto rows = [&](const auto& c, auto&& visit) {
      for (uint32_t i = 0; i < c.count[0]; ++i)
        for (uint32_t j = 0; j < c.count[1]; ++j)
          for (uint32_t k = 0; k < c.count[2]; ++k) {
            const int64_t begin = static_cast<int64_t>(c.dram_address) + int64_t{i} * c.dram_stride[0] +
                                  int64_t{j} * c.dram_stride[1] + int64_t{k} * c.dram_stride[2];
            for (int64_t w = begin / hw_.rows; w < (begin + c.row_bytes) / hw_.rows; ++w) visit(w);
          }
    };
    if (const auto* store = std::get_if<isa::Store>(&instruction))
      rows(*store, [&](int64_t word) { stored_[word] = t; });
    if (const auto* load = std::get_if<isa::Load>(&instruction); load && load->memory == Memory::act)
      rows(*load, [&](int64_t word) {
        if (auto it = stored_.find(word); it != stored_.end()) want(it->second);
      });
  }

  void bank_hazards(int t, const std::vector<Access>& accesses) {
    for (int acc = 0; acc < 2; ++acc) {
      const Memory m = acc ? Memory::acc : Memory::act;
      const int64_t bank_units = hw_.bank_words(m) * units_per_word(m);
      std::map<int, std::array<Ports, 2>> touched;  // bank -> per port
      for (const Access& a : accesses) {
        if (a.memory != m) continue;
        for (int64_t bank = a.begin / bank_units; bank <= (a.end - 1) / bank_units; ++bank) {
          Ports& p = touched[static_cast<int>(bank)][a.port];
          if (a.write) p.writes = 1;
          if (!a.write || (acc && stream_ == Stream::matrix)) p.reads = 1;
        }
      }
      const int ports = acc ? 1 : hw_.activation.read_ports;
      for (const auto& [bank, p] : touched)
        claim(t, banks_[acc][bank], {p[0].writes | p[1].writes, p[0].reads + p[1].reads}, ports);
    }
  }

  // Uses of a bank by another stream that may run at the same time as the current task.
  Ports concurrent(const std::vector<BankUse>& uses, int stream) const {
    Ports most;
    for (auto it = uses.rbegin(); it != uses.rend() && it->sequence >= known_[stream]; ++it) {
      most.writes = std::max(most.writes, it->writes);
      most.reads = std::max(most.reads, it->reads);
    }
    return most;
  }

  void claim(int t, std::array<std::vector<BankUse>, kStreams>& bank, Ports own, int read_ports) {
    while (true) {
      int writes = own.writes, reads = own.reads;
      int oldest_writer = -1, oldest_reader = -1;
      for (int s = 0; s < kStreams; ++s) {
        if (s == static_cast<int>(stream_) || bank[s].empty()) continue;
        const Ports p = concurrent(bank[s], s);
        writes += p.writes;
        reads += p.reads;
        if (p.writes) pick_older(oldest_writer, last_use(bank[s], true));
        if (p.reads) pick_older(oldest_reader, last_use(bank[s], false));
      }
      if (own.writes && writes > 1 && oldest_writer >= 0) {
        order_after(oldest_writer, t);
      } else if (own.reads && reads > read_ports && oldest_reader >= 0) {
        order_after(oldest_reader, t);
      } else {
        break;
      }
    }
    const int s = static_cast<int>(stream_);
    bank[s].push_back({count_[s], t, own.writes, own.reads});
  }

  static void pick_older(int& best, int task) {
    if (best < 0 || task < best) best = task;
  }
  static int last_use(const std::vector<BankUse>& uses, bool write) {
    for (auto it = uses.rbegin(); it != uses.rend(); ++it)
      if (write ? it->writes : it->reads) return it->task;
    return -1;
  }

  TileGraph& g_;
  const HwConfig& hw_;
  std::array<std::vector<Unit>, 5> units_;
  std::array<std::vector<std::array<std::vector<BankUse>, kStreams>>, 2> banks_;
  std::map<int64_t, int> stored_;  // DRAM word -> STORE that wrote it
  Stream stream_ = Stream::load_act;
  Clock known_{};
  std::array<int, kStreams> count_{};
  std::array<int, kStreams> last_{-1, -1, -1, -1, -1, -1};
  std::vector<Clock> started_;
  std::vector<Stream> stream_of_;
  std::vector<int> sequence_;
  std::vector<int> wanted_;
};

}  // namespace

Stream stream_of(const isa::Instruction& instruction) {
  if (const auto* load = std::get_if<isa::Load>(&instruction)) {
    return load->memory == Memory::wgt   ? Stream::load_wgt
           : load->memory == Memory::par ? Stream::load_par
           : load->memory == Memory::lut ? Stream::load_par
                                         : Stream::load_act;
  }
  if (std::holds_alternative<isa::Matrix>(instruction)) return Stream::matrix;
  if (std::holds_alternative<isa::Vector>(instruction)) return Stream::vector;
  return Stream::store;
}

void add_dependencies(TileGraph& graph) { Builder(graph).run(); }

}  // namespace dlc::accel
