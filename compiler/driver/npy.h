// NumPy .npy files (format versions 1 to 3, little endian, C or Fortran order on reading, C on writing).
// Element types by NumPy's kind+size: f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1. Errors: UserError (bad_input)
// naming the file, what was found and what was expected.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace dlc {

struct NpyArray {
  std::string dtype = "f4";     // kind and bytes per element, e.g. "f4", "i1"
  std::vector<int64_t> shape;   // {} is a scalar
  std::vector<uint8_t> bytes;   // C order, little endian

  int element_bytes() const { return dtype.back() - '0'; }
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
};

NpyArray load_npy(const std::string& path);
// `what`: the place used in messages, e.g. the path or "archive.npz: x.npy".
NpyArray parse_npy(const std::vector<uint8_t>& data, const std::string& what);
// Written to a temporary beside `path`, then renamed.
void save_npy(const std::string& path, const NpyArray& array);

// Row `index` of the first dimension, which becomes 1.
NpyArray npy_row(const NpyArray& array, int64_t index);
// All elements as float (any element type).
std::vector<float> npy_as_float(const NpyArray& array);
std::vector<int64_t> npy_as_int64(const NpyArray& array);

}  // namespace dlc
