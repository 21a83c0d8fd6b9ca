// Golden tests of every refusal: tests/errors/cases/*.case. A case is
//   # what the user did wrong
//   setup: shell command (optional, repeatable)
//   run: dlc arguments
//   exit: 2 or 3
//   stderr:
//   the exact message, to the end of the file
// Commands run in an empty folder; $DLC is the program, $INPUTS tests/errors/inputs, $ROOT the project.
// In the message, these folders appear as {INPUTS}, {ROOT}. DLC_UPDATE_GOLDEN=1 rewrites the messages.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const std::string kRoot = DLC_SOURCE_DIR;
const std::string kInputs = kRoot + "/tests/errors/inputs";

struct Case {
  std::string title, run, message;
  std::vector<std::string> setup;
  int exit = -1;
};

std::string slurp(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

Case parse_case(const fs::path& path) {
  Case c;
  std::ifstream in(path);
  bool message = false;
  for (std::string line; std::getline(in, line);) {
    if (message) c.message += line + "\n";
    else if (line.rfind("# ", 0) == 0) c.title += line.substr(2);
    else if (line.rfind("setup: ", 0) == 0) c.setup.push_back(line.substr(7));
    else if (line.rfind("run: ", 0) == 0) c.run = line.substr(5);
    else if (line.rfind("exit: ", 0) == 0) c.exit = std::stoi(line.substr(6));
    else if (line == "stderr:") message = true;
  }
  return c;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

int shell(const fs::path& folder, const std::string& command, const std::string& redirect) {
  const std::string line = "cd '" + folder.string() + "' && export DLC='" DLC_BINARY "' INPUTS='" + kInputs + "' ROOT='" + kRoot +
                           "' NO_COLOR=1 && timeout 60 sh -c '" + command + "' " + redirect;
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void update(const fs::path& path, const Case& c, int status, const std::string& message) {
  std::ofstream out(path);
  out << "# " << c.title << "\n";
  for (const std::string& s : c.setup) out << "setup: " << s << "\n";
  out << "run: " << c.run << "\nexit: " << status << "\nstderr:\n" << message;
}

}  // namespace

TEST_CASE("every bad input is refused with its place, what was expected and how to mend it") {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(kRoot + "/tests/errors/cases"))
    if (entry.path().extension() == ".case") cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  REQUIRE(cases.size() >= 20);
  for (const fs::path& path : cases) {
    const Case c = parse_case(path);
    INFO(path.filename().string() << ": " << c.title);
    const fs::path folder = fs::temp_directory_path() / ("dlc-errors-" + std::to_string(getpid()) + "-" + path.stem().string());
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const std::string& s : c.setup) REQUIRE(shell(folder, s, "") == 0);
    const int status = shell(folder, "\"$DLC\" " + c.run, "> stdout.txt 2> stderr.txt");
    std::string message = slurp(folder / "stderr.txt");
    replace_all(message, kInputs, "{INPUTS}");
    replace_all(message, kRoot, "{ROOT}");
    // Hashes change with every parameter of the machine; that they are printed is enough.
    message = std::regex_replace(message, std::regex("hash [0-9a-f]{16}"), "hash {HASH}");
    if (std::getenv("DLC_UPDATE_GOLDEN")) update(path, c, status, message);
    else {
      CHECK(status == c.exit);
      CHECK(message == c.message);
    }
    CHECK((status == 2 || status == 3));
    fs::remove_all(folder);
  }
}
