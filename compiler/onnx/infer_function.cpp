// Shape inference of activation functions: their parameters' defaults become attributes.
#include "compiler/onnx/op_table.h"

namespace dlc::onnx_import {
namespace {

struct Parameter {
  const char* op;
  const char* name;
  float otherwise;
};

constexpr Parameter kParameters[] = {
    {"Celu", "alpha", 1.0f},
    {"Elu", "alpha", 1.0f},
    {"HardSigmoid", "alpha", 0.2f},
    {"HardSigmoid", "beta", 0.5f},
    {"Selu", "alpha", 1.67326319f},
    {"Selu", "gamma", 1.05070102f},
    {"ThresholdedRelu", "alpha", 1.0f},
};

}  // namespace

void infer_function(InferContext& c) {
  for (const Parameter& p : kParameters) {
    if (c.node.is(p.op)) c.real(p.name, p.otherwise);
  }
  if (c.node.is("Celu") && c.node.attribute<float>("alpha") == 0.0f) c.bad("alpha is 0");
  if (c.node.is("Gelu")) {
    const auto form = c.node.attribute<std::string>("approximate", "none");
    if (form != "none" && form != "tanh") c.bad("approximate is '" + form + "', expected none or tanh");
    c.node.attributes["approximate"] = form;
  }
  infer_unary(c);
}

}  // namespace dlc::onnx_import
