#include "compiler/accel/plan.h"

#include <algorithm>

#include "isa/error.h"

namespace dlc::accel {
namespace {

struct Lifetime {
  int first, last;  // layers
};

Lifetime lifetime(const Network& net, int t) {
  const TensorPlan& p = net.tensors[t];
  int first = p.producer;
  for (size_t i = 0; first < 0 && i < net.layers.size(); ++i)
    for (int read : {net.layers[i].x, net.layers[i].second})
      if (read >= 0 && net.root(read) == t) first = static_cast<int>(i);
  return {first, std::max(p.last_use, first)};
}

bool lives_at(const Network& net, int t, int layer) {
  if (net.tensors[t].place.root >= 0) return false;  // its root does
  const Lifetime life = lifetime(net, t);
  return net.tensors[t].resident && life.first <= layer && layer <= life.last;
}

// The resident tensor to give up: the one that holds most space for longest.
int victim(const Network& net, int layer) {
  int best = -1;
  int64_t most = 0;
  for (int t = 0; t < static_cast<int>(net.tensors.size()); ++t) {
    if (!lives_at(net, t, layer)) continue;
    const Lifetime life = lifetime(net, t);
    const int64_t weight = net.tensors[t].words() * (life.last - life.first + 2);
    if (weight > most) most = weight, best = t;
  }
  return best;
}

void place_tensors(Network& net, bool keep_resident, const PlanLimits& limits) {
  for (int t = 0; t < static_cast<int>(net.tensors.size()); ++t) {
    TensorPlan& p = net.tensors[t];
    const int root = net.root(t);
    const TensorPlan& r = net.tensors[root];
    p.resident = keep_resident && !limits.evicted.count(root);
    p.in_dram = r.region_input || r.region_output || r.constant || !p.resident;
    p.buffer = -1;
  }
}

const char* memory_name(Memory m) {
  switch (m) {
    case Memory::act:
      return "activation";
    case Memory::wgt:
      return "weight";
    case Memory::acc:
      return "accumulator";
    default:
      return "parameter";
  }
}

[[noreturn]] void does_not_fit(const LayerPlan& layer, const HwConfig& hw, const TilingFailure& f) {
  throw UserError(ErrorKind::unsupported, layer.where,
                  "does not fit on " + hw.name + ": the tile that comes closest needs " +
                      std::to_string(f.needed_bytes) + " bytes of the " + memory_name(f.memory) +
                      " scratchpad, which has " + std::to_string(f.available_bytes) +
                      " for it; enlarge scratchpad." + memory_name(f.memory) + ".size");
}

// The tilings, or the first layer without one.
struct Attempt {
  std::vector<LayerTiling> tilings;
  int failed_layer = -1;
  TilingFailure failure;
};

Attempt attempt(const Network& net, const HwConfig& hw, const PlanLimits& limits) {
  Attempt a;
  for (int layer = 0; layer < static_cast<int>(net.layers.size()); ++layer) {
    int64_t free = hw.words(Memory::act);
    for (int t = 0; t < static_cast<int>(net.tensors.size()); ++t)
      if (lives_at(net, t, layer)) free -= net.tensors[t].words();
    free = static_cast<int64_t>(static_cast<double>(free) * limits.act_share[layer]);
    a.failure = {};
    const auto tiling = free < 0 ? std::nullopt : choose_tiling(net, layer, hw, free, &a.failure);
    if (!tiling) {
      a.failed_layer = layer;
      return a;
    }
    a.tilings.push_back(*tiling);
  }
  return a;
}

}  // namespace

std::vector<LayerTiling> plan_layers(Network& net, const HwConfig& hw, bool keep_resident,
                                     PlanLimits& limits) {
  limits.act_share.resize(net.layers.size(), 1.0);
  while (true) {
    place_tensors(net, keep_resident, limits);
    Attempt a = attempt(net, hw, limits);
    if (a.failed_layer < 0) return std::move(a.tilings);
    const int t = victim(net, a.failed_layer);
    if (t < 0) does_not_fit(net.layers[a.failed_layer], hw, a.failure);
    limits.evicted.insert(t);
  }
}

bool relax(const Network& net, int layer, Memory memory, PlanLimits& limits) {
  if (memory != Memory::act) return limits.compact.insert(layer).second;
  const int t = victim(net, layer);
  if (t >= 0) {
    limits.evicted.insert(t);
    return true;
  }
  limits.act_share[layer] *= 0.7;
  return limits.act_share[layer] > 0.05;
}

}  // namespace dlc::accel
