#include "compiler/driver/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "compiler/driver/file_io.h"
#include "compiler/driver/input_formats.h"
#include "isa/error.h"

namespace dlc {
namespace {

std::vector<int64_t> without_ones(const std::vector<int64_t>& shape) {
  std::vector<int64_t> s;
  for (int64_t d : shape)
    if (d != 1) s.push_back(d);
  return s;
}

// (1, H, W, C) data for a (1, C, H, W) input.
bool is_nhwc_of(const std::vector<int64_t>& data, const std::vector<int64_t>& want) {
  return data.size() == 4 && want.size() == 4 && data[0] == want[0] && data[1] == want[2] && data[2] == want[3] && data[3] == want[1];
}

NpyArray nhwc_to_nchw(const NpyArray& in) {
  NpyArray out = in;
  const int64_t h = in.shape[1], w = in.shape[2], c = in.shape[3];
  const size_t size = static_cast<size_t>(in.element_bytes());
  out.shape = {in.shape[0], c, h, w};
  for (int64_t n = 0; n < in.shape[0]; ++n)
    for (int64_t i = 0; i < h * w; ++i)
      for (int64_t k = 0; k < c; ++k)
        std::memcpy(&out.bytes[static_cast<size_t>((n * c + k) * h * w + i) * size],
                    &in.bytes[static_cast<size_t>((n * h * w + i) * c + k) * size], size);
  return out;
}

// The .npy name of an element type, without the byte order.
std::string npy_type(ir::ElementType type) {
  static const std::map<ir::ElementType, std::string> kTypes = {
      {ir::ElementType::float32, "f4"}, {ir::ElementType::float64, "f8"}, {ir::ElementType::float16, "f2"},
      {ir::ElementType::int8, "i1"},    {ir::ElementType::uint8, "u1"},   {ir::ElementType::int16, "i2"},
      {ir::ElementType::uint16, "u2"},  {ir::ElementType::int32, "i4"},   {ir::ElementType::uint32, "u4"},
      {ir::ElementType::int64, "i8"},   {ir::ElementType::uint64, "u8"},  {ir::ElementType::boolean, "b1"}};
  return kTypes.at(type);
}

template <class T, class From>
void store_as(ir::Tensor& t, const std::vector<From>& values) {
  for (size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = static_cast<T>(values[i]);
}

ir::Tensor converted(const NpyArray& a, const ir::Tensor& signature, const InputScaling& scaling, const std::string& what) {
  ir::Tensor t(signature.type, signature.shape);
  t.name = signature.name;
  const bool is_float = a.dtype[0] == 'f';
  if (t.type != ir::ElementType::float32 && a.dtype == npy_type(t.type)) {  // the very type: no conversion
    t.bytes = a.bytes;
    return t;
  }
  switch (t.type) {
    case ir::ElementType::float32: {
      std::vector<float> v = npy_as_float(a);
      if (scaling.scale != 1 || scaling.zero != 0)
        for (float& x : v) x = static_cast<float>((static_cast<double>(x) - static_cast<double>(scaling.zero)) * scaling.scale);
      store_as<float>(t, v);
      return t;
    }
    case ir::ElementType::boolean: case ir::ElementType::int8: case ir::ElementType::uint8: case ir::ElementType::int16:
    case ir::ElementType::uint16: case ir::ElementType::int32: case ir::ElementType::uint32: case ir::ElementType::int64: {
      if (is_float)
        throw UserError(ErrorKind::bad_input, what, fmt::format("holds {} values; input '{}' takes {}", a.dtype, t.name, ir::element_name(t.type)));
      const std::vector<int64_t> v = npy_as_int64(a);
      if (t.type == ir::ElementType::int8) store_as<int8_t>(t, v);
      if (t.type == ir::ElementType::uint8) store_as<uint8_t>(t, v);
      if (t.type == ir::ElementType::boolean) std::transform(v.begin(), v.end(), t.bytes.begin(), [](int64_t x) { return x != 0; });
      if (t.type == ir::ElementType::int16) store_as<int16_t>(t, v);
      if (t.type == ir::ElementType::uint16) store_as<uint16_t>(t, v);
      if (t.type == ir::ElementType::uint32) store_as<uint32_t>(t, v);
      if (t.type == ir::ElementType::int32) store_as<int32_t>(t, v);
      if (t.type == ir::ElementType::int64) store_as<int64_t>(t, v);
      return t;
    }
    default:
      throw UserError(ErrorKind::unsupported, what, fmt::format("input '{}' is of type {}, which a {} array cannot give", t.name, ir::element_name(t.type), a.dtype));
  }
}

// splitmix64: the same values on every platform.
uint64_t next_random(uint64_t& state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace

ir::Tensor to_input(const NpyArray& array, const ir::Tensor& signature, const InputScaling& scaling, const std::string& what,
                    std::string* note) {
  if (array.shape == signature.shape || without_ones(array.shape) == without_ones(signature.shape))
    return converted(array, signature, scaling, what);
  if (is_nhwc_of(array.shape, signature.shape)) {
    if (note) *note = what + " is NHWC; transposed to the network's NCHW";
    return converted(nhwc_to_nchw(array), signature, scaling, what);
  }
  std::string hint;
  if (!array.shape.empty() && array.shape[0] > 1 && !signature.shape.empty() && signature.shape[0] == 1)
    hint = "; use --dataset to run a file of many rows";
  throw UserError(ErrorKind::bad_input, what, fmt::format("has shape {}; input '{}' takes {}{}", ir::shape_text(array.shape), signature.name,
                              ir::shape_text(signature.shape), hint));
}

ir::Tensor random_input(const ir::Tensor& signature, uint64_t seed) {
  ir::Tensor t(signature.type, signature.shape);
  t.name = signature.name;
  uint64_t state = seed;
  for (char c : signature.name) state = state * 31 + static_cast<unsigned char>(c);
  if (t.type == ir::ElementType::float32) {
    for (float& v : t.data<float>()) v = static_cast<float>(next_random(state) >> 40) * 0x1p-24f;
  } else {
    const uint8_t mask = t.type == ir::ElementType::boolean ? 1 : 0xFF;
    for (uint8_t& b : t.bytes) b = static_cast<uint8_t>(next_random(state)) & mask;
  }
  return t;
}

// Of an archive's arrays the one for this input: of its name, or the first that numpy.savez wrote without names.
static void keep_one(std::vector<std::pair<std::string, NpyArray>>& arrays, const std::string& input, const std::string& path) {
  for (const std::string& wanted : {input, std::string("arr_0")})
    for (auto& entry : arrays)
      if (entry.first == wanted) {
        arrays = {std::move(entry)};
        return;
      }
  throw UserError(ErrorKind::bad_input, path, fmt::format("holds {} arrays, none named '{}'; name one after the input", arrays.size(), input));
}

std::vector<GivenInput> given_inputs(const std::vector<std::string>& arguments, const std::vector<std::string>& names) {
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  std::set<std::string> named;
  for (const std::string& argument : arguments)
    if (const size_t eq = argument.find('='); eq != std::string::npos) named.insert(argument.substr(0, eq));
  std::vector<std::string> free;  // in order, for arguments without a name
  for (const std::string& n : names)
    if (!named.contains(n)) free.push_back(n);
  size_t next = 0;
  std::vector<GivenInput> result;
  for (const std::string& argument : arguments) {
    const size_t eq = argument.find('=');
    std::string name = eq == std::string::npos ? "" : argument.substr(0, eq);
    const std::string path = eq == std::string::npos ? argument : argument.substr(eq + 1);
    const bool by_member = name.empty() && names.size() > 1 && path.ends_with(".npz");
    if (name.empty() && !by_member) {
      if (next == free.size()) {
        throw UserError(ErrorKind::bad_input, "--input " + argument,
                        fmt::format("one file too many: the network has {} input{} ({})", names.size(), names.size() == 1 ? "" : "s", list));
      }
      name = free[next++];
    }
    auto arrays = load_input_file(path);
    if (!by_member && arrays.size() > 1) keep_one(arrays, name, path);
    for (auto& [member, array] : arrays) {
      const std::string& target = by_member ? member : name;
      if (std::find(names.begin(), names.end(), target) == names.end())
        throw UserError(ErrorKind::bad_input, "--input " + argument, fmt::format("the network has no input '{}'; its inputs are: {}", target, list));
      result.push_back({target, path, std::move(array)});
    }
  }
  return result;
}

std::map<std::string, onnx_import::GivenShape> given_shapes(const std::vector<std::string>& arguments,
                                                            const std::vector<std::string>& names) {
  std::map<std::string, onnx_import::GivenShape> shapes;
  for (const GivenInput& g : given_inputs(arguments, names)) shapes[g.input] = {g.array.shape, g.path};
  return shapes;
}

TensorMap gather_inputs(const Options& options, const std::vector<ir::Tensor>& signature, std::string* note) {
  TensorMap result;
  if (options.inputs.empty()) {
    for (const auto& t : signature) result[t.name] = random_input(t, options.seed);
    if (note) *note = fmt::format("no --input given: seeded random values (--seed {})", options.seed);
    return result;
  }
  std::vector<std::string> names;
  for (const auto& t : signature) names.push_back(t.name);
  for (const GivenInput& g : given_inputs(options.inputs, names)) {
    const auto t = std::find_if(signature.begin(), signature.end(), [&](const ir::Tensor& s) { return s.name == g.input; });
    result[g.input] = to_input(g.array, *t, {options.input_scale, options.input_zero}, g.path, note);
  }
  for (const auto& t : signature)
    if (!result.count(t.name)) throw UserError(ErrorKind::bad_input, "--input", fmt::format("input '{}' ({} {}) is missing", t.name, ir::element_name(t.type), ir::shape_text(t.shape)));
  return result;
}

NpyArray to_npy(const ir::Tensor& tensor) { return {npy_type(tensor.type), tensor.shape, tensor.bytes}; }

std::string file_name_for(const std::string& tensor_name) {
  std::string s = tensor_name;
  for (char& c : s)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '_';
  return s.empty() ? "_" : s;
}

}  // namespace dlc
