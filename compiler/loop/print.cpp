// Text form of a kernel:
//
//   kernel "conv1" (%x : float32[1024], %y : float32[64] written)
//     parallel i0 = 0 to 64 step 1
//       l0 = 0.0 : float32 x 16
//       ...
//       %y[i0 * 16] = max(l0, 0)
//
// Operands used twice in a statement are named (t0 = ...) in front of it.
#include <cstdio>
#include <unordered_map>

#include "compiler/loop/loop_ir.h"

namespace dlc::loop {
namespace {

class Printer {
 public:
  explicit Printer(const Kernel& k) : kernel_(k) {}

  std::string run(bool with_name) {
    out_ = "kernel";
    if (with_name) out_ += " \"" + kernel_.name + "\"";
    out_ += " (";
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& b = kernel_.buffers[i];
      out_ += (i ? ", " : "") + buffer(static_cast<int>(i)) + " : " + std::string(ir::element_name(b.element)) + "[" +
              std::to_string(b.elements) + "]" + (b.written ? " written" : "");
    }
    out_ += ")\n";
    block(kernel_.body, 1);
    return std::move(out_);
  }

 private:
  std::string buffer(int id) const { return "%" + std::to_string(id); }

  void block(const std::vector<Stmt>& body, int depth) {
    for (const Stmt& s : body) {
      const std::string indent(static_cast<size_t>(depth) * 2, ' ');
      if (s.kind == Stmt::Kind::loop || s.kind == Stmt::Kind::parallel_loop) {
        out_ += indent + (s.kind == Stmt::Kind::loop ? "for i" : "parallel i") + std::to_string(s.id) + " = " +
                std::to_string(s.begin) + " to " + std::to_string(s.end) + " step " + std::to_string(s.step) + "\n";
        block(s.body, depth + 1);
        continue;
      }
      names_.clear();
      uses_.clear();
      if (s.index) count(s.index);
      count(s.value);
      if (s.index) name_shared(s.index, indent);
      name_shared(s.value, indent);
      out_ += indent;
      if (s.kind == Stmt::Kind::assign) out_ += "l" + std::to_string(s.id);
      else out_ += buffer(s.id) + "[" + text(s.index) + lanes(s.value.type().lanes, s.stride, s.valid) + "]";
      out_ += " = " + text(s.value) + "\n";
    }
  }

  static std::string lanes(int count, int64_t stride, int valid) {
    std::string t;
    if (count != 1) t = " x " + std::to_string(count);
    if (stride != 1) t += " stride " + std::to_string(stride);
    if (valid) t += " valid " + std::to_string(valid);
    return t;
  }

  void count(const Expr& e) {
    if (++uses_[e.get()] > 1) return;
    for (const Expr& a : e->args) count(a);
  }

  void name_shared(const Expr& e, const std::string& indent) {
    if (names_.count(e.get())) return;
    for (const Expr& a : e->args) name_shared(a, indent);
    if (e->args.empty() || uses_[e.get()] < 2 || names_.count(e.get())) return;
    const std::string value = text(e);
    const std::string name = "t" + std::to_string(names_.size());
    out_ += indent + name + " = " + value + "\n";
    names_[e.get()] = name;
  }

  std::string text(const Expr& e) const {
    if (const auto it = names_.find(e.get()); it != names_.end()) return it->second;
    switch (e->op) {
      case Op::constant: {
        char number[40];
        if (e->type.is_float()) std::snprintf(number, sizeof number, "%a", e->real);
        else std::snprintf(number, sizeof number, "%lld", static_cast<long long>(e->integer));
        return e->type == kIndex ? number : std::string(number) + ":" + type_text(e->type);
      }
      case Op::lane: return "lane<" + std::to_string(e->type.lanes) + ">";
      case Op::variable: return "i" + std::to_string(e->id);
      case Op::local: return "l" + std::to_string(e->id);
      case Op::load: return buffer(e->id) + "[" + text(e->args[0]) + lanes(e->type.lanes, e->stride, e->valid) + "]";
      default: break;
    }
    const bool typed = e->op == Op::cast || e->op == Op::convert || e->op == Op::bitcast || e->op == Op::repeat;
    std::string t = std::string(op_name(e->op)) + (typed ? "<" + type_text(e->type) + ">(" : "(");
    for (size_t i = 0; i < e->args.size(); ++i) t += (i ? ", " : "") + text(e->args[i]);
    return t + ")";
  }

  const Kernel& kernel_;
  std::string out_;
  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_map<const ExprNode*, std::string> names_;
};

}  // namespace

std::string print(const Kernel& kernel, bool with_name) { return Printer(kernel).run(with_name); }

}  // namespace dlc::loop
