// Reading Q/DQ patterns: which float value is a dequantised tensor, which float value is only there to be
// quantised. Shared by the lowerings of quantize_qdq.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace dlc::quantize {

// A float value that is DequantizeLinear of an 8-bit tensor with one constant scale.
struct Dequantised {
  ir::ValueId stored;  // the 8-bit tensor
  ir::NodeId node;     // the DequantizeLinear
  double scale = 1;
  int32_t zero = 0;
  ir::ElementType type = ir::ElementType::undefined;
};
std::optional<Dequantised> dequantised(const ir::Graph& graph, ir::ValueId value);

// A float value whose only use is (Relu | Clip)* -> QuantizeLinear to 8 bits with one constant scale.
struct Requantised {
  ir::NodeId quantize;
  ir::ValueId stored;  // the QuantizeLinear's output
  double scale = 1;
  int32_t zero = 0;
  int32_t low = 0, high = 0;  // clamp: the type's range, narrowed by the activations
  ir::ElementType type = ir::ElementType::undefined;
  std::vector<ir::NodeId> nodes;  // activations, then the QuantizeLinear
};
std::optional<Requantised> requantised(const ir::Graph& graph, ir::ValueId value);
// The same for the chain that begins with node `first` (whose own input may have other uses).
std::optional<Requantised> requantised_from(const ir::Graph& graph, ir::NodeId first);

// A constant operand as real numbers: float32, or DequantizeLinear of constants.
std::optional<std::vector<double>> constant_reals(const ir::Graph& graph, ir::ValueId value);

// Scales and zero points of a Q or DQ node whose parameters are constants.
std::optional<ir::Quantization> parameters(const ir::Graph& graph, const ir::Node& node);

// A weight: DequantizeLinear of an 8-bit constant, per tensor or along `channel_axis`, one zero point.
struct Weight {
  ir::ValueId stored;
  ir::NodeId node;
  std::vector<double> scale;  // one, or one per channel
  int32_t zero = 0;
};
// `reason` says why not, when there is no result.
std::optional<Weight> quantised_weight(const ir::Graph& graph, ir::ValueId value, size_t channel_axis,
                                       std::string& reason);

// Names of the ONNX nodes behind these nodes, in order, each once.
std::vector<std::string> onnx_names(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

}  // namespace dlc::quantize
