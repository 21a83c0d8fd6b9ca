#include "compiler/driver/file_io.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "isa/error.h"

namespace dlc {

std::vector<uint8_t> read_file(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code))
    throw UserError(ErrorKind::bad_input, path, "is a directory; expected a file");
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw UserError(ErrorKind::bad_input, path, std::string("cannot be read: ") + std::strerror(errno));
  std::vector<uint8_t> data(static_cast<size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(data.size()));
  if (!in) throw UserError(ErrorKind::bad_input, path, "cannot be read to its end");
  return data;
}

std::string read_text_file(const std::string& path) {
  const std::vector<uint8_t> data = read_file(path);
  return {data.begin(), data.end()};
}

void write_file(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  {
    std::ofstream out(temporary, std::ios::binary);
    if (!out)
      throw UserError(ErrorKind::bad_input, path,
                      std::string("cannot be written: ") + std::strerror(errno) +
                          "; check that the folder exists and is writable");
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) {
      std::filesystem::remove(temporary);
      throw UserError(ErrorKind::bad_input, path, "cannot be written to its end (disk full?)");
    }
  }
  std::error_code code;
  std::filesystem::rename(temporary, path, code);
  if (code) {
    std::filesystem::remove(temporary);
    throw UserError(ErrorKind::bad_input, path, "cannot be written: " + code.message());
  }
}

}  // namespace dlc
