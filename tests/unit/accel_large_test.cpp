// Layers that are large against the machine: all that fit DRAM are split until they fit, on every shipped
// configuration; what cannot be split is refused with buffer, bytes needed and bytes there.
#include "isa/error.h"
#include "tests/unit/accel_harness.h"

namespace dlc::accel_test {
namespace {

constexpr WindowSpec kSame3{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};

struct Large {
  const char* what;
  void (*build)(NetBuilder&);
};

const Large kLarge[] = {
    {"fully connected, 4096 inputs",
     [](NetBuilder& b) {
       b.output(b.conv(b.input({1, 4096, 1, 1}, true), 70, {}));
     }},
    {"fully connected over a map of 2048 x 7 x 7",
     [](NetBuilder& b) {
       b.output(b.conv(b.input({1, 2048, 7, 7}, true), 6, {7, 7}));
     }},
    {"fully connected, batch of 16",
     [](NetBuilder& b) {
       b.output(b.conv(b.input({16, 1024, 1, 1}, true), 40, {}));
     }},
    {"11 x 11 kernel, stride 4, wide rows",
     [](NetBuilder& b) {
       b.output(b.conv(b.input({1, 3, 24, 1200}, false), 9, {11, 11, 4, 4, 1, 1, 2, 2, 2, 2}));
     }},
    {"rows of 6000 pixels",
     [](NetBuilder& b) {
       b.output(b.conv(b.input({1, 8, 2, 6000}, true), 8, kSame3));
     }},
    {"dilated by 9",
     [](NetBuilder& b) {
       b.output(b.conv(b.input({1, 40, 30, 60}, true), 20, {3, 3, 1, 1, 9, 9, 9, 9, 9, 9}));
     }},
    {"depthwise 11 x 11, 300 channels",
     [](NetBuilder& b) {
       b.output(b.conv(b.input({1, 300, 14, 14}, true), 300, {11, 11, 1, 1, 1, 1, 5, 5, 5, 5}, 300));
     }},
    {"depthwise, rows of 3000 pixels",
     [](NetBuilder& b) {
       b.output(b.conv(b.input({1, 20, 4, 3000}, true), 20, kSame3, 20));
     }},
    {"grouped, 512 channels a group",
     [](NetBuilder& b) {
       b.output(b.conv(b.input({1, 1024, 4, 4}, true), 32, kSame3, 2));
     }},
    {"global average of 512 x 60 x 60",
     [](NetBuilder& b) {
       b.output(b.pool(b.input({1, 512, 60, 60}, true), ir::QPool::Kind::average, {60, 60}));
     }},
    {"maximum over 13 x 13, rows of 2500 pixels",
     [](NetBuilder& b) {
       b.output(
           b.pool(b.input({1, 16, 14, 2500}, true), ir::QPool::Kind::max, {13, 13, 1, 1, 1, 1, 6, 6, 6, 6}));
     }},
    {"sum of maps of 256 x 30 x 60",
     [](NetBuilder& b) {
       b.output(b.sum(b.input({1, 256, 30, 60}, true), b.input({1, 256, 30, 60}, false)));
     }},
    {"sum of rows of 9000 pixels",
     [](NetBuilder& b) {
       b.output(b.sum(b.input({1, 4, 1, 9000}, true), b.input({1, 4, 1, 1}, false)));
     }},
    {"residual of a convolution of 512 channels",
     [](NetBuilder& b) {
       const auto x = b.input({1, 512, 6, 40}, true);
       b.output(b.conv(x, 512, {}, 1, x));
     }},
    {"concatenation of unaligned channels",
     [](NetBuilder& b) {
       b.output(b.concat(
           {b.conv_as(b.input({1, 300, 20, 30}, true), 301, true), b.input({1, 257, 20, 30}, true)}, 1));
     }},
    {"nearest resize to rows of 4000 pixels",
     [](NetBuilder& b) {
       const auto x = b.input({1, 12, 3, 1000}, true);
       b.output(b.interleave(std::vector<ir::ValueId>(8, x), 2, 4));
     }},
};

}  // namespace

TEST_CASE("layers that are large against the machine run on every shipped configuration") {
  for (const char* name : {"tiny-4", "edge-8", "starved-16", "vta-16", "narrow-32x8", "gemmini-16"}) {
    const HwConfig hw = config(name);
    for (size_t i = 0; i < std::size(kLarge); ++i) {
      NetBuilder b(60000 + i);
      kLarge[i].build(b);
      INFO(name << ": " << kLarge[i].what << "\n" << describe(b.graph));
      const bool simulate = i % 6 == static_cast<size_t>(name[0]) % 6 || std::string(name) == "tiny-4";
      const Program p =
          accel::compile_accelerator(b.graph, whole_region(b.graph), hw, {.keep_resident = i % 2 == 0});
      if (simulate) check_program(p, b.graph, hw, i);
    }
  }
}

TEST_CASE("a machine too small for one tile is refused with the scratchpad, bytes needed and bytes there") {
  HwConfig hw = config("tiny-4");
  hw.activation = {64, 2, 2};
  NetBuilder b(1);
  b.output(b.conv(b.input({1, 4, 40, 40}, true), 4, {9, 9}));
  try {
    accel::compile_accelerator(b.graph, whole_region(b.graph), hw);
    FAIL("not refused");
  } catch (const UserError& e) {
    CHECK(e.kind() == ErrorKind::unsupported);
    CHECK_THAT(e.what(), Catch::Matches(
                             ".*needs [0-9]+ bytes of the activation scratchpad, which has [0-9]+ for it.*"));
  }
}

}  // namespace dlc::accel_test
