// Traces of a run, from its program and result: text for people and diff, JSON for Perfetto
// (https://ui.perfetto.dev) or chrome://tracing. Both throw UserError if the file cannot be written.
#pragma once
#include <string>

#include "isa/device.h"

namespace dlc {

// One line an instruction, program order: index, engine, start, retire (cycles), layer, note, disassembly.
void write_trace_text(const std::string& path, const Program& program, const RunResult& result);

// Chrome trace events, one time unit ("µs" in the viewers) a cycle: a track per engine with a slice per
// instruction, named by its note or layer, a track of layers, and the DRAM traffic of LOAD and STORE as
// counters (bytes per cycle, each instruction's bytes spread evenly from its start to its retire).
// Instructions of one engine overlap; a slice ends where the next one starts, its arguments have the retire.
void write_trace_json(const std::string& path, const Program& program, const RunResult& result);

}  // namespace dlc
