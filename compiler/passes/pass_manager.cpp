#include "compiler/passes/pass_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "compiler/passes/passes.h"
#include "compiler/quantize/quantize_qdq.h"
#include "isa/error.h"
#include "isa/near_name.h"

namespace dlc::passes {
namespace {

const Pass& find_pass(const std::string& name) {
  const Pass* nearest = nullptr;
  for (const Pass& pass : all_passes()) {
    if (name == pass.name) return pass;
    if (!nearest || edit_distance(name, pass.name) < edit_distance(name, nearest->name)) nearest = &pass;
  }
  throw UserError(ErrorKind::bad_input, "",
                  "no pass '" + name + "'; did you mean '" + nearest->name + "'? (`dlc passes` lists all)");
}

void dump(const ir::Graph& graph, const std::string& directory, size_t index, const std::string& name) {
  std::error_code ec;
  std::filesystem::create_directories(directory, ec);
  const std::string path = fmt::format("{}/{:02}-{}.ir", directory, index, name);
  std::ofstream out(path);
  out << ir::print(graph, {.full_constants = false});
  out.close();
  if (!out) throw UserError(ErrorKind::bad_input, path, "cannot write this file (--dump-ir)");
}

}  // namespace

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes{
      {"fold-constants", "nodes on constants become constants", fold_constants},
      {"remove-identity", "Identity, Dropout, reshapes and casts that change nothing go away",
       remove_identity},
      {"simplify-algebra", "operations that change nothing or are done twice go away", simplify_algebra},
      {"common-subexpressions", "nodes that compute the same become one", common_subexpressions},
      {"recognize-functions", "GELU, layer normalisation and softmax written in parts become one operator",
       recognize_functions},
      {"move-transposes", "transpositions sink until they meet their inverse", move_transposes},
      {"mean-to-pool", "means over the spatial dimensions become global average pools", mean_to_pool},
      {"fold-batch-norm", "BatchNormalization becomes part of the convolution before it", fold_batch_norm},
      {"quantize-qdq", "Q/DQ patterns become integer operators", quantize::quantize_qdq},
      {"remove-dead-code", "nodes and constants that no output needs go away", remove_dead_code},
      {"absorb-reshape", "fully connected layers read the feature map that was flattened for them",
       absorb_reshape},
      {"fuse-residual", "additions become the residual of the convolution before them", fuse_residual},
  };
  return passes;
}

namespace {
// Patterns are then what they look like, and what NHWC exporters leave behind is gone.
constexpr const char* kCleanUp[] = {"fold-constants",        "remove-identity",     "simplify-algebra",
                                    "common-subexpressions", "recognize-functions", "move-transposes",
                                    "mean-to-pool"};
}  // namespace

void clean_up(ir::Graph& graph, PassContext& context) {
  for (const char* name : kCleanUp) find_pass(name).run(graph, context);
}

std::vector<std::string> default_pipeline() {
  std::vector<std::string> names(std::begin(kCleanUp), std::end(kCleanUp));
  for (const char* name : {"fold-batch-norm", "quantize-qdq", "remove-dead-code", "absorb-reshape", "remove-dead-code",
                           "remove-identity", "fuse-residual", "remove-dead-code"})
    names.push_back(name);
  return names;
}

PipelineResult run_pipeline(ir::Graph& graph, const PipelineOptions& options) {
  for (const std::string& name : options.skip) find_pass(name);
  std::vector<const Pass*> passes;
  for (const std::string& name : options.passes) passes.push_back(&find_pass(name));

  PipelineResult result;
  PassContext context;
  size_t index = 0;
  if (!options.dump_directory.empty()) dump(graph, options.dump_directory, index, "imported");
  for (const Pass* pass : passes) {
    if (options.bisect_limit >= 0 && index >= static_cast<size_t>(options.bisect_limit)) break;
    if (std::find(options.skip.begin(), options.skip.end(), pass->name) != options.skip.end()) continue;
    ++index;
    PassTime time{pass->name, 0, graph.node_count(), 0};
    const auto start = std::chrono::steady_clock::now();
    pass->run(graph, context);
    time.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    time.nodes_after = graph.node_count();
    result.times.push_back(time);
    if (!options.dump_directory.empty()) dump(graph, options.dump_directory, index, pass->name);
    if (!options.verify) continue;
    try {
      ir::verify(graph);
    } catch (const std::logic_error& e) {
      throw std::logic_error(fmt::format("after pass {}: {}", pass->name, e.what()));
    }
  }
  result.notes = std::move(context.notes);
  return result;
}

}  // namespace dlc::passes
