// ONNX file -> Graph IR. Parses with libonnx's protobuf; everything above (operator table, attribute
// checks, canonical attributes, shape inference, constant chains that shapes depend on) is ours, because
// libonnx 1.12 stops at opset 17. All shapes of the result are concrete.
//
// Errors are UserErrors "file: node 'name' (OpType, domain, opset): ...":
//   bad_input (exit 2)    not a model, damaged or contradictory: no protobuf, missing initialiser, cycle,
//                         duplicate value, wrong shape or type, bad attribute, unbound symbolic dimension
//   unsupported (exit 3)  a well-formed operator, attribute or type that dlc does not know
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace dlc::onnx_import {

// The shape of data that the user gave for a graph input.
struct GivenShape {
  ir::Shape shape;
  std::string source;  // for messages: the file
};

struct ImportOptions {
  // Symbolic dimension name (or "input[axis]" for a nameless one) -> value.
  std::map<std::string, int64_t> dims = {};
  // Value of the first dimension of a graph input where it is symbolic and bound by nothing else.
  int64_t batch = 1;
  // Shapes of the data given for the graph inputs (in order, initialisers left out): they bind symbolic dimensions
  // that are not in `dims`. Data that contradict each other are refused.
  std::function<std::map<std::string, GivenShape>(const std::vector<std::string>& inputs)> given = {};
};

ir::Graph import_onnx(const std::string& path, const ImportOptions& options = {});

// The same from memory; `path` names it in messages and locates external data.
ir::Graph import_onnx_bytes(const std::string& bytes, const std::string& path,
                            const ImportOptions& options = {});

// What the importer knows, for `dlc ops`: operator, lowest and highest opset tried, in name order.
struct OperatorInfo {
  std::string op, domain;
  int first_opset = 1;
  std::string note;        // limits
  bool composite = false;  // written out as other operators at import
};
std::vector<OperatorInfo> known_operators();

}  // namespace dlc::onnx_import
