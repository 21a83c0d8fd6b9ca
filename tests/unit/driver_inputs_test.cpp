// Which data become which graph input, and what their shapes bind.
#include <catch2/catch.hpp>
#include <filesystem>
#include <stdexcept>

#include "compiler/driver/commands.h"
#include "compiler/driver/hw_file.h"
#include "compiler/driver/inputs.h"
#include "compiler/onnx/import_onnx.h"
#include "isa/error.h"
#include "tests/unit/onnx_model.h"

using namespace dlc;
using test::OnnxModel;

namespace {

const std::string kInputs = std::string(DLC_SOURCE_DIR) + "/tests/errors/inputs/";

std::vector<std::string> targets(const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const GivenInput& g : given_inputs(arguments, {"a", "b", "c"})) names.push_back(g.input);
  return names;
}

// Two inputs of shape (n, 4); `n` named or not.
OnnxModel sum_model(bool named) {
  OnnxModel m;
  m.input("a", {-1, 4}).input("b", {-1, 4});
  m.node("Add", "sum", {"a", "b"}, {"y"});
  m.output("y");
  for (int i = 0; named && i < 2; ++i) {
    auto* type = m.graph().mutable_input(i)->mutable_type()->mutable_tensor_type();
    type->mutable_shape()->mutable_dim(0)->set_dim_param("n");
  }
  return m;
}

ir::Shape output_shape(const OnnxModel& m, const std::map<std::string, onnx_import::GivenShape>& given,
                       const std::map<std::string, int64_t>& dims = {}) {
  onnx_import::ImportOptions options;
  options.dims = dims;
  options.given = [&](const std::vector<std::string>&) { return given; };
  const ir::Graph g = onnx_import::import_onnx_bytes(m.bytes(), "m.onnx", options);
  return g.value(g.outputs()[0]).shape;
}

}  // namespace

TEST_CASE("files without a name are given to the inputs in order, past those that are named") {
  const std::string file = kInputs + "floats_2x4.npy";
  CHECK(targets({file, file, file}) == std::vector<std::string>{"a", "b", "c"});
  CHECK(targets({file, "a=" + file, file}) == std::vector<std::string>{"b", "a", "c"});
  CHECK_THROWS_AS(targets({file, file, file, file}), UserError);
  CHECK_THROWS_AS(targets({"d=" + file}), UserError);
}

TEST_CASE("symbolic dimensions take their values from the given data, unless --dim says otherwise") {
  for (bool named : {true, false}) {
    const OnnxModel m = sum_model(named);
    CHECK(output_shape(m, {{"a", {{7, 4}, "a.npy"}}, {"b", {{7, 4}, "b.npy"}}}) == ir::Shape{7, 4});
    CHECK(output_shape(m, {}) == ir::Shape{1, 4});  // the batch
  }
  const OnnxModel m = sum_model(true);
  CHECK(output_shape(m, {{"b", {{7, 4}, "b.npy"}}}) == ir::Shape{7, 4});
  CHECK(output_shape(m, {{"a", {{7, 4}, "a.npy"}}, {"b", {{5, 4}, "b.npy"}}}, {{"n", 3}}) == ir::Shape{3, 4});
  CHECK(output_shape(m, {{"a", {{0, 4}, "a.npy"}}}) == ir::Shape{0, 4});  // no rows are rows too
}

TEST_CASE("data that contradict each other in a symbolic dimension are refused, both named") {
  const OnnxModel m = sum_model(true);
  try {
    output_shape(m, {{"a", {{7, 4}, "a.npy"}}, {"b", {{5, 4}, "b.npy"}}});
    FAIL("accepted");
  } catch (const UserError& e) {
    const std::string text = e.what();
    CHECK(e.exit_code() == 2);
    CHECK(text.find("a.npy (input 'a', dimension 0)") != std::string::npos);
    CHECK(text.find("b.npy (input 'b', dimension 0)") != std::string::npos);
  }
}

TEST_CASE("a hardware description is found by its file or by the name of a shipped one") {
  const std::string file = std::string(DLC_SOURCE_DIR) + "/hwconfigs/edge-16.yaml";
  CHECK(find_hw_file(file) == file);
  CHECK(std::filesystem::equivalent(find_hw_file("edge-16"), file));
  CHECK(std::filesystem::equivalent(find_hw_file("edge-16.yaml"), file));
  CHECK_THROWS_AS(find_hw_file("edge-17"), UserError);
}

TEST_CASE("whatever a command throws becomes an exit status") {
  CHECK(guarded([] { return 1; }) == 1);
  CHECK(guarded([]() -> int { throw UserError(ErrorKind::unsupported, "here", "not this"); }) == 3);
  CHECK(guarded([]() -> int { throw std::logic_error("a broken invariant"); }) == kInternalError);
  CHECK(guarded([]() -> int { throw std::bad_alloc(); }) == kInternalError);
}
