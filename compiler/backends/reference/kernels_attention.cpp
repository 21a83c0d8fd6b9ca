// Attention and its kin: Attention, RotaryEmbedding, LinearAttention, CausalConvWithState. Computed in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/backends/reference/kernels.h"
#include "compiler/backends/reference/numbers.h"
#include "compiler/backends/reference/strides.h"

namespace dlc::reference {
namespace {

using ir::Shape;
using Reals = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A tensor of heads: (B, H, S, D), or (B, S, H * D).
struct Heads {
  int64_t batch, heads, length, size;
  bool packed;  // (B, S, H * D)
  Heads(const Shape& s, int64_t head_count)
      : batch(s[0]), heads(s.size() == 3 ? head_count : s[1]), length(s.size() == 3 ? s[1] : s[2]),
        size(s.size() == 3 ? s[2] / std::max<int64_t>(1, head_count) : s[3]), packed(s.size() == 3) {}
  size_t at(int64_t b, int64_t h, int64_t i, int64_t d) const {
    return static_cast<size_t>(packed ? ((b * length + i) * heads + h) * size + d
                                      : ((b * heads + h) * length + i) * size + d);
  }
};

// Keys or values: those of the past, then the new ones, as (B, H, S, D).
struct Cache {
  Heads shape;
  Reals values;
  Cache(const KernelArgs& a, size_t input, size_t past_input, int64_t heads) : shape(a.in(input).shape, heads) {
    const Heads fresh = shape;
    const Reals x = ir::to_doubles(a.in(input));
    const int64_t past = a.has(past_input) ? a.in(past_input).shape[2] : 0;
    const Reals old = a.has(past_input) ? ir::to_doubles(a.in(past_input)) : Reals{};
    shape.packed = false;
    shape.length = past + fresh.length;
    values.resize(static_cast<size_t>(shape.batch * shape.heads * shape.length * shape.size));
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t h = 0; h < shape.heads; ++h)
        for (int64_t i = 0; i < shape.length; ++i)
          for (int64_t d = 0; d < shape.size; ++d)
            values[shape.at(b, h, i, d)] =
                i < past ? old[static_cast<size_t>(((b * shape.heads + h) * past + i) * shape.size + d)]
                         : x[fresh.at(b, h, i - past, d)];
  }
};

// What is added to a score: the mask's value, and minus infinity for keys that a query must not see.
class Bias {
 public:
  Bias(const KernelArgs& a, int64_t queries, int64_t keys) : a_(a), queries_(queries), keys_(keys) {
    causal_ = a.node.attribute<int64_t>("is_causal") != 0;
    left_ = a.node.attribute<int64_t>("left_window_size", -1);
    right_ = a.node.attribute<int64_t>("right_window_size", -1);
    past_ = a.has(4) ? a.in(4).shape[2] : 0;
    if (a.has(3)) mask_ = ir::to_doubles(a.in(3));
    if (a.has(6)) lengths_ = integers(a.in(6));
  }
  double at(int64_t b, int64_t h, int64_t q, int64_t k) const {
    double bias = mask_at(b, h, q, k);
    const int64_t valid = lengths_.empty() ? keys_ : lengths_[static_cast<size_t>(b)];
    const int64_t offset = !a_.has(4) && !lengths_.empty() ? valid - queries_ : past_;
    const int64_t ahead = k - (q + offset);  // of the query's own place
    if ((causal_ && ahead > 0) || (left_ >= 0 && -ahead > left_) || (right_ >= 0 && ahead > right_) || k >= valid)
      bias = -kInfinity;
    return bias;
  }

 private:
  double mask_at(int64_t b, int64_t h, int64_t q, int64_t k) const {
    if (!a_.has(3)) return 0;
    const Shape& s = a_.in(3).shape;
    if (k >= s.back()) return -kInfinity;  // keys beyond the mask
    const int64_t place[] = {b, h, q, k};
    int64_t offset = 0;
    for (size_t d = 0; d < s.size(); ++d) offset = offset * s[d] + (s[d] == 1 ? 0 : place[4 - s.size() + d]);
    const double v = mask_[static_cast<size_t>(offset)];
    if (a_.in(3).type == ir::ElementType::boolean) return v != 0 ? 0 : -kInfinity;
    return v;
  }

  const KernelArgs& a_;
  int64_t queries_, keys_, left_ = -1, right_ = -1, past_ = 0;
  bool causal_ = false;
  Reals mask_;
  std::vector<int64_t> lengths_;
};

// Softmax of scores + bias in place; a row that sees nothing is zero.
void attend(Reals& scores, const Reals& bias) {
  double highest = -kInfinity;
  bool sees = false;
  for (size_t k = 0; k < scores.size(); ++k) {
    sees |= bias[k] != -kInfinity;
    scores[k] = bias[k] == -kInfinity ? -kInfinity : scores[k] + bias[k];
    highest = std::max(highest, scores[k]);
  }
  double sum = 0;
  for (double& s : scores) sum += s = highest == -kInfinity ? 0 : std::exp(s - highest);
  for (double& s : scores) s = sees && sum > 0 ? s / sum : 0;
}

}  // namespace

void attention(const KernelArgs& a) {
  const Heads q(a.in(0).shape, a.node.attribute<int64_t>("q_num_heads"));
  const int64_t kv_heads = a.node.attribute<int64_t>("kv_num_heads");
  const Cache key(a, 1, 4, kv_heads), value(a, 2, 5, kv_heads);
  const Reals queries = ir::to_doubles(a.in(0));
  const Bias bias(a, q.length, key.shape.length);
  const double scale = static_cast<double>(a.node.attribute<float>("scale"));
  const double cap = static_cast<double>(a.node.attribute<float>("softcap"));
  const int64_t mode = a.node.attribute<int64_t>("qk_matmul_output_mode");
  Heads out = q;
  out.size = value.shape.size;
  Reals y(static_cast<size_t>(a.out().size())), products;
  for (int64_t b = 0; b < q.batch; ++b) {
    for (int64_t h = 0; h < q.heads; ++h) {
      const int64_t kv = h / (q.heads / key.shape.heads);
      for (int64_t i = 0; i < q.length; ++i) {
        Reals scores(static_cast<size_t>(key.shape.length)), biases(scores.size());
        for (size_t k = 0; k < scores.size(); ++k) {
          const auto at = static_cast<int64_t>(k);
          for (int64_t d = 0; d < q.size; ++d) scores[k] += queries[q.at(b, h, i, d)] * key.values[key.shape.at(b, kv, at, d)];
          scores[k] *= scale;
          if (mode == 0) products.push_back(scores[k]);
          if (cap > 0) scores[k] = cap * std::tanh(scores[k] / cap);
          if (mode == 1) products.push_back(scores[k]);
          biases[k] = bias.at(b, h, i, at);
          if (mode == 2) products.push_back(scores[k] + biases[k]);
        }
        attend(scores, biases);
        if (mode == 3) products.insert(products.end(), scores.begin(), scores.end());
        for (int64_t d = 0; d < out.size; ++d) {
          double sum = 0;
          for (size_t k = 0; k < scores.size(); ++k) {
            if (scores[k] != 0) sum += scores[k] * value.values[value.shape.at(b, kv, static_cast<int64_t>(k), d)];
          }
          y[out.at(b, h, i, d)] = sum;
        }
      }
    }
  }
  ir::from_doubles(a.out(), y);
  const Reals* more[] = {&key.values, &value.values, &products};
  for (size_t i = 1; i < a.outputs.size(); ++i)
    if (a.node.outputs[i].valid()) ir::from_doubles(a.outputs[i], *more[i - 1]);
}

void rotary_embedding(const KernelArgs& a) {
  const Heads x(a.in(0).shape, a.node.attribute<int64_t>("num_heads"));
  const bool interleaved = a.node.attribute<int64_t>("interleaved") != 0;
  const int64_t width = a.node.attribute<int64_t>("rotary_embedding_dim"), half = width / 2;
  const Reals in = ir::to_doubles(a.in(0)), cosines = ir::to_doubles(a.in(1)), sines = ir::to_doubles(a.in(2));
  const std::vector<int64_t> positions = a.has(3) ? integers(a.in(3)) : std::vector<int64_t>{};
  Reals y = in;
  for (int64_t b = 0; b < x.batch; ++b) {
    for (int64_t i = 0; i < x.length; ++i) {
      const int64_t place = b * x.length + i;
      const int64_t row = a.has(3) ? checked_index(a, positions[static_cast<size_t>(place)], a.in(1).shape[0]) : place;
      for (int64_t h = 0; h < x.heads; ++h) {
        for (int64_t d = 0; d < half; ++d) {
          const size_t p = x.at(b, h, i, interleaved ? 2 * d : d), q = x.at(b, h, i, interleaved ? 2 * d + 1 : d + half);
          const double cosine = cosines[static_cast<size_t>(row * half + d)], sine = sines[static_cast<size_t>(row * half + d)];
          y[p] = cosine * in[p] - sine * in[q];
          y[q] = sine * in[p] + cosine * in[q];
        }
      }
    }
  }
  ir::from_doubles(a.out(), y);
}

// For each step: state *= exp(decay); v -= state' k where the rule corrects; state += k v'; y = scale * state' q.
void linear_attention(const KernelArgs& a) {
  const int64_t q_heads = a.node.attribute<int64_t>("q_num_heads"), heads = a.node.attribute<int64_t>("kv_num_heads");
  const Heads q(a.in(0).shape, q_heads), k(a.in(1).shape, heads), v(a.in(2).shape, heads);
  const Reals queries = ir::to_doubles(a.in(0)), keys = ir::to_doubles(a.in(1)), values = ir::to_doubles(a.in(2));
  const Reals decay = a.has(4) ? ir::to_doubles(a.in(4)) : Reals{}, beta = a.has(5) ? ir::to_doubles(a.in(5)) : Reals{};
  const bool per_key = a.has(4) && a.in(4).shape[2] != heads;
  const int64_t betas = a.has(5) ? a.in(5).shape[2] : 1;
  const double scale = static_cast<double>(a.node.attribute<float>("scale"));
  Reals state(static_cast<size_t>(q.batch * heads * k.size * v.size));
  if (a.has(3)) state = ir::to_doubles(a.in(3));
  Reals y(static_cast<size_t>(a.out().size()));
  const Heads out({q.batch, q.length, q_heads * v.size}, q_heads);
  for (int64_t b = 0; b < q.batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      double* s = state.data() + (b * heads + h) * k.size * v.size;
      for (int64_t t = 0; t < q.length; ++t) {
        const int64_t place = b * q.length + t;
        Reals value(static_cast<size_t>(v.size));
        for (int64_t d = 0; d < k.size && a.has(4); ++d) {
          const double g = decay[static_cast<size_t>(per_key ? (place * heads + h) * k.size + d : place * heads + h)];
          for (int64_t m = 0; m < v.size; ++m) s[d * v.size + m] *= std::exp(g);
        }
        for (int64_t m = 0; m < v.size; ++m) {
          double& u = value[static_cast<size_t>(m)];
          u = values[v.at(b, h, t, m)];
          if (!a.has(5)) continue;
          for (int64_t d = 0; d < k.size; ++d) u -= s[d * v.size + m] * keys[k.at(b, h, t, d)];
          u *= beta[static_cast<size_t>(place * betas + (betas == 1 ? 0 : h))];
        }
        for (int64_t d = 0; d < k.size; ++d)
          for (int64_t m = 0; m < v.size; ++m) s[d * v.size + m] += keys[k.at(b, h, t, d)] * value[static_cast<size_t>(m)];
        for (int64_t g = h * (q_heads / heads); g < (h + 1) * (q_heads / heads); ++g) {
          for (int64_t m = 0; m < v.size; ++m) {
            double sum = 0;
            for (int64_t d = 0; d < k.size; ++d) sum += queries[q.at(b, g, t, d)] * s[d * v.size + m];
            y[out.at(b, g, t, m)] = scale * sum;
          }
        }
      }
    }
  }
  ir::from_doubles(a.out(), y);
  if (a.outputs.size() > 1) ir::from_doubles(a.outputs[1], state);
}

// A depthwise convolution over the past state and the input; the present state is the end of both.
void causal_conv_with_state(const KernelArgs& a) {
  const Shape& s = a.in(0).shape;
  const int64_t channels = s[1], length = s[2], taps = a.in(1).shape[2], past = taps - 1;
  const Reals x = ir::to_doubles(a.in(0)), w = ir::to_doubles(a.in(1));
  const Reals bias = a.has(2) ? ir::to_doubles(a.in(2)) : Reals(static_cast<size_t>(channels));
  const Reals old = a.has(3) ? ir::to_doubles(a.in(3)) : Reals(static_cast<size_t>(s[0] * channels * past));
  const bool silu = a.node.attribute<std::string>("activation") != "none";
  Reals y(x.size()), present(static_cast<size_t>(s[0] * channels * past));
  for (int64_t row = 0; row < s[0] * channels; ++row) {
    const auto at = [&](int64_t i) {
      return i < past ? old[static_cast<size_t>(row * past + i)] : x[static_cast<size_t>(row * length + i - past)];
    };
    const int64_t c = row % channels;
    for (int64_t i = 0; i < length; ++i) {
      double sum = bias[static_cast<size_t>(c)];
      for (int64_t k = 0; k < taps; ++k) sum += at(i + k) * w[static_cast<size_t>(c * taps + k)];
      y[static_cast<size_t>(row * length + i)] = silu ? sum / (1 + std::exp(-sum)) : sum;
    }
    for (int64_t i = 0; i < past; ++i) present[static_cast<size_t>(row * past + i)] = at(length + i);
  }
  ir::from_doubles(a.out(), y);
  if (a.outputs.size() > 1) ir::from_doubles(a.outputs[1], present);
}

}  // namespace dlc::reference
