// Element-wise groups without an anchor.
#include <algorithm>

#include "compiler/loop/lowering.h"

namespace dlc::loop {
namespace {

// Operands from outside the group.
std::vector<ir::ValueId> outside(const Lowering& l, const Group& g) {
  std::set<ir::ValueId> inside;
  for (ir::NodeId n : g.nodes) inside.insert(l.graph().node(n).outputs[0]);
  std::vector<ir::ValueId> result;
  for (ir::NodeId n : g.nodes)
    for (ir::ValueId v : l.graph().node(n).inputs)
      if (v.valid() && !inside.count(v) && std::find(result.begin(), result.end(), v) == result.end()) result.push_back(v);
  return result;
}

bool wants_blocked(const Lowering& l, const Group& g) {
  const ir::Shape& shape = l.value(g.out).shape;
  if (shape.size() < 3) return false;
  bool blocked = false;
  for (ir::ValueId v : outside(l, g))
    blocked |= l.value(v).shape == shape && !l.value(v).is_constant() && l.natural_layout(v).block == l.machine().lanes;
  return blocked && Epilogue::fits(l, g, {l.machine().lanes});
}

void lower_blocked(Lowering& l, const Group& g) {
  const int block = l.machine().lanes;
  const ir::Shape& s = l.value(g.out).shape;
  NestBuilder b(l, "elementwise");
  const Epilogue epilogue(l, b, g, {block});
  int64_t plane = 1;
  for (size_t d = 2; d < s.size(); ++d) plane *= s[d];
  const int64_t blocks = ceil_div(s[1], block);
  b.parallel(s[0] * blocks, [&](Expr i) {
    const Expr row = i % blocks * block;
    b.loop(plane, [&](Expr p) {
      const Expr at = (i * plane + p) * block;
      b.store(epilogue.out_buffer(), at, epilogue({}, at, row, block));
    });
  });
  b.emit(g.nodes);
}

// Dimensions of the result with each operand's stride in them (0: repeated), neighbours joined where no
// operand tells them apart.
struct Iteration {
  std::vector<int64_t> sizes;
  std::vector<Ints> strides;  // per operand
};

Iteration iteration_of(const Lowering& l, const ir::Shape& out, const std::vector<ir::ValueId>& operands) {
  std::vector<Ints> strides;
  for (ir::ValueId v : operands) {
    const ir::Shape& s = l.value(v).shape;
    const Ints own = row_major_strides(s);
    Ints mine(out.size(), 0);
    for (size_t d = 0; d < s.size(); ++d)
      if (s[d] != 1) mine[out.size() - s.size() + d] = own[d];
    strides.push_back(std::move(mine));
  }
  Iteration it;
  it.strides.resize(operands.size());
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    bool join = !it.sizes.empty();
    for (size_t k = 0; join && k < operands.size(); ++k) join = it.strides[k].back() == strides[k][d] * out[d];
    if (join) it.sizes.back() *= out[d];
    else it.sizes.push_back(out[d]);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (join) it.strides[k].back() = strides[k][d];
      else it.strides[k].push_back(strides[k][d]);
    }
  }
  if (it.sizes.empty()) {
    it.sizes.push_back(1);
    for (Ints& s : it.strides) s.push_back(0);
  }
  return it;
}

class PlainNest {
 public:
  PlainNest(Lowering& l, const Group& g) : l_(l), g_(g), b_(l, "elementwise"), operands_(outside(l, g)), it_(iteration_of(l, l.value(g.out).shape, operands_)) {
    for (ir::ValueId v : operands_) buffers_.push_back(b_.in(l.plain(v)));
    out_ = b_.out(l.define(g.out, {}));
  }

  void run() {
    const int lanes = l_.machine().lanes;
    const int64_t inner = it_.sizes.back();
    if (it_.sizes.size() == 1 && inner >= lanes) {
      // The last vector reaches back over elements that are computed already.
      b_.parallel(ceil_div(inner, lanes), [&](Expr i) {
        const Expr at = i * lanes;
        element({}, inner % lanes ? min(at, Expr(inner - lanes)) : at, lanes, 0);
      });
      return b_.emit(g_.nodes);
    }
    int64_t outer = 1;
    for (size_t d = 0; d + 1 < it_.sizes.size(); ++d) outer *= it_.sizes[d];
    b_.parallel(outer, [&](Expr i) {
      std::vector<Expr> index(it_.sizes.size() - 1);
      Expr rest = i;
      for (size_t d = index.size(); d-- > 0;) {
        index[d] = d == 0 ? rest : rest % it_.sizes[d];
        rest = rest / it_.sizes[d];
      }
      b_.loop(0, inner / lanes * lanes, lanes, [&](Expr j) { element(index, j, lanes, 0); });
      if (inner % lanes) element(index, Expr(inner / lanes * lanes), lanes, static_cast<int>(inner % lanes));
    });
    b_.emit(g_.nodes);
  }

 private:
  void element(const std::vector<Expr>& index, const Expr& j, int lanes, int valid) {
    std::map<ir::ValueId, Expr> values;
    for (size_t k = 0; k < operands_.size(); ++k) {
      Expr at = j * it_.strides[k].back();
      for (size_t d = 0; d < index.size(); ++d) at = at + index[d] * it_.strides[k][d];
      values[operands_[k]] = b_.load(buffers_[k], at, lanes, it_.strides[k].back(), it_.strides[k].back() == 0 ? 0 : valid);
    }
    Expr to = j;
    int64_t stride = it_.sizes.back();
    for (size_t d = index.size(); d-- > 0;) {
      to = to + index[d] * stride;
      stride *= it_.sizes[d];
    }
    for (ir::NodeId n : g_.nodes) {
      const ir::Node& node = l_.graph().node(n);
      std::vector<Expr> arguments;
      for (ir::ValueId v : node.inputs) arguments.push_back(v.valid() ? values.at(v) : Expr{});
      values[node.outputs[0]] = pointwise(l_.graph(), node, arguments);
    }
    b_.store(out_, to, values.at(g_.out), 1, valid);
  }

  Lowering& l_;
  const Group& g_;
  NestBuilder b_;
  std::vector<ir::ValueId> operands_;
  Iteration it_;
  std::vector<int> buffers_;
  int out_ = -1;
};

}  // namespace

bool lower_elementwise(Lowering& l, const Group& g) {
  for (ir::NodeId n : g.nodes)
    if (!is_pointwise(l.graph(), l.graph().node(n))) return false;
  if (l.value(g.out).elements() == 0) return false;
  if (wants_blocked(l, g)) lower_blocked(l, g);
  else PlainNest(l, g).run();
  return true;
}

}  // namespace dlc::loop
