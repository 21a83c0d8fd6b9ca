// ONNX's own backend node tests through importer and reference: whatever is imported gives the expected
// values, the rest is refused with a UserError. Skipped with a message where the assets are absent.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "compiler/backends/reference/reference.h"
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

std::vector<double> numbers(const ir::Tensor& t) {
  std::vector<double> values;
  const auto add = [&](auto zero) {
    for (auto v : t.data<decltype(zero)>()) values.push_back(static_cast<double>(v));
  };
  switch (t.type) {
    case ir::ElementType::float32:
      add(float{});
      break;
    case ir::ElementType::float64:
      add(double{});
      break;
    case ir::ElementType::int8:
      add(int8_t{});
      break;
    case ir::ElementType::int16:
      add(int16_t{});
      break;
    case ir::ElementType::uint16:
      add(uint16_t{});
      break;
    case ir::ElementType::int32:
      add(int32_t{});
      break;
    case ir::ElementType::uint32:
      add(uint32_t{});
      break;
    case ir::ElementType::int64:
      add(int64_t{});
      break;
    case ir::ElementType::uint64:
      add(uint64_t{});
      break;
    default:
      add(uint8_t{});
      break;
  }
  return values;
}

bool equal(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.type != b.type || a.shape != b.shape) return false;
  const std::vector<double> x = numbers(a), y = numbers(b);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const bool real = a.type == ir::ElementType::float32 || a.type == ir::ElementType::float64;
    if (!real || !(std::abs(x[i] - y[i]) <= 1e-4 + 1e-3 * std::abs(y[i]))) return false;
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
    const ir::Graph graph = onnx_import::import_onnx_bytes(model.SerializeAsString(), "model.onnx");
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

}  // namespace

TEST_CASE("ONNX's node tests give the expected values or are refused") {
  const fs::path archive =
      fs::path(DLC_SOURCE_DIR) / "../shared/assets/data/onnx_node_tests/onnx_node_tests_6be0677fc.tar.xz";
  if (!fs::exists(archive)) {
    WARN("skipped: " + archive.string() + " is absent");
    return;
  }
  const fs::path folder = fs::temp_directory_path() / ("dlc_node_tests_" + std::to_string(std::rand()));
  fs::create_directories(folder);
  REQUIRE(std::system(("tar -xJf '" + archive.string() + "' -C '" + folder.string() + "'").c_str()) == 0);
  size_t passed = 0;
  for (const auto& entry : fs::directory_iterator(folder / "node")) {
    std::string result = run_case(entry.path(), false);
    if (result.find("must be a constant") != std::string::npos) result = run_case(entry.path(), true);
    if (result.empty()) ++passed;
    INFO(entry.path().filename().string() + ": " + result);
    CHECK(result.find("wrong") != 0);
  }
  fs::remove_all(folder);
  CHECK(passed >= 460);
}
