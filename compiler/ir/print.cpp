// Text form of graphs (see README.md for the grammar). parse.cpp reads it back.
#include <charconv>
#include <cmath>

#include "compiler/ir/graph.h"
#include "compiler/ir/payload_fields.h"

namespace dlc::ir {
namespace {

constexpr size_t kShortConstant = 16;  // bytes shown when constants are shortened

std::string quoted(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string s = "\"";
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      s += '\\';
      s += c;
    } else if (u < 0x20 || u == 0x7F) {
      s += "\\x";
      s += kHex[u >> 4];
      s += kHex[u & 15];
    } else {
      s += c;
    }
  }
  return s + "\"";
}

// Shortest text that reads back as the same float.
std::string number(float v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return {buffer, end};
}
template <typename T>
requires std::is_integral_v<T> std::string number(T v) { return std::to_string(v); }

template <typename List>
std::string list(const List& values) {
  std::string s = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    s += (i ? ", " : "") + number(values[i]);
  }
  return s + "]";
}

std::string text_list(const std::vector<std::string>& values) {
  std::string s = "[";
  for (size_t i = 0; i < values.size(); ++i) s += (i ? ", " : "") + quoted(values[i]);
  return s + "]";
}

std::string attribute_text(const Attribute& a) {
  struct Visitor {
    std::string operator()(int64_t v) const { return "int " + number(v); }
    std::string operator()(float v) const { return "float " + number(v); }
    std::string operator()(const std::string& v) const { return "string " + quoted(v); }
    std::string operator()(const std::vector<int64_t>& v) const { return "ints " + list(v); }
    std::string operator()(const std::vector<float>& v) const { return "floats " + list(v); }
    std::string operator()(const std::vector<std::string>& v) const { return "strings " + text_list(v); }
  };
  return std::visit(Visitor{}, a);
}

struct FieldPrinter {
  std::string text;
  void key(const char* name) { text += (text.empty() ? "" : ", ") + std::string(name) + " = "; }

  template <typename T>
  requires std::is_integral_v<T>
  void operator()(const char* name, const T& v) {
    key(name);
    text += number(v);
  }
  void operator()(const char* name, const bool& v) {
    key(name);
    text += v ? "1" : "0";
  }
  void operator()(const char* name, const QPool::Kind& v) {
    key(name);
    text += v == QPool::Kind::max ? "0" : "1";
  }
  void operator()(const char* name, const QBinary::Kind& v) {
    key(name);
    text += number(static_cast<int>(v));
  }
  template <typename T, size_t N>
  void operator()(const char* name, const std::array<T, N>& v) {
    key(name);
    text += list(v);
  }
  template <typename T>
  void operator()(const char* name, const std::vector<T>& v) {
    key(name);
    text += list(v);
  }
  void operator()(const char* name, const std::vector<numerics::FixedPoint>& v) {
    key(name);  // multiplier, shift, multiplier, shift, ...
    std::vector<int64_t> flat;
    for (const auto& f : v) flat.insert(flat.end(), {static_cast<int64_t>(f.multiplier), f.shift});
    text += list(flat);
  }
};

std::string payload_text(const Payload& payload) {
  FieldPrinter p;
  if (const auto* q = std::get_if<QConv>(&payload)) {
    bool has_residual = q->residual.has_value();
    visit_conv(p, *q, has_residual);
    if (has_residual) visit_combine(p, *q->residual);
  } else if (const auto* a = std::get_if<QAdd>(&payload)) {
    visit_combine(p, a->combine);
  } else if (const auto* pool = std::get_if<QPool>(&payload)) {
    visit_pool(p, *pool);
  } else if (const auto* binary = std::get_if<QBinary>(&payload)) {
    visit_binary(p, *binary);
  } else if (const auto* place = std::get_if<QPlace>(&payload)) {
    visit_place(p, *place);
  } else if (const auto* take = std::get_if<QTake>(&payload)) {
    visit_take(p, *take);
  } else if (const auto* lut = std::get_if<QLut>(&payload)) {
    visit_lut(p, *lut);
  }
  return p.text;
}

std::string type_text(const Value& v) {
  std::string s = std::string(element_name(v.type)) + list(v.shape);
  if (v.quantization) {
    s += " quantized(scale " + list(v.quantization->scale) + ", zero " + list(v.quantization->zero) +
         ", axis " + number(v.quantization->axis) + ")";
  }
  return s;
}

std::string hex(const Bytes& bytes, bool full) {
  static constexpr char kHex[] = "0123456789abcdef";
  const size_t n = full ? bytes.size() : std::min(bytes.size(), kShortConstant);
  std::string s = "x\"";
  for (size_t i = 0; i < n; ++i) {
    s += kHex[bytes[i] >> 4];
    s += kHex[bytes[i] & 15];
  }
  s += '"';
  return n < bytes.size() ? s + "..." + std::to_string(bytes.size()) + " bytes" : s;
}

void print_node(const Graph& g, const Node& n, std::string& out) {
  out += "  node " + quoted(n.name) + " : " + quoted(n.op) + " domain " + quoted(n.domain) + " opset " +
         number(n.opset) + "\n    onnx " + text_list(n.onnx_nodes) + "\n    file " + quoted(n.file) +
         "\n    inputs (";
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    out += (i ? ", " : "") + (n.inputs[i].valid() ? "%" + quoted(g.value(n.inputs[i]).name) : "_");
  }
  out += ")\n    attributes {";
  bool first = true;
  for (const auto& [key, value] : n.attributes) {
    out += (first ? "" : ", ") + quoted(key) + " = " + attribute_text(value);
    first = false;
  }
  out += "}\n    payload {" + payload_text(n.payload) + "}\n    outputs (";
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    out += i ? ", " : "";
    if (!n.outputs[i].valid()) {
      out += "_";
      continue;
    }
    const Value& v = g.value(n.outputs[i]);
    out += "%" + quoted(v.name) + " : " + type_text(v);
  }
  out += ")\n";
}

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  std::string out = "graph " + quoted(graph.name) + " file " + quoted(graph.file) + " {\n";
  for (ValueId v : graph.inputs()) {
    out += "  input %" + quoted(graph.value(v).name) + " : " + type_text(graph.value(v)) + "\n";
  }
  for (ValueId id : graph.values()) {
    const Value& v = graph.value(id);
    if (!v.is_constant()) continue;
    out += "  constant %" + quoted(v.name) + " : " + type_text(v) + " = " +
           hex(*v.data, options.full_constants) + "\n";
  }
  for (NodeId n : graph.topological_order()) print_node(graph, graph.node(n), out);
  for (ValueId v : graph.outputs()) out += "  output %" + quoted(graph.value(v).name) + "\n";
  return out + "}\n";
}

}  // namespace dlc::ir
