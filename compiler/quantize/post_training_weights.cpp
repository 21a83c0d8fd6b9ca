#include "compiler/quantize/post_training_weights.h"

#include <algorithm>
#include <cmath>

namespace dlc::quantize {
namespace {

// Calls visit(element, channel) for every element of a row-major tensor.
template <typename Visit>
void for_channels(const ir::Shape& shape, size_t axis, Visit visit) {
  const int64_t channels = shape[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t count = ir::element_count(shape);
  for (int64_t i = 0; i < count; ++i)
    visit(static_cast<size_t>(i), static_cast<size_t>(i / inner % channels));
}

// The smallest scale that the rest of the arithmetic can work with, see the header.
double smallest_scale(double bias, double input_scale, double output_scale) {
  constexpr double kBiasLimit = 1 << 30, kStepLimit = 1 << 24;
  return std::max(std::abs(bias) / kBiasLimit, output_scale / kStepLimit) / input_scale;
}

std::vector<double> channel_scales(const ir::Value& weight, size_t axis, std::span<const float> bias,
                                   double input_scale, double output_scale, bool per_channel) {
  const auto channels = static_cast<size_t>(weight.shape[axis]);
  std::vector<double> largest(channels, 0.0);
  const auto values = weight.constant<float>();
  for_channels(weight.shape, axis, [&](size_t i, size_t channel) {
    largest[channel] = std::max(largest[channel], std::abs(static_cast<double>(values[i])));
  });
  const double overall = *std::max_element(largest.begin(), largest.end());
  std::vector<double> scales(channels);
  for (size_t c = 0; c < channels; ++c) {
    // A channel of zeros takes the layer's scale: its bias is then as fine as its neighbours'.
    const double range = !per_channel || largest[c] == 0 ? overall : largest[c];
    const double b = bias.empty() ? 0.0 : bias[c];
    scales[c] = std::max(range > 0 ? range / 127.0 : output_scale / input_scale / 256,
                         smallest_scale(b, input_scale, output_scale));
  }
  if (!per_channel) scales.assign(channels, *std::max_element(scales.begin(), scales.end()));
  return scales;
}

}  // namespace

QuantizedWeights quantize_weights(const ir::Value& weight, size_t axis, const ir::Value* bias,
                                  float input_scale, float output_scale, bool per_channel) {
  const std::span<const float> biases = bias ? bias->constant<float>() : std::span<const float>{};
  const std::vector<double> scales =
      channel_scales(weight, axis, biases, input_scale, output_scale, per_channel);
  QuantizedWeights result;
  result.weight = ir::Tensor(ir::ElementType::int8, weight.shape);
  const size_t count = per_channel ? scales.size() : 1;
  result.scale.axis = static_cast<int>(axis);
  for (size_t c = 0; c < count; ++c) result.scale.scale.push_back(static_cast<float>(scales[c]));
  result.scale.zero.assign(count, 0);
  const auto scale_of = [&](size_t channel) { return result.scale.scale[per_channel ? channel : 0]; };

  const auto values = weight.constant<float>();
  const auto quantized = result.weight.data<int8_t>();
  for_channels(weight.shape, axis, [&](size_t i, size_t channel) {
    const double q = std::nearbyint(static_cast<double>(values[i]) / scale_of(channel));
    quantized[i] = static_cast<int8_t>(std::clamp(q, -127.0, 127.0));
  });

  result.bias = ir::Tensor(ir::ElementType::int32, {static_cast<int64_t>(biases.size())});
  result.bias_scale.axis = 0;
  for (float s : result.scale.scale) result.bias_scale.scale.push_back(input_scale * s);
  result.bias_scale.zero.assign(count, 0);
  for (size_t c = 0; c < biases.size(); ++c) {
    const double q =
        std::nearbyint(biases[c] / static_cast<double>(result.bias_scale.scale[per_channel ? c : 0]));
    result.bias.data<int32_t>()[c] = static_cast<int32_t>(std::clamp(q, -0x7fffffff * 1.0, 0x7fffffff * 1.0));
  }
  return result;
}

}  // namespace dlc::quantize
