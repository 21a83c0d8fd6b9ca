#include "compiler/onnx/proto_reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

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

// 4-bit and 2-bit elements share bytes in files, the first in the lowest bits.
size_t elements_per_byte(ElementType type) {
  switch (type) {
    case ElementType::int4:
    case ElementType::uint4:
    case ElementType::float4e2m1:
      return 2;
    case ElementType::int2:
    case ElementType::uint2:
      return 4;
    default:
      return 1;
  }
}

void unpack(const std::string& packed, Tensor& t, const std::string& where) {
  const size_t per_byte = elements_per_byte(t.type), bits = 8 / per_byte, count = static_cast<size_t>(t.size());
  if (packed.size() != (count + per_byte - 1) / per_byte) {
    bad(where, "holds " + std::to_string(packed.size()) + " bytes, the shape " + ir::shape_text(t.shape) + " of " +
                   std::string(ir::element_name(t.type)) + " needs " +
                   std::to_string((count + per_byte - 1) / per_byte));
  }
  t.bytes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<uint8_t>(packed[i / per_byte]);
    t.bytes[i] = static_cast<uint8_t>(byte >> (i % per_byte * bits) & ((1 << bits) - 1));
  }
}

void read_typed_fields(const onnx::TensorProto& p, Tensor& t, const std::string& where) {
  switch (t.type) {
    case ElementType::float32:
      return copy_field<float>(t, p.float_data(), where);
    case ElementType::float64:
      return copy_field<double>(t, p.double_data(), where);
    case ElementType::float16:
    case ElementType::bfloat16:
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
    default:  // 8-bit floats; narrower ones are packed
      if (elements_per_byte(t.type) == 1) return copy_field<uint8_t>(t, p.int32_data(), where);
      std::string packed;
      for (int32_t v : p.int32_data()) packed.push_back(static_cast<char>(v));
      return unpack(packed, t, where);
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

namespace {

// By ONNX's number (TensorProto.DataType; those above 16 are newer than libonnx's enumeration).
constexpr ElementType kOnnxTypes[] = {
    ElementType::undefined,      ElementType::float32,    ElementType::uint8,          ElementType::int8,
    ElementType::uint16,         ElementType::int16,      ElementType::int32,          ElementType::int64,
    ElementType::undefined,      ElementType::boolean,    ElementType::float16,        ElementType::float64,
    ElementType::uint32,         ElementType::uint64,     ElementType::undefined,      ElementType::undefined,
    ElementType::bfloat16,       ElementType::float8e4m3fn, ElementType::float8e4m3fnuz, ElementType::float8e5m2,
    ElementType::float8e5m2fnuz, ElementType::uint4,      ElementType::int4,           ElementType::float4e2m1,
    ElementType::float8e8m0,     ElementType::uint2,      ElementType::int2};

}  // namespace

ir::ElementType element_type_from_onnx(int onnx_type) {
  const bool known = onnx_type >= 0 && onnx_type < static_cast<int>(std::size(kOnnxTypes));
  return known ? kOnnxTypes[onnx_type] : ElementType::undefined;
}

int onnx_type_of(ir::ElementType type) {
  if (type == ElementType::undefined) return 0;
  const auto at = std::find(std::begin(kOnnxTypes), std::end(kOnnxTypes), type);
  return at == std::end(kOnnxTypes) ? 0 : static_cast<int>(at - std::begin(kOnnxTypes));
}

std::string onnx_type_name(int onnx_type) {
  return onnx::TensorProto::DataType_IsValid(onnx_type)
             ? onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(onnx_type))
         : element_type_from_onnx(onnx_type) != ElementType::undefined
             ? std::string(ir::element_name(element_type_from_onnx(onnx_type)))
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
  const size_t per_byte = elements_per_byte(t.type);
  const size_t size = (static_cast<size_t>(*count) * ir::element_size(t.type) + per_byte - 1) / per_byte;
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  if (external || proto.has_raw_data()) {
    const std::string data = external ? read_external(proto, model_path, size, where) : proto.raw_data();
    if (elements_per_byte(t.type) > 1) {
      unpack(data, t, where);
      return t;
    }
    if (data.size() != size) {
      bad(where, "holds " + std::to_string(data.size()) + " bytes, the shape " + ir::shape_text(t.shape) +
                     " of " + std::string(ir::element_name(t.type)) + " needs " + std::to_string(size));
    }
    t.bytes.assign(data.begin(), data.end());
    return t;
  }
  // Every element takes at least a byte of the file, so a huge shape without data ends here, unallocated.
  if (*count > static_cast<int64_t>(per_byte * proto.ByteSizeLong())) {
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
