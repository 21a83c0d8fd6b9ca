// The one exception type for what a user can mend. It ends the whole command: `main` prints the message
// and exits with the code. Bugs are assertions, never UserErrors.
#pragma once
#include <stdexcept>
#include <string>

namespace dlc {

enum class ErrorKind {
  bad_input = 2,    // wrong usage or malformed input: place, what was expected, how to mend it
  unsupported = 3,  // well-formed, but dlc or this machine cannot do it: node, operator, reason
};

class UserError : public std::runtime_error {
 public:
  // where: "file:line:column", "file: node 'conv1'", ... ; may be empty.
  UserError(ErrorKind kind, const std::string& where, const std::string& message)
      : std::runtime_error(where.empty() ? message : where + ": " + message), kind_(kind) {}
  int exit_code() const { return static_cast<int>(kind_); }
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace dlc
