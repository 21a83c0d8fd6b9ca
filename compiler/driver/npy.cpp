#include "compiler/driver/npy.h"

#include <cctype>
#include <cstring>
#include <functional>
#include <string_view>

#include "compiler/driver/file_io.h"
#include "isa/error.h"

namespace dlc {
namespace {

[[noreturn]] void bad(const std::string& what, const std::string& message) {
  throw UserError(ErrorKind::bad_input, what, message);
}

// The header is a Python dictionary literal of a fixed shape; this reads just that.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  void parse(std::string& descr, bool& fortran, std::vector<int64_t>& shape) {
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() != '\'' && peek() != '"') bad(what_, "structured element types are not supported; save a plain array");
        descr = quoted();
      } else if (key == "fortran_order") {
        const std::string w = word();
        if (w != "True" && w != "False") malformed();
        fortran = w == "True";
      } else if (key == "shape") {
        parse_shape(shape);
      } else {
        malformed();
      }
      accept(',');
    }
  }

 private:
  [[noreturn]] void malformed() { bad(what_, "malformed .npy header: " + std::string(text_.substr(0, 80))); }
  char peek() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
    if (position_ >= text_.size()) malformed();
    return text_[position_];
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed();
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed();
    const size_t end = text_.find(quote, ++position_);
    if (end == std::string_view::npos) malformed();
    std::string s(text_.substr(position_, end - position_));
    position_ = end + 1;
    return s;
  }
  std::string word() {
    peek();
    std::string s;
    while (position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_]))) s += text_[position_++];
    return s;
  }
  void parse_shape(std::vector<int64_t>& shape) {
    expect('(');
    while (!accept(')')) {
      int64_t v = 0;
      size_t digits = 0;
      peek();
      while (position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]))) {
        v = v * 10 + (text_[position_++] - '0');
        if (++digits > 15) malformed();
      }
      if (digits == 0) malformed();
      shape.push_back(v);
      accept(',');
    }
  }

  std::string_view text_;
  const std::string& what_;
  size_t position_ = 0;
};

// Rewrites column-major data as row-major.
std::vector<uint8_t> to_c_order(const std::vector<uint8_t>& in, const std::vector<int64_t>& shape, size_t size) {
  std::vector<uint8_t> out(in.size());
  std::vector<int64_t> index(shape.size(), 0);
  const size_t n = in.size() / size;
  for (size_t i = 0; i < n; ++i) {
    size_t c = 0;
    for (size_t d = 0; d < shape.size(); ++d) c = c * static_cast<size_t>(shape[d]) + static_cast<size_t>(index[d]);
    std::memcpy(&out[c * size], &in[i * size], size);
    for (size_t d = 0; d < shape.size() && ++index[d] == shape[d]; ++d) index[d] = 0;
  }
  return out;
}

float half_to_float(uint16_t h) {
  const uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31, fraction = h & 0x3FFu;
  if (exponent == 0) {
    const float v = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -v : v;
  }
  const uint32_t bits = sign | (exponent == 31 ? 0x7F800000u : (exponent + 112) << 23) | (fraction << 13);
  float v;
  std::memcpy(&v, &bits, 4);
  return v;
}

template <class T>
T element(const NpyArray& a, size_t i) {
  T v;
  std::memcpy(&v, &a.bytes[i * sizeof(T)], sizeof(T));
  return v;
}

template <class Out>
std::vector<Out> convert(const NpyArray& a) {
  const size_t n = static_cast<size_t>(a.elements());
  std::vector<Out> out(n);
  auto fill = [&](auto zero) {
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<Out>(element<decltype(zero)>(a, i));
  };
  if (a.dtype == "f4") fill(float{});
  else if (a.dtype == "f8") fill(double{});
  else if (a.dtype == "i1") fill(int8_t{});
  else if (a.dtype == "i2") fill(int16_t{});
  else if (a.dtype == "i4") fill(int32_t{});
  else if (a.dtype == "i8") fill(int64_t{});
  else if (a.dtype == "u2") fill(uint16_t{});
  else if (a.dtype == "u4") fill(uint32_t{});
  else if (a.dtype == "u8") fill(uint64_t{});
  else if (a.dtype == "f2") for (size_t i = 0; i < n; ++i) out[i] = static_cast<Out>(half_to_float(element<uint16_t>(a, i)));
  else fill(uint8_t{});  // u1, b1
  return out;
}

}  // namespace

NpyArray parse_npy(const std::vector<uint8_t>& data, const std::string& what) {
  if (data.size() < 10 || std::memcmp(data.data(), "\x93NUMPY", 6) != 0)
    bad(what, "is not a .npy file (the magic bytes \\x93NUMPY are missing); save it with numpy.save");
  const int major = data[6];
  if (major < 1 || major > 3) bad(what, "has .npy format version " + std::to_string(major) + "; expected 1 to 3");
  const size_t prefix = major == 1 ? 10 : 12;
  if (data.size() < prefix) bad(what, "ends inside the .npy header");
  size_t length = data[8] | static_cast<size_t>(data[9]) << 8;
  if (major > 1) length |= static_cast<size_t>(data[10]) << 16 | static_cast<size_t>(data[11]) << 24;
  if (data.size() < prefix + length) bad(what, "ends inside the .npy header");

  std::string descr;
  bool fortran = false;
  NpyArray a;
  HeaderParser({reinterpret_cast<const char*>(&data[prefix]), length}, what).parse(descr, fortran, a.shape);
  static const std::vector<std::string> known = {"f2", "f4", "f8", "i1", "i2", "i4", "i8",
                                                 "u1", "u2", "u4", "u8", "b1"};
  if (!descr.empty() && (descr[0] == '<' || descr[0] == '|' || descr[0] == '=')) descr.erase(0, 1);
  bool ok = false;
  for (const auto& k : known) ok |= k == descr;
  if (!ok) bad(what, "has element type '" + descr + "'; expected a little-endian one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1");
  a.dtype = descr;
  size_t expected = static_cast<size_t>(a.element_bytes());
  for (int64_t d : a.shape) {
    if (d != 0 && expected > (size_t{1} << 40) / static_cast<size_t>(d)) bad(what, "has an impossibly large shape");
    expected *= static_cast<size_t>(d);
  }
  const size_t have = data.size() - prefix - length;
  if (have != expected)
    bad(what, "holds " + std::to_string(have) + " data bytes; its header says " + std::to_string(expected) +
                  " (truncated or damaged file)");
  a.bytes.assign(data.begin() + static_cast<std::ptrdiff_t>(prefix + length), data.end());
  if (fortran && a.shape.size() > 1) a.bytes = to_c_order(a.bytes, a.shape, static_cast<size_t>(a.element_bytes()));
  return a;
}

NpyArray load_npy(const std::string& path) { return parse_npy(read_file(path), path); }

void save_npy(const std::string& path, const NpyArray& a) {
  std::string shape;
  for (int64_t d : a.shape) shape += std::to_string(d) + (a.shape.size() == 1 ? "," : ", ");
  if (a.shape.size() > 1) shape.resize(shape.size() - 2);
  const bool byte = a.element_bytes() == 1;
  std::string header = "{'descr': '" + std::string(byte ? "|" : "<") + a.dtype + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out = "\x93NUMPY";
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size());
  write_file(path, out);
}

NpyArray npy_row(const NpyArray& a, int64_t index) {
  NpyArray row;
  row.dtype = a.dtype;
  row.shape = a.shape;
  row.shape.at(0) = 1;
  const size_t size = a.bytes.size() / static_cast<size_t>(a.shape[0]);
  const auto first = a.bytes.begin() + static_cast<std::ptrdiff_t>(size * static_cast<size_t>(index));
  row.bytes.assign(first, first + static_cast<std::ptrdiff_t>(size));
  return row;
}

std::vector<float> npy_as_float(const NpyArray& a) { return convert<float>(a); }
std::vector<int64_t> npy_as_int64(const NpyArray& a) { return convert<int64_t>(a); }

}  // namespace dlc
