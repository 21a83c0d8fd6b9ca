// Transposed convolutions and linear resizes as phases: the integer graph against the float Q/DQ graph.
#include <catch2/catch.hpp>

#include "tests/unit/quantize_harness.h"

using namespace dlc;
using test::Names;
using test::OnnxModel;

namespace {

struct Transposed {
  test::Dims x{1, 5, 4, 6}, w{5, 7, 3, 3};
  test::Dims strides{2, 2}, dilations{1, 1}, pads{0, 0, 0, 0}, output_padding{0, 0};
  int64_t group = 1;
  bool per_channel = true;
};

OnnxModel transposed(const Transposed& t) {
  OnnxModel m;
  m.input("x", t.x).output("y_q");
  test::quantise<uint8_t>(m, "x", "x", 0.53f, 117);
  test::random_weight(m, "w", t.w, t.per_channel ? 1 : -1);
  test::random_bias(m, "b", t.w[1] * t.group);
  auto& n = m.node("ConvTranspose", "up", {"x_dq", "w", "b"}, {"c"});
  test::set(n, "strides", t.strides);
  test::set(n, "dilations", t.dilations);
  test::set(n, "pads", t.pads);
  test::set(n, "output_padding", t.output_padding);
  test::set(n, "group", t.group);
  m.node("Relu", "relu", {"c"}, {"r"});
  test::quantise<int8_t>(m, "r", "y", 6.1f, -31);
  return m;
}

OnnxModel resize(const test::Dims& x, const std::vector<float>& scales, const test::Dims& sizes,
                 const std::string& coordinates) {
  OnnxModel m;
  m.input("x", x).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  std::vector<std::string> inputs{"x_dq", "", ""};
  if (sizes.empty()) {
    m.constant<float>("scales", {4}, {1, 1, scales[0], scales[1]});
    inputs[2] = "scales";
  } else {
    m.constant<int64_t>("sizes", {4}, {x[0], x[1], sizes[0], sizes[1]});
    inputs.push_back("sizes");
  }
  auto& n = m.node("Resize", "resize", inputs, {"r"});
  test::set_text(n, "mode", "linear");
  test::set_text(n, "coordinate_transformation_mode", coordinates);
  test::quantise<uint8_t>(m, "r", "y", 0.71f, 120);
  return m;
}

}  // namespace

TEST_CASE("ConvTranspose: a convolution for each phase, interleaved; equal to the float graph") {
  struct Case {
    Transposed t;
    size_t phases;
  };
  const Case cases[] = {
      {{}, 4},
      {{.strides = {1, 1}, .pads = {1, 1, 1, 1}}, 1},
      {{.w = {5, 7, 2, 2}}, 4},
      {{.w = {5, 7, 4, 4}, .pads = {1, 1, 1, 1}}, 4},
      {{.strides = {3, 2}, .pads = {1, 0, 0, 2}, .output_padding = {2, 1}}, 6},
      {{.w = {5, 7, 5, 3}, .strides = {4, 3}, .dilations = {1, 2}}, 12},
      {{.w = {5, 7, 1, 2}, .strides = {3, 3}}, 9},
      {{.strides = {2, 2}, .dilations = {2, 2}}, 4},
      {{.strides = {2, 1}, .pads = {2, 2, 2, 2}, .per_channel = false}, 2},
      {{.x = {2, 6, 3, 3}, .w = {6, 2, 3, 3}, .group = 3}, 4},
      {{.x = {1, 6, 3, 3}, .w = {6, 1, 4, 4}, .pads = {1, 1, 1, 1}, .group = 6, .per_channel = false}, 4},
  };
  for (const auto& [t, phases] : cases) {
    const OnnxModel m = transposed(t);
    const ir::Graph g = test::lower(m);
    Names want(phases, "qconv");
    if (phases > 1) want.push_back("qplace");
    CHECK(test::operators(g) == want);
    test::agrees(m, g);
  }
}

TEST_CASE("ConvTranspose of single input channels takes scales along the groups") {
  OnnxModel m;
  m.input("x", {1, 6, 3, 3}).output("y_q");
  test::quantise<int8_t>(m, "x", "x", 0.53f, 7);
  test::random_weight(m, "w", {6, 2, 3, 3}, 0);
  auto& n = m.node("ConvTranspose", "up", {"x_dq", "w"}, {"c"});
  test::set(n, "strides", {2, 2});
  test::set(n, "group", int64_t{6});
  test::quantise<int8_t>(m, "c", "y", 2.1f, -3);
  const ir::Graph g = test::lower(m);
  CHECK(test::operators(g) == Names{"qconv", "qconv", "qconv", "qconv", "qplace"});
  test::agrees(m, g);
}

TEST_CASE("Linear Resize: depthwise convolutions with whole weights, interleaved; equal to the float graph") {
  const std::string coordinates = GENERATE("half_pixel", "pytorch_half_pixel", "asymmetric");
  const std::vector<float> scales =
      GENERATE(std::vector<float>{2, 2}, std::vector<float>{4, 3}, std::vector<float>{1, 8},
               std::vector<float>{1.5f, 2.5f}, std::vector<float>{0.5f, 0.5f});
  const OnnxModel m = resize({2, 3, 4, 6}, scales, {}, coordinates);
  const ir::Graph g = test::lower(m);
  for (const std::string& op : test::operators(g)) CHECK((op == "qconv" || op == "qplace" || op == "qtake"));
  test::agrees(m, g);
}

TEST_CASE("Linear Resize with aligned corners, where their distances are multiples") {
  for (const auto& [x, sizes] : std::vector<std::pair<test::Dims, test::Dims>>{
           {{1, 3, 5, 6}, {9, 16}}, {{1, 3, 1, 4}, {3, 7}}, {{1, 2, 4, 4}, {4, 1}}, {{1, 1, 9, 5}, {5, 5}}}) {
    const OnnxModel m = resize(x, {}, sizes, "align_corners");
    const ir::Graph g = test::lower(m);
    for (const std::string& op : test::operators(g))
      CHECK((op == "qconv" || op == "qplace" || op == "qtake"));
    test::agrees(m, g);
  }
}

TEST_CASE("Linear Resize whose weights are no small whole numbers stays on the host, with the reason") {
  const auto [scale, reason] = GENERATE(table<float, std::string>(
      {{16.0f, "its exact weights, up to 961, need more than 8 bits"},
       {1.2345f, "its scale is no ratio of small numbers"},
       {17.0f / 16.0f, "its weights repeat after 289 results only, more than 256"}}));
  const OnnxModel m = resize({1, 1, 16, 16}, {scale, scale}, {}, "half_pixel");
  std::string note;
  const ir::Graph g = test::lower(m, &note);
  CHECK(test::operators(g) == Names{"Resize"});
  CHECK_THAT(note, Catch::Contains(reason));
}
