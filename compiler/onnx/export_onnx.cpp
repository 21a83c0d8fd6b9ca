#include "compiler/onnx/export_onnx.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "compiler/onnx/proto_reader.h"
#include "isa/error.h"

namespace dlc::onnx_export {
namespace {

using ir::ElementType;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Value;
using ir::ValueId;
using Ints = std::vector<int64_t>;

constexpr int kLowestOpset = 13;

int onnx_type(ElementType type) { return onnx_import::onnx_type_of(type); }

// The IR version that an opset came with (onnx/docs/Versioning.md).
int ir_version(int opset) {
  if (opset <= 14) return 7;
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  return opset <= 22 ? 10 : 11;
}

void write_attribute(onnx::NodeProto& node, const std::string& name, const ir::Attribute& value) {
  onnx::AttributeProto& a = *node.add_attribute();
  a.set_name(name);
  using P = onnx::AttributeProto;
  if (const auto* i = std::get_if<int64_t>(&value)) {
    a.set_type(P::INT);
    a.set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    a.set_type(P::FLOAT);
    a.set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    a.set_type(P::STRING);
    a.set_s(*s);
  } else if (const auto* is = std::get_if<Ints>(&value)) {
    a.set_type(P::INTS);
    a.mutable_ints()->Add(is->begin(), is->end());
  } else if (const auto* fs = std::get_if<std::vector<float>>(&value)) {
    a.set_type(P::FLOATS);
    a.mutable_floats()->Add(fs->begin(), fs->end());
  } else if (const auto* ss = std::get_if<std::vector<std::string>>(&value)) {
    a.set_type(P::STRINGS);
    for (const std::string& text : *ss) a.add_strings(text);
  }
}

class Exporter {
 public:
  explicit Exporter(const Graph& graph) : graph_(graph) {}

  onnx::ModelProto run() {
    for (ValueId v : graph_.values()) taken_.insert(graph_.value(v).name);
    for (NodeId n : graph_.nodes()) {
      if (graph_.node(n).domain.empty()) opset_ = std::max(opset_, graph_.node(n).opset);
    }
    model_.set_producer_name("dlc");
    proto().set_name(graph_.name.empty() ? "network" : graph_.name);
    for (ValueId v : graph_.inputs()) write_info(*proto().add_input(), graph_.value(v));
    for (ValueId v : graph_.outputs()) write_info(*proto().add_output(), graph_.value(v));
    for (ValueId v : graph_.values()) {
      if (graph_.value(v).is_constant() && is_read(v)) write_constant(graph_.value(v));
    }
    for (NodeId n : graph_.topological_order()) write_node(graph_.node(n));
    write_value_infos();
    write_opsets();
    return std::move(model_);
  }

 private:
  onnx::GraphProto& proto() { return *model_.mutable_graph(); }

  // The shape operand of Reshape and limits of Clip are written from the node itself; their constants in the
  // graph, if any are left, are not read.
  bool is_read(ValueId v) const { return !graph_.consumers(v).empty() || graph_.is_output(v); }

  void write_info(onnx::ValueInfoProto& info, const Value& value) const {
    info.set_name(value.name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx_type(value.type));
    type.mutable_shape();  // a scalar has a shape too, without dimensions
    for (int64_t d : value.shape) type.mutable_shape()->add_dim()->set_dim_value(d);
  }

  void write_value_infos() {
    for (NodeId n : graph_.topological_order()) {
      for (ValueId v : graph_.node(n).outputs) {
        if (v.valid() && !graph_.is_output(v)) write_info(*proto().add_value_info(), graph_.value(v));
      }
    }
  }

  void write_constant(const Value& value) {
    onnx::TensorProto& t = *proto().add_initializer();
    t.set_name(value.name);
    t.set_data_type(onnx_type(value.type));
    for (int64_t d : value.shape) t.add_dims(d);
    t.set_raw_data(value.data->data(), value.data->size());
  }

  std::string fresh_name(const std::string& wish) {
    std::string name = wish;
    for (int i = 1; !taken_.insert(name).second; ++i) name = wish + "_" + std::to_string(i);
    return name;
  }

  // A small constant that an operator's ONNX form takes as an input.
  std::string add_operand(const std::string& name, const ir::Tensor& tensor) {
    Value v;
    v.name = fresh_name(name);
    v.type = tensor.type;
    v.shape = tensor.shape;
    v.data = std::make_shared<const ir::Bytes>(tensor.bytes);
    write_constant(v);
    return v.name;
  }
  std::string add_integers(const std::string& name, const Ints& values) {
    return add_operand(name, ir::make_tensor<int64_t>({static_cast<int64_t>(values.size())}, values));
  }
  std::string add_real(const std::string& name, float value) {
    return add_operand(name, ir::make_tensor<float>({}, {value}));
  }

  onnx::NodeProto& start(const Node& node, const std::string& op) {
    onnx::NodeProto& p = *proto().add_node();
    p.set_name(node.name);
    p.set_op_type(op);
    return p;
  }

  const std::string& name_of(ValueId v) const {
    static const std::string kNone;
    return v.valid() ? graph_.value(v).name : kNone;
  }

  void write_node(const Node& node) {
    const bool view = node.domain == ir::kDlcDomain && node.op == "reshape";
    if (node.domain == ir::kDlcDomain && !view) {
      throw UserError(ErrorKind::unsupported, node.where(),
                      "integer operators have no ONNX form; export the graph before quantize-qdq");
    }
    if (!node.domain.empty() && !view) {
      domains_[node.domain] = std::max(domains_[node.domain], node.opset);
      return write_plain(node);
    }
    // Forms of the Graph IR whose inputs became attributes.
    static const std::set<std::string> kInternal{"CenterCropPad", "ClipTensor", "Compress", "CumProd", "CumSum",
                                                 "OneHot",        "TopK",       "Trilu"};
    if (kInternal.contains(node.op) || node.op.ends_with("Nd"))
      throw UserError(ErrorKind::unsupported, node.where(), "this operator cannot be written to an ONNX file");
    if (view || node.op == "Reshape" || node.op == "Squeeze" || node.op == "Unsqueeze")
      return write_reshape(node);
    if (node.op == "Clip") return write_clip(node);
    if (node.op == "Pad" && node.attributes.contains("pads")) return write_pad(node);
    if (node.op == "Slice" && node.attributes.contains("starts")) return write_slice(node);
    if ((node.op == "Softmax" || node.op == "LogSoftmax") && node.opset < 13) return write_old_softmax(node);
    write_plain(node);
  }

  // Attributes that later opsets brought are left out where they only state the default.
  bool states_default(const Node& node, const std::string& name, const ir::Attribute& value) const {
    static const std::set<std::string> kZeroByDefault{"block_size", "output_dtype", "precision",
                                                      "training_mode", "allowzero"};
    if (node.op == "BatchNormalization" && name == "spatial")
      return true;  // gone since opset 9; only 1 is imported
    if (kZeroByDefault.contains(name)) {
      const auto* i = std::get_if<int64_t>(&value);
      return i && *i == 0;
    }
    if (node.op == "AveragePool" && name == "dilations") {
      const auto* dilations = std::get_if<Ints>(&value);
      return dilations && std::all_of(dilations->begin(), dilations->end(), [](int64_t d) { return d == 1; });
    }
    return false;
  }

  void write_plain(const Node& node) {
    onnx::NodeProto& p = start(node, node.op);
    p.set_domain(node.domain);
    for (ValueId v : node.inputs) p.add_input(name_of(v));
    for (ValueId v : node.outputs) p.add_output(name_of(v));
    for (const auto& [name, value] : node.attributes) {
      if (states_default(node, name, value)) continue;
      write_attribute(p, name, value);
      if (node.op == "AveragePool" && name == "dilations") opset_ = std::max(opset_, 19);
    }
  }

  void write_reshape(const Node& node) {
    const ir::Shape& shape = graph_.value(node.outputs[0]).shape;
    const std::string operand = add_integers(name_of(node.outputs[0]) + "_shape", shape);
    onnx::NodeProto& p = start(node, "Reshape");
    p.add_input(name_of(node.inputs[0]));
    p.add_input(operand);
    p.add_output(name_of(node.outputs[0]));
  }

  void write_clip(const Node& node) {
    std::string low, high;
    if (node.attributes.contains("min")) low = add_real(node.name + "_min", node.attribute<float>("min"));
    if (node.attributes.contains("max")) high = add_real(node.name + "_max", node.attribute<float>("max"));
    onnx::NodeProto& p = start(node, "Clip");
    p.add_input(name_of(node.inputs[0]));
    if (!low.empty() || !high.empty()) p.add_input(low);
    if (!high.empty()) p.add_input(high);
    p.add_output(name_of(node.outputs[0]));
  }

  void write_pad(const Node& node) {
    const std::string pads = add_integers(node.name + "_pads", node.attribute<Ints>("pads"));
    const std::string value = add_real(node.name + "_value", node.attribute<float>("value"));
    onnx::NodeProto& p = start(node, "Pad");
    p.add_input(name_of(node.inputs[0]));
    p.add_input(pads);
    p.add_input(value);
    p.add_output(name_of(node.outputs[0]));
  }

  void write_slice(const Node& node) {
    const Ints starts = node.attribute<Ints>("starts"), steps = node.attribute<Ints>("steps");
    const ir::Shape& out = graph_.value(node.outputs[0]).shape;
    Ints ends, axes;
    for (size_t i = 0; i < starts.size(); ++i) {
      ends.push_back(starts[i] + out[i] * steps[i] - (out[i] > 0 ? steps[i] - 1 : 0));
      axes.push_back(static_cast<int64_t>(i));
    }
    const std::string names[] = {
        add_integers(node.name + "_starts", starts), add_integers(node.name + "_ends", ends),
        add_integers(node.name + "_axes", axes), add_integers(node.name + "_steps", steps)};
    onnx::NodeProto& p = start(node, "Slice");
    p.add_input(name_of(node.inputs[0]));
    for (const std::string& name : names) p.add_input(name);
    p.add_output(name_of(node.outputs[0]));
  }

  // Before opset 13 everything from `axis` on was one row: rows flattened, and back.
  void write_old_softmax(const Node& node) {
    const ir::Shape& shape = graph_.value(node.inputs[0]).shape;
    const int64_t axis = node.attribute<int64_t>("axis", 1), rank = static_cast<int64_t>(shape.size());
    const std::string in = name_of(node.inputs[0]), out = name_of(node.outputs[0]);
    const bool flat =
        std::all_of(shape.begin() + std::min(axis + 1, rank), shape.end(), [](int64_t d) { return d == 1; });
    if (axis < rank && flat) return write_softmax(node, in, out, axis);
    Ints rows{1, 1};
    for (int64_t i = 0; i < rank; ++i) rows[i < axis ? 0 : 1] *= shape[static_cast<size_t>(i)];
    const std::string flattened = fresh_name(out + "_rows"), result = fresh_name(out + "_of_rows");
    write_helper_reshape(node.name + "_rows", in, flattened, rows);
    write_softmax(node, flattened, result, 1);
    write_helper_reshape(node.name + "_shape", result, out, shape);
  }

  void write_softmax(const Node& node, const std::string& in, const std::string& out, int64_t axis) {
    onnx::NodeProto& p = start(node, node.op);
    p.add_input(in);
    p.add_output(out);
    write_attribute(p, "axis", axis);
  }

  void write_helper_reshape(const std::string& name, const std::string& in, const std::string& out,
                            const Ints& shape) {
    const std::string operand = add_integers(name + "_to", shape);
    onnx::NodeProto& p = *proto().add_node();
    p.set_name(graph_.unique_node_name(name));
    p.set_op_type("Reshape");
    p.add_input(in);
    p.add_input(operand);
    p.add_output(out);
  }

  void write_opsets() {
    auto& onnx_set = *model_.add_opset_import();
    onnx_set.set_domain("");
    onnx_set.set_version(opset_);
    for (const auto& [domain, version] : domains_) {
      auto& set = *model_.add_opset_import();
      set.set_domain(domain);
      set.set_version(std::max(version, 1));
    }
    model_.set_ir_version(ir_version(opset_));
  }

  const Graph& graph_;
  onnx::ModelProto model_;
  int opset_ = kLowestOpset;
  std::map<std::string, int> domains_;
  std::set<std::string> taken_;
};

}  // namespace

std::string export_onnx_bytes(const Graph& graph) {
  const onnx::ModelProto model = Exporter(graph).run();
  std::string bytes;
  if (model.ByteSizeLong() > INT32_MAX || !model.SerializeToString(&bytes)) {
    throw UserError(ErrorKind::unsupported, graph.file, "the model exceeds 2 GiB, protobuf's limit");
  }
  return bytes;
}

void export_onnx(const Graph& graph, const std::string& path) {
  const std::string bytes = export_onnx_bytes(graph), temporary = path + ".tmp";
  std::ofstream out(temporary, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    throw UserError(ErrorKind::bad_input, path, "cannot be written; choose another output path");
  }
}

}  // namespace dlc::onnx_export
