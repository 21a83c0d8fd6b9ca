#include "compiler/accel/tile_graph.h"

#include <algorithm>

namespace dlc::accel {
namespace {

// Appends the runs of an affine loop nest whose innermost body covers [base, base + run).
class Runs {
 public:
  Runs(std::vector<Access>& out, Memory memory, bool write, int port)
      : out_(out), memory_(memory), write_(write), port_(port) {}

  void add(int64_t base, int64_t run, std::vector<std::pair<int64_t, int64_t>> loops) {  // (count, stride)
    std::erase_if(loops, [](const auto& l) { return l.first == 1 || l.second == 0; });
    for (auto& [count, stride] : loops)
      if (stride < 0) {
        base += (count - 1) * stride;
        stride = -stride;
      }
    std::sort(loops.begin(), loops.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
    // Loops that continue the run without a gap make it longer.
    size_t first = 0;
    while (first < loops.size() && loops[first].second <= run) {
      run += (loops[first].first - 1) * loops[first].second;
      ++first;
    }
    walk(base, run, loops, loops.size(), first);
  }

 private:
  void walk(int64_t base, int64_t run, const std::vector<std::pair<int64_t, int64_t>>& loops, size_t level,
            size_t first) {
    if (level == first) {
      out_.push_back({memory_, write_, port_, base, base + run});
      return;
    }
    const auto [count, stride] = loops[level - 1];
    for (int64_t i = 0; i < count; ++i) walk(base + i * stride, run, loops, level - 1, first);
  }

  std::vector<Access>& out_;
  Memory memory_;
  bool write_;
  int port_;
};

int64_t units_per_word(Memory m, const HwConfig& hw) {
  return m == Memory::act ? hw.act_groups() : m == Memory::acc ? hw.acc_groups() : 1;
}

template <typename Copy>
void copy_accesses(const Copy& c, const HwConfig& hw, bool write, std::vector<Access>& out) {
  const int64_t u = units_per_word(c.memory, hw);
  std::vector<std::pair<int64_t, int64_t>> loops;
  for (int i = 0; i < 3; ++i) loops.push_back({c.count[i], c.stride[i] * u});
  Runs(out, c.memory, write, 0).add(c.address * u, c.row_bytes / hw.word_bytes(c.memory) * u, loops);
}

void matrix_accesses(const isa::Matrix& m, const HwConfig& hw, std::vector<Access>& out) {
  const int64_t ag = hw.act_groups(), cg = hw.acc_groups();
  std::vector<std::pair<int64_t, int64_t>> act, wgt, acc;
  for (int i = 0; i < 4; ++i) {
    act.push_back({m.tile_count[i], m.act_tile_stride[i] * ag});
    wgt.push_back({m.tile_count[i], m.wgt_tile_stride[i]});
  }
  acc.push_back({m.tile_count[0], m.acc_tile_stride * cg});
  for (int i = 0; i < 3; ++i) {
    act.push_back({m.step_count[i], m.act_step_stride[i] * ag});
    acc.push_back({m.step_count[i], m.acc_step_stride[i] * cg});
  }
  Runs(out, Memory::act, false, 0).add(m.act_address * ag, ag, act);
  Runs(out, Memory::wgt, false, 0).add(m.wgt_address, hw.tile_words(), wgt);
  // It reads ACC too, its own earlier results: those need no wait, so only the write is an effect.
  Runs(out, Memory::acc, true, 0).add(m.acc_address * cg, cg, acc);
}

void vector_accesses(const isa::Vector& v, std::vector<Access>& out) {
  const int outer = 5 - static_cast<int>(v.reduce_loops);
  std::vector<std::pair<int64_t, int64_t>> a, b, d, par, tap;
  int64_t reduction = 1;
  for (int i = 0; i < 5; ++i) {
    a.push_back({v.count[i], v.a_stride[i]});
    b.push_back({v.count[i], v.b_stride[i]});
    d.push_back({v.count[i], v.d_stride[i]});
    if (i < 2) par.push_back({v.count[i], v.par_stride[i]});
    if (i == 0) tap.push_back({v.count[0], v.tap_stride});
    if (i >= outer) reduction *= v.count[i];
  }
  const Memory from = v.a_source == isa::VectorSource::acc ? Memory::acc : Memory::act;
  Runs(out, from, false, 0).add(v.a_address, 1, a);
  if (v.combine != isa::Combine::none) {
    const Memory from_b = v.b_source == isa::VectorSource::acc ? Memory::acc : Memory::act;
    Runs(out, from_b, false, 1).add(v.b_address, 1, b);
  }
  const Memory to = v.destination == isa::VectorDestination::acc ? Memory::acc : Memory::act;
  Runs(out, to, true, 0).add(v.d_address, 1, d);
  if (v.rescale == isa::Rescale::parameter) Runs(out, Memory::par, false, 0).add(v.par_address, 1, par);
  if (v.premultiply == isa::Premultiply::tap)
    Runs(out, Memory::par, false, 1).add(v.tap_address, (reduction + 15) / 16, tap);
  if (v.lut != isa::Lut::none) Runs(out, Memory::lut, false, 0).add(v.lut_table, 1, {});
}

// A loop that runs once has no stride: keeps strides that are never used inside their fields.
template <typename Counts, typename... Strides>
void drop_unused_strides(const Counts& counts, Strides&... strides) {
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 1) ((strides[i] = 0), ...);
}

void normalise(isa::Instruction& instruction) {
  if (auto* l = std::get_if<isa::Load>(&instruction))
    drop_unused_strides(l->count, l->stride, l->dram_stride);
  if (auto* s = std::get_if<isa::Store>(&instruction))
    drop_unused_strides(s->count, s->stride, s->dram_stride);
  if (auto* m = std::get_if<isa::Matrix>(&instruction)) {
    drop_unused_strides(m->tile_count, m->act_tile_stride, m->wgt_tile_stride);
    drop_unused_strides(m->step_count, m->act_step_stride, m->acc_step_stride);
    if (m->tile_count[0] == 1) m->acc_tile_stride = 0;
  }
}

}  // namespace

int TileGraph::add_buffer(Memory memory, int64_t words, std::string name, int layer, bool pinned) {
  buffers_.push_back({memory, words, std::move(name), layer, pinned});
  return static_cast<int>(buffers_.size()) - 1;
}

int TileGraph::add_task(isa::Instruction instruction, Refs refs, int layer, std::string note) {
  normalise(instruction);
  const int t = task_count();
  for (int b : {refs.a, refs.b, refs.d, refs.par, refs.tap, refs.lut}) {
    if (b < 0) continue;
    if (buffers_[b].first_task < 0) buffers_[b].first_task = t;
    buffers_[b].last_task = t;
  }
  return static_cast<int>(
      boost::add_vertex(Task{std::move(instruction), refs, layer, std::move(note)}, dag_));
}

isa::Instruction TileGraph::bound(int t) const {
  isa::Instruction instruction = dag_[t].instruction;
  const Refs& r = dag_[t].refs;
  auto at = [&](int buffer) { return static_cast<uint32_t>(buffers_[buffer].address); };
  auto group_at = [&](int buffer) {
    return static_cast<uint32_t>(buffers_[buffer].address * units_per_word(buffers_[buffer].memory, hw_));
  };
  struct Bind {
    const Refs& r;
    decltype(at)& word;
    decltype(group_at)& group;
    void operator()(isa::Load& i) const { i.address += word(r.a); }
    void operator()(isa::Store& i) const { i.address += word(r.a); }
    void operator()(isa::Matrix& i) const {
      i.act_address += word(r.a);
      i.wgt_address += word(r.b);
      i.acc_address += word(r.d);
    }
    void operator()(isa::Vector& i) const {
      i.a_address += group(r.a);
      i.d_address += group(r.d);
      if (r.b >= 0) i.b_address += group(r.b);
      if (r.par >= 0) i.par_address += word(r.par);
      if (r.tap >= 0) i.tap_address += word(r.tap);
      if (r.lut >= 0) i.lut_table += word(r.lut);
    }
  };
  std::visit(Bind{r, at, group_at}, instruction);
  return instruction;
}

std::vector<Access> accesses_of(const isa::Instruction& instruction, const HwConfig& hw) {
  std::vector<Access> out;
  if (const auto* l = std::get_if<isa::Load>(&instruction)) copy_accesses(*l, hw, true, out);
  if (const auto* s = std::get_if<isa::Store>(&instruction)) copy_accesses(*s, hw, false, out);
  if (const auto* m = std::get_if<isa::Matrix>(&instruction)) matrix_accesses(*m, hw, out);
  if (const auto* v = std::get_if<isa::Vector>(&instruction)) vector_accesses(*v, out);
  return out;
}

}  // namespace dlc::accel
