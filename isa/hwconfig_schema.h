// The schema of the hardware description: one row a parameter. Parsing, error messages, canonical YAML and
// the reference table in hwconfigs/README.md all come from it.
//
// How to add a hardware parameter: a member in hwconfig.h, a row here, a rule in hwconfig_rules.cpp if it
// depends on others, the files in hwconfigs/, and whoever uses it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "isa/hwconfig.h"
#include "isa/quantity.h"

namespace dlc {

// One value as parsed from the YAML; the member that its kind uses is set.
struct HwValue {
  int64_t integer = 0;  // integer, bytes, bits, cycles, nanometres
  double megahertz = 0;
  Rational rate;
  std::string text;                // name, choice
  std::vector<std::string> items;  // list
};

struct HwParameter {
  enum class Kind { name, integer, bytes, bits, cycles, rate, frequency, nanometres, choice, list };
  const char* path = "";  // "scratchpad.weight.size"
  Kind kind = Kind::integer;
  int64_t min = 0, max = 0;                // integer kinds, in the unit
  bool power_of_two = false;               // integer kinds
  const char* initial = nullptr;           // value if the key is left out; null: the key is required
  const char* initial_doc = nullptr;       // instead of `initial` in the reference table
  // Instead of `initial`, from the parameters in the rows above; an empty text: the key is required.
  std::function<std::string(const HwConfig&)> initial_from{};
  std::vector<const char*> choices{};      // choice and list: what is known
  std::vector<const char*> implemented{};  // choice and list: what this version can do (others: exit 3)
  int64_t implemented_max = 0;             // integer kinds: more than this is known but not done; 0: no limit
  const char* doc = "";
  std::function<void(HwConfig&, const HwValue&)> set{};
  std::function<std::string(const HwConfig&)> text{};  // as written in the canonical YAML
};

const std::vector<HwParameter>& hwconfig_schema();

// "a power of two from 4 to 128", "a size such as '64 KiB', ...".
std::string expectation(const HwParameter& parameter);

// The parameters as a Markdown table.
std::string hwconfig_reference();

// Rules between parameters. Empty if fine; else path of the parameter to blame and what was expected.
struct HwFault {
  std::string path, message;
};
std::vector<HwFault> check_hwconfig(const HwConfig& hw);

}  // namespace dlc
