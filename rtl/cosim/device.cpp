// The Verilated RTL as a Device.
#include "isa/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include "isa/error.h"
#include "isa/program_file.h"
#include "isa/timing.h"
#include "rtl/cosim/library.h"

namespace dlc {
namespace {

template <typename Counts>
int64_t product(const Counts& counts) {
  int64_t p = 1;
  for (const auto c : counts) p *= c;
  return p;
}

// More cycles than the program needs even if nothing overlaps.
class Bound {
 public:
  explicit Bound(const HwConfig& hw) : hw_(hw) {}

  int64_t of(const Program& program) const {
    int64_t cycles = 10000 + dma(static_cast<int64_t>(program_units(program)) * 16, 1);
    for (const isa::Instruction& i : program.instructions) {
      cycles += 64 + std::visit([this](const auto& instruction) { return steps(instruction); }, i);
    }
    return 2 * cycles;
  }

 private:
  int64_t steps(const isa::Matrix& m) const {
    return product(m.tile_count) * (product(m.step_count) + hw_.rows) + 2 * (hw_.rows + hw_.cols);
  }
  int64_t steps(const isa::Vector& v) const { return product(v.count); }
  int64_t steps(const isa::Load& l) const { return dma(l.row_bytes, product(l.count)); }
  int64_t steps(const isa::Store& s) const { return dma(s.row_bytes, product(s.count)); }

  int64_t dma(int64_t row_bytes, int64_t rows) const {
    const int64_t beats = row_bytes / hw_.bus_bytes + 2;
    const int64_t bursts = beats / hw_.max_burst + row_bytes / 4096 + 3;
    const int64_t beat_cycles = hw_.bus_bytes * hw_.bandwidth_den / hw_.bandwidth_num + 1;
    return rows * (bursts * (hw_.memory_latency + 16) + beats * (beat_cycles + 2));
  }

  const HwConfig& hw_;
};

// The little that the harness relies on; verify_program() (isa/program_file.h) is the full check.
void check_program(const Program& program, const std::vector<uint8_t>& dram) {
  if (program.instructions.empty()) {
    throw UserError(ErrorKind::bad_input, "program", "has no instructions: nothing to run");
  }
  if (dram.size() < program.dram_bytes) {
    throw UserError(ErrorKind::bad_input, "program",
                    fmt::format("needs {} bytes of DRAM, the image has {}", program.dram_bytes, dram.size()));
  }
}

class RtlDevice : public Device {
 public:
  explicit RtlDevice(const HwConfig& hw) : hw_(hw), library_(std::make_unique<RtlLibrary>(hw, false)) {}

  std::string name() const override { return "rtl"; }

  RunResult run(const Program& program, std::vector<uint8_t>& dram, const RunOptions& options) override {
    check_program(program, dram);
    std::array<std::vector<int64_t>, kRtlEngines> start, retire;
    for (const isa::Instruction& i : program.instructions) {
      start[static_cast<size_t>(isa::engine_of(i))].push_back(-1);
    }
    retire = start;

    RtlJob job;
    job.program_address = program.program_address;
    job.program_units = program_units(program);
    job.dram = dram.data();
    job.dram_bytes = dram.size();
    job.latency = hw_.memory_latency;
    job.bandwidth_num = hw_.bandwidth_num;
    job.bandwidth_den = hw_.bandwidth_den;
    job.max_cycles = options.max_cycles > 0 ? options.max_cycles : Bound(hw_).of(program);
    if (options.stall_seed) job.max_cycles *= 4;
    job.initial_state = options.initial_state;
    job.stall_seed = options.stall_seed;
    if (!options.waveform.empty()) job.waveform = options.waveform.c_str();
    job.waveform_first = options.waveform_first;
    job.waveform_last = options.waveform_last;
    for (size_t e = 0; e < kRtlEngines; ++e) {
      job.instructions[e] = start[e].size();
      job.start[e] = start[e].data();
      job.retire[e] = retire[e].data();
    }
    if (options.progress) {
      job.context = const_cast<void*>(static_cast<const void*>(&options.progress));
      job.progress = [](void* context, double fraction) {
        (*static_cast<const std::function<void(double)>*>(context))(fraction);
      };
    }

    const std::string coverage = coverage_folder().empty() ? "" : next_coverage_file();
    if (!coverage.empty()) job.coverage = coverage.c_str();

    RtlResult result;
    library_for(options).run(job, result);
    check(program, job, result);
    return convert(program, result, start, retire);
  }

 private:
  std::string next_coverage_file() {
    return fmt::format("{}/{}-{}-{}.dat", coverage_folder(), getpid(), static_cast<const void*>(this), runs_++);
  }

  const RtlLibrary& library_for(const RunOptions& options) {
    if (options.waveform.empty()) return *library_;
    if (!waveform_library_) waveform_library_ = std::make_unique<RtlLibrary>(hw_, true);
    return *waveform_library_;
  }

  static void check(const Program& program, const RtlJob& job, const RtlResult& result) {
    if (result.status == RtlStatus::ok) return;
    std::string where;
    for (size_t e = 0; e < kRtlEngines; ++e) {
      where += fmt::format("; {} started {}, retired {} of {}", kEngineNames[e], result.started[e],
                           result.retired[e], job.instructions[e]);
    }
    where += oldest_unfinished(program, result);
    if (result.status == RtlStatus::timeout) {
      throw RunFailure(fmt::format("RTL: not finished after {} cycles{}", job.max_cycles, where), job.max_cycles);
    }
    throw RunFailure(fmt::format("RTL: {} in cycle {}{}", result.message, result.total_cycles, where),
                     result.total_cycles);
  }

  static std::string oldest_unfinished(const Program& program, const RtlResult& result) {
    std::array<uint64_t, kRtlEngines> seen{};
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      const auto e = static_cast<size_t>(isa::engine_of(program.instructions[i]));
      if (seen[e]++ < result.retired[e]) continue;
      return fmt::format("; the oldest one that has not retired is instruction {}: {}", i,
                         isa::to_string(program.instructions[i]));
    }
    return "";
  }

  RunResult convert(const Program& program, const RtlResult& result,
                    const std::array<std::vector<int64_t>, kRtlEngines>& start,
                    const std::array<std::vector<int64_t>, kRtlEngines>& retire) const {
    RunResult out;
    out.total_cycles = result.total_cycles;
    for (size_t e = 0; e < kEngines; ++e) {
      const int64_t* c = result.counters[e];
      out.engines[e] = {c[0], c[1], c[2], c[3]};
    }
    std::array<size_t, kRtlEngines> next{};
    for (const isa::Instruction& i : program.instructions) {
      const auto e = static_cast<size_t>(isa::engine_of(i));
      out.times.push_back({start[e][next[e]], retire[e][next[e]]});
      ++next[e];
    }
    out.dram_read_bytes = static_cast<int64_t>(result.read_beats) * hw_.bus_bytes;
    out.dram_write_bytes = static_cast<int64_t>(result.write_beats) * hw_.bus_bytes;
    out.seconds = result.seconds;
    return out;
  }

  HwConfig hw_;
  std::unique_ptr<RtlLibrary> library_, waveform_library_;
  int runs_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_rtl_device(const HwConfig& hw) {
  return std::make_unique<RtlDevice>(hw);
}

}  // namespace dlc
