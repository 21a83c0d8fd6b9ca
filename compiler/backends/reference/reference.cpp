#include "compiler/backends/reference/reference.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/backends/reference/kernels.h"
#include "compiler/ir/narrow_types.h"
#include "isa/error.h"

namespace dlc::reference {
namespace {

[[noreturn]] void no_kernel(const ir::Node& node) {
  throw UserError(ErrorKind::unsupported, node.where(), "the reference backend does not know this operator");
}

// float16 and bfloat16 are computed in float32: operands widened, results rounded once.
void run_in_float32(const ir::Node& node, Kernel kernel, std::vector<const Tensor*> inputs,
                    std::vector<Tensor>& outputs) {
  std::vector<Tensor> wide_inputs(inputs.size()), results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || !ir::is_half(inputs[i]->type)) continue;
    wide_inputs[i] = ir::widened(*inputs[i]);
    inputs[i] = &wide_inputs[i];
  }
  for (const Tensor& t : outputs)
    results.emplace_back(ir::is_half(t.type) ? ir::ElementType::float32 : t.type, t.shape);
  kernel({node, inputs, results});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (ir::is_half(outputs[i].type))
      ir::narrow_into(results[i], outputs[i]);
    else
      outputs[i].bytes = std::move(results[i].bytes);
  }
}

std::vector<Tensor> run_node(const ir::Graph& graph, const ir::Node& node, Kernel kernel,
                             const std::vector<const Tensor*>& inputs) {
  std::vector<Tensor> outputs;
  for (ir::ValueId v : node.outputs) {
    if (!v.valid()) {
      outputs.emplace_back();
      continue;
    }
    const ir::Value& value = graph.value(v);
    outputs.emplace_back(value.type, value.shape);
    outputs.back().name = value.name;
  }
  const auto half = [](const Tensor& t) { return ir::is_half(t.type); };
  const bool any_half = std::any_of(outputs.begin(), outputs.end(), half) ||
                        std::any_of(inputs.begin(), inputs.end(), [&](const Tensor* t) { return t && half(*t); });
  if (any_half && !takes_half(node))
    run_in_float32(node, kernel, inputs, outputs);
  else
    kernel({node, inputs, outputs});
  return outputs;
}

}  // namespace

struct Evaluator::Impl {
  const ir::Graph& graph;
  std::vector<std::pair<ir::NodeId, Kernel>> steps;
  std::unordered_map<uint32_t, Tensor> constants;
  std::unordered_map<uint32_t, size_t> last_use;  // value -> step after which it is no longer read
};

Evaluator::Evaluator(const ir::Graph& graph) : impl_(new Impl{graph, {}, {}, {}}) {
  for (ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const Kernel kernel = find_kernel(node);
    if (!kernel) no_kernel(node);
    for (ir::ValueId v : node.inputs) {
      if (!v.valid()) continue;
      impl_->last_use[v.index] = impl_->steps.size();
      const ir::Value& value = graph.value(v);
      if (value.is_constant()) impl_->constants.try_emplace(v.index, constant_tensor(value));
    }
    impl_->steps.emplace_back(id, kernel);
  }
}

Evaluator::~Evaluator() = default;

TensorMap Evaluator::evaluate(const TensorMap& inputs, bool keep_all) const {
  const ir::Graph& graph = impl_->graph;
  std::unordered_map<uint32_t, Tensor> computed;
  TensorMap result;
  const auto get = [&](ir::ValueId v) -> const Tensor* {
    if (!v.valid()) return nullptr;
    if (auto it = computed.find(v.index); it != computed.end()) return &it->second;
    if (auto it = impl_->constants.find(v.index); it != impl_->constants.end()) return &it->second;
    return &inputs.at(graph.value(v).name);
  };
  for (ir::ValueId v : graph.inputs()) graph_input(graph, v, inputs);
  for (size_t step = 0; step < impl_->steps.size(); ++step) {
    const auto& [id, kernel] = impl_->steps[step];
    const ir::Node& node = graph.node(id);
    std::vector<const Tensor*> operands;
    for (ir::ValueId v : node.inputs) operands.push_back(get(v));
    std::vector<Tensor> outputs = run_node(graph, node, kernel, operands);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i].valid()) computed[node.outputs[i].index] = std::move(outputs[i]);
    }
    if (keep_all) continue;
    for (ir::ValueId v : node.inputs) {  // frees what nobody reads any more
      if (v.valid() && impl_->last_use.at(v.index) == step && !graph.is_output(v)) computed.erase(v.index);
    }
  }
  for (ir::ValueId v : graph.outputs()) {
    const ir::Value& value = graph.value(v);
    result[value.name] = value.is_constant() ? constant_tensor(value) : *get(v);
  }
  if (keep_all) {
    for (auto& [v, tensor] : computed) result.insert_or_assign(graph.value({v}).name, std::move(tensor));
  }
  return result;
}

TensorMap evaluate(const ir::Graph& graph, const TensorMap& inputs, bool keep_all) {
  return Evaluator(graph).evaluate(inputs, keep_all);
}

std::vector<Tensor> evaluate_node(const ir::Graph& graph, ir::NodeId id,
                                  const std::vector<const Tensor*>& inputs) {
  const ir::Node& node = graph.node(id);
  const Kernel kernel = find_kernel(node);
  if (!kernel) no_kernel(node);
  return run_node(graph, node, kernel, inputs);
}

bool can_evaluate(const ir::Node& node) { return find_kernel(node) != nullptr; }

const Tensor& graph_input(const ir::Graph& graph, ir::ValueId input, const TensorMap& inputs) {
  const ir::Value& value = graph.value(input);
  const std::string where = graph.file + ": input '" + value.name + "'";
  const auto it = inputs.find(value.name);
  if (it == inputs.end()) throw UserError(ErrorKind::bad_input, where, "no data given for this graph input");
  const Tensor& t = it->second;
  if (t.type == value.type && t.shape == value.shape && t.bytes.size() == value.byte_size()) return t;
  throw UserError(ErrorKind::bad_input, where,
                  "the data is " + std::string(element_name(t.type)) + " " + ir::shape_text(t.shape) +
                      "; expected " + std::string(element_name(value.type)) + " " +
                      ir::shape_text(value.shape));
}

Tensor constant_tensor(const ir::Value& value) {
  Tensor t;
  t.name = value.name;
  t.type = value.type;
  t.shape = value.shape;
  t.bytes = *value.data;
  return t;
}

}  // namespace dlc::reference
