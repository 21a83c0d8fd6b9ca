// The C interface between dlc and the shared library that holds the Verilated model (one library a structural
// configuration, built by rtl/cosim/library.cpp). One call runs a whole program: the clock loop and the
// memory model are inside the library, so nothing crosses the boundary per cycle.
#pragma once
#include <cstdint>

inline constexpr int kRtlEngines = 4;         // load, matrix, vector, store
inline constexpr int kRtlCounterEngines = 5;  // and fetch
inline constexpr int kRtlMessageBytes = 1024;

inline constexpr uint64_t kRtlInterface = 2;  // raise when the structs below change

struct RtlJob {
  uint64_t interface = kRtlInterface;  // a library from other sources than dlc's is refused, not misread
  uint64_t program_address = 0;
  uint64_t program_units = 0;
  uint8_t* dram = nullptr;
  uint64_t dram_bytes = 0;
  int64_t latency = 0;  // memory: cycles, and bytes per cycle as a fraction
  int64_t bandwidth_num = 0, bandwidth_den = 1;
  int64_t max_cycles = 0;
  uint64_t initial_state = 0;               // seed of registers and memories at power-up; 0: zeros
  uint64_t stall_seed = 0;                  // nonzero: ARREADY, AWREADY, WREADY fall at random (no contract on time)
  const char* waveform = nullptr;           // FST file; only in libraries built with tracing
  int64_t waveform_first = 0, waveform_last = INT64_MAX;  // cycles that it shows
  const char* coverage = nullptr;           // file of line coverage; only in libraries built for it
  uint64_t instructions[kRtlEngines] = {};  // of each engine; the arrays below have that size
  int64_t* start[kRtlEngines] = {};         // cycles, filled in by the run
  int64_t* retire[kRtlEngines] = {};
  void (*progress)(void* context, double fraction) = nullptr;
  void* context = nullptr;
};

enum class RtlStatus : int32_t {
  ok = 0,
  timeout = 1,  // max_cycles; started/retired tell where it stands
  failed = 2,   // assertion in the RTL, access outside DRAM, protocol error: message
};

struct RtlResult {
  RtlStatus status = RtlStatus::ok;
  int64_t total_cycles = 0;
  int64_t counters[kRtlCounterEngines][4] = {};  // busy, wait_dependency, wait_memory, idle
  uint64_t read_beats = 0, write_beats = 0;
  uint64_t started[kRtlEngines] = {}, retired[kRtlEngines] = {};
  double seconds = 0;  // of the clock loop
  char message[kRtlMessageBytes] = {};
};

extern "C" void dlc_rtl_run(const RtlJob* job, RtlResult* result);
