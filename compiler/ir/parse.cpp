// Reads the text that print() writes. A hand-written recursive descent over characters with line and column.
#include <charconv>
#include <limits>
#include <stdexcept>

#include "compiler/ir/graph.h"
#include "compiler/ir/payload_fields.h"
#include "isa/error.h"

namespace dlc::ir {
namespace {

class Parser {
 public:
  Parser(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  Graph run() {
    expect_word("graph");
    graph_.name = string();
    expect_word("file");
    graph_.file = string();
    expect('{');
    while (!accept('}')) statement();
    skip_space();
    if (at_ != text_.size()) fail("text behind the graph");
    try {
      verify(graph_);
    } catch (const std::logic_error& e) {
      fail(std::string("the graph is not valid: ") + e.what());
    }
    return std::move(graph_);
  }

  // --- characters
  [[noreturn]] void fail(const std::string& message) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      }
    }
    throw UserError(ErrorKind::bad_input, file_ + ":" + std::to_string(line) + ":" + std::to_string(column),
                    message);
  }
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  std::string word() {
    skip_space();
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    if (start == at_) fail("expected a word");
    return text_.substr(start, at_ - start);
  }
  void expect_word(const std::string& wanted) {
    skip_space();
    const size_t start = at_;
    if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) && word() == wanted)
      return;
    at_ = start;
    fail("expected '" + wanted + "'");
  }

  // --- values
  static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  }
  std::string string() {
    expect('"');
    std::string s;
    for (;; ++at_) {
      if (at_ >= text_.size()) fail("the string has no end");
      char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        if (++at_ >= text_.size()) fail("the string has no end");
        c = text_[at_];
        if (c == 'x') {
          const int high = at_ + 2 < text_.size() ? hex_digit(text_[at_ + 1]) : -1;
          const int low = at_ + 2 < text_.size() ? hex_digit(text_[at_ + 2]) : -1;
          if (high < 0 || low < 0) fail("expected two hexadecimal digits");
          c = static_cast<char>(high * 16 + low);
          at_ += 2;
        }
      }
      s += c;
    }
    ++at_;
    return s;
  }
  template <typename T>
  T number() {
    skip_space();
    T v{};
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error == std::errc::result_out_of_range) fail("the number is out of range");
    if (error != std::errc()) fail("expected a number");
    at_ = static_cast<size_t>(end - text_.data());
    return v;
  }
  template <typename T>
  std::vector<T> list() {
    std::vector<T> values;
    expect('[');
    while (!accept(']')) {
      if (!values.empty()) expect(',');
      values.push_back(number<T>());
    }
    return values;
  }
  std::vector<std::string> text_list() {
    std::vector<std::string> values;
    expect('[');
    while (!accept(']')) {
      if (!values.empty()) expect(',');
      values.push_back(string());
    }
    return values;
  }

 private:
  Value typed_value() {
    Value v;
    expect('%');
    v.name = string();
    if (v.name.empty() || graph_.find_value(v.name))
      fail("the value '" + v.name + "' is nameless or defined twice");
    expect(':');
    const std::string type = word();
    const auto element = parse_element_type(type);
    if (!element || *element == ElementType::undefined) fail("'" + type + "' is no element type");
    v.type = *element;
    v.shape = list<int64_t>();
    for (int64_t d : v.shape) {
      if (d < 0 || d > INT32_MAX) fail("impossible dimension " + std::to_string(d));
    }
    if (!checked_element_count(v.shape)) fail("impossible shape " + shape_text(v.shape));
    skip_space();
    if (text_.compare(at_, 9, "quantized") == 0) {
      expect_word("quantized");
      v.quantization = quantization();
    }
    return v;
  }

  Quantization quantization() {
    Quantization q;
    expect('(');
    expect_word("scale");
    q.scale = list<float>();
    expect(',');
    expect_word("zero");
    q.zero = list<int32_t>();
    expect(',');
    expect_word("axis");
    q.axis = number<int>();
    expect(')');
    return q;
  }

  Bytes hex_bytes(size_t size) {
    expect_word("x");
    expect('"');
    Bytes bytes;
    while (at_ < text_.size() && text_[at_] != '"') {
      const int high = hex_digit(text_[at_]);
      const int low = at_ + 1 < text_.size() ? hex_digit(text_[at_ + 1]) : -1;
      if (high < 0 || low < 0) fail("expected hexadecimal bytes");
      bytes.push_back(static_cast<uint8_t>(high * 16 + low));
      at_ += 2;
    }
    expect('"');
    if (text_.compare(at_, 3, "...") == 0)
      fail("the constant was shortened when it was printed; print it in full");
    if (bytes.size() != size)
      fail("the constant has " + std::to_string(bytes.size()) + " bytes; its shape needs " +
           std::to_string(size));
    return bytes;
  }

  ValueId known_value() {
    expect('%');
    const std::string name = string();
    const auto v = graph_.find_value(name);
    if (!v) fail("the value '" + name + "' is not defined above");
    return *v;
  }

  void statement() {
    skip_space();
    const size_t start = at_;
    const std::string kind = word();
    if (kind == "input") {
      graph_.add_input(graph_.add_value(typed_value()));
    } else if (kind == "constant") {
      Value v = typed_value();
      expect('=');
      v.data = std::make_shared<const Bytes>(hex_bytes(v.byte_size()));
      graph_.add_value(std::move(v));
    } else if (kind == "node") {
      node();
    } else if (kind == "output") {
      graph_.add_output(known_value());
    } else {
      at_ = start;
      fail("expected input, constant, node or output");
    }
  }

  Attribute attribute() {
    const std::string kind = word();
    if (kind == "int") return number<int64_t>();
    if (kind == "float") return number<float>();
    if (kind == "string") return string();
    if (kind == "ints") return list<int64_t>();
    if (kind == "floats") return list<float>();
    if (kind == "strings") return text_list();
    fail("'" + kind + "' is no kind of attribute");
  }

  void node() {
    Node n;
    n.name = string();
    if (n.name.empty() || graph_.find_node(n.name))
      fail("the node '" + n.name + "' is nameless or defined twice");
    expect(':');
    n.op = string();
    expect_word("domain");
    n.domain = string();
    expect_word("opset");
    n.opset = number<int>();
    expect_word("onnx");
    n.onnx_nodes = text_list();
    expect_word("file");
    n.file = string();
    expect_word("inputs");
    expect('(');
    while (!accept(')')) {
      if (!n.inputs.empty()) expect(',');
      n.inputs.push_back(accept('_') ? ValueId{} : known_value());
    }
    expect_word("attributes");
    expect('{');
    while (!accept('}')) {
      if (!n.attributes.empty()) expect(',');
      const std::string key = string();
      expect('=');
      if (!n.attributes.emplace(key, attribute()).second) fail("the attribute '" + key + "' is given twice");
    }
    expect_word("payload");
    expect('{');
    n.payload = payload(n);
    expect('}');
    expect_word("outputs");
    expect('(');
    while (!accept(')')) {
      if (!n.outputs.empty()) expect(',');
      n.outputs.push_back(accept('_') ? ValueId{} : graph_.add_value(typed_value()));
    }
    graph_.add_node(std::move(n));
  }

  Payload payload(const Node& n);

  const std::string& text_;
  const std::string& file_;
  size_t at_ = 0;
  Graph graph_;
};

// Reads "key = value" for each field, in order.
struct FieldParser {
  Parser& p;
  bool first = true;

  void key(const char* name) {
    if (!first) p.expect(',');
    first = false;
    p.expect_word(name);
    p.expect('=');
  }
  // Any integer of the operators fits 32 bits; so sums and products of two cannot overflow 64.
  template <typename T>
  T checked(int64_t v) const {
    constexpr int64_t low = std::is_unsigned_v<T> ? 0 : INT32_MIN;
    constexpr int64_t high = std::is_same_v<T, bool> ? 1 : sizeof(T) == 1 ? 255 : INT32_MAX;
    if (v < low || v > high) p.fail("the number is out of range");
    return static_cast<T>(v);
  }
  template <typename T>
  requires std::is_integral_v<T>
  void operator()(const char* name, T& v) {
    key(name);
    v = checked<T>(p.number<int64_t>());
  }
  void operator()(const char* name, QPool::Kind& v) {
    key(name);
    v = checked<bool>(p.number<int64_t>()) ? QPool::Kind::average : QPool::Kind::max;
  }
  void operator()(const char* name, QBinary::Kind& v) {
    key(name);
    const auto kind = p.number<int64_t>();
    if (kind < 0 || kind > 2) p.fail("expected 0 (multiply), 1 (maximum) or 2 (minimum)");
    v = static_cast<QBinary::Kind>(kind);
  }
  template <typename T, size_t N>
  void operator()(const char* name, std::array<T, N>& v) {
    key(name);
    const auto values = p.list<int64_t>();
    if (values.size() != N) p.fail("expected " + std::to_string(N) + " numbers");
    for (size_t i = 0; i < N; ++i) v[i] = checked<T>(values[i]);
  }
  template <typename T>
  void operator()(const char* name, std::vector<T>& v) {
    key(name);
    for (int64_t x : p.list<int64_t>()) v.push_back(checked<T>(x));
  }
  void operator()(const char* name, std::vector<numerics::FixedPoint>& v) {
    key(name);
    const auto values = p.list<int64_t>();
    if (values.size() % 2 != 0) p.fail("expected pairs of multiplier and shift");
    for (size_t i = 0; i < values.size(); i += 2)
      v.push_back({checked<uint32_t>(values[i]), checked<int>(values[i + 1])});
  }
};

Payload Parser::payload(const Node& n) {
  FieldParser p{*this};
  if (n.domain != kDlcDomain || n.op == "reshape" || n.op == "pack_pixels") return {};
  if (n.op == "qconv") {
    QConv q;
    bool has_residual = false;
    visit_conv(p, q, has_residual);
    if (has_residual) visit_combine(p, q.residual.emplace());
    return q;
  }
  if (n.op == "qadd") {
    QAdd q;
    visit_combine(p, q.combine);
    return q;
  }
  if (n.op == "qpool") {
    QPool q;
    visit_pool(p, q);
    return q;
  }
  if (n.op == "qbinary") {
    QBinary q;
    visit_binary(p, q);
    return q;
  }
  if (n.op == "qplace") {
    QPlace q;
    visit_place(p, q);
    return q;
  }
  if (n.op == "qtake") {
    QTake q;
    visit_take(p, q);
    return q;
  }
  if (n.op == "qlut") {
    QLut q;
    visit_lut(p, q);
    return q;
  }
  fail("'" + n.op + "' is no operator of domain dlc");
}

}  // namespace

Graph parse_graph(const std::string& text, const std::string& file) { return Parser(text, file).run(); }

}  // namespace dlc::ir
