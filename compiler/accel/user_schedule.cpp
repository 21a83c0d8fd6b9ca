#include "compiler/accel/user_schedule.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>

#include "isa/error.h"
#include "isa/near_name.h"

namespace dlc::accel {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  UserSchedule read() {
    const YAML::Node root = parse();
    for_keys(root, {{"version", [&](const YAML::Node& v) { check_version(v); }},
                    {"layers", [&](const YAML::Node& v) { read_list(v, [&](const YAML::Node& n) { read_layer(n); }); }},
                    {"tensors", [&](const YAML::Node& v) { read_list(v, [&](const YAML::Node& n) { read_tensor(n); }); }}});
    return std::move(schedule_);
  }

 private:
  using Action = std::function<void(const YAML::Node&)>;

  YAML::Node parse() const {
    try {
      return YAML::LoadFile(file_);
    } catch (const YAML::BadFile&) {
      throw UserError(ErrorKind::bad_input, file_, "cannot be read; expected a schedule as dlc compile --emit-schedule writes it");
    } catch (const YAML::Exception& e) {
      throw UserError(ErrorKind::bad_input, place(e.mark), "is no YAML: " + e.msg);
    }
  }
  std::string place(const YAML::Mark& m) const {
    return m.is_null() ? file_ : file_ + ":" + std::to_string(m.line + 1) + ":" + std::to_string(m.column + 1);
  }
  [[noreturn]] void fail(const YAML::Node& n, const std::string& message) const {
    throw UserError(ErrorKind::bad_input, place(n.Mark()), message);
  }

  void for_keys(const YAML::Node& map, const std::map<std::string, Action>& actions) const {
    if (!map.IsMap()) fail(map, "expected a map of keys");
    for (const auto& entry : map) {
      const auto key = entry.first.as<std::string>("");
      const auto it = actions.find(key);
      if (it == actions.end()) {
        std::vector<std::string> known;
        for (const auto& a : actions) known.push_back(a.first);
        fail(entry.first, "no key '" + key + "' here;" + did_you_mean(key, known) + " known: " + join(known));
      }
      it->second(entry.second);
    }
  }
  void read_list(const YAML::Node& list, const Action& action) const {
    if (list.IsNull()) return;
    if (!list.IsSequence()) fail(list, "expected a list");
    for (const YAML::Node& n : list) action(n);
  }
  void check_version(const YAML::Node& v) const {
    if (v.as<std::string>("") != "1") fail(v, "expected version 1");
  }
  std::string text(const YAML::Node& v) const {
    if (!v.IsScalar() || v.Scalar().empty()) fail(v, "expected a name");
    return v.Scalar();
  }
  int64_t number(const YAML::Node& v, int64_t least) const {
    const auto n = v.IsScalar() ? v.as<int64_t>(-1) : -1;
    if (n < least) fail(v, "expected an integer of at least " + std::to_string(least));
    return n;
  }
  // One of two words.
  bool word(const YAML::Node& v, const char* yes, const char* no) const {
    const auto w = v.as<std::string>("");
    if (w != yes && w != no) fail(v, std::string("expected ") + yes + " or " + no);
    return w == yes;
  }

  void read_layer(const YAML::Node& node) {
    std::string name;
    LayerChoice c;
    c.where = place(node.Mark());
    TilingRequest& t = c.tiling;
    const auto size = [&](std::optional<int64_t>& field, int64_t least) {
      return [this, &field, least](const YAML::Node& v) { field = number(v, least); };
    };
    for_keys(node, {{"layer", [&](const YAML::Node& v) { name = text(v); }},
                    {"engine", [&](const YAML::Node& v) { read_engine(v, t); }},
                    {"order", [&](const YAML::Node& v) { t.channels_outer = word(v, "channels-outer", "rows-outer"); }},
                    {"input", [&](const YAML::Node& v) { t.whole_input = word(v, "whole", "chunk"); }},
                    {"rows", size(t.rows, 1)},
                    {"columns", size(t.columns, 1)},
                    {"output_blocks", size(t.blocks, 1)},
                    {"input_blocks", size(t.in_blocks, 1)},
                    {"kernel_rows", size(t.kernel_rows, 1)},
                    {"kernel_columns", size(t.kernel_columns, 1)},
                    {"vector_blocks", size(t.vector_blocks, 0)},
                    {"vector_rows", size(t.vector_rows, 0)}});
    if (name.empty()) fail(node, "expected a key 'layer'");
    if (!schedule_.layers.emplace(name, std::move(c)).second) fail(node, "layer '" + name + "' is given twice");
  }
  void read_engine(const YAML::Node& v, TilingRequest& t) const {
    const auto w = v.as<std::string>("");
    if (w != "matrix" && w != "vector" && w != "shared") fail(v, "expected matrix, vector or shared");
    t.on_matrix = w != "vector";
    t.shared = w == "shared";
  }
  void read_tensor(const YAML::Node& node) {
    std::string name;
    TensorChoice c;
    c.where = place(node.Mark());
    for_keys(node, {{"tensor", [&](const YAML::Node& v) { name = text(v); }},
                    {"keep", [&](const YAML::Node& v) { c.in_scratchpad = word(v, "scratchpad", "dram"); }}});
    if (name.empty()) fail(node, "expected a key 'tensor'");
    if (!schedule_.tensors.emplace(name, std::move(c)).second) fail(node, "tensor '" + name + "' is given twice");
  }

  std::string file_;
  UserSchedule schedule_;
};

void emit(YAML::Emitter& out, const ChosenSchedule::LayerRow& row) {
  const LayerTiling& t = row.tiling;
  const bool shared = t.vector_blocks > 0 || t.vector_rows > 0;
  const auto entry = [&](const char* key, int64_t value) { out << YAML::Key << key << YAML::Value << value; };
  out << YAML::BeginMap << YAML::Key << "layer" << YAML::Value << row.name;
  out << YAML::Key << "engine" << YAML::Value << (!t.on_matrix ? "vector" : shared ? "shared" : "matrix");
  out << YAML::Comment(std::to_string(static_cast<int64_t>(t.cycles)) + " cycles modelled" +
                       (t.on_matrix ? t.keep_weights ? ", weights loaded once" : ", weights streamed" : ""));
  if (t.on_matrix) {
    out << YAML::Key << "order" << YAML::Value << (t.channels_outer ? "channels-outer" : "rows-outer");
    out << YAML::Key << "input" << YAML::Value << (t.whole_input ? "whole" : "chunk");
  }
  entry("rows", t.rows);
  entry("columns", t.columns);
  entry("output_blocks", t.blocks);
  if (t.on_matrix) {
    entry("input_blocks", t.in_blocks);
    entry("kernel_rows", t.kernel_rows);
    entry("kernel_columns", t.kernel_columns);
  }
  if (shared) {
    entry("vector_blocks", t.vector_blocks);
    entry("vector_rows", t.vector_rows);
  }
  out << YAML::EndMap;
}

void check_sizes(const LayerChoice& c, const Network& net, const LayerPlan& layer, const HwConfig& hw) {
  const auto most = [&](const char* key, const std::optional<int64_t>& value, int64_t limit) {
    if (value && *value > limit)
      throw UserError(ErrorKind::bad_input, c.where, std::string(key) + ": " + std::to_string(*value) + " is more than the layer has (" + std::to_string(limit) + ")");
  };
  const TensorPlan &x = net.tensors[layer.x], &y = net.tensors[layer.y];
  const TilingRequest& t = c.tiling;
  most("rows", t.rows, y.shape.h);
  most("columns", t.columns, y.shape.w);
  most("output_blocks", t.blocks, std::max(ceil_div(y.shape.c, hw.cols) + 1, y.blocks));
  most("input_blocks", t.in_blocks, x.blocks);
  most("kernel_rows", t.kernel_rows, layer.window.kernel[0]);
  most("kernel_columns", t.kernel_columns, layer.window.kernel[1]);
  most("vector_blocks", t.vector_blocks, y.blocks);
  most("vector_rows", t.vector_rows, y.shape.h);
  const bool matrix = t.on_matrix.value_or(false);
  if (matrix && !layer.conv) throw UserError(ErrorKind::bad_input, c.where, "engine: only convolutions run on MATRIX; expected vector");
  if (!t.on_matrix.value_or(true) && layer.kind == LayerKind::conv)
    throw UserError(ErrorKind::bad_input, c.where, "engine: this convolution runs on MATRIX only; expected matrix");
  if (t.shared.value_or(false) && layer.kind != LayerKind::depthwise)
    throw UserError(ErrorKind::bad_input, c.where, "engine: only depthwise layers can be shared");
}

template <typename Row>
bool has(const std::vector<Row>& rows, const std::string& name) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
}

template <typename Choice, typename Row>
void check(const std::map<std::string, Choice>& choices, const std::vector<ChosenSchedule>& regions,
           std::vector<Row> ChosenSchedule::*rows, const char* what) {
  for (const auto& [name, choice] : choices) {
    std::vector<std::string> known;
    bool found = false;
    for (const ChosenSchedule& r : regions) {
      found |= has(r.*rows, name);
      for (const Row& row : r.*rows) known.push_back(row.name);
    }
    if (found) continue;
    throw UserError(ErrorKind::bad_input, choice.where,
                    std::string("the accelerator has no ") + what + " '" + name + "'" +
                        ";" + did_you_mean(name, known) + " dlc compile --emit-schedule lists all");
  }
}

}  // namespace

UserSchedule load_schedule(const std::string& path) { return Reader(path).read(); }

void apply_schedule(const UserSchedule& schedule, const Network& net, const HwConfig& hw, PlanLimits& limits) {
  limits.requests.resize(net.layers.size());
  limits.request_places.resize(net.layers.size());
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const auto it = schedule.layers.find(net.info[i].name);
    if (it == schedule.layers.end()) continue;
    check_sizes(it->second, net, net.layers[i], hw);
    limits.requests[i] = it->second.tiling;
    limits.request_places[i] = it->second.where;
  }
  for (int t = 0; t < static_cast<int>(net.tensors.size()); ++t) {
    const auto it = schedule.tensors.find(net.tensors[t].name);
    if (it == schedule.tensors.end() || net.tensors[t].place.root >= 0) continue;
    (it->second.in_scratchpad ? limits.kept : limits.evicted).insert(t);
  }
}

ChosenSchedule chosen_schedule(const Network& net, const std::vector<LayerTiling>& tilings) {
  ChosenSchedule c;
  for (size_t i = 0; i < tilings.size(); ++i) c.layers.push_back({net.info[i].name, tilings[i]});
  for (const TensorPlan& t : net.tensors)
    if (t.place.root < 0 && !t.constant) c.tensors.push_back({t.name, t.resident});
  return c;
}

std::string schedule_text(const std::vector<ChosenSchedule>& regions) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "version" << YAML::Value << 1;
  out << YAML::Key << "layers" << YAML::Value << YAML::BeginSeq;
  for (const ChosenSchedule& r : regions)
    for (const auto& row : r.layers) emit(out, row);
  out << YAML::EndSeq << YAML::Key << "tensors" << YAML::Value << YAML::BeginSeq;
  for (const ChosenSchedule& r : regions)
    for (const auto& row : r.tensors)
      out << YAML::BeginMap << YAML::Key << "tensor" << YAML::Value << row.name << YAML::Key << "keep" << YAML::Value
          << (row.in_scratchpad ? "scratchpad" : "dram") << YAML::EndMap;
  out << YAML::EndSeq << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

void check_names(const UserSchedule& schedule, const std::vector<ChosenSchedule>& regions) {
  check(schedule.layers, regions, &ChosenSchedule::layers, "layer");
  check(schedule.tensors, regions, &ChosenSchedule::tensors, "tensor");
}

}  // namespace dlc::accel
