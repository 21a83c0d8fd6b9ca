// Builds small ONNX models in memory for the tests of importer, passes and quantisation.
#pragma once
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#include <onnx/onnx_pb.h>

#include <cstring>
#include <string>
#include <vector>

namespace dlc::test {

using Dims = std::vector<int64_t>;

class OnnxModel {
 public:
  explicit OnnxModel(int64_t opset = 13) {
    model_.set_ir_version(7);
    auto* import = model_.add_opset_import();
    import->set_domain("");
    import->set_version(opset);
    graph().set_name("test");
  }

  onnx::ModelProto& proto() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  std::string bytes() const { return model_.SerializeAsString(); }

  // A negative dimension is a nameless unknown one; names are given with symbol().
  OnnxModel& input(const std::string& name, const Dims& dims, int type = onnx::TensorProto::FLOAT) {
    declare(graph().add_input(), name, dims, type);
    return *this;
  }
  OnnxModel& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  static void declare(onnx::ValueInfoProto* info, const std::string& name, const Dims& dims,
                      int type = onnx::TensorProto::FLOAT) {
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (int64_t d : dims) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (d >= 0) dim->set_dim_value(d);
    }
  }

  template <typename T>
  OnnxModel& constant(const std::string& name, const Dims& dims, const std::vector<T>& values) {
    auto* t = graph().add_initializer();
    t->set_name(name);
    for (int64_t d : dims) t->add_dims(d);
    t->set_data_type(std::is_same_v<T, float>     ? onnx::TensorProto::FLOAT
                     : std::is_same_v<T, int8_t>  ? onnx::TensorProto::INT8
                     : std::is_same_v<T, uint8_t> ? onnx::TensorProto::UINT8
                     : std::is_same_v<T, int32_t> ? onnx::TensorProto::INT32
                                                  : onnx::TensorProto::INT64);
    t->set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
    return *this;
  }

  onnx::NodeProto& node(const std::string& op, const std::string& name,
                        const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    auto* n = graph().add_node();
    n->set_op_type(op);
    n->set_name(name);
    for (const auto& i : inputs) n->add_input(i);
    for (const auto& o : outputs) n->add_output(o);
    return *n;
  }

 private:
  onnx::ModelProto model_;
};

inline void set(onnx::NodeProto& n, const std::string& key, const std::vector<int64_t>& values) {
  auto* a = n.add_attribute();
  a->set_name(key);
  a->set_type(onnx::AttributeProto::INTS);
  for (int64_t v : values) a->add_ints(v);
}
inline void set(onnx::NodeProto& n, const std::string& key, int64_t value) {
  auto* a = n.add_attribute();
  a->set_name(key);
  a->set_type(onnx::AttributeProto::INT);
  a->set_i(value);
}
inline void set(onnx::NodeProto& n, const std::string& key, float value) {
  auto* a = n.add_attribute();
  a->set_name(key);
  a->set_type(onnx::AttributeProto::FLOAT);
  a->set_f(value);
}
inline void set_text(onnx::NodeProto& n, const std::string& key, const std::string& value) {
  auto* a = n.add_attribute();
  a->set_name(key);
  a->set_type(onnx::AttributeProto::STRING);
  a->set_s(value);
}

// x -> QuantizeLinear -> DequantizeLinear under the names NAME_q and NAME_dq.
template <typename T>
void quantise(OnnxModel& m, const std::string& from, const std::string& name, float scale, T zero) {
  m.constant<float>(name + "_s", {}, {scale});
  m.constant<T>(name + "_z", {}, {zero});
  m.node("QuantizeLinear", name + ".Q", {from, name + "_s", name + "_z"}, {name + "_q"});
  m.node("DequantizeLinear", name + ".DQ", {name + "_q", name + "_s", name + "_z"}, {name + "_dq"});
}

}  // namespace dlc::test
