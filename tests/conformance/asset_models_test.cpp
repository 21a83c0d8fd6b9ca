// Every CNN and MLP of ../shared/assets/models on the shipped machines: runs whole, at least 99 % of its MACs on
// the machine, reference = functional = SystemC in every byte that reaches DRAM; quantised networks within one
// step of ONNX Runtime's outputs for 99 % of the elements, within two always. (RTL: tests/cosim.)
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "compiler/driver/compare.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/inputs.h"
#include "compiler/driver/outputs.h"
#include "compiler/driver/profile.h"
#include "isa/program_file.h"

using namespace dlc;
namespace fs = std::filesystem;

namespace {

const std::string kRoot = DLC_SOURCE_DIR;
const std::string kModels = kRoot + "/../shared/assets/models/";
const std::vector<std::string> kMachines = {"edge-8",     "edge-16", "wide-8x32", "narrow-32x8",
                                            "gemmini-16", "vta-16",  "large-64"};

struct Model {
  std::string path;                // below kModels
  std::vector<std::string> dims;   // --dim
  bool quantised = false;          // its outputs are compared with the pair beside it
  std::vector<std::string> inputs; // beside the model; empty: MODEL.ref/in0.npy if it is there, else random
};

std::string stem(const Model& m) { return kModels + m.path.substr(0, m.path.size() - 5); }

Options options_for(const Model& m) {
  Options o;
  o.model = kModels + m.path;
  o.dims = m.dims;
  for (const std::string& file : m.inputs) o.inputs.push_back(fs::path(o.model).parent_path() / file);
  for (int i = 0; m.inputs.empty() && fs::exists(stem(m) + ".ref/in" + std::to_string(i) + ".npy"); ++i)
    o.inputs.push_back(stem(m) + ".ref/in" + std::to_string(i) + ".npy");
  return o;
}

// The step of a network output: the scale of the DequantizeLinear that makes it (and that shape operators may
// follow), 1 for an integer output; 0 where neither is so.
double step_of(const ir::Graph& g, ir::ValueId output) {
  if (ir::element_size(g.value(output).type) == 1) return 1;
  ir::NodeId producer = g.producer(output);
  while (producer.valid() && g.node(producer).op == "Reshape") producer = g.producer(g.node(producer).inputs[0]);
  if (producer.valid() && g.node(producer).op == "Add")  // of two such tensors: the coarser step
    return std::max(step_of(g, g.node(producer).inputs[0]), step_of(g, g.node(producer).inputs[1]));
  if (!producer.valid() || g.node(producer).op != "DequantizeLinear") return 0;
  const ir::Value& scale = g.value(g.node(producer).inputs[1]);
  float step = 0;
  if (scale.data) std::memcpy(&step, scale.data->data(), sizeof step);
  return static_cast<double>(step);
}

// Against ONNX Runtime's own outputs, in steps of the output's quantisation.
void check_pair(const Model& m, const ir::Graph& graph, const TensorMap& outputs) {
  int index = 0;
  for (ir::ValueId v : graph.outputs()) {
    const std::string file = stem(m) + ".ref/out" + std::to_string(index++) + ".npy";
    REQUIRE(fs::exists(file));
    const std::vector<float> expected = npy_as_float(load_npy(file));
    const std::vector<float> actual = npy_as_float(to_npy(outputs.at(graph.value(v).name)));
    REQUIRE(expected.size() == actual.size());
    const double step = step_of(graph, v);
    INFO(file << ", step " << step);
    REQUIRE(step > 0);
    size_t within_one = 0;
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double steps = std::abs(expected[i] - actual[i]) / step;
      within_one += steps < 1.5;
      worst = std::max(worst, steps);
    }
    CHECK(static_cast<double>(within_one) >= 0.99 * static_cast<double>(expected.size()));
    CHECK(worst < 2.5);
  }
}

void check_on(const std::string& machine, const Model& m, const Prepared& prepared, const Options& options) {
  INFO(m.path << " on " << machine);
  const Compiled c = compile_for(load_hwconfig(kRoot + "/hwconfigs/" + machine + ".yaml"), prepared.clone(), options);
  const Session session(c.program, c.hw);
  std::string note;
  const TensorMap inputs = gather_inputs(options, session.input_signature(), &note);
  TensorMap expected = reference::Evaluator(c.graph).evaluate(inputs, true);
  expected.insert(inputs.begin(), inputs.end());
  for (const std::string engine : {"functional", "systemc"}) {
    auto device = make_device(engine, c.hw);
    const Inference run = session.infer(*device, inputs, {});
    const Check check = compare_tensors(c.program, engine, run.device_tensors, "reference", expected);
    INFO(engine << ": " << check.first);
    CHECK(check.elements > 0);
    CHECK(check.mismatches == 0);
    if (engine != std::string("systemc")) continue;
    const Profile p = make_profile(c.program, c.hw, run.run);
    CHECK(static_cast<double>(p.macs) >= 0.99 * static_cast<double>(p.macs + c.parts.host_macs));
    CHECK(p.total_cycles >= p.lower_bound.bound);
    std::printf("%-48s %-12s %10lld cycles, %.2f of the bound\n", m.path.c_str(), machine.c_str(),
                static_cast<long long>(p.total_cycles),
                static_cast<double>(p.total_cycles) / static_cast<double>(p.lower_bound.bound));
    if (m.quantised) check_pair(m, c.graph, run.outputs);
  }
}

void check_everywhere(const std::vector<Model>& models) {
  for (const Model& m : models) {
    if (!fs::exists(kModels + m.path)) {
      WARN("skipped: " << m.path << " is not there (assets absent)");
      continue;
    }
    const Options options = options_for(m);
    const Prepared prepared = prepare_model(options);
    for (const std::string& machine : kMachines) check_on(machine, m, prepared, options);
  }
}

}  // namespace

TEST_CASE("quantised MLPerf Tiny networks run whole on every machine and match ONNX Runtime") {
  std::vector<Model> models;
  for (const std::string name : {"ad_autoencoder", "ic_resnet8", "kws_dscnn", "vww_mobilenetv1"})
    models.push_back({"mlperf_tiny_onnx/" + name + "_int8_qdq.onnx", {}, true, {}});
  check_everywhere(models);
}

TEST_CASE("float MLPerf Tiny and MNIST networks run whole on every machine after quantisation") {
  std::vector<Model> models = {{"mnist12/model.onnx", {}, false, {}}, {"mnist_pytorch_java/model.onnx", {}, false, {}}};
  for (const std::string name : {"ad_autoencoder", "ic_resnet8", "kws_dscnn", "vww_mobilenetv1"})
    models.push_back({"mlperf_tiny_onnx/" + name + "_f32.onnx", {}, false, {}});
  check_everywhere(models);
}

TEST_CASE("one network in float, QDQ and QOperator form runs whole on every machine") {
  check_everywhere({{"micro_kws/micro_kws_m_static_fp32.onnx", {}, false, {}},
                    {"micro_kws/micro_kws_m_static_qdq.onnx", {}, true, {}},
                    {"micro_kws/micro_kws_m_static_qoperator.onnx", {}, true, {}}});
}

TEST_CASE("ONNX Runtime's own QDQ convolution graphs run whole on every machine and match it") {
  std::vector<Model> models;
  for (const std::string name :
       {"constant_folding_dequantizelinear", "conv_qdq_s8s8", "conv_qdq_s8s8_perchannel", "conv_qdq_u8u8", "qdq_conv",
        "qdq_convs", "layout_transform_const_folding.qdq", "qdq_with_multi_consumer_dq_nodes",
        "qdq_with_multi_consumer_dq_nodes.fixed"})
    models.push_back({"ort_qdq/" + name + ".onnx", {}, true, {}});
  models.push_back({"ort_qdq/layout_transform_reshape.qdq.onnx", {}, false, {}});
  check_everywhere(models);
}

TEST_CASE("MobileNetV2 in QDQ form runs whole on every machine and matches ONNX Runtime") {
  check_everywhere({{"mobilenetv2_int8_qdq/model.onnx", {}, true, {"input_0.pb"}}});
}

TEST_CASE("a face detector with its box decoding runs whole on every machine") {
  check_everywhere({{"ultraface/version-RFB-320.onnx", {}, false, {}}});
}

TEST_CASE("the real topologies of onnx_light run whole on every machine: small ones") {
  check_everywhere({{"onnx_light/light_squeezenet.onnx", {}, false, {}},
                    {"onnx_light/light_shufflenet.onnx", {}, false, {}},
                    {"onnx_light/light_inception_v1.onnx", {}, false, {}}});
}

TEST_CASE("the real topologies of onnx_light run whole on every machine: AlexNet and ZFNet") {
  check_everywhere({{"onnx_light/light_bvlc_alexnet.onnx", {}, false, {}},
                    {"onnx_light/light_zfnet512.onnx", {}, false, {}}});
}

TEST_CASE("the real topologies of onnx_light run whole on every machine: DenseNet and Inception v2") {
  check_everywhere({{"onnx_light/light_densenet121.onnx", {}, false, {}},
                    {"onnx_light/light_inception_v2.onnx", {}, false, {}}});
}

TEST_CASE("the real topologies of onnx_light run whole on every machine: ResNet-50 and VGG-19") {
  check_everywhere({{"onnx_light/light_resnet50.onnx", {}, false, {}},
                    {"onnx_light/light_vgg19.onnx", {}, false, {}}});
}
