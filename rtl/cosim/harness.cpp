// Runs one program on the Verilated dlc_top: reset, AXI4-Lite start, clock loop with the memory model,
// counters. Compiled into the library of a configuration, never into dlc itself.
#include "rtl/cosim/harness.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>

#include "Vdlc.h"
#include "simulator/memory/memory_model.h"
#include "verilated.h"
#ifdef DLC_RTL_WAVEFORM
#include "verilated_fst_c.h"
#endif
#ifdef DLC_RTL_COVERAGE
#include "verilated_cov.h"
#endif

// Verilator's run-time errors ($error in an assertion, too) end the run, not the process.
[[noreturn]] static void fail_at(const char* what, const char* file, int line) {
  throw std::runtime_error(std::string(what) + " at " + file + ":" + std::to_string(line));
}
void vl_stop(const char* file, int line, const char*) VL_MT_UNSAFE { fail_at("RTL assertion", file, line); }
void vl_fatal(const char* file, int line, const char*, const char* message) VL_MT_UNSAFE {
  fail_at(message, file, line);
}

namespace {

class Harness {
 public:
  Harness(const RtlJob& job, RtlResult& result)
      : job_(job),
        result_(result),
        memory_(dlc::MemoryModel(job.latency, DLC_RTL_BUS_BYTES, job.bandwidth_num, job.bandwidth_den)) {
    context_.randReset(job.initial_state ? 2 : 0);
    context_.randSeed(static_cast<int>(job.initial_state & 0x7fffffff));
    stall_state_ = job.stall_seed * 0x9E3779B97F4A7C15u | 1;
    top_ = std::make_unique<Vdlc>(&context_, "dlc_top");
    open_waveform();
  }
  ~Harness() {
#ifdef DLC_RTL_WAVEFORM
    if (waveform_) waveform_->close();
#endif
  }

  void run() {
    reset();
    write_register(0x08, static_cast<uint32_t>(job_.program_address));
    write_register(0x0C, static_cast<uint32_t>(job_.program_address >> 32));
    write_register(0x10, static_cast<uint32_t>(job_.program_units));
    write_register(0x00, 1);
    while (!top_->running_o) tick();
    const auto begin = std::chrono::steady_clock::now();
    const bool ended = clock_loop();
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!ended) {
      result_.status = RtlStatus::timeout;
      return;
    }
    read_counters();
    const uint32_t status = read_register(0x04);
    if (status & 4) throw std::runtime_error("the core reports an error: not an instruction, or a bus error");
#ifdef DLC_RTL_COVERAGE
    if (job_.coverage) context_.coveragep()->write(job_.coverage);
#endif
  }

 private:
  static constexpr uint64_t kBus = DLC_RTL_BUS_BYTES;
  // The array's data path has no reset: garbage leaves it in rows + cols cycles.
  static constexpr int kResetCycles = 300;

  void tick() {
    top_->clk_i = 0;
    top_->eval();
    dump();
    top_->clk_i = 1;
    top_->eval();
    dump();
  }

  void reset() {
    top_->rst_ni = 0;
    top_->m_axi_arready_i = top_->m_axi_awready_i = top_->m_axi_wready_i = 1;
    top_->m_axi_rvalid_i = top_->m_axi_bvalid_i = 0;
    top_->m_axi_rresp_i = top_->m_axi_bresp_i = 0;
    top_->s_axil_awvalid_i = top_->s_axil_wvalid_i = top_->s_axil_arvalid_i = 0;
    top_->s_axil_bready_i = top_->s_axil_rready_i = 1;
    for (int i = 0; i < kResetCycles; ++i) tick();
    top_->rst_ni = 1;
    tick();
  }

  void write_register(uint8_t address, uint32_t value) {
    top_->s_axil_awvalid_i = top_->s_axil_wvalid_i = 1;
    top_->s_axil_awaddr_i = address;
    top_->s_axil_wdata_i = value;
    tick();  // the slave always takes a write when its response is gone
    top_->s_axil_awvalid_i = top_->s_axil_wvalid_i = 0;
    if (address != 0) tick();
  }

  uint32_t read_register(uint8_t address) {
    top_->s_axil_arvalid_i = 1;
    top_->s_axil_araddr_i = address;
    tick();
    top_->s_axil_arvalid_i = 0;
    const uint32_t value = top_->s_axil_rdata_o;
    tick();
    return value;
  }

  void read_counters() {
    for (int e = 0; e < kRtlCounterEngines; ++e) {
      for (int k = 0; k < 4; ++k) result_.counters[e][k] = read_register64(0x40 + 8 * (4 * e + k));
    }
    const int64_t cycles = read_register64(0xE0);
    if (cycles != result_.total_cycles)
      throw std::runtime_error("the core's cycle counter disagrees with the clock");
  }
  int64_t read_register64(int address) {
    const uint64_t low = read_register(static_cast<uint8_t>(address));
    return static_cast<int64_t>(low | static_cast<uint64_t>(read_register(static_cast<uint8_t>(address + 4)))
                                          << 32);
  }

  // One iteration a cycle t: the outputs of t are there (registered), the inputs of t are set, then the clock
  // edge that ends t. False: out of cycles.
  bool clock_loop() {
    uint64_t retired_before = 0;
    for (int64_t t = 0;; ++t) {
      if (job_.stall_seed) stall();
      if (!top_->running_o) {
        result_.total_cycles = t;
        return true;
      }
      if (t >= job_.max_cycles) return false;
      cycle_ = result_.total_cycles = t;  // a failure tells its cycle
      if (top_->trace_start_o | top_->trace_retire_o) record(t);
      requests(t);
      responses(t);
      if ((t & 0xffff) == 0 && job_.progress) report(retired_before);
      tick();
    }
  }

  void record(int64_t t) {
    for (int e = 0; e < kRtlEngines; ++e) {
      if (top_->trace_start_o >> e & 1) note(result_.started[e], job_.start[e], job_.instructions[e], t);
      if (top_->trace_retire_o >> e & 1) note(result_.retired[e], job_.retire[e], job_.instructions[e], t);
    }
  }
  static void note(uint64_t& count, int64_t* cycles, uint64_t limit, int64_t t) {
    if (count >= limit)
      throw std::runtime_error("an engine started or retired more instructions than it was given");
    cycles[count++] = t;
  }

  void report(uint64_t& before) {
    uint64_t retired = 0, all = 0;
    for (int e = 0; e < kRtlEngines; ++e) {
      retired += result_.retired[e];
      all += job_.instructions[e];
    }
    if (retired != before && all)
      job_.progress(job_.context, static_cast<double>(retired) / static_cast<double>(all));
    before = retired;
  }

  void requests(int64_t t) {
    if (top_->m_axi_arvalid_o && top_->m_axi_arready_i) {
      memory_.accept_read(t, top_->m_axi_arid_o, top_->m_axi_araddr_o, top_->m_axi_arlen_o + 1);
      result_.read_beats += top_->m_axi_arlen_o + 1;
    }
    if (top_->m_axi_awvalid_o && top_->m_axi_awready_i) {
      if (top_->m_axi_awaddr_o % kBus) throw std::runtime_error("AWADDR is not a multiple of the bus width");
      writes_.push_back({top_->m_axi_awaddr_o, top_->m_axi_awlen_o + 1});
    }
    if (top_->m_axi_wvalid_o && top_->m_axi_wready_i) keep_write_beat();
    while (!writes_.empty() && !beats_.empty()) write_beat(t);
  }

  // Each READY on its own, low in about half of the cycles (xorshift64).
  void stall() {
    stall_state_ ^= stall_state_ << 13;
    stall_state_ ^= stall_state_ >> 7;
    stall_state_ ^= stall_state_ << 17;
    top_->m_axi_arready_i = stall_state_ >> 20 & 1;
    top_->m_axi_awready_i = stall_state_ >> 30 & 1;
    top_->m_axi_wready_i = stall_state_ >> 40 & 1;
    top_->eval();  // LOAD's and STORE's start and retire follow in the same cycle
  }

  // AXI lets write data come before its address.
  void keep_write_beat() {
    WriteBeat beat;
    std::memcpy(beat.data, &top_->m_axi_wdata_o, kBus);
    beat.strobe = top_->m_axi_wstrb_o;
    beat.last = top_->m_axi_wlast_o;
    beats_.push_back(beat);
    ++result_.write_beats;
  }

  void write_beat(int64_t t) {
    const uint64_t address = writes_.front().address + write_index_ * kBus;
    const WriteBeat& beat = beats_.front();
    for (uint64_t i = 0; i < kBus; ++i) {
      if (!(beat.strobe >> i & 1)) continue;
      if (address + i >= job_.dram_bytes) {
        throw std::runtime_error("STORE writes outside DRAM, byte " + std::to_string(address + i));
      }
      job_.dram[address + i] = beat.data[i];
    }
    const bool last = ++write_index_ == writes_.front().beats;
    if (last != beat.last) throw std::runtime_error("WLAST in the wrong beat");
    beats_.pop_front();
    if (!last) return;
    memory_.accept_write(t, 0, writes_.front().beats);
    writes_.pop_front();
    write_index_ = 0;
  }

  void responses(int64_t t) {
    const auto beat = memory_.pop_read_beat(t);
    top_->m_axi_rvalid_i = beat.has_value();
    if (beat) {
      const uint64_t address = beat->address + static_cast<uint64_t>(beat->index) * kBus;
      auto* data = reinterpret_cast<uint8_t*>(&top_->m_axi_rdata_i);
      if (address + kBus <= job_.dram_bytes) {
        std::memcpy(data, job_.dram + address, kBus);
      } else {
        for (uint64_t i = 0; i < kBus; ++i)
          data[i] = address + i < job_.dram_bytes ? job_.dram[address + i] : 0;
      }
      top_->m_axi_rid_i = static_cast<uint8_t>(beat->tag);
      top_->m_axi_rlast_i = beat->last;
    }
    top_->m_axi_bvalid_i = memory_.pop_write_response(t).has_value();
  }

  void open_waveform() {
    if (!job_.waveform || !*job_.waveform) return;
#ifdef DLC_RTL_WAVEFORM
    context_.traceEverOn(true);
    waveform_ = std::make_unique<VerilatedFstC>();
    top_->trace(waveform_.get(), 99);
    waveform_->open(job_.waveform);
#endif
  }
  void dump() {
#ifdef DLC_RTL_WAVEFORM
    if (waveform_ && cycle_ >= job_.waveform_first && cycle_ <= job_.waveform_last) waveform_->dump(time_);
    ++time_;
#endif
  }

  struct Write {
    uint64_t address;
    int beats;
  };
  struct WriteBeat {
    uint8_t data[kBus];
    uint64_t strobe;
    bool last;
  };
  const RtlJob& job_;
  RtlResult& result_;
  uint64_t stall_state_ = 0;
  VerilatedContext context_;
  std::unique_ptr<Vdlc> top_;
#ifdef DLC_RTL_WAVEFORM
  std::unique_ptr<VerilatedFstC> waveform_;
  uint64_t time_ = 0;
#endif
  int64_t cycle_ = 0;  // before the start bit: 0
  dlc::MemoryPort memory_;
  std::deque<Write> writes_;
  std::deque<WriteBeat> beats_;
  int write_index_ = 0;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void dlc_rtl_run(const RtlJob* job, RtlResult* result) {
  try {
    if (job->interface != kRtlInterface) throw std::runtime_error("dlc is older or newer than the RTL's sources: build dlc again");
    Harness(*job, *result).run();
  } catch (const std::exception& error) {
    result->status = RtlStatus::failed;
    std::snprintf(result->message, sizeof result->message, "%s", error.what());
  }
}
