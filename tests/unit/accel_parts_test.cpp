// The accelerator backend's building blocks: windows without padding, blocked layout, buffer placement, edges
// and waits.
#include <catch2/catch.hpp>
#include <numeric>

#include "compiler/accel/allocate.h"
#include "compiler/accel/dependencies.h"
#include "compiler/accel/layout.h"
#include "compiler/accel/schedule.h"
#include "compiler/accel/tile_graph.h"
#include "compiler/accel/waits.h"
#include "compiler/accel/windows.h"

namespace dlc::accel {
namespace {

HwConfig small_machine() {
  HwConfig hw;
  hw.rows = hw.cols = hw.lanes = 4;
  hw.activation = {1024, 4, 2};
  hw.weight = {1024, 2, 1};
  hw.accumulator = {1024, 2, 1};
  hw.parameter = {1024, 1, 1};
  hw.bus_bytes = 8;
  hw.memory_latency = 30;
  hw.bandwidth_num = 8;
  return hw;
}

isa::Load load(Memory memory, uint32_t words, const HwConfig& hw) {
  isa::Load l;
  l.memory = memory;
  l.row_bytes = words * static_cast<uint32_t>(hw.word_bytes(memory));
  return l;
}

// Adds A and B of `words` each into D.
isa::Vector sum(uint32_t words) {
  isa::Vector v;
  v.combine = isa::Combine::linear;
  v.count = {words, 1, 1, 1, 1};
  v.a_stride = v.b_stride = v.d_stride = {1, 0, 0, 0, 0};
  return v;
}

isa::Store store(uint32_t words, const HwConfig& hw) {
  isa::Store s;
  s.memory = Memory::act;
  s.row_bytes = words * static_cast<uint32_t>(hw.rows);
  return s;
}

}  // namespace

TEST_CASE("taps are grouped by the outputs that they reach, and cover each valid pair once") {
  for (int64_t in : {1, 2, 5, 8})
    for (int64_t kernel : {1, 2, 3, 5})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t pad = 0; pad < kernel; ++pad) {
            const Axis axis{in, kernel, stride, dilation, pad};
            const Range out{1, 1 + in};
            int64_t valid = 0;
            for (int64_t o = out.begin; o < out.end; ++o)
              for (int64_t k = 0; k < kernel; ++k)
                valid += axis.position(o, k) >= 0 && axis.position(o, k) < in;
            int64_t by_tap = 0, by_output = 0, outputs = 0;
            for (const AxisClass& c : classes_by_tap(axis, out, {0, kernel}))
              by_tap += c.out.size() * c.taps.size();
            for (const AxisClass& c : classes_by_output(axis, out)) {
              by_output += c.out.size() * c.taps.size();
              outputs += c.out.size();
            }
            REQUIRE(by_tap == valid);
            REQUIRE(by_output == valid);
            REQUIRE(outputs == out.size());
            REQUIRE(count_valid(axis, out) == valid);
          }
}

TEST_CASE("an interior strip of a 3-tap window is one class, a border strip two") {
  const Axis axis{32, 3, 1, 1, 1};
  REQUIRE(classes_by_tap(axis, {4, 8}, {0, 3}).size() == 1);
  REQUIRE(classes_by_tap(axis, {0, 8}, {0, 3}).size() == 2);
  REQUIRE(input_range(axis, {0, 8}, {0, 3}) == Range{0, 9});
  REQUIRE(input_range(axis, {4, 8}, {0, 3}) == Range{3, 9});
}

TEST_CASE("packing blocks channels and pads the last block; unpacking is its inverse") {
  const std::vector<int64_t> shape{2, 5, 2, 3};
  std::vector<uint8_t> bytes(60);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  const auto blocked = pack_blocked(shape, bytes, 4, 0xEE);
  REQUIRE(blocked.size() == static_cast<size_t>(blocked_bytes(shape, 4)));
  REQUIRE(blocked[1] == 6);       // channel 1 of pixel 0
  REQUIRE(blocked[4] == 1);       // channel 0 of pixel 1
  REQUIRE(blocked[6 * 4] == 24);  // channel 4: second block
  REQUIRE(blocked[6 * 4 + 1] == 0xEE);
  REQUIRE(unpack_blocked(shape, blocked, 4) == bytes);
}

TEST_CASE("buffers that live at the same time never overlap, and space is reused as late as possible") {
  const HwConfig hw = small_machine();
  TileGraph g(hw);
  for (int i = 0; i < 12; ++i) {
    const int in = g.add_buffer(Memory::act, 40, "in", 0), out = g.add_buffer(Memory::act, 40, "out", 0);
    g.add_task(load(Memory::act, 40, hw), {.a = in}, 0, "");
    g.add_task(sum(40), {.a = in, .b = in, .d = out}, 0, "");
    g.add_task(store(40, hw), {.a = out}, 0, "");
  }
  REQUIRE_FALSE(place_buffers(g, {}));
  const auto& b = g.buffers();
  for (size_t i = 0; i < b.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const bool together = b[i].first_task <= b[j].last_task && b[j].first_task <= b[i].last_task;
      const bool overlap =
          b[i].address < b[j].address + b[j].words && b[j].address < b[i].address + b[i].words;
      REQUIRE_FALSE((together && overlap));
    }
  REQUIRE(b[0].address != b[2].address);  // the second strip does not wait for the first one's space
}

TEST_CASE("a buffer without a place is reported with what is free") {
  const HwConfig hw = small_machine();
  TileGraph g(hw);
  const int big = g.add_buffer(Memory::act, 257, "big", 3);
  g.add_task(load(Memory::act, 257, hw), {.a = big}, 3, "");
  const auto failure = place_buffers(g, {});
  REQUIRE(failure);
  REQUIRE(failure->buffer == big);
  REQUIRE(failure->free_words == 256);
}

TEST_CASE("a chain load, add, store waits once an instruction, and implied waits are left out") {
  const HwConfig hw = small_machine();
  TileGraph g(hw);
  const int a = g.add_buffer(Memory::act, 8, "a", 0), b = g.add_buffer(Memory::act, 8, "b", 0);
  const int out = g.add_buffer(Memory::act, 8, "out", 0);
  g.add_task(load(Memory::act, 8, hw), {.a = a}, 0, "");
  g.add_task(load(Memory::act, 8, hw), {.a = b}, 0, "");
  g.add_task(sum(8), {.a = a, .b = b, .d = out}, 0, "");
  g.add_task(store(8, hw), {.a = out}, 0, "");
  REQUIRE_FALSE(place_buffers(g, {}));
  add_dependencies(g);
  const auto program = emit_with_waits(g, schedule(g).order);
  REQUIRE(isa::wait_of(program[0]) == std::array<uint32_t, 4>{0, 0, 0, 0});
  REQUIRE(isa::wait_of(program[2]) ==
          std::array<uint32_t, 4>{2, 0, 0, 0});  // both loads through the later one
  REQUIRE(isa::wait_of(program[3]) == std::array<uint32_t, 4>{0, 0, 1, 0});  // the loads are implied
}

TEST_CASE("a load of weights overtakes a load of activations that waits for a store") {
  const HwConfig hw = small_machine();
  TileGraph g(hw);
  const int first = g.add_buffer(Memory::act, 8, "first", 0),
            again = g.add_buffer(Memory::act, 8, "again", 1);
  const int weights = g.add_buffer(Memory::wgt, 8, "weights", 1);
  isa::Store s = store(8, hw);
  s.dram_address = 4096;
  isa::Load back = load(Memory::act, 8, hw);
  back.dram_address = 4096;
  g.add_task(load(Memory::act, 8, hw), {.a = first}, 0, "");
  g.add_task(s, {.a = first}, 0, "");
  g.add_task(back, {.a = again}, 1, "");
  g.add_task(load(Memory::wgt, 8, hw), {.a = weights}, 1, "");
  REQUIRE_FALSE(place_buffers(g, {}));
  add_dependencies(g);
  REQUIRE(boost::edge(1, 2, g.dag()).second);  // through DRAM
  const auto order = schedule(g).order;
  REQUIRE(std::find(order.begin(), order.end(), 3) < std::find(order.begin(), order.end(), 2));
}

}  // namespace dlc::accel
