// Loop IR: loop nests over buffers with typed scalar and vector expressions. Between the Graph IR and a code
// generator (LLVM IR for the CPU, OpenCL C for GPUs): nothing here knows either.
//
// A kernel is one function over buffers (flat arrays of one element type). Its body is loops with constant
// bounds, stores, and assignments to locals (values that live in registers: accumulators). At most one loop
// is parallel; it is then the whole body, and its iterations write disjoint elements.
//
// Expressions are immutable and shared (a DAG): a shared sub-expression is computed once a statement.
// A type is an element type and a number of lanes; lanes = 1 is a scalar. Indices are scalar int64 and count
// elements. Arithmetic on integers wraps, float arithmetic is IEEE (no reassociation; fused only as `fma`).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/tensor.h"

namespace dlc::loop {

using ir::ElementType;

struct Type {
  ElementType element = ElementType::undefined;
  int lanes = 1;
  bool operator==(const Type&) const = default;
  bool is_float() const { return element == ElementType::float32 || element == ElementType::float64; }
  bool is_unsigned() const {
    return element == ElementType::uint8 || element == ElementType::uint16 || element == ElementType::uint32 ||
           element == ElementType::uint64 || element == ElementType::boolean;
  }
  Type with(ElementType e) const { return {e, lanes}; }
  Type with_lanes(int l) const { return {element, l}; }
};
inline constexpr Type kIndex{ElementType::int64, 1};
std::string type_text(Type type);  // "float32", "int8 x 16"

// name, operands. Comparisons and logic give booleans; the rest gives its operands' type unless said.
#define DLC_LOOP_OPS(X)                                                                            \
  X(constant, 0) X(variable, 0) X(local, 0) X(load, 1)                                             \
  X(lane, 0)                                /* int32: 0, 1, 2 ... in the lanes */                  \
  X(add, 2) X(sub, 2) X(mul, 2) X(div, 2) X(rem, 2) /* integers: towards zero, divisor not 0 */    \
  X(min, 2) X(max, 2)                       /* b < a ? b : a, a < b ? b : a: a NaN only from a */  \
  X(bit_and, 2) X(bit_or, 2) X(bit_xor, 2)                                                         \
  X(shift_left, 2) X(shift_right, 2)        /* arithmetic for signed types */                      \
  X(equal, 2) X(less, 2) X(less_equal, 2) X(not_equal, 2)                                          \
  X(select, 3)                              /* condition, then, otherwise */                       \
  X(fma, 3)                                 /* a * b + c, one rounding */                          \
  X(dot4, 3)                                /* int32 c + sum of 4 uint8 a * int8 b a lane */       \
  X(neg, 1) X(abs, 1) X(sqrt, 1) X(floor, 1) X(ceil, 1) X(round, 1) X(trunc, 1) /* round: half to even */ \
  X(exp, 1) X(log, 1) X(sin, 1) X(cos, 1) X(pow, 2) /* of the mathematics library */               \
  X(cast, 1)     /* float to integer saturates, NaN gives 0; to boolean: != 0 */                   \
  X(convert, 1)  /* as cast, the value is known to be in the range of the type */                  \
  X(bitcast, 1)                                                                                    \
  X(repeat, 1)   /* its lanes again and again: a scalar becomes a vector */                        \
  X(reduce_add, 1) X(reduce_max, 1)         /* of all lanes, a scalar */

enum class Op : uint8_t {
#define DLC_LOOP_ENUM(name, arity) name,
  DLC_LOOP_OPS(DLC_LOOP_ENUM)
#undef DLC_LOOP_ENUM
};
const char* op_name(Op op);

struct ExprNode;

class Expr {
 public:
  Expr() = default;
  Expr(int64_t index);  // an index constant
  Expr(int index) : Expr(static_cast<int64_t>(index)) {}
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode* get() const { return node_.get(); }
  explicit operator bool() const { return node_ != nullptr; }
  Type type() const;

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  Op op = Op::constant;
  Type type;
  std::vector<Expr> args;
  int64_t integer = 0;  // constant of an integer type
  double real = 0;      // constant of a float type
  int id = -1;          // variable, local, buffer of a load
  int64_t stride = 1;   // load of several lanes: elements between them; 0: one element for all
  int valid = 0;        // load: only the first `valid` lanes are read, the others are 0; 0: all
};

// --- expressions. A scalar beside a vector is repeated.
Expr constant(Type type, double value);
Expr integer_constant(Type type, int64_t value);
Expr binary(Op op, Expr a, Expr b);  // folds constants and neutral elements of indices
Expr unary(Op op, Expr a);
Expr select(Expr condition, Expr then, Expr otherwise);
Expr fma(Expr a, Expr b, Expr c);
Expr dot4(Expr c, Expr a, Expr b);  // c: int32 x n, a: uint8 x 4n, b: int8 x 4n
Expr cast(Expr a, ElementType to);
Expr convert(Expr a, ElementType to);
Expr bitcast(Expr a, Type to);
Expr repeat(Expr a, int lanes);
Expr lane_index(int lanes);  // int32
inline Expr operator+(Expr a, Expr b) { return binary(Op::add, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return binary(Op::sub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return binary(Op::mul, std::move(a), std::move(b)); }
inline Expr operator/(Expr a, Expr b) { return binary(Op::div, std::move(a), std::move(b)); }
inline Expr operator%(Expr a, Expr b) { return binary(Op::rem, std::move(a), std::move(b)); }
inline Expr min(Expr a, Expr b) { return binary(Op::min, std::move(a), std::move(b)); }
inline Expr max(Expr a, Expr b) { return binary(Op::max, std::move(a), std::move(b)); }

// --- statements and kernels
struct Stmt {
  enum class Kind : uint8_t { loop, parallel_loop, store, assign } kind = Kind::loop;
  int id = -1;                           // loop: its variable; store: buffer; assign: local
  int64_t begin = 0, end = 0, step = 1;  // loops
  Expr index, value;                     // store (index) and assign
  int64_t stride = 1;                    // store of several lanes
  int valid = 0;                         // store: only the first `valid` lanes; 0: all
  std::vector<Stmt> body;
};

struct Buffer {
  std::string name;
  ElementType element = ElementType::undefined;
  int64_t elements = 0;
  bool written = false;
};

struct Kernel {
  std::string name;
  std::vector<Buffer> buffers;
  std::vector<Type> locals;
  int variables = 0;
  std::vector<Stmt> body;
  // Iterations of the parallel loop, 0 without one.
  int64_t parallel_iterations() const;
};

class KernelBuilder {
 public:
  explicit KernelBuilder(std::string name) { kernel_.name = std::move(name); }
  int input(const std::string& name, ElementType element, int64_t elements);
  int output(const std::string& name, ElementType element, int64_t elements);

  Expr load(int buffer, Expr index, int lanes = 1, int64_t stride = 1, int valid = 0) const;
  void store(int buffer, Expr index, Expr value, int64_t stride = 1, int valid = 0);
  // A register: declared with its first value, read with the returned expression, changed with assign().
  Expr declare(Expr value);
  void assign(const Expr& local, Expr value);
  // body(variable) for begin, begin + step, ... below end. A single iteration makes no loop.
  void loop(int64_t begin, int64_t end, int64_t step, const std::function<void(Expr)>& body);
  void loop(int64_t count, const std::function<void(Expr)>& body) { loop(0, count, 1, body); }
  void parallel(int64_t count, const std::function<void(Expr)>& body);
  const Buffer& buffer(int id) const { return kernel_.buffers[static_cast<size_t>(id)]; }
  Kernel finish();  // verified

 private:
  std::vector<Stmt>& block() { return *blocks_.back(); }
  Kernel kernel_;
  std::vector<Stmt>* root() { return &kernel_.body; }
  std::vector<std::vector<Stmt>*> blocks_{&kernel_.body};
};

// Text form, one kernel; the same kernel gives the same text whatever its name (`with_name` = false leaves it
// out: the key of the code cache).
std::string print(const Kernel& kernel, bool with_name = true);

// Types of every expression; locals assigned before they are read, variables used inside their loop; every
// load and store within its buffer, by interval arithmetic on affine indices (an index that depends on loaded
// values is not bounded here: its producer clamps it). Throws std::logic_error naming kernel and statement.
void verify(const Kernel& kernel);

}  // namespace dlc::loop
