#include "compiler/loop/loop_ir.h"

#include <stdexcept>

namespace dlc::loop {
namespace {

Expr make(Op op, Type type, std::vector<Expr> args) {
  auto n = std::make_shared<ExprNode>();
  n->op = op;
  n->type = type;
  n->args = std::move(args);
  return Expr(std::move(n));
}

bool is_index(const Expr& e) { return e.type() == kIndex; }
bool is_constant(const Expr& e) { return e->op == Op::constant; }
bool is_value(const Expr& e, int64_t v) { return is_constant(e) && e->integer == v; }

bool is_comparison(Op op) {
  return op == Op::equal || op == Op::less || op == Op::less_equal || op == Op::not_equal;
}

// Index arithmetic is simplified as it is built, so that a loop of one iteration leaves no trace.
Expr fold_index(Op op, const Expr& a, const Expr& b) {
  if (is_constant(a) && is_constant(b)) {
    const int64_t x = a->integer, y = b->integer;
    switch (op) {
      case Op::add: return Expr(x + y);
      case Op::sub: return Expr(x - y);
      case Op::mul: return Expr(x * y);
      case Op::div: return y == 0 ? Expr{} : Expr(x / y);
      case Op::rem: return y == 0 ? Expr{} : Expr(x % y);
      default: return {};
    }
  }
  if (op == Op::add && is_value(a, 0)) return b;
  if ((op == Op::add || op == Op::sub) && is_value(b, 0)) return a;
  if (op == Op::mul && (is_value(a, 0) || is_value(b, 0))) return Expr(0);
  if (op == Op::mul && is_value(a, 1)) return b;
  if ((op == Op::mul || op == Op::div) && is_value(b, 1)) return a;
  if (op == Op::rem && is_value(b, 1)) return Expr(0);
  // (e + c1) + c2: offsets gather in one constant.
  if (op == Op::add && is_constant(b) && a->op == Op::add && is_constant(a->args[1]))
    return a->args[0] + Expr(a->args[1]->integer + b->integer);
  if (op == Op::add && is_constant(a)) return b + a;
  return {};
}

}  // namespace

const char* op_name(Op op) {
  static constexpr const char* kNames[] = {
#define DLC_LOOP_NAME(name, arity) #name,
      DLC_LOOP_OPS(DLC_LOOP_NAME)
#undef DLC_LOOP_NAME
  };
  return kNames[static_cast<size_t>(op)];
}

std::string type_text(Type type) {
  std::string text(ir::element_name(type.element));
  if (type.lanes != 1) text += " x " + std::to_string(type.lanes);
  return text;
}

Type Expr::type() const { return node_->type; }
Expr::Expr(int64_t index) : Expr(integer_constant(kIndex, index)) {}

Expr constant(Type type, double value) {
  auto n = std::make_shared<ExprNode>();
  n->type = type;
  if (type.is_float()) n->real = value;
  else n->integer = static_cast<int64_t>(value);
  return Expr(std::move(n));
}

Expr integer_constant(Type type, int64_t value) {
  if (type.is_float()) return constant(type, static_cast<double>(value));
  auto n = std::make_shared<ExprNode>();
  n->type = type;
  n->integer = value;
  return Expr(std::move(n));
}

Expr binary(Op op, Expr a, Expr b) {
  if (is_index(a) && is_index(b) && !is_comparison(op)) {
    if (Expr folded = fold_index(op, a, b)) return folded;
  }
  const int lanes = std::max(a.type().lanes, b.type().lanes);
  a = repeat(std::move(a), lanes);
  b = repeat(std::move(b), lanes);
  const Type type = is_comparison(op) ? a.type().with(ElementType::boolean) : a.type();
  return make(op, type, {std::move(a), std::move(b)});
}

Expr unary(Op op, Expr a) {
  Type type = a.type();
  if (op == Op::reduce_add || op == Op::reduce_max) {
    if (type.lanes == 1) return a;
    type.lanes = 1;
  }
  return make(op, type, {std::move(a)});
}

Expr select(Expr condition, Expr then, Expr otherwise) {
  const int lanes = std::max({condition.type().lanes, then.type().lanes, otherwise.type().lanes});
  then = repeat(std::move(then), lanes);
  const Type type = then.type();
  return make(Op::select, type, {repeat(std::move(condition), lanes), std::move(then), repeat(std::move(otherwise), lanes)});
}

Expr fma(Expr a, Expr b, Expr c) {
  const int lanes = std::max({a.type().lanes, b.type().lanes, c.type().lanes});
  c = repeat(std::move(c), lanes);
  const Type type = c.type();
  return make(Op::fma, type, {repeat(std::move(a), lanes), repeat(std::move(b), lanes), std::move(c)});
}

Expr dot4(Expr c, Expr a, Expr b) {
  const Type type = c.type();
  return make(Op::dot4, type, {std::move(c), std::move(a), std::move(b)});
}

Expr cast(Expr a, ElementType to) {
  const Type type = a.type().with(to);
  return a.type() == type ? a : make(Op::cast, type, {std::move(a)});
}

Expr convert(Expr a, ElementType to) {
  const Type type = a.type().with(to);
  return a.type() == type ? a : make(Op::convert, type, {std::move(a)});
}

Expr bitcast(Expr a, Type to) { return a.type() == to ? a : make(Op::bitcast, to, {std::move(a)}); }

Expr repeat(Expr a, int lanes) {
  if (a.type().lanes == lanes) return a;
  const Type type = a.type().with_lanes(lanes);
  if (a->op == Op::constant) {
    auto n = std::make_shared<ExprNode>(*a.get());
    n->type = type;
    return Expr(std::move(n));
  }
  return make(Op::repeat, type, {std::move(a)});
}

Expr lane_index(int lanes) { return make(Op::lane, {ElementType::int32, lanes}, {}); }

int64_t Kernel::parallel_iterations() const {
  return !body.empty() && body[0].kind == Stmt::Kind::parallel_loop ? body[0].end : 0;
}

int KernelBuilder::input(const std::string& name, ElementType element, int64_t elements) {
  kernel_.buffers.push_back({name, element, elements, false});
  return static_cast<int>(kernel_.buffers.size()) - 1;
}

int KernelBuilder::output(const std::string& name, ElementType element, int64_t elements) {
  kernel_.buffers.push_back({name, element, elements, true});
  return static_cast<int>(kernel_.buffers.size()) - 1;
}

Expr KernelBuilder::load(int id, Expr index, int lanes, int64_t stride, int valid) const {
  auto n = std::make_shared<ExprNode>();
  n->op = Op::load;
  n->type = {buffer(id).element, lanes};
  n->args = {std::move(index)};
  n->id = id;
  n->stride = lanes == 1 ? 1 : stride;
  n->valid = valid == lanes ? 0 : valid;
  return Expr(std::move(n));
}

void KernelBuilder::store(int id, Expr index, Expr value, int64_t stride, int valid) {
  Stmt s;
  s.kind = Stmt::Kind::store;
  s.id = id;
  s.index = std::move(index);
  s.stride = value.type().lanes == 1 ? 1 : stride;
  s.valid = valid == value.type().lanes ? 0 : valid;
  s.value = std::move(value);
  block().push_back(std::move(s));
}

Expr KernelBuilder::declare(Expr value) {
  auto n = std::make_shared<ExprNode>();
  n->op = Op::local;
  n->type = value.type();
  n->id = static_cast<int>(kernel_.locals.size());
  kernel_.locals.push_back(value.type());
  Expr local(std::move(n));
  assign(local, std::move(value));
  return local;
}

void KernelBuilder::assign(const Expr& local, Expr value) {
  Stmt s;
  s.kind = Stmt::Kind::assign;
  s.id = local->id;
  s.value = std::move(value);
  block().push_back(std::move(s));
}

namespace {
Expr variable(int id) {
  auto n = std::make_shared<ExprNode>();
  n->op = Op::variable;
  n->type = kIndex;
  n->id = id;
  return Expr(std::move(n));
}
}  // namespace

void KernelBuilder::loop(int64_t begin, int64_t end, int64_t step, const std::function<void(Expr)>& body) {
  if (begin >= end) return;
  if (begin + step >= end) return body(Expr(begin));
  Stmt s;
  s.id = kernel_.variables++;
  s.begin = begin;
  s.end = end;
  s.step = step;
  blocks_.push_back(&s.body);
  body(variable(s.id));
  blocks_.pop_back();
  block().push_back(std::move(s));
}

void KernelBuilder::parallel(int64_t count, const std::function<void(Expr)>& body) {
  if (blocks_.size() != 1 || !kernel_.body.empty())
    throw std::logic_error("loop kernel '" + kernel_.name + "': a parallel loop must be the whole body");
  Stmt s;
  s.kind = Stmt::Kind::parallel_loop;
  s.id = kernel_.variables++;
  s.end = count;
  blocks_.push_back(&s.body);
  body(variable(s.id));
  blocks_.pop_back();
  block().push_back(std::move(s));
}

Kernel KernelBuilder::finish() {
  verify(kernel_);
  return std::move(kernel_);
}

}  // namespace dlc::loop
