#include "compiler/driver/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace dlc {

Progress::Progress(std::string label, bool enabled)
    : label_(std::move(label)), enabled_(enabled && isatty(STDERR_FILENO)),
      begin_(std::chrono::steady_clock::now()), last_(begin_) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void Progress::update(double fraction, const std::string& detail) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  if (elapsed < 1.0 || (shown_ && now - last_ < std::chrono::milliseconds(100))) return;
  last_ = now;
  shown_ = true;
  fraction = std::clamp(fraction, 0.0, 1.0);
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(fraction * kWidth);
  const double left = fraction > 0.01 ? elapsed / fraction - elapsed : 0;
  std::fprintf(stderr, "\r%s [%s%s] %3d%%  %.0f s left %s\033[K", label_.c_str(), std::string(static_cast<size_t>(filled), '#').c_str(),
               std::string(static_cast<size_t>(kWidth - filled), '.').c_str(), static_cast<int>(fraction * 100), left, detail.c_str());
  std::fflush(stderr);
}

bool colour_allowed(int file_descriptor) { return isatty(file_descriptor) && std::getenv("NO_COLOR") == nullptr; }

}  // namespace dlc
