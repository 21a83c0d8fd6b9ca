// The importer's flow: parse -> opset -> initialisers -> graph inputs -> nodes in topological order (operator
// table) -> graph outputs -> declared shapes checked -> verify.
#include "compiler/onnx/import_onnx.h"

#include <algorithm>
#include <fstream>
#include <queue>
#include <set>
#include <sstream>

#include "compiler/backends/reference/reference.h"
#include "compiler/onnx/bind_dimensions.h"
#include "compiler/onnx/composite_nodes.h"
#include "compiler/onnx/constant_nodes.h"
#include "compiler/onnx/op_table.h"
#include "compiler/onnx/proto_reader.h"
#include "isa/error.h"

namespace dlc::onnx_import {
namespace {

using ir::ElementType;
using ir::Graph;
using ir::NodeId;
using ir::Value;
using ir::ValueId;

constexpr int kFirstOpset = 7, kLastOpset = 28;
constexpr int64_t kMaxElements = int64_t{1} << 31;  // of one tensor

bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

class Importer {
 public:
  // `origins`: expand_composite_nodes.
  Importer(const onnx::ModelProto& model, const std::vector<std::string>& origins, const std::string& path,
           const ImportOptions& options)
      : model_(model), proto_(model.graph()), origins_(origins), path_(path), options_(options) {}

  Graph run() {
    graph_.name = proto_.name();
    graph_.file = path_;
    read_opset();
    read_initializers();
    read_inputs();
    for (int i : node_order()) add_node(proto_.node(i), i);
    read_outputs();
    for (const auto& info : proto_.value_info()) check_declared(info, "value_info");
    ir::verify(graph_);
    return std::move(graph_);
  }

 private:
  [[noreturn]] void bad(const std::string& message) const {
    throw UserError(ErrorKind::bad_input, path_, message);
  }

  void read_opset() {
    for (const auto& import : model_.opset_import()) {
      if (is_onnx_domain(import.domain())) {
        opset_ = static_cast<int>(std::clamp<int64_t>(import.version(), -1, 1000000));
      }
    }
    if (opset_ == 0 && model_.opset_import_size() == 0) bad("the model imports no opset");
    if (opset_ == 0) {
      throw UserError(ErrorKind::unsupported, path_,
                      "the model imports only opset " + model_.opset_import(0).domain() +
                          "; operators of domain ai.onnx are supported");
    }
    if (opset_ < kFirstOpset || opset_ > kLastOpset) {
      throw UserError(ErrorKind::unsupported, path_,
                      "opset " + std::to_string(opset_) + " is not supported (" +
                          std::to_string(kFirstOpset) + " to " + std::to_string(kLastOpset) +
                          "); export the model with another opset");
    }
  }

  ValueId define(Value value, const std::string& what) {
    if (value.name.empty()) bad(what + " without a name");
    if (graph_.find_value(value.name)) bad("the name '" + value.name + "' is defined twice (" + what + ")");
    return graph_.add_value(std::move(value));
  }

  void read_initializers() {
    if (proto_.sparse_initializer_size() > 0) {
      throw UserError(ErrorKind::unsupported, path_, "sparse initialisers are not supported");
    }
    for (const auto& init : proto_.initializer()) {
      ir::Tensor t = read_tensor(init, path_, path_ + ": initialiser '" + init.name() + "'");
      Value v;
      v.name = init.name();
      v.type = t.type;
      v.shape = t.shape;
      v.data = std::make_shared<const ir::Bytes>(std::move(t.bytes));
      define(std::move(v), "initialiser");
    }
  }

  void read_inputs() {
    std::set<std::string> seen;
    std::vector<const onnx::ValueInfoProto*> inputs;
    for (const auto& info : proto_.input()) {
      if (!seen.insert(info.name()).second) bad("the input '" + info.name() + "' is listed twice");
      if (!graph_.find_value(info.name())) inputs.push_back(&info);  // else an initialiser with a default: a constant
    }
    DimensionBinder dimensions(inputs, path_, options_);
    for (const auto* info : inputs) {
      const std::string where = path_ + ": input '" + info->name() + "'";
      if (!info->type().has_tensor_type())
        throw UserError(ErrorKind::unsupported, where, "only tensors are supported");
      Value v;
      v.name = info->name();
      v.type = element_type_from_onnx(info->type().tensor_type().elem_type());
      if (v.type == ElementType::undefined) {
        throw UserError(ErrorKind::unsupported, where,
                        "element type " + onnx_type_name(info->type().tensor_type().elem_type()));
      }
      v.shape = dimensions.shape_of(*info);
      check_size(v, where);
      graph_.add_input(define(std::move(v), "graph input"));
    }
    dimensions.check_dims_used();
  }

  void check_size(const Value& v, const std::string& where) const {
    const auto n = ir::checked_element_count(v.shape);
    if (n && *n <= kMaxElements) return;
    throw UserError(ErrorKind::unsupported, where,
                    "tensor '" + v.name + "' of shape " + ir::shape_text(v.shape) + " is too large");
  }

  std::string node_where(const onnx::NodeProto& node) const {
    return path_ + ": node '" + node.name() + "' (" + node.op_type() + ", domain " +
           (node.domain().empty() ? "ai.onnx" : node.domain()) + ", opset " +
           std::to_string(domain_opset(node.domain())) + ")";
  }

  int domain_opset(const std::string& domain) const {
    if (is_onnx_domain(domain)) return opset_;
    for (const auto& import : model_.opset_import()) {
      if (import.domain() == domain) return static_cast<int>(import.version());
    }
    return 0;
  }

  // Indices of the nodes, producers first (stable). ONNX wants files sorted; some are not.
  std::vector<int> node_order() const {
    std::map<std::string, int> producer;
    for (int i = 0; i < proto_.node_size(); ++i) {
      for (const std::string& out : proto_.node(i).output()) {
        if (out.empty()) continue;
        if (!producer.emplace(out, i).second || graph_.find_value(out)) {
          throw UserError(ErrorKind::bad_input, node_where(proto_.node(i)),
                          "the value '" + out + "' is defined twice");
        }
      }
    }
    std::vector<int> missing(static_cast<size_t>(proto_.node_size()), 0);
    std::vector<std::vector<int>> next(missing.size());
    for (int i = 0; i < proto_.node_size(); ++i) {
      for (const std::string& in : proto_.node(i).input()) {
        if (in.empty() || graph_.find_value(in)) continue;
        auto it = producer.find(in);
        if (it == producer.end()) {
          throw UserError(ErrorKind::bad_input, node_where(proto_.node(i)),
                          "input '" + in + "' is produced by no node and is no initialiser or graph input");
        }
        next[static_cast<size_t>(it->second)].push_back(i);
        ++missing[static_cast<size_t>(i)];
      }
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t i = 0; i < missing.size(); ++i) {
      if (missing[i] == 0) ready.push(static_cast<int>(i));
    }
    std::vector<int> order;
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (int n : next[static_cast<size_t>(order.back())]) {
        if (--missing[static_cast<size_t>(n)] == 0) ready.push(n);
      }
    }
    if (order.size() < missing.size()) {
      const auto at = std::find_if(missing.begin(), missing.end(), [](int m) { return m > 0; });
      throw UserError(ErrorKind::bad_input, node_where(proto_.node(static_cast<int>(at - missing.begin()))),
                      "the graph has a cycle through this node or one before it");
    }
    return order;
  }

  bool add_constant_node(const onnx::NodeProto& node) {
    std::optional<ir::Tensor> t = constant_node(node, graph_, path_, node_where(node));
    if (!t) return false;
    Value v;
    v.name = node.output(0);
    v.type = t->type;
    v.shape = t->shape;
    v.data = std::make_shared<const ir::Bytes>(std::move(t->bytes));
    define(std::move(v), "constant");
    return true;
  }

  void read_attributes(const onnx::NodeProto& proto, const OperatorRow& row, ir::Node& node) const {
    for (const auto& a : proto.attribute()) {
      const auto it = std::find_if(row.attributes.begin(), row.attributes.end(),
                                   [&](const AttributeRow& r) { return a.name() == r.name; });
      if (it == row.attributes.end()) {
        throw UserError(ErrorKind::bad_input, node.where(), "unknown attribute '" + a.name() + "'");
      }
      ir::Attribute value = read_attribute(a, node.where() + ": attribute '" + a.name() + "'");
      constexpr size_t kIndex[] = {0, 1, 2, 3, 4};  // of AttributeKind in ir::Attribute
      if (value.index() != kIndex[static_cast<size_t>(it->kind)]) {
        throw UserError(ErrorKind::bad_input, node.where(),
                        "attribute '" + a.name() + "' has the wrong kind");
      }
      if (!node.attributes.emplace(a.name(), std::move(value)).second) {
        throw UserError(ErrorKind::bad_input, node.where(), "attribute '" + a.name() + "' is given twice");
      }
    }
  }

  const OperatorRow& row_of(const onnx::NodeProto& proto, const ir::Node& node) const {
    const OperatorRow* row = is_onnx_domain(proto.domain()) ? find_operator(proto.op_type()) : nullptr;
    if (!row) {
      throw UserError(ErrorKind::unsupported, node.where(),
                      "dlc does not know this operator; `dlc ops` lists those that it knows");
    }
    size_t inputs = static_cast<size_t>(proto.input_size());
    while (inputs > 0 && proto.input(static_cast<int>(inputs) - 1).empty()) --inputs;
    bool present = inputs >= row->min_inputs && inputs <= row->max_inputs;
    for (size_t i = 0; present && i < row->min_inputs; ++i)
      present = !proto.input(static_cast<int>(i)).empty();
    if (!present)
      throw UserError(ErrorKind::bad_input, node.where(),
                      "wrong number of inputs (" + std::to_string(inputs) + ")");
    if (proto.output_size() < 1 || proto.output(0).empty() ||
        static_cast<size_t>(proto.output_size()) > row->max_outputs) {
      throw UserError(ErrorKind::bad_input, node.where(),
                      "wrong number of outputs (" + std::to_string(proto.output_size()) + ")");
    }
    return *row;
  }

  void add_node(const onnx::NodeProto& proto, int index) {
    if (is_onnx_domain(proto.domain()) && add_constant_node(proto)) return;
    ir::Node node;
    node.name = proto.name().empty() ? proto.op_type() + "_" + std::to_string(index) : proto.name();
    if (graph_.find_node(node.name)) node.name += "_" + std::to_string(index);
    node.op = proto.op_type();
    node.domain = is_onnx_domain(proto.domain()) ? "" : proto.domain();
    node.opset = domain_opset(proto.domain());
    node.file = path_;
    const std::string& origin = origins_[static_cast<size_t>(index)];
    node.onnx_nodes = {origin.empty() ? node.name : origin};
    const OperatorRow& row = row_of(proto, node);
    read_attributes(proto, row, node);
    for (const std::string& in : proto.input()) {
      node.inputs.push_back(in.empty() ? ValueId{} : *graph_.find_value(in));
    }
    while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
    size_t used = static_cast<size_t>(proto.output_size());
    while (used > 1 && !output_needed(proto.output(static_cast<int>(used) - 1))) --used;
    std::vector<Value> outputs(used);
    for (size_t i = 0; i < used; ++i) outputs[i].name = proto.output(static_cast<int>(i));
    node.outputs.resize(used);  // how many there are; ids follow
    InferContext context{graph_, node, outputs};
    row.infer(context);
    finish_node(std::move(node), row, std::move(outputs));
  }

  bool output_needed(const std::string& name) {
    if (name.empty()) return false;
    if (used_names_.empty()) {
      for (const auto& n : proto_.node()) used_names_.insert(n.input().begin(), n.input().end());
      for (const auto& o : proto_.output()) used_names_.insert(o.name());
      used_names_.insert("");
    }
    return used_names_.contains(name);
  }

  void finish_node(ir::Node node, const OperatorRow& row, std::vector<Value> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      check_size(outputs[i], node.where());
      node.outputs[i] = define(std::move(outputs[i]), "output of node '" + node.name + "'");
    }
    const bool of_shape = node.op == "Shape" || node.op == "Size" || node.op == "EyeLike";
    bool constant = row.fold && (of_shape || graph_.value(node.outputs[0]).elements() <= (1 << 24));
    for (ValueId v : node.inputs) {
      constant = constant && (of_shape || !v.valid() || graph_.value(v).is_constant());
    }
    const NodeId id = graph_.add_node(std::move(node));
    if (constant && !graph_.node(id).inputs.empty()) fold(id);
  }

  // Replaces a node on constants by its value, at once, because shapes of later nodes may depend on it.
  void fold(NodeId id) {
    const ir::Node& node = graph_.node(id);
    std::vector<ir::Tensor> inputs;
    for (ValueId v : node.inputs) {
      if (!v.valid()) {
        inputs.emplace_back();
        continue;
      }
      const Value& value = graph_.value(v);
      if (value.is_constant()) {
        inputs.push_back(reference::constant_tensor(value));
      } else {
        ir::Tensor shape_only;  // operand of Shape and the like
        shape_only.type = value.type;
        shape_only.shape = value.shape;
        inputs.push_back(std::move(shape_only));
      }
    }
    std::vector<const ir::Tensor*> pointers;
    for (size_t i = 0; i < inputs.size(); ++i) pointers.push_back(node.inputs[i].valid() ? &inputs[i] : nullptr);
    std::vector<ir::Tensor> results = reference::evaluate_node(graph_, id, pointers);
    const ValueId out = node.outputs[0];
    graph_.erase(id);
    graph_.value(out).data = std::make_shared<const ir::Bytes>(std::move(results[0].bytes));
  }

  void read_outputs() {
    if (proto_.output_size() == 0) bad("the graph has no outputs");
    std::set<std::string> seen;
    for (const auto& info : proto_.output()) {
      const auto v = graph_.find_value(info.name());
      if (!v) bad("the graph output '" + info.name() + "' is produced by no node");
      if (!seen.insert(info.name()).second) bad("the graph output '" + info.name() + "' is listed twice");
      graph_.add_output(*v);
      check_declared(info, "graph output");
    }
  }

  // What the file declares about a value must fit what the operators say (symbolic dimensions fit all).
  void check_declared(const onnx::ValueInfoProto& info, const std::string& what) const {
    const auto v = graph_.find_value(info.name());
    if (!v || !info.type().has_tensor_type()) return;
    const Value& value = graph_.value(*v);
    const auto& type = info.type().tensor_type();
    const std::string where = path_ + ": " + what + " '" + info.name() + "'";
    if (type.elem_type() != 0 && element_type_from_onnx(type.elem_type()) != value.type) {
      throw UserError(ErrorKind::bad_input, where,
                      "declared as " + onnx_type_name(type.elem_type()) + ", but the operators make it " +
                          std::string(element_name(value.type)));
    }
    if (!type.has_shape()) return;
    bool fits = type.shape().dim_size() == static_cast<int>(value.shape.size());
    for (int i = 0; fits && i < type.shape().dim_size(); ++i) {
      const auto& dim = type.shape().dim(i);
      fits = !dim.has_dim_value() || dim.dim_value() <= 0 ||
             dim.dim_value() == value.shape[static_cast<size_t>(i)];
    }
    if (fits) return;
    std::string declared;
    for (const auto& dim : type.shape().dim()) {
      declared +=
          (declared.empty() ? "" : "x") + (dim.has_dim_value() ? std::to_string(dim.dim_value()) : "?");
    }
    throw UserError(ErrorKind::bad_input, where,
                    "declared with shape " + (declared.empty() ? "scalar" : declared) +
                        ", but the operators make it " + ir::shape_text(value.shape));
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  const std::vector<std::string>& origins_;
  const std::string& path_;
  const ImportOptions& options_;
  Graph graph_;
  int opset_ = 0;
  std::set<std::string> used_names_;
};

}  // namespace

ir::Graph import_onnx_bytes(const std::string& bytes, const std::string& path, const ImportOptions& options) {
  onnx::ModelProto model = parse_model(bytes, path);
  std::vector<std::string> origins;
  expand_composite_nodes(model, path, origins);
  return Importer(model, origins, path, options).run();
}

ir::Graph import_onnx(const std::string& path, const ImportOptions& options) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  if (in) bytes << in.rdbuf();
  if (!in) throw UserError(ErrorKind::bad_input, path, "cannot read this file; expected an ONNX model");
  return import_onnx_bytes(bytes.str(), path, options);
}

std::vector<OperatorInfo> known_operators() {
  std::vector<OperatorInfo> result;
  for (const OperatorRow& row : operator_table()) result.push_back({row.op, "", row.first_opset, row.note, false});
  for (const CompositeOperator& c : composite_operators()) {
    result.push_back({c.op, c.domain, 1, *c.domain ? c.domain : "", true});
  }
  for (const char* op : {"Constant", "ConstantOfShape"}) result.push_back({op, "", 1, "becomes a constant", false});
  std::sort(result.begin(), result.end(),
            [](const OperatorInfo& a, const OperatorInfo& b) { return a.op < b.op; });
  return result;
}

}  // namespace dlc::onnx_import
