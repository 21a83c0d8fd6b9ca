#include "compiler/accel/plan.h"

#include <algorithm>
#include <map>
#include <tuple>

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
int victim(const Network& net, int layer, const PlanLimits& limits) {
  int best = -1;
  int64_t most = 0;
  for (int t = 0; t < static_cast<int>(net.tensors.size()); ++t) {
    if (!lives_at(net, t, layer) || limits.kept.count(t)) continue;
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

// A layer for which the user chose something: the choice is to blame, not the machine.
[[noreturn]] void choice_does_not_fit(const std::string& place, const LayerPlan& layer, const TilingFailure& f) {
  if (f.needed_bytes == 0)
    throw UserError(ErrorKind::unsupported, place, "layer '" + layer.name + "' has no tiling with these choices together; leave some out and they are searched");
  throw UserError(ErrorKind::unsupported, place,
                  "layer '" + layer.name + "' does not fit with these choices: its tile needs " + std::to_string(f.needed_bytes) +
                      " bytes of the " + memory_name(f.memory) + " scratchpad, which has " + std::to_string(f.available_bytes) + " for it");
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
  double cycles() const {
    double sum = 0;
    for (const LayerTiling& t : tilings) sum += t.cycles;
    return sum;
  }
};

// Tilings already chosen: a layer's depends on the ACT words left to it and on where its operands are.
class TilingCache {
 public:
  TilingCache(const Network& net, const HwConfig& hw, const std::vector<TilingRequest>& requests)
      : net_(net), hw_(hw), requests_(requests) {}

  std::optional<LayerTiling> choose(int layer, int64_t act_words, TilingFailure* failure) {
    const LayerPlan& l = net_.layers[layer];
    const auto state = [&](int t) {
      return t < 0 ? 0 : 1 + (net_.tensors[t].resident ? 1 : 0) + (net_.tensors[t].in_dram ? 2 : 0);
    };
    const Key key{layer, act_words, state(l.x), state(l.second), state(l.y)};
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    const auto tiling = choose_tiling(net_, layer, hw_, act_words, requests_[layer], failure);
    if (tiling) known_.emplace(key, *tiling);
    return tiling;
  }

 private:
  using Key = std::tuple<int, int64_t, int, int, int>;
  const Network& net_;
  const HwConfig& hw_;
  const std::vector<TilingRequest>& requests_;
  std::map<Key, LayerTiling> known_;
};

Attempt attempt(const Network& net, const HwConfig& hw, const PlanLimits& limits, TilingCache& cache) {
  Attempt a;
  for (int layer = 0; layer < static_cast<int>(net.layers.size()); ++layer) {
    int64_t free = hw.words(Memory::act);
    for (int t = 0; t < static_cast<int>(net.tensors.size()); ++t)
      if (lives_at(net, t, layer)) free -= net.tensors[t].words();
    free = static_cast<int64_t>(static_cast<double>(free) * limits.act_share[layer]);
    a.failure = {};
    const auto tiling = free < 0 ? std::nullopt : cache.choose(layer, free, &a.failure);
    if (!tiling) {
      a.failed_layer = layer;
      return a;
    }
    a.tilings.push_back(*tiling);
  }
  return a;
}

// Resident tensors can leave a layer too little space for good tiles (its weights are then loaded again for every
// strip). Gives up those whose own traffic costs less than that, one at a time, the most cramped layer first.
void evict_where_it_pays(Network& net, const HwConfig& hw, bool keep_resident, PlanLimits& limits,
                         TilingCache& cache, Attempt& best) {
  constexpr double kCramped = 1.05;  // a layer's cycles over those with the whole scratchpad to itself
  constexpr double kGain = 200;      // cycles; less is noise of the model
  std::vector<std::pair<double, int>> cramped;
  for (int layer = 0; layer < static_cast<int>(net.layers.size()); ++layer) {
    const auto alone = cache.choose(layer, hw.words(Memory::act), nullptr);
    const double cycles = best.tilings[layer].cycles;
    if (alone && cycles > kCramped * alone->cycles) cramped.push_back({alone->cycles - cycles, layer});
  }
  std::sort(cramped.begin(), cramped.end());
  for (const auto& [excess, layer] : cramped)
    for (int t = 0; t < static_cast<int>(net.tensors.size()); ++t) {
      if (!lives_at(net, t, layer) || limits.kept.count(t)) continue;
      PlanLimits trial = limits;
      trial.evicted.insert(t);
      place_tensors(net, keep_resident, trial);
      Attempt a = attempt(net, hw, trial, cache);
      if (a.failed_layer < 0 && a.cycles() + kGain < best.cycles()) {
        best = std::move(a);
        limits = std::move(trial);
      } else {
        place_tensors(net, keep_resident, limits);
      }
    }
}

}  // namespace

std::vector<LayerTiling> plan_layers(Network& net, const HwConfig& hw, bool keep_resident,
                                     PlanLimits& limits) {
  limits.act_share.resize(net.layers.size(), 1.0);
  limits.requests.resize(net.layers.size());
  limits.request_places.resize(net.layers.size());
  const std::vector<TilingRequest> requests = limits.requests;
  TilingCache cache(net, hw, requests);
  while (true) {
    place_tensors(net, keep_resident, limits);
    Attempt a = attempt(net, hw, limits, cache);
    if (a.failed_layer < 0) {
      evict_where_it_pays(net, hw, keep_resident, limits, cache, a);
      return std::move(a.tilings);
    }
    const int t = victim(net, a.failed_layer, limits);
    if (t < 0 && !limits.request_places[a.failed_layer].empty())
      choice_does_not_fit(limits.request_places[a.failed_layer], net.layers[a.failed_layer], a.failure);
    if (t < 0) does_not_fit(net.layers[a.failed_layer], hw, a.failure);
    limits.evicted.insert(t);
  }
}

bool relax(const Network& net, int layer, Memory memory, PlanLimits& limits) {
  if (memory != Memory::act) return limits.compact.insert(layer).second;
  const int t = victim(net, layer, limits);
  if (t >= 0) {
    limits.evicted.insert(t);
    return true;
  }
  limits.act_share[layer] *= 0.7;
  return limits.act_share[layer] > 0.05;
}

}  // namespace dlc::accel
