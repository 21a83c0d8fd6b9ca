// The .dlp file: round trip, determinism, damage.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "isa/error.h"
#include "isa/program_check.h"
#include "tests/unit/isa_sample_program.h"

using namespace dlc;

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("dlc_program_file_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(path_), {})); }

 private:
  fs::path path_;
};

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string load_error(const std::string& path) {
  try {
    load_program(path);
  } catch (const UserError& e) {
    CHECK(e.exit_code() == 2);
    CHECK(std::string(e.what()).find(path) == 0);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A program file gives back everything, and the same program gives the same bytes") {
  const Folder folder;
  const Program before = test::sample_program();
  save_program(before, folder.file("a.dlp"));
  const Program after = load_program(folder.file("a.dlp"));
  CHECK(disassemble(after) == disassemble(before));
  CHECK(after.instructions == before.instructions);
  CHECK(after.notes == before.notes);
  CHECK(after.host_graph == before.host_graph);
  CHECK(after.tensors[1].scale == before.tensors[1].scale);
  save_program(after, folder.file("b.dlp"));
  CHECK(read(folder.file("a.dlp")) == read(folder.file("b.dlp")));
  CHECK(folder.files() == 2);  // no temporary left
}

TEST_CASE("Every flipped bit and every truncation of a program file is refused") {
  const Folder folder;
  save_program(test::sample_program(), folder.file("a.dlp"));
  const std::string good = read(folder.file("a.dlp"));
  const std::string path = folder.file("bad.dlp");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    write(path, bad);
    INFO("byte " << i);
    REQUIRE(load_error(path) != "");
  }
  for (size_t size = 0; size < good.size(); size += 7) {
    write(path, good.substr(0, size));
    REQUIRE(load_error(path) != "");
  }
}

TEST_CASE("Files that are no program are refused by name and expectation") {
  const Folder folder;
  const std::string path = folder.file("x.dlp");
  CHECK(load_error(path) == path + ": cannot be read; expected a program file written by 'dlc compile'");
  write(path, "this is not a program, whatever its name says");
  CHECK(load_error(path) ==
        path + ": not a dlc program (the mark 'DLCP' is missing); expected a file written by 'dlc compile'");
  write(path, "");
  CHECK(load_error(path) != "");
  fs::remove(path);
  fs::create_directory(path);
  CHECK(load_error(path) == path + ": is a directory; expected a program file (.dlp)");
}

TEST_CASE("An inconsistent program is neither written nor accepted") {
  const auto fault = [](const std::function<void(Program&)>& change) {
    Program p = test::sample_program();
    change(p);
    return check_program(p);
  };
  CHECK(fault([](Program&) {}) == "");
  CHECK(fault([](Program& p) { p.hw_hash ^= 1; }).find("hardware hash") == 0);
  CHECK(fault([](Program& p) { p.hw_name = "x"; }) == "hardware name 'x', expected 'edge-16'");
  CHECK(fault([](Program& p) {
          p.hw_yaml = "name: edge-16\n";
        }).find("hardware description in the program:1:1: ") == 0);
  CHECK(fault([](Program& p) { p.layer_of.pop_back(); }) ==
        "3 layer indices, expected one an instruction, 4");
  CHECK(fault([](Program& p) { p.layer_of[2] = 2; }) == "instruction 2: layer 2, expected below 2");
  CHECK(fault([](Program& p) { p.notes.pop_back(); }) == "3 notes, expected 4 or none");
  CHECK(fault([](Program& p) { p.segments[2].instruction_count = 2; }) ==
        "segment 2: instructions 3..5, expected inside 3..4");
  CHECK(fault([](Program& p) { p.segments[2].first_instruction = 2; }) ==
        "segment 2: instructions 2..3, expected inside 3..4");
  CHECK(fault([](Program& p) {
          p.segments[1].instruction_count = 1;
        }).find("a host segment with 1 instructions") != std::string::npos);
  CHECK(fault([](Program& p) { p.constants[0].address = 0x1000; }) ==
        "program and constant 'w' overlap in DRAM at 0x1000");
  CHECK(fault([](Program& p) { p.constants[0].address = ~uint64_t{0}; }).find("lie beyond the DRAM image") !=
        std::string::npos);
  CHECK(fault([](Program& p) { p.program_address = 0x1010; }) ==
        "program address 0x1010, expected a multiple of 4096");
  CHECK(fault([](Program& p) { p.dram_bytes = uint64_t{1} << 29; }).find("at most the memory size") !=
        std::string::npos);
  CHECK(fault([](Program& p) { p.tensors[0].bytes = 59; }) ==
        "tensor 'x': 59 bytes, expected at least 60 for its shape");
  CHECK(fault([](Program& p) {
          p.tensors[0].shape = {1, int64_t{1} << 62, 8};
        }).find("does not fit the DRAM image") != std::string::npos);
  CHECK(fault([](Program& p) { p.tensors[0].element = "int3"; }) ==
        "tensor 'x': unknown element type 'int3'");
  const Folder folder;
  Program p = test::sample_program();
  p.hw_hash = 0;
  CHECK_THROWS_WITH(save_program(p, folder.file("a.dlp")),
                    Catch::Contains("not written, the program is inconsistent"));
  CHECK(folder.files() == 0);
}

TEST_CASE("A path that cannot be written is refused and leaves nothing behind") {
  const Folder folder;
  CHECK_THROWS_WITH(save_program(test::sample_program(), folder.file("no/such/folder.dlp")),
                    Catch::Contains("cannot be written"));
  CHECK(folder.files() == 0);
}

TEST_CASE("The DRAM image holds constants and the encoded program, zero elsewhere") {
  const Program p = test::sample_program();
  const std::vector<uint8_t> dram = dram_image(p), code = encode_program(p);
  REQUIRE(dram.size() == p.dram_bytes);
  CHECK(code.size() == 512);  // 4 + 5 + 8 + 4 units, padded to fetch bursts
  CHECK(program_units(p) == 21);
  CHECK(std::equal(code.begin(), code.end(), dram.begin() + 0x1000));
  CHECK(std::equal(p.constants[0].bytes.begin(), p.constants[0].bytes.end(), dram.begin() + 0x4000));
  CHECK(std::count(dram.begin(), dram.begin() + 0x1000, 0) == 0x1000);
}
