#include "isa/hwconfig_schema.h"

#include <fmt/format.h>

namespace dlc {
namespace {

using Kind = HwParameter::Kind;

constexpr int64_t kMiB = int64_t{1} << 20;

HwParameter integer(const char* path, int HwConfig::*member, int64_t min, int64_t max, bool power_of_two,
                    const char* doc) {
  HwParameter p{
      .path = path, .kind = Kind::integer, .min = min, .max = max, .power_of_two = power_of_two, .doc = doc};
  p.set = [member](HwConfig& hw, const HwValue& v) { hw.*member = static_cast<int>(v.integer); };
  p.text = [member](const HwConfig& hw) { return fmt::format("{}", hw.*member); };
  return p;
}

HwParameter scratchpad_size(const char* path, ScratchpadConfig HwConfig::*pad, const char* doc) {
  HwParameter p{
      .path = path, .kind = Kind::bytes, .min = 256, .max = 64 * kMiB, .power_of_two = true, .doc = doc};
  p.set = [pad](HwConfig& hw, const HwValue& v) { (hw.*pad).size_bytes = static_cast<uint64_t>(v.integer); };
  p.text = [pad](const HwConfig& hw) { return bytes_text((hw.*pad).size_bytes); };
  return p;
}

HwParameter scratchpad_count(const char* path, ScratchpadConfig HwConfig::*pad, int ScratchpadConfig::*member,
                             int64_t max, const char* initial, const char* doc) {
  HwParameter p{.path = path,
                .kind = Kind::integer,
                .min = 1,
                .max = max,
                .power_of_two = true,
                .initial = initial,
                .doc = doc};
  p.set = [=](HwConfig& hw, const HwValue& v) { hw.*pad.*member = static_cast<int>(v.integer); };
  p.text = [=](const HwConfig& hw) { return fmt::format("{}", hw.*pad.*member); };
  return p;
}

// A datatype of which this version knows one: nothing to store.
HwParameter precision(const char* path, std::vector<const char*> choices, const char* only, const char* doc) {
  HwParameter p{.path = path,
                .kind = Kind::choice,
                .initial = only,
                .choices = std::move(choices),
                .implemented = {only},
                .doc = doc};
  p.set = [](HwConfig&, const HwValue&) {};
  p.text = [only](const HwConfig&) { return std::string(only); };
  return p;
}

HwParameter name() {
  HwParameter p{.path = "name", .kind = Kind::name, .doc = "name of the accelerator, for reports"};
  p.set = [](HwConfig& hw, const HwValue& v) { hw.name = v.text; };
  p.text = [](const HwConfig& hw) { return hw.name; };
  return p;
}

HwParameter clock() {
  HwParameter p{.path = "clock",
                .kind = Kind::frequency,
                .min = 1,
                .max = 10000,
                .doc = "clock of the whole accelerator; cycles to seconds only"};
  p.set = [](HwConfig& hw, const HwValue& v) { hw.clock_mhz = v.megahertz; };
  p.text = [](const HwConfig& hw) { return fmt::format("{} MHz", hw.clock_mhz); };
  return p;
}

HwParameter dataflow() {
  HwParameter p{.path = "array.dataflow",
                .kind = Kind::choice,
                .choices = {"weight_stationary", "broadcast"},
                .implemented = {"weight_stationary", "broadcast"},
                .doc = "weight_stationary: systolic, weights stay; broadcast: multipliers and adder trees"};
  p.set = [](HwConfig& hw, const HwValue& v) {
    hw.dataflow = v.text == "broadcast" ? Dataflow::broadcast : Dataflow::weight_stationary;
  };
  p.text = [](const HwConfig& hw) {
    return std::string(hw.dataflow == Dataflow::broadcast ? "broadcast" : "weight_stationary");
  };
  return p;
}

HwParameter preload_rows() {
  HwParameter p = integer("array.preload_rows", &HwConfig::preload_rows, 1, 128, true,
                          "weight rows shifted in a cycle (1, 2 or 4); broadcast: a whole tile, rows");
  p.initial_doc = "broadcast: `rows`, else error";
  p.initial_from = [](const HwConfig& hw) {
    return hw.dataflow == Dataflow::broadcast ? std::to_string(hw.rows) : std::string();
  };
  return p;
}

HwParameter taps() {
  HwParameter p = integer("vector.taps", &HwConfig::taps, 1, 16, false,
                          "multiply-accumulates a lane and cycle in window mode (depthwise, pooling)");
  p.implemented_max = 1;
  p.initial = "1";
  return p;
}

HwParameter functions() {
  HwParameter p{.path = "vector.functions",
                .kind = Kind::list,
                .initial = "[]",
                .choices = {"lut", "softmax", "norm"},
                .implemented = {"lut"},
                .doc = "optional functions of the vector engine; lut: results through tables of 256 bytes"};
  p.set = [](HwConfig& hw, const HwValue& v) { hw.functions = v.items; };
  p.text = [](const HwConfig& hw) { return fmt::format("[{}]", fmt::join(hw.functions, ", ")); };
  return p;
}

HwParameter bus() {
  HwParameter p{.path = "dma.bus",
                .kind = Kind::bits,
                .min = 32,
                .max = 512,
                .power_of_two = true,
                .doc = "data width of the AXI master"};
  p.set = [](HwConfig& hw, const HwValue& v) { hw.bus_bytes = static_cast<int>(v.integer / 8); };
  p.text = [](const HwConfig& hw) { return fmt::format("{} bit", hw.bus_bytes * 8); };
  return p;
}

HwParameter memory_size() {
  HwParameter p{.path = "memory.size",
                .kind = Kind::bytes,
                .min = kMiB,
                .max = int64_t{1} << 40,
                .power_of_two = true,
                .doc = "DRAM that the accelerator can address"};
  p.set = [](HwConfig& hw, const HwValue& v) { hw.memory_bytes = static_cast<uint64_t>(v.integer); };
  p.text = [](const HwConfig& hw) { return bytes_text(hw.memory_bytes); };
  return p;
}

HwParameter latency() {
  HwParameter p{.path = "memory.latency",
                .kind = Kind::cycles,
                .min = 1,
                .max = 10000,
                .doc = "accepted burst to its first beat, at the least"};
  p.set = [](HwConfig& hw, const HwValue& v) { hw.memory_latency = static_cast<int>(v.integer); };
  p.text = [](const HwConfig& hw) { return fmt::format("{} cycles", hw.memory_latency); };
  return p;
}

HwParameter bandwidth() {
  HwParameter p{.path = "memory.bandwidth",
                .kind = Kind::rate,
                .doc = "both directions together; at most the bus width a cycle"};
  p.set = [](HwConfig& hw, const HwValue& v) {
    hw.bandwidth_num = v.rate.num;
    hw.bandwidth_den = v.rate.den;
  };
  p.text = [](const HwConfig& hw) { return rate_text({hw.bandwidth_num, hw.bandwidth_den}); };
  return p;
}

HwParameter technology() {
  HwParameter p{.path = "technology.node",
                .kind = Kind::nanometres,
                .min = 1,
                .max = 500,
                .initial = "45nm",
                .doc = "for area and energy"};
  p.set = [](HwConfig& hw, const HwValue& v) { hw.technology_node = fmt::format("{}nm", v.integer); };
  p.text = [](const HwConfig& hw) { return hw.technology_node; };
  return p;
}

std::vector<HwParameter> make_schema() {
  using S = ScratchpadConfig;
  return {
      name(),
      clock(),
      integer("array.rows", &HwConfig::rows, 4, 128, true,
              "rows of the array: reduction (input channels); bytes of an ACT word"),
      integer("array.cols", &HwConfig::cols, 4, 128, true,
              "columns of the array: output channels; weight_stationary: aspect ratio at most 4:1; "
              "broadcast: rows * cols at most 1024"),
      dataflow(),
      preload_rows(),
      precision("precision.activation", {"int8", "int16"}, "int8",
                "matrix operand; signedness is per instruction"),
      precision("precision.weight", {"int8", "int4"}, "int8",
                "matrix operand; signedness is per instruction"),
      precision("precision.accumulator", {"int32"}, "int32", "ACC element"),
      integer("vector.lanes", &HwConfig::lanes, 1, 128, true,
              "lanes of the vector engine; divides rows and cols"),
      taps(),
      functions(),
      scratchpad_size("scratchpad.activation.size", &HwConfig::activation, "ACT"),
      scratchpad_count("scratchpad.activation.banks", &HwConfig::activation, &S::banks, 64, "1",
                       "contiguous ranges with ports of their own"),
      scratchpad_count("scratchpad.activation.read_ports", &HwConfig::activation, &S::read_ports, 2, "1",
                       "read ports a bank"),
      scratchpad_size("scratchpad.weight.size", &HwConfig::weight, "WGT; at least two weight tiles"),
      scratchpad_count("scratchpad.weight.banks", &HwConfig::weight, &S::banks, 64, "1", "as above"),
      scratchpad_size("scratchpad.accumulator.size", &HwConfig::accumulator, "ACC"),
      scratchpad_count("scratchpad.accumulator.banks", &HwConfig::accumulator, &S::banks, 64, "1",
                       "as above"),
      scratchpad_size("scratchpad.parameter.size", &HwConfig::parameter,
                      "PAR: rescale parameters and depthwise taps"),
      scratchpad_count("scratchpad.parameter.banks", &HwConfig::parameter, &S::banks, 64, "1", "as above"),
      bus(),
      integer("dma.max_burst", &HwConfig::max_burst, 1, 256, true,
              "beats; times the bus width 16 B to 4 KiB"),
      integer("dma.max_outstanding", &HwConfig::max_outstanding, 1, 64, false,
              "bursts in flight, LOAD and STORE each"),
      integer("queue_depth", &HwConfig::queue_depth, 2, 64, false, "instructions an engine queue holds"),
      memory_size(),
      latency(),
      bandwidth(),
      technology(),
  };
}

std::string choices_text(const std::vector<const char*>& choices) {
  return fmt::format("{}", fmt::join(choices, ", "));
}

}  // namespace

const std::vector<HwParameter>& hwconfig_schema() {
  static const std::vector<HwParameter> schema = make_schema();
  return schema;
}

std::string expectation(const HwParameter& p) {
  const std::string number = p.power_of_two ? "a power of two" : "a whole number";
  switch (p.kind) {
    case Kind::name:
      return "a name of letters, digits, '-', '_' and '.'";
    case Kind::integer:
      return fmt::format("{} from {} to {}", number, p.min, p.max);
    case Kind::bytes:
      return fmt::format("a size such as '64 KiB' (B, KiB, MiB, GiB), {} from {} to {}", number,
                         bytes_text(static_cast<uint64_t>(p.min)), bytes_text(static_cast<uint64_t>(p.max)));
    case Kind::bits:
      return fmt::format("a width such as '128 bit', {} from {} to {}", number, p.min, p.max);
    case Kind::cycles:
      return fmt::format("a time such as '60 cycles', {} from {} to {}", number, p.min, p.max);
    case Kind::rate:
      return "a rate above 0 such as '16 B/cycle', '12.8 B/cycle' or '16/3 B/cycle'";
    case Kind::frequency:
      return fmt::format("a frequency such as '500 MHz' (MHz, GHz), {} to {} MHz", p.min, p.max);
    case Kind::nanometres:
      return fmt::format("a node such as '45nm', from {} to {} nm", p.min, p.max);
    case Kind::choice:
      return "one of " + choices_text(p.choices);
    case Kind::list:
      return "a list such as [] of " + choices_text(p.choices);
  }
  return {};
}

std::string hwconfig_reference() {
  std::string out = "| parameter | expected | if left out | meaning |\n|---|---|---|---|\n";
  for (const HwParameter& p : hwconfig_schema()) {
    std::string expected = expectation(p);
    if (!p.implemented.empty() && p.implemented.size() < p.choices.size()) {
      expected += fmt::format(" (this version: {})", choices_text(p.implemented));
    }
    if (p.implemented_max > 0) expected += fmt::format(" (this version: {})", p.implemented_max);
    out += fmt::format("| `{}` | {} | {} | {} |\n", p.path, expected,
                       p.initial_doc ? p.initial_doc
                       : p.initial   ? fmt::format("`{}`", p.initial)
                                     : "error",
                       p.doc);
  }
  return out;
}

}  // namespace dlc
