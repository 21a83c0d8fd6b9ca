#include "compiler/driver/input_formats.h"

#include <onnx/onnx_pb.h>
#include <zlib.h>

#include <cstring>
#include <map>

#include "compiler/driver/file_io.h"
#include "isa/error.h"

namespace dlc {
namespace {

using Arrays = std::vector<std::pair<std::string, NpyArray>>;

[[noreturn]] void bad(const std::string& path, const std::string& message) {
  throw UserError(ErrorKind::bad_input, path, message);
}

uint64_t little(const std::vector<uint8_t>& d, size_t at, int bytes, const std::string& path) {
  if (at + static_cast<size_t>(bytes) > d.size()) bad(path, "is a damaged .npz archive (it ends too early)");
  uint64_t v = 0;
  for (int i = bytes; i-- > 0;) v = v << 8 | d[at + static_cast<size_t>(i)];
  return v;
}

std::vector<uint8_t> inflate_member(const uint8_t* data, size_t size, size_t expected, const std::string& what) {
  std::vector<uint8_t> out(expected);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) bad(what, "cannot be unpacked (zlib)");
  stream.next_in = const_cast<uint8_t*>(data);
  stream.avail_in = static_cast<uInt>(size);
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (status != Z_STREAM_END || stream.total_out != expected) bad(what, "is damaged (its compressed data do not unpack)");
  return out;
}

// A .npz is a zip archive of .npy files; numpy writes stored or deflated members, below 4 GiB without zip64.
Arrays load_npz(const std::string& path) {
  constexpr uint32_t kEndSignature = 0x06054b50, kEntrySignature = 0x02014b50;
  const std::vector<uint8_t> d = read_file(path);
  size_t end = d.size() < 22 ? 0 : d.size() - 22;
  while (end > 0 && little(d, end, 4, path) != kEndSignature) --end;
  if (d.size() < 22 || little(d, end, 4, path) != kEndSignature) bad(path, "is not a .npz archive (no zip directory); save it with numpy.savez");
  const uint64_t entries = little(d, end + 10, 2, path);
  size_t at = little(d, end + 16, 4, path);
  Arrays arrays;
  for (uint64_t i = 0; i < entries; ++i) {
    if (little(d, at, 4, path) != kEntrySignature) bad(path, "is a damaged .npz archive (bad directory entry)");
    const uint64_t method = little(d, at + 10, 2, path), packed = little(d, at + 20, 4, path), size = little(d, at + 24, 4, path);
    const uint64_t name_length = little(d, at + 28, 2, path), extra = little(d, at + 30, 2, path), comment = little(d, at + 32, 2, path);
    const uint64_t local = little(d, at + 42, 4, path);
    if (at + 46 + name_length > d.size()) bad(path, "is a damaged .npz archive (bad directory entry)");
    std::string name(d.begin() + static_cast<std::ptrdiff_t>(at + 46), d.begin() + static_cast<std::ptrdiff_t>(at + 46 + name_length));
    const std::string what = path + ": " + name;
    if (packed == 0xFFFFFFFFu || size == 0xFFFFFFFFu || local == 0xFFFFFFFFu) bad(what, "is a zip64 member; save arrays below 4 GiB");
    const size_t data = local + 30 + little(d, local + 26, 2, path) + little(d, local + 28, 2, path);
    if (data + packed > d.size()) bad(what, "is damaged (it ends too early)");
    if (method != 0 && method != 8) bad(what, "uses zip method " + std::to_string(method) + "; expected stored or deflate");
    // A deflate stream expands at most about 1032 times: a larger claim is a damaged directory.
    if (method == 8 && size > packed * 1100 + 1024) bad(what, "is damaged (impossible size)");
    if (method == 0 && size != packed) bad(what, "is damaged (sizes differ)");
    const auto first = d.begin() + static_cast<std::ptrdiff_t>(data);
    std::vector<uint8_t> bytes = method == 0 ? std::vector<uint8_t>(first, first + static_cast<std::ptrdiff_t>(size))
                                             : inflate_member(&d[data], packed, size, what);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.emplace_back(name, parse_npy(bytes, what));
    at += 46 + name_length + extra + comment;
  }
  if (arrays.empty()) bad(path, "is an empty .npz archive");
  return arrays;
}

template <class Repeated, class Stored>
void append_values(NpyArray& a, const Repeated& values) {
  for (auto v : values) {
    const Stored s = static_cast<Stored>(v);
    const auto* p = reinterpret_cast<const uint8_t*>(&s);
    a.bytes.insert(a.bytes.end(), p, p + sizeof(Stored));
  }
}

Arrays load_pb(const std::string& path) {
  const std::vector<uint8_t> d = read_file(path);
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(d.data(), static_cast<int>(d.size())) || proto.data_type() == 0)
    bad(path, "is not an ONNX TensorProto; expected one serialised tensor");
  static const std::map<int, std::string> kTypes = {
      {onnx::TensorProto::FLOAT, "f4"}, {onnx::TensorProto::DOUBLE, "f8"}, {onnx::TensorProto::INT8, "i1"},
      {onnx::TensorProto::UINT8, "u1"}, {onnx::TensorProto::INT16, "i2"},  {onnx::TensorProto::UINT16, "u2"},
      {onnx::TensorProto::INT32, "i4"}, {onnx::TensorProto::INT64, "i8"},  {onnx::TensorProto::BOOL, "b1"},
      {onnx::TensorProto::FLOAT16, "f2"}};
  const auto type = kTypes.find(proto.data_type());
  if (type == kTypes.end()) bad(path, "has ONNX element type " + std::to_string(proto.data_type()) + ", which is not supported for inputs");
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) bad(path, "keeps its data in another file; save it with the data inside");
  NpyArray a;
  a.dtype = type->second;
  a.shape.assign(proto.dims().begin(), proto.dims().end());
  const std::string& raw = proto.raw_data();
  if (!raw.empty()) a.bytes.assign(raw.begin(), raw.end());
  else if (a.dtype == "f4") append_values<decltype(proto.float_data()), float>(a, proto.float_data());
  else if (a.dtype == "f8") append_values<decltype(proto.double_data()), double>(a, proto.double_data());
  else if (a.dtype == "i8") append_values<decltype(proto.int64_data()), int64_t>(a, proto.int64_data());
  else if (a.dtype == "i4") append_values<decltype(proto.int32_data()), int32_t>(a, proto.int32_data());
  else if (a.element_bytes() == 2) append_values<decltype(proto.int32_data()), uint16_t>(a, proto.int32_data());
  else append_values<decltype(proto.int32_data()), uint8_t>(a, proto.int32_data());
  int64_t expected = a.element_bytes();
  for (int64_t dim : a.shape) {
    if (dim < 0 || (dim > 0 && expected > (int64_t{1} << 40) / dim)) bad(path, "has an impossible shape");
    expected *= dim;
  }
  if (expected != static_cast<int64_t>(a.bytes.size())) bad(path, "holds " + std::to_string(a.bytes.size()) + " data bytes; its shape needs " + std::to_string(expected));
  return {{proto.name(), a}};
}

}  // namespace

Arrays load_input_file(const std::string& path) {
  if (path.ends_with(".npz")) return load_npz(path);
  if (path.ends_with(".pb")) return load_pb(path);
  return {{"", load_npy(path)}};
}

}  // namespace dlc
