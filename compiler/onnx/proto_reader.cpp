#include "compiler/onnx/proto_reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <filesystem>
#include <fstream>

#include "isa/error.h"

namespace dlc::onnx_import {
namespace {

using ir::ElementType;
using ir::Tensor;

[[noreturn]] void bad(const std::string& where, const std::string& message) {
  throw UserError(ErrorKind::bad_input, where, message);
}

int64_t parse_number(const std::string& text, const std::string& where) {
  int64_t value = 0;
  if (text.empty() || text.size() > 15) bad(where, "external data: '" + text + "' is not a byte count");
  for (char c : text) {
    if (c < '0' || c > '9') bad(where, "external data: '" + text + "' is not a byte count");
    value = value * 10 + (c - '0');
  }
  return value;
}

// Only files inside the model's own folder: a model must not read what its user did not give it.
std::filesystem::path external_path(const std::string& location, const std::string& model_path,
                                    const std::string& where) {
  const std::filesystem::path relative(location);
  bool inside = !location.empty() && relative.is_relative();
  for (const auto& part : relative) inside = inside && part != "..";
  if (!inside)
    bad(where, "external data location '" + location + "' is not a path inside the model's folder");
  return std::filesystem::path(model_path).parent_path() / relative;
}

std::string read_external(const onnx::TensorProto& proto, const std::string& model_path, size_t size,
                          const std::string& where) {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number(entry.value(), where);
    if (entry.key() == "length") length = parse_number(entry.value(), where);
  }
  const auto path = external_path(location, model_path, where);
  if (length >= 0 && static_cast<size_t>(length) != size) {
    bad(where,
        "external data has " + std::to_string(length) + " bytes, the shape needs " + std::to_string(size));
  }
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) {
    bad(where, "external data file '" + path.string() + "' is missing; put it beside the model");
  }
  const auto file_size = std::filesystem::file_size(path, ec);
  if (ec || static_cast<uint64_t>(offset) + size > file_size) {
    bad(where, "external data file '" + path.string() + "' ends before byte " +
                   std::to_string(offset + static_cast<int64_t>(size)));
  }
  std::ifstream in(path, std::ios::binary);
  std::string data(size, '\0');
  in.seekg(offset);
  in.read(data.data(), static_cast<std::streamsize>(size));
  if (!in) bad(where, "cannot read external data file '" + path.string() + "'");
  return data;
}

template <typename To, typename Field>
void copy_field(Tensor& t, const Field& field, const std::string& where) {
  auto out = t.data<To>();
  if (static_cast<size_t>(field.size()) != out.size()) {
    bad(where, "holds " + std::to_string(field.size()) + " elements, the shape " + ir::shape_text(t.shape) +
                   " needs " + std::to_string(out.size()));
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<To>(field[static_cast<int>(i)]);
}

void read_typed_fields(const onnx::TensorProto& p, Tensor& t, const std::string& where) {
  switch (t.type) {
    case ElementType::float32:
      return copy_field<float>(t, p.float_data(), where);
    case ElementType::float64:
      return copy_field<double>(t, p.double_data(), where);
    case ElementType::float16:
      return copy_field<uint16_t>(t, p.int32_data(), where);
    case ElementType::int8:
      return copy_field<int8_t>(t, p.int32_data(), where);
    case ElementType::boolean:
    case ElementType::uint8:
      return copy_field<uint8_t>(t, p.int32_data(), where);
    case ElementType::int16:
      return copy_field<int16_t>(t, p.int32_data(), where);
    case ElementType::uint16:
      return copy_field<uint16_t>(t, p.int32_data(), where);
    case ElementType::int32:
      return copy_field<int32_t>(t, p.int32_data(), where);
    case ElementType::uint32:
      return copy_field<uint32_t>(t, p.uint64_data(), where);
    case ElementType::int64:
      return copy_field<int64_t>(t, p.int64_data(), where);
    case ElementType::uint64:
      return copy_field<uint64_t>(t, p.uint64_data(), where);
    case ElementType::undefined:
      break;
  }
}

}  // namespace

onnx::ModelProto parse_model(const std::string& bytes, const std::string& path) {
  if (bytes.empty()) bad(path, "the file is empty; expected an ONNX model");
  const google::protobuf::LogSilencer silencer;
  onnx::ModelProto model;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(std::min<size_t>(bytes.size(), INT32_MAX)));
  if (bytes.size() > INT32_MAX || !model.ParsePartialFromCodedStream(&stream) ||
      !stream.ConsumedEntireMessage()) {
    bad(path, "this is not an ONNX model (no valid protobuf); expected a file written by an ONNX exporter");
  }
  if (!model.has_graph()) bad(path, "this is not an ONNX model (it holds no graph)");
  return model;
}

ir::ElementType element_type_from_onnx(int onnx_type) {
  using P = onnx::TensorProto;
  switch (onnx_type) {
    case P::FLOAT:
      return ElementType::float32;
    case P::DOUBLE:
      return ElementType::float64;
    case P::FLOAT16:
      return ElementType::float16;
    case P::INT8:
      return ElementType::int8;
    case P::UINT8:
      return ElementType::uint8;
    case P::INT16:
      return ElementType::int16;
    case P::UINT16:
      return ElementType::uint16;
    case P::INT32:
      return ElementType::int32;
    case P::UINT32:
      return ElementType::uint32;
    case P::INT64:
      return ElementType::int64;
    case P::UINT64:
      return ElementType::uint64;
    case P::BOOL:
      return ElementType::boolean;
    default:
      return ElementType::undefined;
  }
}

std::string onnx_type_name(int onnx_type) {
  return onnx::TensorProto::DataType_IsValid(onnx_type)
             ? onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(onnx_type))
             : "number " + std::to_string(onnx_type);
}

ir::Tensor read_tensor(const onnx::TensorProto& proto, const std::string& model_path,
                       const std::string& where) {
  Tensor t;
  t.name = proto.name();
  t.type = element_type_from_onnx(proto.data_type());
  if (t.type == ElementType::undefined) {
    throw UserError(ErrorKind::unsupported, where,
                    "element type " + onnx_type_name(proto.data_type()) + " is not supported");
  }
  t.shape.assign(proto.dims().begin(), proto.dims().end());
  const auto count = ir::checked_element_count(t.shape);
  if (!count) bad(where, "impossible shape " + ir::shape_text(t.shape));
  const size_t size = static_cast<size_t>(*count) * ir::element_size(t.type);
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  if (external || proto.has_raw_data()) {
    const std::string data = external ? read_external(proto, model_path, size, where) : proto.raw_data();
    if (data.size() != size) {
      bad(where, "holds " + std::to_string(data.size()) + " bytes, the shape " + ir::shape_text(t.shape) +
                     " of " + std::string(ir::element_name(t.type)) + " needs " + std::to_string(size));
    }
    t.bytes.assign(data.begin(), data.end());
    return t;
  }
  // Every element takes at least a byte of the file, so a huge shape without data ends here, unallocated.
  if (*count > static_cast<int64_t>(proto.ByteSizeLong())) {
    bad(where, "holds fewer elements than the shape " + ir::shape_text(t.shape) + " needs");
  }
  t.bytes.resize(size);
  read_typed_fields(proto, t, where);
  return t;
}

ir::Attribute read_attribute(const onnx::AttributeProto& p, const std::string& where) {
  using P = onnx::AttributeProto;
  switch (p.type()) {
    case P::INT:
      return p.i();
    case P::FLOAT:
      return p.f();
    case P::STRING:
      return p.s();
    case P::INTS:
      return std::vector<int64_t>(p.ints().begin(), p.ints().end());
    case P::FLOATS:
      return std::vector<float>(p.floats().begin(), p.floats().end());
    case P::STRINGS:
      return std::vector<std::string>(p.strings().begin(), p.strings().end());
    default:
      break;
  }
  throw UserError(ErrorKind::unsupported, where,
                  "attribute '" + p.name() + "' has a kind that dlc does not read (" +
                      (P::AttributeType_IsValid(p.type()) ? P::AttributeType_Name(p.type()) : "unknown") +
                      ")");
}

}  // namespace dlc::onnx_import
