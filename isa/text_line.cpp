#include "isa/text_line.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <limits>

#include "isa/error.h"

namespace dlc {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' || c == '+';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

TextLine::TextLine(std::string_view text, std::string file, int line)
    : text_(text), file_(std::move(file)), line_(line) {}

void TextLine::fail_at(size_t position, const std::string& message) const {
  throw UserError(ErrorKind::bad_input, fmt::format("{}:{}:{}", file_, line_, position + 1), message);
}

void TextLine::fail_next(const std::string& message) {
  skip_blanks();
  fail_at(position_, message);
}

void TextLine::skip_blanks() {
  while (position_ < text_.size() &&
         (text_[position_] == ' ' || text_[position_] == '\t' || text_[position_] == '\r')) {
    ++position_;
  }
}

std::string TextLine::found() const {
  if (position_ >= text_.size()) return "the end of the line";
  return fmt::format("'{}'", text_[position_]);
}

bool TextLine::at_end() {
  skip_blanks();
  return position_ >= text_.size() || text_[position_] == ';';
}

bool TextLine::accept(char c) {
  skip_blanks();
  if (position_ >= text_.size() || text_[position_] != c) return false;
  ++position_;
  return true;
}

void TextLine::expect(char c) {
  if (!accept(c)) fail_at(position_, fmt::format("expected '{}', got {}", c, found()));
}

std::string TextLine::word() {
  mark();
  while (position_ < text_.size() && is_word(text_[position_])) ++position_;
  if (position_ == last_) fail_at(position_, fmt::format("expected a name or a number, got {}", found()));
  return std::string(text_.substr(last_, position_ - last_));
}

std::string TextLine::quoted() {
  mark();
  if (!accept('"')) fail_at(position_, fmt::format("expected a text in double quotes, got {}", found()));
  std::string out;
  while (position_ < text_.size() && text_[position_] != '"') {
    char c = text_[position_++];
    if (c == '\\' && position_ < text_.size()) {
      c = text_[position_++];
      if (c == 'n') {
        c = '\n';
      } else if (c == 't') {
        c = '\t';
      } else if (c == 'x') {
        const int high = position_ < text_.size() ? hex_digit(text_[position_]) : -1;
        const int low = position_ + 1 < text_.size() ? hex_digit(text_[position_ + 1]) : -1;
        if (high < 0 || low < 0) fail_at(position_, "expected two hexadecimal digits (0-9, a-f) after \\x");
        c = static_cast<char>(high * 16 + low);
        position_ += 2;
      } else if (c != '"' && c != '\\') {
        fail_at(position_ - 1,
                fmt::format("unknown escape '\\{}'; expected one of \\\" \\\\ \\n \\t \\xNN", c));
      }
    }
    out += c;
  }
  if (position_ >= text_.size()) fail_last("the closing quote is missing");
  ++position_;
  return out;
}

int64_t TextLine::integer() {
  const std::string text = word();
  const bool negative = text[0] == '-';
  std::string_view digits = std::string_view(text).substr(negative ? 1 : 0);
  const bool hex = digits.starts_with("0x");
  if (hex) digits.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size() || value > kMax) {
    fail_last(fmt::format("expected a whole number, got '{}'", text));
  }
  return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

uint64_t TextLine::address() {
  const int64_t value = integer();
  if (value < 0) fail_last(fmt::format("expected a number that is not negative, got {}", value));
  return static_cast<uint64_t>(value);
}

float TextLine::real() {
  const std::string text = word();
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    fail_last(fmt::format("expected a number, got '{}'", text));
  return value;
}

std::vector<std::string> TextLine::quoted_list() {
  std::vector<std::string> out;
  expect('[');
  if (accept(']')) return out;
  do {
    out.push_back(quoted());
  } while (accept(','));
  expect(']');
  return out;
}

std::vector<int64_t> TextLine::integer_list() {
  std::vector<int64_t> out;
  expect('[');
  if (accept(']')) return out;
  do {
    out.push_back(integer());
  } while (accept(','));
  expect(']');
  return out;
}

void TextLine::expect_end() {
  if (!at_end()) fail_at(position_, fmt::format("expected the end of the line, got {}", found()));
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string quote_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ", ";
    out += quote(texts[i]);
  }
  return out += ']';
}

}  // namespace dlc
