#include "compiler/driver/load_report.h"

#include "compiler/driver/file_io.h"
#include "isa/error.h"

namespace dlc {

nlohmann::json load_report(const std::string& path) {
  nlohmann::json j = nlohmann::json::parse(read_text_file(path), nullptr, false);
  if (j.is_discarded() || !j.is_object() || !j.contains("total_cycles") || !j.contains("layers") || !j["layers"].is_array())
    throw UserError(ErrorKind::bad_input, path, "is not a report; expected the file that dlc run --report writes");
  return j;
}

}  // namespace dlc
