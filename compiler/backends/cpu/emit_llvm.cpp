#include "compiler/backends/cpu/emit_llvm.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <mutex>
#include <stdexcept>
#include <unordered_map>

namespace dlc::cpu {
namespace {

using loop::Expr;
using loop::ExprNode;
using loop::Op;
using loop::Stmt;
using loop::Type;
using ir::ElementType;

class Emitter {
 public:
  Emitter(const loop::Kernel& k, const std::string& symbol, const Target& target, LLVMModuleRef module)
      : kernel_(k), target_(target), context_(LLVMGetModuleContext(module)), module_(module), b_(LLVMCreateBuilderInContext(context_)) {
    i64_ = LLVMInt64TypeInContext(context_);
    pointer_ = LLVMPointerTypeInContext(context_, 0);
    make_functions(symbol);
  }
  ~Emitter() { LLVMDisposeBuilder(b_); }

 private:
  // The body takes its buffers as parameters of their own, so that they can be declared free of aliasing; the
  // entry point unpacks them.
  void make_functions(const std::string& symbol) {
    const auto count = static_cast<unsigned>(kernel_.buffers.size());
    std::vector<LLVMTypeRef> types(count, pointer_);
    types.insert(types.end(), {i64_, i64_});
    LLVMTypeRef nothing = LLVMVoidTypeInContext(context_);
    LLVMTypeRef body_type = LLVMFunctionType(nothing, types.data(), count + 2, 0);
    function_ = LLVMAddFunction(module_, "body", body_type);
    LLVMSetLinkage(function_, LLVMInternalLinkage);
    add_attributes(function_);
    for (unsigned i = 0; i < count; ++i) add_attribute(function_, "noalias", i + 1);
    add_attribute(function_, "noinline", static_cast<unsigned>(LLVMAttributeFunctionIndex));
    LLVMPositionBuilderAtEnd(b_, LLVMAppendBasicBlockInContext(context_, function_, "entry"));
    for (unsigned i = 0; i < count; ++i) buffers_.push_back(LLVMGetParam(function_, i));
    for (const Type& t : kernel_.locals) locals_.push_back(LLVMBuildAlloca(b_, type(t), ""));
    block(kernel_.body);
    LLVMBuildRetVoid(b_);

    LLVMTypeRef entry_types[] = {pointer_, i64_, i64_};
    LLVMValueRef entry = LLVMAddFunction(module_, symbol.c_str(), LLVMFunctionType(nothing, entry_types, 3, 0));
    add_attributes(entry);
    LLVMPositionBuilderAtEnd(b_, LLVMAppendBasicBlockInContext(context_, entry, "entry"));
    std::vector<LLVMValueRef> arguments;
    for (unsigned i = 0; i < count; ++i)
      arguments.push_back(LLVMBuildLoad2(b_, pointer_, gep(pointer_, LLVMGetParam(entry, 0), LLVMConstInt(i64_, i, 0)), ""));
    arguments.insert(arguments.end(), {LLVMGetParam(entry, 1), LLVMGetParam(entry, 2)});
    LLVMBuildCall2(b_, body_type, function_, arguments.data(), count + 2, "");
    LLVMBuildRetVoid(b_);
  }

  void add_attribute(LLVMValueRef f, const std::string& name, unsigned index) {
    const unsigned kind = LLVMGetEnumAttributeKindForName(name.c_str(), name.size());
    LLVMAddAttributeAtIndex(f, index, LLVMCreateEnumAttribute(context_, kind, 0));
  }

  void add_attributes(LLVMValueRef f) {
    const std::string width = std::to_string(32 * target_.machine.lanes);
    const std::pair<std::string, std::string> texts[] = {{"target-cpu", target_.cpu},
                                                         {"target-features", target_.features},
                                                         {"prefer-vector-width", width},
                                                         {"min-legal-vector-width", width}};
    for (const auto& [key, value] : texts) {
      LLVMAttributeRef a = LLVMCreateStringAttribute(context_, key.c_str(), static_cast<unsigned>(key.size()), value.c_str(),
                                                     static_cast<unsigned>(value.size()));
      LLVMAddAttributeAtIndex(f, static_cast<unsigned>(LLVMAttributeFunctionIndex), a);
    }
    add_attribute(f, "nounwind", static_cast<unsigned>(LLVMAttributeFunctionIndex));
  }

  // --- types
  LLVMTypeRef scalar(ElementType e, bool in_memory) const {
    switch (e) {
      case ElementType::float32: return LLVMFloatTypeInContext(context_);
      case ElementType::float64: return LLVMDoubleTypeInContext(context_);
      case ElementType::boolean: return in_memory ? LLVMInt8TypeInContext(context_) : LLVMInt1TypeInContext(context_);
      default: return LLVMIntTypeInContext(context_, static_cast<unsigned>(8 * ir::element_size(e)));
    }
  }
  LLVMTypeRef type(Type t, bool in_memory = false) const {
    LLVMTypeRef s = scalar(t.element, in_memory);
    return t.lanes == 1 ? s : LLVMVectorType(s, static_cast<unsigned>(t.lanes));
  }

  // --- statements
  void block(const std::vector<Stmt>& body) {
    for (const Stmt& s : body) {
      values_.clear();
      if (s.kind == Stmt::Kind::loop || s.kind == Stmt::Kind::parallel_loop) {
        loop(s);
      } else if (s.kind == Stmt::Kind::assign) {
        LLVMBuildStore(b_, value(s.value), locals_[static_cast<size_t>(s.id)]);
      } else {
        store(s);
      }
    }
  }

  // At least one iteration: the test is at the end.
  void loop(const Stmt& s) {
    const bool parallel = s.kind == Stmt::Kind::parallel_loop;
    const auto count = static_cast<unsigned>(kernel_.buffers.size());
    LLVMValueRef begin = parallel ? LLVMGetParam(function_, count) : LLVMConstInt(i64_, static_cast<uint64_t>(s.begin), 1);
    LLVMValueRef end = parallel ? LLVMGetParam(function_, count + 1) : LLVMConstInt(i64_, static_cast<uint64_t>(s.end), 1);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b_);
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(context_, function_, "loop");
    LLVMBuildBr(b_, body);
    LLVMPositionBuilderAtEnd(b_, body);
    LLVMValueRef i = LLVMBuildPhi(b_, i64_, "i");
    variables_[s.id] = i;
    block(s.body);
    LLVMValueRef next = LLVMBuildNSWAdd(b_, i, LLVMConstInt(i64_, static_cast<uint64_t>(s.step), 0), "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(b_);
    LLVMBasicBlockRef exit = LLVMAppendBasicBlockInContext(context_, function_, "exit");
    LLVMBuildCondBr(b_, LLVMBuildICmp(b_, LLVMIntSLT, next, end, ""), body, exit);
    LLVMValueRef from[] = {begin, next};
    LLVMBasicBlockRef blocks[] = {before, last};
    LLVMAddIncoming(i, from, blocks, 2);
    LLVMPositionBuilderAtEnd(b_, exit);
  }

  void store(const Stmt& s) {
    const Type t = s.value.type();
    LLVMValueRef v = value(s.value);
    if (t.element == ElementType::boolean) v = LLVMBuildZExt(b_, v, type(t, true), "");
    LLVMTypeRef element = scalar(t.element, true);
    LLVMValueRef p = gep(element, buffers_[static_cast<size_t>(s.id)], value(s.index));
    if (t.lanes > 1 && s.stride != 1) {
      for (int i = 0; i < (s.valid ? s.valid : t.lanes); ++i)
        aligned(LLVMBuildStore(b_, LLVMBuildExtractElement(b_, v, i32(i), ""), gep(element, p, i64(i * s.stride))), t.element);
    } else if (s.valid) {
      LLVMValueRef arguments[] = {v, p, i32(static_cast<int64_t>(ir::element_size(t.element))), mask(t.lanes, s.valid)};
      intrinsic("llvm.masked.store", {type(t, true), pointer_}, arguments, 4);
    } else {
      aligned(LLVMBuildStore(b_, v, p), t.element);
    }
  }

  void aligned(LLVMValueRef access, ElementType e) { LLVMSetAlignment(access, static_cast<unsigned>(ir::element_size(e))); }

  // --- expressions
  LLVMValueRef value(const Expr& e) {
    if (const auto it = values_.find(e.get()); it != values_.end()) return it->second;
    LLVMValueRef v = compute(e);
    values_[e.get()] = v;
    return v;
  }

  LLVMValueRef i32(int64_t v) const { return LLVMConstInt(LLVMInt32TypeInContext(context_), static_cast<uint64_t>(v), 1); }
  LLVMValueRef i64(int64_t v) const { return LLVMConstInt(i64_, static_cast<uint64_t>(v), 1); }
  LLVMValueRef gep(LLVMTypeRef element, LLVMValueRef base, LLVMValueRef index) {
    return LLVMBuildInBoundsGEP2(b_, element, base, &index, 1, "");
  }
  LLVMValueRef mask(int lanes, int valid) {
    std::vector<LLVMValueRef> bits;
    for (int i = 0; i < lanes; ++i) bits.push_back(LLVMConstInt(LLVMInt1TypeInContext(context_), i < valid, 0));
    return LLVMConstVector(bits.data(), static_cast<unsigned>(lanes));
  }
  LLVMValueRef splat(LLVMValueRef v, int lanes) {
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(v), static_cast<unsigned>(lanes));
    LLVMValueRef one = LLVMBuildInsertElement(b_, LLVMGetUndef(t), v, i32(0), "");
    LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(LLVMInt32TypeInContext(context_), static_cast<unsigned>(lanes)));
    return LLVMBuildShuffleVector(b_, one, LLVMGetUndef(t), zeros, "");
  }

  LLVMValueRef intrinsic(const std::string& name, std::vector<LLVMTypeRef> overloads, LLVMValueRef* arguments, unsigned count) {
    const unsigned id = LLVMLookupIntrinsicID(name.c_str(), name.size());
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(module_, id, overloads.data(), overloads.size());
    return LLVMBuildCall2(b_, LLVMGlobalGetValueType(f), f, arguments, count, "");
  }

  LLVMValueRef load(const Expr& e) {
    const Type t = e->type;
    LLVMTypeRef element = scalar(t.element, true);
    LLVMValueRef p = gep(element, buffers_[static_cast<size_t>(e->id)], value(e->args[0]));
    LLVMValueRef v = nullptr;
    if (t.lanes > 1 && e->stride == 0) {
      LLVMValueRef one = LLVMBuildLoad2(b_, element, p, "");
      aligned(one, t.element);
      v = splat(one, t.lanes);
    } else if (t.lanes > 1 && e->stride != 1) {
      v = LLVMConstNull(type(t, true));
      for (int i = 0; i < (e->valid ? e->valid : t.lanes); ++i) {
        LLVMValueRef one = LLVMBuildLoad2(b_, element, gep(element, p, i64(i * e->stride)), "");
        aligned(one, t.element);
        v = LLVMBuildInsertElement(b_, v, one, i32(i), "");
      }
    } else if (e->valid) {
      LLVMValueRef arguments[] = {p, i32(static_cast<int64_t>(ir::element_size(t.element))), mask(t.lanes, e->valid),
                                  LLVMConstNull(type(t, true))};
      v = intrinsic("llvm.masked.load", {type(t, true), pointer_}, arguments, 4);
    } else {
      v = LLVMBuildLoad2(b_, type(t, true), p, "");
      aligned(v, t.element);
    }
    if (t.element == ElementType::boolean) v = LLVMBuildICmp(b_, LLVMIntNE, v, LLVMConstNull(type(t, true)), "");
    return v;
  }

  LLVMValueRef compute(const Expr& e) {
    const Type t = e->type;
    switch (e->op) {
      case Op::constant: {
        LLVMTypeRef s = scalar(t.element, false);
        LLVMValueRef c = t.is_float() ? LLVMConstReal(s, e->real) : LLVMConstInt(s, static_cast<uint64_t>(e->integer), 1);
        if (t.lanes == 1) return c;
        std::vector<LLVMValueRef> all(static_cast<size_t>(t.lanes), c);
        return LLVMConstVector(all.data(), static_cast<unsigned>(t.lanes));
      }
      case Op::lane: {
        std::vector<LLVMValueRef> lanes;
        for (int i = 0; i < t.lanes; ++i) lanes.push_back(i32(i));
        return t.lanes == 1 ? lanes[0] : LLVMConstVector(lanes.data(), static_cast<unsigned>(t.lanes));
      }
      case Op::variable: return variables_.at(e->id);
      case Op::local: return LLVMBuildLoad2(b_, type(t), locals_[static_cast<size_t>(e->id)], "");
      case Op::load: return load(e);
      case Op::select: return LLVMBuildSelect(b_, value(e->args[0]), value(e->args[1]), value(e->args[2]), "");
      case Op::fma: {
        LLVMValueRef a[] = {value(e->args[0]), value(e->args[1]), value(e->args[2])};
        return intrinsic("llvm.fma", {type(t)}, a, 3);
      }
      case Op::dot4: return dot4(e);
      case Op::cast:
      case Op::convert: return cast(e);
      case Op::bitcast: return LLVMBuildBitCast(b_, value(e->args[0]), type(t), "");
      case Op::repeat: return repeat(e);
      case Op::reduce_add:
      case Op::reduce_max: return reduce(e);
      default: return e->args.size() == 1 ? unary(e) : binary(e);
    }
  }

  LLVMValueRef unary(const Expr& e) {
    const bool real = e->type.is_float();
    LLVMValueRef x = value(e->args[0]);
    const auto call = [&](const char* name) { return intrinsic(name, {type(e->type)}, &x, 1); };
    switch (e->op) {
      case Op::neg: return real ? LLVMBuildFNeg(b_, x, "") : LLVMBuildNeg(b_, x, "");
      case Op::abs: {
        if (real) return call("llvm.fabs");
        LLVMValueRef a[] = {x, LLVMConstInt(LLVMInt1TypeInContext(context_), 0, 0)};
        return intrinsic("llvm.abs", {type(e->type)}, a, 2);
      }
      case Op::sqrt: return call("llvm.sqrt");
      case Op::floor: return call("llvm.floor");
      case Op::ceil: return call("llvm.ceil");
      case Op::round: return call("llvm.roundeven");
      case Op::trunc: return call("llvm.trunc");
      case Op::exp: return call("llvm.exp");
      case Op::log: return call("llvm.log");
      case Op::sin: return call("llvm.sin");
      case Op::cos: return call("llvm.cos");
      default: throw std::logic_error(std::string("LLVM emitter: no ") + loop::op_name(e->op));
    }
  }

  LLVMValueRef compare(Op op, Type t, LLVMValueRef x, LLVMValueRef y) {
    if (t.is_float()) {
      const LLVMRealPredicate p = op == Op::equal ? LLVMRealOEQ : op == Op::not_equal ? LLVMRealUNE : op == Op::less ? LLVMRealOLT : LLVMRealOLE;
      return LLVMBuildFCmp(b_, p, x, y, "");
    }
    const bool u = t.is_unsigned();
    const LLVMIntPredicate p = op == Op::equal       ? LLVMIntEQ
                               : op == Op::not_equal ? LLVMIntNE
                               : op == Op::less      ? (u ? LLVMIntULT : LLVMIntSLT)
                                                     : (u ? LLVMIntULE : LLVMIntSLE);
    return LLVMBuildICmp(b_, p, x, y, "");
  }

  LLVMValueRef binary(const Expr& e) {
    const Type t = e->args[0].type();
    const bool real = t.is_float(), u = t.is_unsigned();
    LLVMValueRef x = value(e->args[0]), y = value(e->args[1]);
    switch (e->op) {
      case Op::add: return real ? LLVMBuildFAdd(b_, x, y, "") : t == loop::kIndex ? LLVMBuildNSWAdd(b_, x, y, "") : LLVMBuildAdd(b_, x, y, "");
      case Op::sub: return real ? LLVMBuildFSub(b_, x, y, "") : LLVMBuildSub(b_, x, y, "");
      case Op::mul: return real ? LLVMBuildFMul(b_, x, y, "") : LLVMBuildMul(b_, x, y, "");
      case Op::div: return real ? LLVMBuildFDiv(b_, x, y, "") : u ? LLVMBuildUDiv(b_, x, y, "") : LLVMBuildSDiv(b_, x, y, "");
      case Op::rem: return real ? LLVMBuildFRem(b_, x, y, "") : u ? LLVMBuildURem(b_, x, y, "") : LLVMBuildSRem(b_, x, y, "");
      case Op::min: return LLVMBuildSelect(b_, compare(Op::less, t, y, x), y, x, "");
      case Op::max: return LLVMBuildSelect(b_, compare(Op::less, t, x, y), y, x, "");
      case Op::bit_and: return LLVMBuildAnd(b_, x, y, "");
      case Op::bit_or: return LLVMBuildOr(b_, x, y, "");
      case Op::bit_xor: return LLVMBuildXor(b_, x, y, "");
      case Op::shift_left: return LLVMBuildShl(b_, x, y, "");
      case Op::shift_right: return u ? LLVMBuildLShr(b_, x, y, "") : LLVMBuildAShr(b_, x, y, "");
      case Op::pow: {
        LLVMValueRef a[] = {x, y};
        return intrinsic("llvm.pow", {type(t)}, a, 2);
      }
      default: return compare(e->op, t, x, y);
    }
  }

  LLVMValueRef cast(const Expr& e) {
    const Type from = e->args[0].type(), to = e->type;
    LLVMValueRef x = value(e->args[0]);
    LLVMTypeRef t = type(to);
    if (to.element == ElementType::boolean)
      return from.is_float() ? LLVMBuildFCmp(b_, LLVMRealUNE, x, LLVMConstNull(type(from)), "")
                             : LLVMBuildICmp(b_, LLVMIntNE, x, LLVMConstNull(type(from)), "");
    if (from.is_float() && to.is_float()) return LLVMBuildFPCast(b_, x, t, "");
    if (to.is_float()) return from.is_unsigned() ? LLVMBuildUIToFP(b_, x, t, "") : LLVMBuildSIToFP(b_, x, t, "");
    if (!from.is_float()) return LLVMBuildIntCast2(b_, x, t, !from.is_unsigned(), "");
    if (e->op == Op::convert) return to.is_unsigned() ? LLVMBuildFPToUI(b_, x, t, "") : LLVMBuildFPToSI(b_, x, t, "");
    return intrinsic(to.is_unsigned() ? "llvm.fptoui.sat" : "llvm.fptosi.sat", {t, type(from)}, &x, 1);
  }

  LLVMValueRef repeat(const Expr& e) {
    const Type from = e->args[0].type(), to = e->type;
    LLVMValueRef x = value(e->args[0]);
    if (from.lanes == 1) return splat(x, to.lanes);
    const auto bits = static_cast<unsigned>(8 * ir::element_size(from.element)) * static_cast<unsigned>(from.lanes);
    if (bits <= 64) {  // as one integer: a broadcast from memory
      LLVMValueRef one = LLVMBuildBitCast(b_, x, LLVMIntTypeInContext(context_, bits), "");
      return LLVMBuildBitCast(b_, splat(one, to.lanes / from.lanes), type(to), "");
    }
    std::vector<LLVMValueRef> index;
    for (int i = 0; i < to.lanes; ++i) index.push_back(i32(i % from.lanes));
    return LLVMBuildShuffleVector(b_, x, LLVMGetUndef(type(from)), LLVMConstVector(index.data(), static_cast<unsigned>(to.lanes)), "");
  }

  // Halves until one lane is left.
  LLVMValueRef reduce(const Expr& e) {
    Type t = e->args[0].type();
    LLVMValueRef x = value(e->args[0]);
    const auto pick = [&](int first, int count) {
      std::vector<LLVMValueRef> index;
      for (int i = 0; i < count; ++i) index.push_back(i32(first + i));
      return LLVMBuildShuffleVector(b_, x, LLVMGetUndef(LLVMTypeOf(x)), LLVMConstVector(index.data(), static_cast<unsigned>(count)), "");
    };
    for (int lanes = t.lanes / 2; lanes >= 1; lanes /= 2) {
      LLVMValueRef low = pick(0, lanes), high = pick(lanes, lanes);
      t.lanes = lanes;
      if (e->op == Op::reduce_add) x = t.is_float() ? LLVMBuildFAdd(b_, low, high, "") : LLVMBuildAdd(b_, low, high, "");
      else x = LLVMBuildSelect(b_, compare(Op::less, t, low, high), high, low, "");
    }
    return LLVMBuildExtractElement(b_, x, i32(0), "");
  }

  // vpdpbusd where the CPU has it. Elsewhere exact 16-bit products: even and odd bytes apart, each pair of
  // products summed into 32 bits (x86: pmaddwd).
  LLVMValueRef dot4(const Expr& e) {
    const int lanes = e->type.lanes;
    LLVMTypeRef words = type(e->type);
    LLVMValueRef c = value(e->args[0]), a = value(e->args[1]), w = value(e->args[2]);
    if (target_.machine.has_dot4 && lanes == target_.machine.lanes) {
      LLVMValueRef arguments[] = {c, LLVMBuildBitCast(b_, a, words, ""), LLVMBuildBitCast(b_, w, words, "")};
      return intrinsic(lanes == 16 ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512.vpdpbusd.256", {}, arguments, 3);
    }
    LLVMTypeRef shorts = type({ElementType::int16, 2 * lanes});
    const auto splat16 = [&](int v) {
      std::vector<LLVMValueRef> all(static_cast<size_t>(2 * lanes), LLVMConstInt(LLVMInt16TypeInContext(context_), static_cast<uint64_t>(v), 0));
      return LLVMConstVector(all.data(), static_cast<unsigned>(2 * lanes));
    };
    a = LLVMBuildBitCast(b_, a, shorts, "");
    w = LLVMBuildBitCast(b_, w, shorts, "");
    LLVMValueRef even = pair_sum(LLVMBuildAnd(b_, a, splat16(255), ""), LLVMBuildAShr(b_, LLVMBuildShl(b_, w, splat16(8), ""), splat16(8), ""), lanes);
    LLVMValueRef odd = pair_sum(LLVMBuildLShr(b_, a, splat16(8), ""), LLVMBuildAShr(b_, w, splat16(8), ""), lanes);
    return LLVMBuildAdd(b_, c, LLVMBuildAdd(b_, even, odd, ""), "");
  }

  LLVMValueRef pair_sum(LLVMValueRef a, LLVMValueRef b, int lanes) {
    if (lanes == 8 && target_.machine.lanes == 8) {
      LLVMValueRef arguments[] = {a, b};
      return intrinsic("llvm.x86.avx2.pmadd.wd", {}, arguments, 2);
    }
    LLVMTypeRef wide = type({ElementType::int32, 2 * lanes});
    LLVMValueRef p = LLVMBuildMul(b_, LLVMBuildSExt(b_, a, wide, ""), LLVMBuildSExt(b_, b, wide, ""), "");
    LLVMValueRef halves[2];
    for (int h = 0; h < 2; ++h) {
      std::vector<LLVMValueRef> index;
      for (int i = 0; i < lanes; ++i) index.push_back(i32(2 * i + h));
      halves[h] = LLVMBuildShuffleVector(b_, p, LLVMGetUndef(wide), LLVMConstVector(index.data(), static_cast<unsigned>(lanes)), "");
    }
    return LLVMBuildAdd(b_, halves[0], halves[1], "");
  }

  const loop::Kernel& kernel_;
  const Target& target_;
  LLVMContextRef context_;
  LLVMModuleRef module_;
  LLVMBuilderRef b_;
  LLVMTypeRef i64_, pointer_;
  LLVMValueRef function_ = nullptr;
  std::vector<LLVMValueRef> buffers_, locals_;
  std::unordered_map<int, LLVMValueRef> variables_;
  std::unordered_map<const ExprNode*, LLVMValueRef> values_;  // of the statement at hand
};

[[noreturn]] void fail(const std::string& symbol, char* message) {
  std::string text = "LLVM: " + symbol + ": " + (message ? message : "failed");
  throw std::logic_error(text);
}

LLVMTargetMachineRef make_machine(const Target& t) {
  initialize_llvm();
  char* triple = LLVMGetDefaultTargetTriple();
  LLVMTargetRef target = nullptr;
  char* message = nullptr;
  if (LLVMGetTargetFromTriple(triple, &target, &message)) fail("target", message);
  LLVMTargetMachineRef machine = LLVMCreateTargetMachine(target, triple, t.cpu.c_str(), t.features.c_str(), LLVMCodeGenLevelDefault,
                                                         LLVMRelocPIC, LLVMCodeModelJITDefault);
  LLVMDisposeMessage(triple);
  return machine;
}

// Registers for locals, loop-invariant code out of loops, common sub-expressions; loops are vectorised and
// unrolled already.
constexpr const char* kPasses =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg)";

}  // namespace

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
  });
}

EmittedCode emit(const loop::Kernel& kernel, const std::string& symbol, const Target& target, bool want_ir) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext(symbol.c_str(), context);
  LLVMTargetMachineRef machine = make_machine(target);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetModuleDataLayout(module, layout);
  char* triple = LLVMGetTargetMachineTriple(machine);
  LLVMSetTarget(module, triple);
  { Emitter emitter(kernel, symbol, target, module); }
  char* message = nullptr;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) fail(symbol + " (" + kernel.name + ")", message);
  LLVMDisposeMessage(message);
  message = nullptr;
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  if (LLVMErrorRef error = LLVMRunPasses(module, kPasses, machine, options)) fail(symbol, LLVMGetErrorMessage(error));
  EmittedCode code;
  if (want_ir) {
    char* text = LLVMPrintModuleToString(module);
    code.ir = text;
    LLVMDisposeMessage(text);
  }
  LLVMMemoryBufferRef object = nullptr;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &object)) fail(symbol, message);
  code.object.assign(LLVMGetBufferStart(object), LLVMGetBufferSize(object));
  LLVMDisposeMemoryBuffer(object);
  LLVMDisposePassBuilderOptions(options);
  LLVMDisposeMessage(triple);
  LLVMDisposeTargetData(layout);
  LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return code;
}

std::string emitter_version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch) + " 1";
}

}  // namespace dlc::cpu
