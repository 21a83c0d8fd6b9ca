#include "compiler/accel/lowering.h"

#include <algorithm>
#include <cstring>

namespace dlc::accel {
namespace {

constexpr int64_t kMaxCount = 65535;  // bits of a loop count

// DRAM <-> ACT copy of a box; the same fields for LOAD and STORE.
// at: where the tensor lies in `t`, its root.
template <typename Copy>
Copy box_copy(const TensorPlan& t, const Placement& at, const Box& box, const ActView& view, int rows_bytes) {
  const int64_t map = t.shape.h * t.shape.w;
  Copy c;
  c.memory = Memory::act;
  const int64_t first =
      ((box.image + at.image) * t.blocks + box.blocks.begin + at.block) * map +
      at.map_row(box.rows.begin) * t.shape.w + at.map_column(box.columns.begin);
  c.dram_address = t.address + static_cast<uint64_t>(first * rows_bytes);
  c.address = static_cast<uint32_t>(view.at(box.blocks.begin, box.rows.begin, box.columns.begin));
  const bool full_width =
      box.columns.size() == t.shape.w && view.row_stride == t.shape.w && at.row_step == 1;
  const bool full_map = full_width && box.rows.size() == t.shape.h && view.block_stride == map;
  const int64_t width = box.columns.size(), height = box.rows.size(), blocks = box.blocks.size();
  if (full_map) {
    c.row_bytes = static_cast<uint32_t>(blocks * map * rows_bytes);
  } else if (full_width) {
    c.row_bytes = static_cast<uint32_t>(height * width * rows_bytes);
    c.count = {1, 1, static_cast<uint32_t>(blocks)};
    c.stride = {0, 0, static_cast<int32_t>(view.block_stride)};
    c.dram_stride = {0, 0, static_cast<int32_t>(map * rows_bytes)};
  } else {
    const bool gaps = at.column_step > 1;
    c.row_bytes = static_cast<uint32_t>((gaps ? 1 : width) * rows_bytes);
    c.count = {static_cast<uint32_t>(blocks), static_cast<uint32_t>(height),
               static_cast<uint32_t>(gaps ? width : 1)};
    c.stride = {static_cast<int32_t>(view.block_stride), static_cast<int32_t>(view.row_stride),
                static_cast<int32_t>(gaps ? view.column_stride : 0)};
    c.dram_stride = {static_cast<int32_t>(map * rows_bytes),
                     static_cast<int32_t>(at.row_step * t.shape.w * rows_bytes),
                     static_cast<int32_t>(gaps ? at.column_step * rows_bytes : 0)};
  }
  return c;
}

std::string box_note(const TensorPlan& t, const Box& box) {
  return t.name + " rows " + std::to_string(box.rows.begin) + ".." + std::to_string(box.rows.end - 1) +
         " blocks " + std::to_string(box.blocks.begin) + ".." + std::to_string(box.blocks.end - 1);
}

bool mergeable(const VectorLoop& outer, const VectorLoop& inner) {
  const int64_t n = inner.count;
  return outer.count * n <= kMaxCount && outer.a == inner.a * n && outer.b == inner.b * n &&
         outer.d == inner.d * n && outer.par == inner.par * n && outer.tap == inner.tap * n;
}

std::vector<VectorLoop> simplify(const std::vector<VectorLoop>& loops) {
  std::vector<VectorLoop> out;
  for (const VectorLoop& l : loops) {
    if (l.count == 1) continue;
    if (!out.empty() && mergeable(out.back(), l)) {
      const int64_t count = out.back().count * l.count;
      out.back() = l;
      out.back().count = count;
    } else {
      out.push_back(l);
    }
  }
  return out;
}

// Index of the loop to unroll so that the nest comes closer to what an instruction can hold, or -1 if it
// fits.
int loop_to_unroll(const std::vector<VectorLoop>& outer, size_t reduce) {
  auto smallest = [&](auto&& eligible) {
    int best = -1;
    for (size_t i = 0; i < outer.size(); ++i)
      if (eligible(i) && (best < 0 || outer[i].count < outer[best].count)) best = static_cast<int>(i);
    return best;
  };
  // Taps step with loop 0 only, parameters with loops 0 and 1.
  const int tap = smallest([&](size_t i) { return i >= 1 && outer[i].tap != 0; });
  if (tap >= 0) return tap;
  const int par = smallest([&](size_t i) { return i >= 2 && outer[i].par != 0; });
  if (par >= 0) return par;
  return outer.size() + reduce > 5 ? smallest([](size_t) { return true; }) : -1;
}

void set_loops(isa::Vector& v, const std::vector<VectorLoop>& outer, const std::vector<VectorLoop>& reduce) {
  auto put = [&](size_t slot, const VectorLoop& l) {
    v.count[slot] = static_cast<uint32_t>(l.count);
    v.a_stride[slot] = static_cast<int32_t>(l.a);
    v.b_stride[slot] = static_cast<int32_t>(l.b);
    v.d_stride[slot] = static_cast<int32_t>(l.d);
  };
  for (size_t i = 0; i < outer.size(); ++i) {
    put(i, outer[i]);
    if (i < 2) v.par_stride[i] = static_cast<int32_t>(outer[i].par);
    if (i == 0) v.tap_stride = static_cast<int32_t>(outer[i].tap);
  }
  for (size_t i = 0; i < reduce.size(); ++i) put(5 - reduce.size() + i, reduce[i]);
  v.reduce_loops = static_cast<uint32_t>(reduce.size());
}

}  // namespace

uint64_t DramImage::reserve(uint64_t bytes) {
  const uint64_t address = (end_ + 63) / 64 * 64;
  end_ = address + bytes;
  return address;
}

uint64_t DramImage::add_constant(std::string name, std::vector<uint8_t> bytes) {
  const uint64_t address = reserve(bytes.size());
  constants_.push_back({std::move(name), address, std::move(bytes)});
  return address;
}

ActView Lowering::strip(int t, const Box& box, const char* what) {
  const int buffer =
      graph.add_buffer(Memory::act, box.words(), std::string(what) + " of '" + tensor(t).name + "'", layer);
  return {buffer,
          0,
          box.rows.size() * box.columns.size(),
          box.columns.size(),
          box.blocks.begin,
          box.rows.begin,
          box.columns.begin};
}

ActView Lowering::resident(int t, int64_t image) {
  const Placement at = net.placement(t);
  TensorPlan& p = tensor(at.root);
  const int64_t map = p.shape.h * p.shape.w;
  if (p.buffer < 0)
    p.buffer = graph.add_buffer(Memory::act, p.words(), "tensor '" + p.name + "'", layer, true);
  const int64_t base = ((image + at.image) * p.blocks + at.block) * map + at.row * p.shape.w + at.column;
  return {p.buffer, base, map, at.row_step * p.shape.w, 0, 0, 0, at.column_step};
}

void Lowering::load_resident_input(int part) {
  const int t = net.root(part);
  const TensorPlan& p = tensor(t);
  if ((!p.region_input && !p.constant) || !p.resident || p.buffer >= 0) return;
  // Strips of about 4 KiB: short enough that the first readers begin early, long enough for full bursts.
  const int64_t row_bytes = p.blocks * p.shape.w * hw.rows;
  const int64_t step = std::max<int64_t>(1, 4096 / row_bytes);
  for (int64_t n = 0; n < p.shape.n; ++n)
    for (int64_t r = 0; r < p.shape.h; r += step) {
      const Box box{n, {0, p.blocks}, {r, std::min(r + step, p.shape.h)}, {0, p.shape.w}};
      const ActView view = resident(t, n);
      graph.add_task(box_copy<isa::Load>(p, {t}, box, view, hw.rows), {.a = view.buffer}, layer,
                     "load " + box_note(p, box));
    }
}

ActView Lowering::read_box(int t, const Box& box) {
  if (tensor(t).resident) {
    load_resident_input(t);
    return resident(t, box.image);
  }
  const ActView view = strip(t, box, "input strip");
  graph.add_task(box_copy<isa::Load>(tensor(net.root(t)), net.placement(t), box, view, hw.rows), {.a = view.buffer}, layer,
                 "load " + box_note(tensor(t), box));
  return view;
}

ActView Lowering::write_box(int t, const Box& box) {
  return tensor(t).resident ? resident(t, box.image) : strip(t, box, "output strip");
}

void Lowering::finish_box(int t, const Box& box, const ActView& view, const std::string& note) {
  if (!tensor(t).in_dram) return;
  graph.add_task(box_copy<isa::Store>(tensor(net.root(t)), net.placement(t), box, view, hw.rows), {.a = view.buffer}, layer,
                 "store " + note);
}

void Lowering::load(int buffer, Memory memory, int64_t word, uint64_t dram_address, int64_t bytes,
                    const std::string& note) {
  isa::Load l;
  l.memory = memory;
  l.address = static_cast<uint32_t>(word);
  l.dram_address = dram_address;
  l.row_bytes = static_cast<uint32_t>(bytes);
  graph.add_task(l, {.a = buffer}, layer, note);
}

int Lowering::look_up_table() {
  if (table >= 0) return table;
  const auto& bytes = plan().lut->table;
  table = graph.add_buffer(Memory::lut, 1, "look-up table", layer);
  load(table, Memory::lut, 0, dram.add_constant(plan().name + ".table", {bytes.begin(), bytes.end()}), kLutTableBytes,
       "look-up table");
  return table;
}

void Lowering::add_vector(isa::Vector vector, Refs refs, std::vector<VectorLoop> outer,
                          std::vector<VectorLoop> reduce, const std::string& note) {
  if (plan().lut && vector.destination == isa::VectorDestination::act8) {  // not to partial results
    vector.lut = isa::Lut::table8;
    refs.lut = look_up_table();
  }
  for (auto* loops : {&outer, &reduce})
    for (VectorLoop& l : *loops) {  // unused operands have no strides
      if (refs.b < 0) l.b = 0;
      if (refs.par < 0) l.par = 0;
      if (refs.tap < 0) l.tap = 0;
    }
  outer = simplify(outer);
  reduce = simplify(reduce);
  const int unroll = loop_to_unroll(outer, reduce.size());
  if (unroll < 0) {
    set_loops(vector, outer, reduce);
    graph.add_task(vector, refs, layer, note);
    return;
  }
  const VectorLoop loop = outer[unroll];
  outer.erase(outer.begin() + unroll);
  for (int64_t i = 0; i < loop.count; ++i) {
    isa::Vector v = vector;
    v.a_address += static_cast<uint32_t>(i * loop.a);
    v.b_address += static_cast<uint32_t>(i * loop.b);
    v.d_address += static_cast<uint32_t>(i * loop.d);
    v.par_address += static_cast<uint32_t>(i * loop.par);
    v.tap_address += static_cast<uint32_t>(i * loop.tap);
    add_vector(v, refs, outer, reduce, note);
  }
}

void for_group_nests(int64_t g0, int64_t g1, const GroupLayout& a, const GroupLayout& b, const GroupLayout& d,
                     const std::function<void(int64_t, std::vector<VectorLoop>)>& visit) {
  const int64_t most = std::max({a.per_word, b.per_word, d.per_word});
  const int64_t least = std::min({a.per_word, b.per_word, d.per_word});
  // per_word are powers of two, so every layout is affine in (whole words of the widest, of the narrowest,
  // rest).
  auto loop = [&](int64_t g, int64_t step, int64_t count) {
    return VectorLoop{
        count, a.at(g + step) - a.at(g), b.at(g + step) - b.at(g), d.at(g + step) - d.at(g), step, step};
  };
  while (g0 < g1) {
    std::vector<VectorLoop> loops;
    int64_t n = 1;
    if (g0 % most == 0 && g1 - g0 >= most) {
      const int64_t words = (g1 - g0) / most;
      loops.push_back(loop(g0, most, words));
      if (most > least) loops.push_back(loop(g0, least, most / least));
      if (least > 1) loops.push_back(loop(g0, 1, least));
      n = words * most;
    } else if (g0 % least == 0 && g1 - g0 >= least) {
      const int64_t words = std::min((g1 - g0) / least, (most - g0 % most) / least);
      loops.push_back(loop(g0, least, words));
      if (least > 1) loops.push_back(loop(g0, 1, least));
      n = words * least;
    } else {
      n = std::min(least - g0 % least, g1 - g0);
      loops.push_back(loop(g0, 1, n));
    }
    visit(g0, std::move(loops));
    g0 += n;
  }
}

void write_parameters(const ir::Rescale& r, int64_t channels, int64_t group, int lanes, uint8_t* word) {
  for (int l = 0; l < lanes; ++l) {
    const int64_t c = group * lanes + l;
    if (c >= channels) continue;
    const int32_t bias = r.bias.empty() ? 0 : r.bias[r.bias.size() == 1 ? 0 : c];
    const uint32_t multiplier = r.multiplier[r.multiplier.size() == 1 ? 0 : c];
    const uint32_t shift = static_cast<uint32_t>(r.shift[r.shift.size() == 1 ? 0 : c]);
    std::memcpy(word + 16 * l, &bias, 4);
    std::memcpy(word + 16 * l + 4, &multiplier, 4);
    std::memcpy(word + 16 * l + 8, &shift, 4);
  }
}

std::vector<uint8_t> parameter_words(const ir::Rescale& rescale, int64_t channels, int64_t groups,
                                     int lanes) {
  std::vector<uint8_t> bytes(static_cast<size_t>(groups * lanes * 16), 0);
  for (int64_t g = 0; g < groups; ++g)
    write_parameters(rescale, channels, g, lanes, bytes.data() + g * lanes * 16);
  return bytes;
}

}  // namespace dlc::accel
