// Input files: .npy (one array), .npz (several, by name), .pb (an ONNX TensorProto).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/npy.h"

namespace dlc {

// (name, array) pairs; the name is the archive member's or the TensorProto's, empty for .npy.
// Errors: UserError (bad_input) with the file, what is wrong and what was expected.
std::vector<std::pair<std::string, NpyArray>> load_input_file(const std::string& path);

}  // namespace dlc
