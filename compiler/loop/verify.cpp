#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_set>

#include "compiler/loop/loop_ir.h"

namespace dlc::loop {
namespace {

struct Interval {
  int64_t low = 0, high = 0;
};

// sum of coefficient * atom + constant; an atom is a variable or any other bounded sub-expression.
struct Linear {
  std::map<const void*, std::pair<int64_t, Interval>> terms;
  int64_t constant = 0;
  Interval range() const {
    Interval r{constant, constant};
    for (const auto& [atom, t] : terms) {
      const int64_t a = t.first * t.second.low, b = t.first * t.second.high;
      r.low += std::min(a, b);
      r.high += std::max(a, b);
    }
    return r;
  }
};

class Verifier {
 public:
  explicit Verifier(const Kernel& k) : kernel_(k), assigned_(k.locals.size(), false), bounds_(k.locals.size()) {}

  void run() {
    for (const Stmt& s : kernel_.body)
      if (s.kind == Stmt::Kind::parallel_loop && kernel_.body.size() != 1) fail("a parallel loop must be the whole body");
    count_assignments(kernel_.body);
    block(kernel_.body, 0);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::logic_error("loop kernel '" + kernel_.name + "': " + what);
  }

  void count_assignments(const std::vector<Stmt>& body) {
    for (const Stmt& s : body) {
      if (s.kind == Stmt::Kind::assign && !once_.insert(s.id).second) again_.insert(s.id);
      count_assignments(s.body);
    }
  }

  void block(const std::vector<Stmt>& body, int depth) {
    for (const Stmt& s : body) {
      checked_.clear();
      switch (s.kind) {
        case Stmt::Kind::parallel_loop:
          if (depth != 0) fail("a parallel loop inside another loop");
          [[fallthrough]];
        case Stmt::Kind::loop:
          if (s.step < 1 || s.begin >= s.end) fail("a loop without iterations");
          variables_[s.id] = {s.begin, s.begin + (s.end - 1 - s.begin) / s.step * s.step};
          block(s.body, depth + 1);
          variables_.erase(s.id);
          break;
        case Stmt::Kind::assign:
          assign(s);
          break;
        case Stmt::Kind::store:
          if (s.id < 0 || s.id >= static_cast<int>(kernel_.buffers.size())) fail("a store to no buffer");
          expression(s.index);
          expression(s.value);
          if (!kernel_.buffers[static_cast<size_t>(s.id)].written) fail("a store to an input");
          if (s.value.type().element != kernel_.buffers[static_cast<size_t>(s.id)].element) fail("a store of another type");
          access(s.id, s.index, s.value.type().lanes, s.stride, s.valid);
          break;
      }
    }
  }

  void assign(const Stmt& s) {
    const auto id = static_cast<size_t>(s.id);
    if (id >= assigned_.size() || !(s.value.type() == kernel_.locals[id])) fail("an assignment of another type");
    expression(s.value);
    assigned_[id] = true;
    if (s.value.type() == kIndex && !again_.count(s.id)) {
      if (const auto l = linear(s.value)) bounds_[id] = l->range();
    }
  }

  void expression(const Expr& e) {
    if (!e) fail("a statement without value");
    if (!checked_.insert(e.get()).second) return;
    for (const Expr& a : e->args) expression(a);
    switch (e->op) {
      case Op::constant:
      case Op::lane: return;
      case Op::variable:
        if (!variables_.count(e->id)) fail("variable i" + std::to_string(e->id) + " outside its loop");
        return;
      case Op::local:
        if (e->id < 0 || static_cast<size_t>(e->id) >= assigned_.size() || !assigned_[static_cast<size_t>(e->id)])
          fail("local l" + std::to_string(e->id) + " is read before it is assigned");
        return;
      case Op::load:
        if (e->id < 0 || e->id >= static_cast<int>(kernel_.buffers.size())) fail("a load from no buffer");
        access(e->id, e->args[0], e->type.lanes, e->stride, e->valid);
        return;
      default: operands(e);
    }
  }

  void operands(const Expr& e) const {
    const auto bad = [&] { fail(std::string("operands of ") + op_name(e->op) + " do not fit: " + type_text(e->args[0].type())); };
    const Type t = e->args[0].type();
    switch (e->op) {
      case Op::select:
        if (t != e->type.with(ElementType::boolean) || e->args[1].type() != e->type || e->args[2].type() != e->type) bad();
        return;
      case Op::dot4:
        if (t.element != ElementType::int32 || e->args[1].type() != Type{ElementType::uint8, 4 * t.lanes} ||
            e->args[2].type() != Type{ElementType::int8, 4 * t.lanes})
          bad();
        return;
      case Op::cast:
      case Op::convert:
        if (t.lanes != e->type.lanes) bad();
        return;
      case Op::bitcast:
        if (ir::element_size(t.element) * static_cast<size_t>(t.lanes) !=
            ir::element_size(e->type.element) * static_cast<size_t>(e->type.lanes))
          bad();
        return;
      case Op::repeat:
        if (e->type.lanes % t.lanes != 0 || e->type.element != t.element) bad();
        return;
      default:
        for (const Expr& a : e->args)
          if (a.type() != t) bad();
    }
  }

  void access(int id, const Expr& index, int lanes, int64_t stride, int valid) const {
    if (index.type() != kIndex) fail("an index that is no scalar int64");
    const auto l = linear(index);
    if (!l) return;
    Interval r = l->range();
    const int64_t reach = ((valid ? valid : lanes) - 1) * stride;
    (reach < 0 ? r.low : r.high) += reach;
    const Buffer& b = kernel_.buffers[static_cast<size_t>(id)];
    if (r.low < 0 || r.high >= b.elements)
      fail("buffer " + b.name + " of " + std::to_string(b.elements) + " elements is used at " + std::to_string(r.low) +
           " to " + std::to_string(r.high));
  }

  // Nothing for an index whose bounds are not known.
  std::optional<Linear> linear(const Expr& e) const {
    Linear l;
    switch (e->op) {
      case Op::constant: l.constant = e->integer; return l;
      case Op::variable: l.terms[key(e)] = {1, variables_.at(e->id)}; return l;
      case Op::local: {
        const auto& b = bounds_[static_cast<size_t>(e->id)];
        if (!b) return std::nullopt;
        l.terms[&kernel_.locals[static_cast<size_t>(e->id)]] = {1, *b};
        return l;
      }
      case Op::add:
      case Op::sub: {
        auto a = linear(e->args[0]), b = linear(e->args[1]);
        if (!a || !b) return std::nullopt;
        const int64_t sign = e->op == Op::add ? 1 : -1;
        a->constant += sign * b->constant;
        for (const auto& [atom, t] : b->terms) {
          auto& mine = a->terms[atom];
          mine.first += sign * t.first;
          mine.second = t.second;
        }
        return a;
      }
      case Op::mul: {
        auto a = linear(e->args[0]), b = linear(e->args[1]);
        if (!a || !b) return std::nullopt;
        if (!a->terms.empty() && !b->terms.empty()) return std::nullopt;
        if (!b->terms.empty()) std::swap(a, b);
        a->constant *= b->constant;
        for (auto& [atom, t] : a->terms) t.first *= b->constant;
        return a;
      }
      default: return atom(e);
    }
  }

  // Division, remainder, minimum, maximum: an interval of its own.
  std::optional<Linear> atom(const Expr& e) const {
    if (e->args.size() != 2) return std::nullopt;
    const auto a = linear(e->args[0]), b = linear(e->args[1]);
    if (!a || !b) return std::nullopt;
    const Interval x = a->range(), y = b->range();
    Interval r;
    if (e->op == Op::div && y.low == y.high && y.low > 0) r = {x.low / y.low, x.high / y.low};
    else if (e->op == Op::rem && y.low == y.high && y.low > 0 && x.low >= 0) r = {0, std::min(x.high, y.low - 1)};
    else if (e->op == Op::min) r = {std::min(x.low, y.low), std::min(x.high, y.high)};
    else if (e->op == Op::max) r = {std::max(x.low, y.low), std::max(x.high, y.high)};
    else return std::nullopt;
    Linear l;
    l.terms[e.get()] = {1, r};
    return l;
  }

  // One atom for all uses of a variable.
  const void* key(const Expr& e) const { return &variables_.at(e->id); }

  const Kernel& kernel_;
  std::map<int, Interval> variables_;
  std::vector<bool> assigned_;
  std::vector<std::optional<Interval>> bounds_;  // of index locals that are assigned once
  std::set<int> once_, again_;
  std::unordered_set<const ExprNode*> checked_;  // of the statement at hand: expressions are shared
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace dlc::loop
