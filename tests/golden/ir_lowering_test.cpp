// The whole pipeline on a small residual network, as text: what the passes make of it, for a reader and for
// a diff. After an intended change: DLC_UPDATE_GOLDEN=1 rewrites the expectation.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/ir/graph.h"
#include "compiler/passes/pass_manager.h"

namespace {

const std::string kFolder = std::string(DLC_SOURCE_DIR) + "/tests/golden/";

std::string read(const std::string& path) {
  std::ifstream in(path);
  REQUIRE(in);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("A residual Q/DQ block lowers to the graph that is written down") {
  dlc::ir::Graph graph = dlc::ir::parse_graph(read(kFolder + "residual_block.ir"), "residual_block.ir");
  dlc::passes::run_pipeline(graph);
  const std::string text = dlc::ir::print(graph);
  const std::string expected = kFolder + "residual_block.lowered.ir";
  if (std::getenv("DLC_UPDATE_GOLDEN")) std::ofstream(expected) << text;
  CHECK(text == read(expected));
}
