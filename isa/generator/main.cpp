// isa_gen: writes every generated view of the instruction table.
// Usage: isa_gen TABLE.yaml [--header FILE.h] [--sv FILE.sv] [--markdown FILE.md]
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "isa/error.h"
#include "isa/generator/table.h"

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw dlc::UserError(dlc::ErrorKind::bad_input, path, "cannot be read; expected the instruction table");
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw dlc::UserError(dlc::ErrorKind::bad_input, path, "cannot be written");
}

void run(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) {
    throw dlc::UserError(dlc::ErrorKind::bad_input, "isa_gen",
                         "expected TABLE.yaml and pairs of --header|--sv|--markdown FILE");
  }
  const dlc::isa_gen::Table table = dlc::isa_gen::parse_table(read_file(argv[1]), argv[1]);
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i], path = argv[i + 1];
    if (option == "--header") {
      write_file(path, emit_cpp_header(table));
    } else if (option == "--sv") {
      write_file(path, emit_sv_package(table));
    } else if (option == "--markdown") {
      write_file(path, emit_markdown(table));
    } else {
      throw dlc::UserError(dlc::ErrorKind::bad_input, "isa_gen", "unknown option " + option);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return 0;
  } catch (const dlc::UserError& e) {
    std::cerr << "error: " << e.what() << "\n";
    return e.exit_code();
  }
}
