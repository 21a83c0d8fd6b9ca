// Network inputs from files or from a seed.
#pragma once
#include <string>
#include <vector>

#include "compiler/driver/npy.h"
#include "compiler/driver/options.h"
#include "compiler/driver/session.h"
#include "compiler/onnx/import_onnx.h"

namespace dlc {

// real = (value - zero) * scale for integer files of float inputs (identity by default).
struct InputScaling {
  double scale = 1;
  int64_t zero = 0;
};

// An array as the network's input: element type converted, dimensions of 1 added or dropped, NHWC images
// transposed where only that fits (said in `note`). Throws UserError naming `what`, both shapes and the mend.
ir::Tensor to_input(const NpyArray& array, const ir::Tensor& signature, const InputScaling& scaling,
                    const std::string& what, std::string* note);

// What --input gives: the arrays of each file with the input that they are for. Files without a name (other than .npz
// archives, whose members have one) are for the graph's inputs in order, those left out that others name.
struct GivenInput {
  std::string input, path;
  NpyArray array;
};
std::vector<GivenInput> given_inputs(const std::vector<std::string>& arguments, const std::vector<std::string>& names);

// Their shapes, for the importer (ImportOptions::given).
std::map<std::string, onnx_import::GivenShape> given_shapes(const std::vector<std::string>& arguments,
                                                            const std::vector<std::string>& names);

// All inputs by --input, or seeded random values where none is given at all (`note` says so).
TensorMap gather_inputs(const Options& options, const std::vector<ir::Tensor>& signature, std::string* note);

// Deterministic values for a seed: floats uniform in [0, 1), integers over the type's range.
ir::Tensor random_input(const ir::Tensor& signature, uint64_t seed);

NpyArray to_npy(const ir::Tensor& tensor);
// A tensor name as a file name: every character outside [A-Za-z0-9._-] becomes '_'.
std::string file_name_for(const std::string& tensor_name);

}  // namespace dlc
