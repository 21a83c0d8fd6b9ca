// One line of assembler text as a cursor over tokens, and the quoting that the disassembler uses.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// Reads a line from left to right. Blanks separate; ';' outside of quotes starts a comment. Every error is a
// UserError at file:line:column of the token in question.
class TextLine {
 public:
  TextLine(std::string_view text, std::string file, int line);

  bool at_end();
  bool accept(char c);  // takes c if it comes next
  void expect(char c);
  std::string word();    // letters, digits, '_', '.', '-', '+': at least one
  std::string quoted();  // "..." with \" \\ \n \t \xNN
  int64_t integer();     // decimal or 0x, with sign
  uint64_t address();    // not negative
  float real();
  std::vector<std::string> quoted_list();  // ["a", "b"]
  std::vector<int64_t> integer_list();     // [1, 2]
  void expect_end();                       // nothing but a comment may follow

  // At the token that was read last, or at the next one.
  [[noreturn]] void fail_last(const std::string& message) const { fail_at(last_, message); }
  [[noreturn]] void fail_next(const std::string& message);
  void mark() {
    skip_blanks();
    last_ = position_;
  }  // makes the next token the last

 private:
  [[noreturn]] void fail_at(size_t position, const std::string& message) const;
  void skip_blanks();
  std::string found() const;  // the next character, for messages

  std::string_view text_;
  std::string file_;
  int line_;
  size_t position_ = 0, last_ = 0;
};

std::string quote(std::string_view text);
std::string quote_list(const std::vector<std::string>& texts);

}  // namespace dlc
