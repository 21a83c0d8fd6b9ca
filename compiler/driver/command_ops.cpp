// dlc ops: the importer's table and the lowerings' table, side by side.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "compiler/driver/commands.h"
#include "compiler/driver/hw_file.h"
#include "compiler/onnx/import_onnx.h"
#include "compiler/quantize/quantize_qdq.h"
#include "isa/program_file.h"

namespace dlc {
namespace {

using Row = std::array<std::string, 5>;

Row row_of(const onnx_import::OperatorInfo& o, const HwConfig* hw) {
  const std::string domain = o.domain.empty() ? "ai.onnx" : o.domain;
  const std::string since = std::to_string(o.first_opset) + "+";
  if (o.composite) return {o.op, domain, since, "its parts", o.note == o.domain ? "" : o.note};
  quantize::MachineOperator machine = quantize::machine_operator(o.op);
  std::string limits = o.note;
  if (!machine.limits.empty()) limits += (limits.empty() ? "" : "; ") + ("on the machine: " + machine.limits);
  if (hw && machine.becomes == "qlut" && !hw->has_lut()) {
    machine.becomes.clear();
    limits = hw->name + " has no look-up tables (vector.functions: [lut])";
  }
  return {o.op, domain, since, machine.becomes.empty() ? "host" : machine.becomes, limits};
}

void print_text(const std::vector<Row>& rows) {
  std::array<size_t, 5> width{};
  for (const Row& r : rows)
    for (size_t i = 0; i < r.size(); ++i) width[i] = std::max(width[i], r[i].size());
  for (const Row& r : rows) {
    for (size_t i = 0; i + 1 < r.size(); ++i) std::printf("%-*s  ", static_cast<int>(width[i]), r[i].c_str());
    std::printf("%s\n", r.back().c_str());
  }
}

void print_markdown(std::vector<Row> rows) {
  rows.insert(rows.begin() + 1, Row{"---", "---", "---", "---", "---"});
  for (const Row& r : rows) {
    std::printf("|");
    for (const std::string& cell : r) std::printf(" %s |", cell.c_str());
    std::printf("\n");
  }
}

}  // namespace

int command_ops(const Options& options, bool markdown) {
  std::optional<HwConfig> hw;
  if (!options.hw.empty()) hw = load_hwconfig(find_hw_file(options.hw));
  std::vector<Row> rows{{"operator", "domain", "opset", "accelerator", "limits"}};
  for (const onnx_import::OperatorInfo& o : onnx_import::known_operators())
    rows.push_back(row_of(o, hw ? &*hw : nullptr));
  markdown ? print_markdown(std::move(rows)) : print_text(rows);
  std::printf(
      "\nAccelerator operators need 8-bit operands (int8 or uint8, any zero point; QuantizeLinear and "
      "DequantizeLinear\n"
      "around them, or a float network that dlc quantises itself). Whatever an accelerator lacks, and float, "
      "runs\n"
      "on the host's reference backend, named with the reason in the report.\n");
  return 0;
}

}  // namespace dlc
