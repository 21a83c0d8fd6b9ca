// A progress bar on stderr for anything that takes more than a second; only on a terminal.
#pragma once
#include <chrono>
#include <string>

namespace dlc {

class Progress {
 public:
  // enabled: false prints nothing (quiet). A bar appears only if stderr is a terminal.
  Progress(std::string label, bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(double fraction, const std::string& detail = "");  // 0..1

 private:
  void clear();
  std::string label_;
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_, last_;
};

// True if output on that file descriptor may be coloured (a terminal, NO_COLOR not set).
bool colour_allowed(int file_descriptor);

}  // namespace dlc
