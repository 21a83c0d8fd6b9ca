// Operators that gather and scatter elements of any type.
#include <algorithm>
#include <cstring>

#include "compiler/backends/reference/kernels.h"
#include "compiler/backends/reference/numbers.h"

namespace dlc::reference {
namespace {

using Ints = std::vector<int64_t>;

void copy_element(const KernelArgs& a, size_t to, const ir::Tensor& from, size_t at) {
  const size_t bytes = element_size(a.out().type);
  std::memcpy(a.out().bytes.data() + to * bytes, from.bytes.data() + at * bytes, bytes);
}

// Puts updates into the output one after another, as `reduction` says.
class Scatter {
 public:
  Scatter(const KernelArgs& a, const ir::Tensor& updates)
      : a_(a), updates_(updates), reduction_(a.node.attribute<std::string>("reduction", "none")) {
    a.out().bytes = a.in(0).bytes;
    if (reduction_ == "none") return;
    values_ = ir::to_doubles(a.in(0));
    new_ = ir::to_doubles(updates);
  }
  void put(size_t to, size_t update) {
    if (reduction_ == "none") return copy_element(a_, to, updates_, update);
    double& v = values_[to];
    const double u = new_[update];
    v = reduction_ == "add" ? v + u : reduction_ == "mul" ? v * u : reduction_ == "min" ? std::min(v, u) : std::max(v, u);
  }
  void finish() {
    if (reduction_ != "none") ir::from_doubles(a_.out(), values_);
  }

 private:
  const KernelArgs& a_;
  const ir::Tensor& updates_;
  std::string reduction_;
  std::vector<double> values_, new_;
};

// Calls f(position in the indices tensor, offset in the data) for each element; the offset is that of the same
// position with the index along `axis`.
template <typename F>
void for_each_indexed(const KernelArgs& a, const F& f) {
  const ir::Shape &x = a.in(0).shape, &at = a.in(1).shape;
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis"));
  const Ints indices = integers(a.in(1)), strides = row_major_strides(x);
  for (size_t i = 0; i < indices.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), offset = 0;
    for (size_t d = at.size(); d-- > 0;) {
      const int64_t place = rest % at[d];
      rest /= at[d];
      offset += (d == axis ? checked_index(a, indices[i], x[d]) : place) * strides[d];
    }
    f(i, static_cast<size_t>(offset));
  }
}

}  // namespace

void gather_elements(const KernelArgs& a) {
  for_each_indexed(a, [&](size_t i, size_t offset) { copy_element(a, i, a.in(0), offset); });
}

void scatter_elements(const KernelArgs& a) {
  Scatter scatter(a, a.in(2));
  for_each_indexed(a, [&](size_t i, size_t offset) { scatter.put(offset, i); });
  scatter.finish();
}

void gather_nd(const KernelArgs& a) {
  const ir::Shape &x = a.in(0).shape, &at = a.in(1).shape;
  const auto batch_dims = static_cast<size_t>(a.node.attribute<int64_t>("batch_dims"));
  const auto depth = static_cast<size_t>(at.back());
  const Ints indices = integers(a.in(1)), strides = row_major_strides(x);
  const int64_t run = ir::element_count({x.begin() + static_cast<int64_t>(batch_dims + depth), x.end()});
  const int64_t batches = ir::element_count({x.begin(), x.begin() + static_cast<int64_t>(batch_dims)});
  const size_t tuples = indices.size() / depth, per_batch = batches == 0 ? 0 : tuples / static_cast<size_t>(batches);
  for (size_t t = 0; t < tuples; ++t) {
    int64_t offset = static_cast<int64_t>(t / per_batch) * (batch_dims > 0 ? strides[batch_dims - 1] : 0);
    for (size_t d = 0; d < depth; ++d)
      offset += checked_index(a, indices[t * depth + d], x[batch_dims + d]) * strides[batch_dims + d];
    for (int64_t i = 0; i < run; ++i)
      copy_element(a, t * static_cast<size_t>(run) + static_cast<size_t>(i), a.in(0), static_cast<size_t>(offset + i));
  }
}

void scatter_nd(const KernelArgs& a) {
  const ir::Shape &x = a.in(0).shape, &at = a.in(1).shape;
  const auto depth = static_cast<size_t>(at.back());
  const Ints indices = integers(a.in(1)), strides = row_major_strides(x);
  const auto run = static_cast<size_t>(ir::element_count({x.begin() + at.back(), x.end()}));
  Scatter scatter(a, a.in(2));
  for (size_t t = 0; t < indices.size() / depth; ++t) {
    int64_t offset = 0;
    for (size_t d = 0; d < depth; ++d) offset += checked_index(a, indices[t * depth + d], x[d]) * strides[d];
    for (size_t i = 0; i < run; ++i) scatter.put(static_cast<size_t>(offset) + i, t * run + i);
  }
  scatter.finish();
}

// Rows of a cache replaced from each batch's write index on; circular: wrapping around.
void tensor_scatter(const KernelArgs& a) {
  const ir::Shape &x = a.in(0).shape, &u = a.in(1).shape;
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis"));
  const bool circular = a.node.attribute<std::string>("mode") == "circular";
  const Lines to(x, axis), from(u, axis);
  const Ints starts = a.has(2) ? integers(a.in(2)) : Ints(static_cast<size_t>(x[0]), 0);
  a.out().bytes = a.in(0).bytes;
  const int64_t lines_per_batch = x[0] == 0 ? 1 : to.lines() / x[0];
  for (int64_t line = 0; line < to.lines(); ++line) {
    const int64_t start = starts[static_cast<size_t>(line / lines_per_batch)];
    for (int64_t i = 0; i < from.length; ++i) {
      const int64_t at = circular ? (start + i) % to.length : start + i;
      copy_element(a, to.at(line, checked_index(a, at, to.length)), a.in(1), from.at(line, i));
    }
  }
}

void compress(const KernelArgs& a) {
  const Ints kept = a.node.attribute<Ints>("kept");
  const bool flat = !a.node.attributes.contains("axis");
  const auto axis = static_cast<size_t>(a.node.attribute<int64_t>("axis"));
  const Lines from(flat ? ir::Shape{a.in(0).size()} : a.in(0).shape, axis), to(a.out().shape, axis);
  for (int64_t line = 0; line < to.lines(); ++line)
    for (int64_t i = 0; i < to.length; ++i)
      copy_element(a, to.at(line, i), a.in(0), from.at(line, kept[static_cast<size_t>(i)]));
}

void reverse_sequence(const KernelArgs& a) {
  const ir::Shape& x = a.in(0).shape;
  const bool batch_first = a.node.attribute<int64_t>("batch_axis") == 0;
  const Ints lengths = integers(a.in(1));
  const int64_t inner = x[0] * x[1] == 0 ? 0 : a.in(0).size() / (x[0] * x[1]);
  for (int64_t p = 0; p < x[0]; ++p) {
    for (int64_t q = 0; q < x[1]; ++q) {
      const int64_t batch = batch_first ? p : q, time = batch_first ? q : p;
      const int64_t length = std::clamp<int64_t>(lengths[static_cast<size_t>(batch)], 0, batch_first ? x[1] : x[0]);
      const int64_t other = time < length ? length - 1 - time : time;
      const int64_t from = batch_first ? p * x[1] + other : other * x[1] + q;
      for (int64_t i = 0; i < inner; ++i)
        copy_element(a, static_cast<size_t>((p * x[1] + q) * inner + i), a.in(0), static_cast<size_t>(from * inner + i));
    }
  }
}

void center_crop_pad(const KernelArgs& a) {
  const ir::Shape &x = a.in(0).shape, &y = a.out().shape;
  const Ints starts = a.node.attribute<Ints>("starts"), strides = row_major_strides(x);
  for (int64_t i = 0; i < a.out().size(); ++i) {
    int64_t rest = i, from = 0;
    bool inside = true;
    for (size_t d = y.size(); d-- > 0;) {
      const int64_t at = rest % y[d] + starts[d];
      rest /= y[d];
      inside = inside && at >= 0 && at < x[d];
      from += at * strides[d];
    }
    if (inside) copy_element(a, static_cast<size_t>(i), a.in(0), static_cast<size_t>(from));
  }
}

}  // namespace dlc::reference
