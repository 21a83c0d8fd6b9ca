#include "rtl/cosim/subprocess.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

namespace dlc {
namespace {

std::vector<char*> arguments(const Command& command) {
  std::vector<char*> out;
  for (const std::string& a : command) out.push_back(const_cast<char*>(a.c_str()));
  out.push_back(nullptr);
  return out;
}

// The child's side of a fork: only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, const char* directory, int out, int err) {
  if ((directory && chdir(directory) != 0) || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
    _exit(127);
  execvp(argv[0], argv);
  _exit(127);
}

pid_t start(const Command& command, const std::string& directory, const std::string& log) {
  const auto argv = arguments(command);
  const pid_t pid = fork();
  if (pid == 0) {
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    become(argv.data(), directory.c_str(), fd, fd);
  }
  return pid;
}

bool exited_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

}  // namespace

bool run_commands(const std::vector<Command>& commands, const std::string& directory, const std::string& log,
                  int jobs) {
  std::set<pid_t> running;
  bool good = true;
  const auto reap = [&] {
    // Only our own children: the process may have others.
    const pid_t pid = *running.begin();
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !exited_well(status)) good = false;
    running.erase(pid);
  };
  for (const Command& command : commands) {
    if (static_cast<int>(running.size()) >= jobs) reap();
    if (!good) break;
    const pid_t pid = start(command, directory, log);
    if (pid < 0) {
      good = false;
      break;
    }
    running.insert(pid);
  }
  while (!running.empty()) reap();
  return good;
}

std::string output_of(const Command& command) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const auto argv = arguments(command);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    become(argv.data(), nullptr, ends[1], open("/dev/null", O_WRONLY));
  }
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; pid > 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 1;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || !exited_well(status)) return "";
  return out;
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace dlc
