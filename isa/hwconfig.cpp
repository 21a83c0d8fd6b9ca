// Hardware description: YAML -> HwConfig and back. What is allowed is in hwconfig_schema.cpp (one parameter)
// and hwconfig_rules.cpp (between parameters); this file knows YAML and places.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "isa/error.h"
#include "isa/hash.h"
#include "isa/hwconfig_schema.h"
#include "isa/near_name.h"
#include "isa/program_file.h"

namespace dlc {
namespace {

using Kind = HwParameter::Kind;

class HwReader {
 public:
  explicit HwReader(std::string file) : file_(std::move(file)) {}

  HwConfig read(const YAML::Node& root) {
    HwConfig hw;
    hw.file = file_;
    read_map(root, "");
    for (const HwParameter& p : hwconfig_schema()) {
      const auto found = values_.find(p.path);
      p.set(hw, found != values_.end() ? parse(p, found->second) : initial(p, root, hw));
    }
    for (const HwFault& fault : check_hwconfig(hw)) {
      const auto found = values_.find(fault.path);
      fail(found != values_.end() ? found->second : root, fault.path + ": " + fault.message);
    }
    return hw;
  }

 private:
  [[noreturn]] void fail(const YAML::Node& node, const std::string& message,
                         ErrorKind kind = ErrorKind::bad_input) const {
    const YAML::Mark mark = node.Mark();
    throw UserError(kind,
                    mark.is_null() ? file_ : fmt::format("{}:{}:{}", file_, mark.line + 1, mark.column + 1),
                    message);
  }

  // Keys that the schema knows at `prefix` ("" or "array."), in its order.
  static std::vector<std::string> keys_at(const std::string& prefix) {
    std::vector<std::string> keys;
    for (const HwParameter& p : hwconfig_schema()) {
      const std::string path = p.path;
      if (!path.starts_with(prefix)) continue;
      const std::string key = path.substr(prefix.size(), path.find('.', prefix.size()) - prefix.size());
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    return keys;
  }

  static bool is_parameter(const std::string& path) {
    const auto& schema = hwconfig_schema();
    return std::any_of(schema.begin(), schema.end(), [&](const HwParameter& p) { return p.path == path; });
  }

  // Collects the leaves into values_; checks keys.
  void read_map(const YAML::Node& node, const std::string& prefix) {
    const std::vector<std::string> known = keys_at(prefix);
    const std::string where =
        prefix.empty() ? "the hardware description" : "'" + prefix.substr(0, prefix.size() - 1) + "'";
    if (!node.IsMap())
      fail(node, fmt::format("{}: expected a mapping with the keys {}", where, fmt::join(known, ", ")));
    maps_[prefix] = node;
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        fail(entry.first, fmt::format("unknown key '{}' in {};{} expected one of {}", key, where,
                                      did_you_mean(key, known), fmt::join(known, ", ")));
      }
      if (!seen.insert(key).second)
        fail(entry.first, fmt::format("duplicate key '{}' in {}; expected it once", key, where));
      const std::string path = prefix + key;
      if (is_parameter(path)) {
        values_[path] = entry.second;
      } else {
        read_map(entry.second, path + ".");
      }
    }
  }

  // `hw` holds the parameters of the schema's rows above.
  HwValue initial(const HwParameter& p, const YAML::Node& root, const HwConfig& hw) const {
    const std::string derived = p.initial_from ? p.initial_from(hw) : "";
    if (!derived.empty()) return parse(p, YAML::Load(derived));
    if (p.initial) return parse(p, YAML::Load(p.initial));
    // Blame the innermost map that exists.
    std::string path = p.path;
    const YAML::Node* map = &root;
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
      const auto found = maps_.find(path.substr(0, dot + 1));
      if (found != maps_.end()) map = &found->second;
    }
    fail(*map, fmt::format("{}: missing; expected {} ({})", p.path, expectation(p), p.doc));
  }

  HwValue parse(const HwParameter& p, const YAML::Node& node) const {
    if (p.kind == Kind::list) return parse_list(p, node);
    if (!node.IsScalar()) {
      const char* got = node.IsMap() ? "a mapping" : node.IsSequence() ? "a list" : "nothing";
      fail(node, fmt::format("{}: expected {}, got {}", p.path, expectation(p), got));
    }
    HwValue value;
    value.text = node.Scalar();
    if (!parse_scalar(p, value))
      fail(node, fmt::format("{}: expected {}, got {}", p.path, expectation(p),
                             value.text.empty() ? "nothing" : value.text));
    if (p.kind == Kind::choice) check_implemented(p, node, value.text);
    if (p.implemented_max > 0 && value.integer > p.implemented_max) {
      fail(node,
           fmt::format("{}: {} is not implemented by this version of dlc; use {}", p.path, value.integer,
                       p.implemented_max),
           ErrorKind::unsupported);
    }
    return value;
  }

  void check_implemented(const HwParameter& p, const YAML::Node& node, const std::string& choice) const {
    if (std::find(p.implemented.begin(), p.implemented.end(), choice) != p.implemented.end()) return;
    const std::string mend =
        p.implemented.empty() || p.kind == Kind::list ? "leave it out" : fmt::format("use {}", fmt::join(p.implemented, ", "));
    fail(node, fmt::format("{}: {} is not implemented by this version of dlc; {}", p.path, choice, mend),
         ErrorKind::unsupported);
  }

  HwValue parse_list(const HwParameter& p, const YAML::Node& node) const {
    if (!node.IsSequence()) fail(node, fmt::format("{}: expected {}", p.path, expectation(p)));
    HwValue value;
    for (const YAML::Node& item : node) {
      const std::string text = item.IsScalar() ? item.Scalar() : "";
      if (!is_choice(p, text)) {
        fail(item, fmt::format("{}: expected {}, got {}", p.path, expectation(p),
                               text.empty() ? "something else" : text));
      }
      check_implemented(p, item, text);
      value.items.push_back(text);
    }
    return value;
  }

  static bool is_choice(const HwParameter& p, const std::string& text) {
    return std::any_of(p.choices.begin(), p.choices.end(),
                       [&](const char* choice) { return text == choice; });
  }

  static bool is_name(const std::string& text) {
    return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '-' || c == '_' || c == '.';
    });
  }

  // Sets the member that the kind uses; false if the text is not what is expected.
  static bool parse_scalar(const HwParameter& p, HwValue& value) {
    const auto in_range = [&](std::optional<int64_t> number) {
      if (!number || *number < p.min || *number > p.max) return false;
      value.integer = *number;
      return !p.power_of_two || std::has_single_bit(static_cast<uint64_t>(*number));
    };
    switch (p.kind) {
      case Kind::name:
        return is_name(value.text);
      case Kind::choice:
        return is_choice(p, value.text);
      case Kind::integer:
        return in_range(parse_integer(value.text));
      case Kind::bytes:
        return in_range(parse_bytes(value.text));
      case Kind::bits:
        return in_range(parse_with_unit(value.text, "bit"));
      case Kind::cycles:
        return in_range(parse_with_unit(value.text, "cycles"));
      case Kind::nanometres:
        return in_range(parse_nanometres(value.text));
      case Kind::rate: {
        constexpr int64_t kLimit = 1'000'000'000;  // products of it with burst lengths stay far below 2^63
        const auto rate = parse_rate(value.text);
        if (rate) value.rate = *rate;
        return rate && rate->num > 0 && rate->num <= kLimit && rate->den <= kLimit;
      }
      case Kind::frequency: {
        const auto megahertz = parse_megahertz(value.text);
        if (megahertz) value.megahertz = *megahertz;
        return megahertz && *megahertz >= static_cast<double>(p.min) &&
               *megahertz <= static_cast<double>(p.max);
      }
      case Kind::list:
        break;
    }
    return false;
  }

  std::string file_;
  std::map<std::string, YAML::Node> values_;  // by parameter path
  std::map<std::string, YAML::Node> maps_;    // by prefix
};

// Canonical text without the name: what the hash covers.
std::string parameters_text(const HwConfig& hw) {
  std::string out, previous;
  for (const HwParameter& p : hwconfig_schema()) {
    const std::string path = p.path;
    if (path == "name") continue;
    for (size_t start = 0, depth = 0;; ++depth) {
      const size_t dot = path.find('.', start);
      if (dot == std::string::npos) {
        out += fmt::format("{:{}}{}: {}\n", "", depth * 2, path.substr(start), p.text(hw));
        break;
      }
      if (!previous.starts_with(path.substr(0, dot + 1))) {
        out += fmt::format("{:{}}{}:\n", "", depth * 2, path.substr(start, dot - start));
      }
      start = dot + 1;
    }
    previous = path;
  }
  return out;
}

class IgnoreEvents : public YAML::EventHandler {
  using Mark = YAML::Mark;
  using Anchor = YAML::anchor_t;
  using Style = YAML::EmitterStyle::value;
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, Anchor) override {}
  void OnAlias(const Mark&, Anchor) override {}
  void OnScalar(const Mark&, const std::string&, Anchor, const std::string&) override {}
  void OnSequenceStart(const Mark&, const std::string&, Anchor, Style) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const std::string&, Anchor, Style) override {}
  void OnMapEnd() override {}
};

// Not YAML::LoadAll: it never ends on some malformed texts (",").
bool has_several_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  IgnoreEvents ignore;
  return parser.HandleNextDocument(ignore) && parser.HandleNextDocument(ignore);
}

}  // namespace

HwConfig parse_hwconfig(std::string_view yaml, const std::string& file_name) {
  try {
    const std::string text(yaml);
    const YAML::Node root = YAML::Load(text);
    const bool several = has_several_documents(text);
    if (several || root.IsNull()) {
      throw UserError(ErrorKind::bad_input, file_name,
                      fmt::format("expected one YAML document with a hardware description, got {}",
                                  several ? "several" : "an empty file"));
    }
    return HwReader(file_name).read(root);
  } catch (const YAML::Exception& e) {
    throw UserError(
        ErrorKind::bad_input, fmt::format("{}:{}:{}", file_name, e.mark.line + 1, e.mark.column + 1),
        fmt::format("not valid YAML: {}; expected a hardware description such as hwconfigs/edge-16.yaml",
                    e.msg));
  }
}

HwConfig load_hwconfig(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw UserError(ErrorKind::bad_input, path,
                    "is a directory; expected a hardware description (YAML file)");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw UserError(ErrorKind::bad_input, path,
                    "cannot be read; expected a hardware description such as hwconfigs/edge-16.yaml");
  }
  return parse_hwconfig(std::string{std::istreambuf_iterator<char>(in), {}}, path);
}

std::string canonical_yaml(const HwConfig& hw) {
  return fmt::format("name: {}\n", hw.name) + parameters_text(hw);
}

uint64_t hwconfig_hash(const HwConfig& hw) { return fnv1a(parameters_text(hw)); }

}  // namespace dlc
