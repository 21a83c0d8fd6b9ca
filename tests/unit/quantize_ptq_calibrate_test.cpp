#include "compiler/quantize/post_training_plan.h"
#include "isa/error.h"
#include "tests/unit/quantize_ptq_harness.h"

using namespace dlc;
using namespace dlc::ptq_test;
using quantize::Range;
using quantize::RangeMethod;

namespace {

// y = Relu(x) on 1x1000 values.
ir::Graph relu_graph() {
  test::OnnxModel m;
  m.input("x", {1, 1000}).output("y");
  m.node("Relu", "relu", {"x"}, {"y"});
  return import(m);
}

TensorMap row_of(std::vector<float> values) { return {{"x", ir::make_tensor<float>({1, 1000}, values)}}; }

}  // namespace

TEST_CASE("min-max ranges span all rows and always hold zero") {
  const ir::Graph g = relu_graph();
  const auto c = quantize::calibrate(
      g, {row_of(random_floats(1, 1000, 0.5f, 2.0f)), row_of(random_floats(2, 1000, 0.5f, 7.0f))});
  CHECK(c.rows == 2);
  CHECK(c.ranges.at("x").low == 0.0f);
  CHECK(c.ranges.at("x").high == Approx(7.5).margin(0.01));
  CHECK(c.ranges.at("y") == c.ranges.at("x"));
}

TEST_CASE("one outlier moves min-max ranges, but neither percentile nor least squares ranges") {
  const ir::Graph g = relu_graph();
  std::vector<float> values = random_floats(3, 1000);
  values[500] = 100.0f;
  const auto high = [&](RangeMethod method, double percentile) {
    return quantize::calibrate(g, {row_of(values)}, {method, percentile}).ranges.at("x").high;
  };
  CHECK(high(RangeMethod::min_max, 100) == 100.0f);
  CHECK(high(RangeMethod::percentile, 99.8) < 1.2f);
  CHECK(high(RangeMethod::percentile, 100) == 100.0f);
  CHECK(high(RangeMethod::mean_squared_error, 0) <= 100.0f);
  const Range range =
      quantize::calibrate(g, {row_of(values)}, {RangeMethod::percentile, 99.8}).ranges.at("x");
  CHECK(range.low == Approx(-1).margin(0.1));
}

TEST_CASE("calibration refuses data that makes a tensor infinite, and no data at all") {
  const ir::Graph g = relu_graph();
  std::vector<float> values(1000, 1.0f);
  values[3] = INFINITY;
  CHECK_THROWS_WITH(quantize::calibrate(g, {row_of(values)}),
                    Catch::Contains("tensor 'x'") && Catch::Contains("infinite or NaN"));
  values[3] = NAN;
  CHECK_THROWS_AS(quantize::calibrate(g, {row_of(values)}), UserError);
  CHECK_THROWS_WITH(quantize::calibrate(g, {}), Catch::Contains("at least one row"));
}

TEST_CASE("method names are those of the command line") {
  CHECK(quantize::parse_range_method("minmax") == RangeMethod::min_max);
  CHECK(quantize::parse_range_method("percentile") == RangeMethod::percentile);
  CHECK(quantize::parse_range_method("mse") == RangeMethod::mean_squared_error);
  CHECK_FALSE(quantize::parse_range_method("entropy"));
}

TEST_CASE("an activation's scale covers its range in 255 steps and represents zero exactly") {
  const auto q = [](float low, float high) { return quantize::activation_quantization({low, high}); };
  CHECK(q(0, 255).scale[0] == 1.0f);
  CHECK(q(0, 255).zero[0] == -128);
  CHECK(q(-255, 0).zero[0] == 127);
  CHECK(q(-1, 1).scale[0] == Approx(2.0 / 255));
  CHECK(std::abs(q(-1, 1).zero[0]) <= 1);
  CHECK(q(3, 6).zero[0] == -128);  // zero joins the range
  CHECK(q(3, 6).scale[0] == Approx(6.0 / 255));
  for (const auto& nothing : {q(0, 0), q(0, 1e-30f), q(-1e-30f, 0)}) CHECK(nothing.scale[0] == 1.0f);
}
