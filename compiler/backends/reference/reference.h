// Reference backend: evaluates a Graph with plain loops. The oracle: float operators as ONNX defines them
// (float32 arithmetic), QuantizeLinear/DequantizeLinear as ONNX (round half to even, saturate), integer
// operators of ir/quant_ops.h through isa/numerics.h, byte for byte what the machine must produce.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace dlc::reference {

using ir::Tensor;
using TensorMap = std::map<std::string, Tensor>;

// Prepared graph (order, widened weights): evaluate() may be called many times, e.g. once an image.
// The graph must outlive it and stay unchanged. evaluate() is const and re-entrant.
class Evaluator {
 public:
  // Throws UserError(unsupported) naming the first node that the reference cannot evaluate.
  explicit Evaluator(const ir::Graph& graph);
  ~Evaluator();
  // inputs: by graph input name, element type and shape as the graph says, else UserError(bad_input).
  // Result: the graph outputs by name; with keep_all every value that a node produced.
  TensorMap evaluate(const TensorMap& inputs, bool keep_all = false) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TensorMap evaluate(const ir::Graph& graph, const TensorMap& inputs, bool keep_all = false);

// One node on given inputs (nullptr: optional input left out); outputs in order. Used for host nodes of a
// compiled program and for constant folding.
std::vector<Tensor> evaluate_node(const ir::Graph& graph, ir::NodeId node,
                                  const std::vector<const Tensor*>& inputs);
// Whether evaluate_node knows this operator.
bool can_evaluate(const ir::Node& node);

// The tensor given for a graph input; UserError(bad_input) where it is missing or of another type or shape.
const Tensor& graph_input(const ir::Graph& graph, ir::ValueId input, const TensorMap& inputs);

// A constant value as a tensor.
Tensor constant_tensor(const ir::Value& value);

}  // namespace dlc::reference
