// ONNX's own backend node tests through importer and reference: whatever is imported gives the expected
// values, the rest is refused with a UserError. Skipped with a message where the assets are absent.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <optional>
#include <sstream>

#include "compiler/backends/reference/reference.h"
#include "compiler/ir/narrow_types.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/onnx/proto_reader.h"
#include "isa/error.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<onnx::TensorProto> tensor_file(const fs::path& path) {
  onnx::TensorProto proto;
  if (!fs::exists(path) || !proto.ParseFromString(read(path))) return std::nullopt;
  return proto;
}

bool equal(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.type != b.type || a.shape != b.shape) return false;
  const std::vector<double> x = ir::to_doubles(a), y = ir::to_doubles(b);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const bool real = ir::is_float(a.type);
    if (!real || !(std::abs(x[i] - y[i]) <= 1e-7 + 1e-3 * std::abs(y[i]))) return false;
  }
  return true;
}

// "": the expected values; "refused: ..." or "wrong: ...". With `constants` all inputs but the first are
// given as initialisers, for operators whose parameters must be constants.
std::string run_case(const fs::path& folder, bool constants) {
  onnx::ModelProto model;
  if (!model.ParseFromString(read(folder / "model.onnx"))) return "wrong: no model";
  reference::TensorMap inputs;
  try {
    for (int i = 0; i < model.graph().input_size(); ++i) {
      auto proto = tensor_file(folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb"));
      if (!proto) return "refused: no tensor";
      const std::string name = model.graph().input(i).name();
      proto->set_name(name);
      if (constants && i > 0) {
        *model.mutable_graph()->add_initializer() = *proto;
      } else {
        inputs[name] = onnx_import::read_tensor(*proto, "", name);
      }
    }
    onnx_import::ImportOptions options;
    options.given = [&](const std::vector<std::string>&) {
      std::map<std::string, onnx_import::GivenShape> shapes;
      for (const auto& [name, t] : inputs) shapes[name] = {t.shape, name};
      return shapes;
    };
    const ir::Graph graph = onnx_import::import_onnx_bytes(model.SerializeAsString(), "model.onnx", options);
    const reference::TensorMap outputs = reference::evaluate(graph, inputs);
    for (int i = 0; i < model.graph().output_size(); ++i) {
      const auto proto = tensor_file(folder / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb"));
      const std::string name = model.graph().output(i).name();
      if (!proto || !equal(outputs.at(name), onnx_import::read_tensor(*proto, "", name)))
        return "wrong: " + name;
    }
  } catch (const UserError& e) {
    return std::string("refused: ") + e.what();
  }
  return "";
}

// What a case is about: the operator of a model of one node, else the function that it spells out.
std::string subject(const fs::path& folder) {
  onnx::ModelProto model;
  if (!model.ParseFromString(read(folder / "model.onnx")) || model.graph().node_size() == 0) return "(none)";
  if (model.graph().node_size() > 1) return "(several operators)";
  const auto& node = model.graph().node(0);
  return (node.domain().empty() ? "" : node.domain() + ".") + node.op_type();
}

struct Count {
  size_t cases = 0, passed = 0;
};

std::string table(const std::map<std::string, Count>& counts) {
  std::ostringstream text;
  const auto line = [&](const std::string& name, const Count& c) {
    text << std::left << std::setw(40) << name << std::right << std::setw(7) << c.cases << std::setw(7) << c.passed
         << std::setw(8) << c.cases - c.passed << "\n";
  };
  text << std::left << std::setw(40) << "operator" << std::right << std::setw(7) << "cases" << std::setw(7) << "passed"
       << std::setw(8) << "refused" << "\n";
  Count all;
  for (const auto& [name, c] : counts) {
    line(name, c);
    all.cases += c.cases;
    all.passed += c.passed;
  }
  line("all", all);
  return text.str();
}

void compare_with_golden(const std::string& text) {
  const fs::path golden = fs::path(DLC_SOURCE_DIR) / "tests/golden/onnx_node_tests.txt";
  if (std::getenv("DLC_UPDATE_GOLDEN")) std::ofstream(golden) << text;
  CHECK(text == read(golden));
}

}  // namespace

// DLC_NODE_TESTS_LIST=FILE writes every case with its result there; DLC_UPDATE_GOLDEN=1 rewrites the table.
TEST_CASE("ONNX's node tests give the expected values or are refused") {
  const fs::path archive =
      fs::path(DLC_SOURCE_DIR) / "../shared/assets/data/onnx_node_tests/onnx_node_tests_6be0677fc.tar.xz";
  if (!fs::exists(archive)) {
    WARN("skipped: " + archive.string() + " is absent");
    return;
  }
  const fs::path folder = fs::temp_directory_path() / ("dlc_node_tests_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  REQUIRE(std::system(("tar -xJf '" + archive.string() + "' -C '" + folder.string() + "'").c_str()) == 0);
  std::map<std::string, Count> counts;
  std::ofstream list;
  if (const char* file = std::getenv("DLC_NODE_TESTS_LIST")) list.open(file);
  for (const auto& entry : fs::directory_iterator(folder / "node")) {
    std::string result = run_case(entry.path(), false);
    if (result.find("must be a constant") != std::string::npos) result = run_case(entry.path(), true);
    const std::string name = entry.path().filename().string(), about = subject(entry.path());
    list << about << "\t" << name << "\t" << (result.empty() ? "passed" : result) << "\n";
    ++counts[about].cases;
    if (result.empty()) ++counts[about].passed;
    INFO(name + ": " + result);
    CHECK(result.find("wrong") != 0);
  }
  fs::remove_all(folder);
  compare_with_golden(table(counts));
}
