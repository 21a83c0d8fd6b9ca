#include <catch2/catch.hpp>
#include <cmath>

#include "compiler/quantize/post_training_weights.h"

using namespace dlc;

namespace {

ir::Value constant(ir::Shape shape, const std::vector<float>& values) {
  ir::Graph g;
  return g.value(g.add_constant("c", ir::make_tensor<float>(std::move(shape), values)));
}

}  // namespace

TEST_CASE("weights are symmetric per output channel, -127 to 127, biases in steps of input x weight scale") {
  const ir::Value w = constant({2, 3, 1, 1}, {0.5f, -1.0f, 0.25f, 10.0f, -20.0f, 20.0f});
  const ir::Value b = constant({2}, {1.0f, -3.0f});
  const auto q = quantize::quantize_weights(w, 0, &b, 0.1f, 0.05f, true);
  REQUIRE(q.scale.scale.size() == 2);
  CHECK(q.scale.zero == std::vector<int32_t>{0, 0});
  CHECK(q.scale.scale[0] == Approx(1.0 / 127));
  CHECK(q.scale.scale[1] == Approx(20.0 / 127));
  const auto bytes = q.weight.data<int8_t>();
  CHECK(std::vector<int8_t>(bytes.begin(), bytes.end()) == std::vector<int8_t>{64, -127, 32, 64, -127, 127});
  CHECK(q.bias.data<int32_t>()[0] == std::lround(1.0 / (0.1 / 127)));
  CHECK(q.bias.data<int32_t>()[1] == std::lround(-3.0 / (0.1 * 20 / 127)));
}

TEST_CASE("channels may lie along the second axis, and one scale may serve all") {
  const ir::Value w = constant({2, 2}, {1.0f, 100.0f, -0.5f, -50.0f});
  const auto per_channel = quantize::quantize_weights(w, 1, nullptr, 1.0f, 1.0f, true);
  CHECK(per_channel.scale.axis == 1);
  CHECK(per_channel.weight.data<int8_t>()[0] == 127);
  CHECK(per_channel.weight.data<int8_t>()[1] == 127);
  const auto single = quantize::quantize_weights(w, 1, nullptr, 1.0f, 1.0f, false);
  CHECK(single.scale.scale.size() == 1);
  CHECK(single.weight.data<int8_t>()[0] == 1);
  CHECK(single.bias.data<int32_t>().empty());
}

TEST_CASE("a bias that would not fit 32 bits enlarges the weight scale") {
  const ir::Value w = constant({1, 2, 1, 1}, {1e-9f, -1e-9f});
  const ir::Value b = constant({1}, {100.0f});
  const auto q = quantize::quantize_weights(w, 0, &b, 1e-3f, 1e-7f, true);
  const double step = static_cast<double>(q.bias_scale.scale[0]);
  CHECK(std::abs(q.bias.data<int32_t>()[0]) <= (1 << 30) + 64);
  CHECK(q.bias.data<int32_t>()[0] * step == Approx(100.0).epsilon(1e-6));
}

TEST_CASE("channels of zeros and vanishing channels get usable scales") {
  const ir::Value w = constant({3, 1, 1, 1}, {0.0f, 1e-30f, 1.0f});
  const ir::Value b = constant({3}, {2.0f, 0.5f, 0.0f});
  const auto q = quantize::quantize_weights(w, 0, &b, 0.01f, 0.02f, true);
  for (size_t c = 0; c < 3; ++c) {
    CHECK(std::isnormal(q.bias_scale.scale[c]));
    CHECK(q.bias.data<int32_t>()[c] * static_cast<double>(q.bias_scale.scale[c]) ==
          Approx(b.constant<float>()[c]).margin(1e-4));
  }
  const ir::Value zeros = constant({2, 1, 1, 1}, {0.0f, 0.0f});
  const auto all = quantize::quantize_weights(zeros, 0, nullptr, 0.01f, 0.02f, true);
  CHECK(std::isnormal(all.scale.scale[0]));
  CHECK(all.weight.data<int8_t>()[0] == 0);
}
