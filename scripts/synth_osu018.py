"""OSU 0.18 um: yosys and abc onto qflow's standard cells, hierarchy kept (every module once), then OpenSTA.

Scratchpads (dlc_scratchpad_bank) are black boxes. Their figures are a formula, not a macro's data sheet:
  area   = bits * cell * (1 + PORT * (ports - 1)) / EFFICIENCY, ports = 1 write + the read ports
  access = ACCESS + ACCESS_PER_DOUBLING * log2(words)
A six-transistor cell is about 600 lambda^2 (D. J. Greaves, University of Cambridge, SoC Design lectures 2011, "45nm
SRAM Memory Area and Power Consumption", interpolating CACTI); lambda = 0.09 um in this process. What a port, the
periphery and an access cost are assumptions.
"""
import json
import math
import re
import subprocess

LIBERTY = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"
LAMBDA_UM = 0.09
CELL_UM2 = 600 * LAMBDA_UM**2  # 4.86
PORT = 0.6                     # area of every port beyond the first, as a share of the cell
EFFICIENCY = 0.6               # cells / whole macro
ACCESS_NS = 1.2
ACCESS_PER_DOUBLING_NS = 0.1
SETUP_NS = 0.3
THRESHOLDS = "".join(f"{kind}_threshold_pct_{edge} : {value}; " for edge in ("rise", "fall")
                     for kind, value in (("slew_upper", 80), ("slew_lower", 20), ("input", 50), ("output", 50))) + "\n"
ABC = "+strash;&get,-n;&nf,{D};&put;buffer,-c;upsize,{D};dnsize,{D};stime,-p"
TARGET_PS = 6600               # what abc sizes for


def run(command, log, cwd):
    with open(log, "w") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, cwd=cwd).returncode
    if status != 0:
        raise SystemExit(f"error: {command[0]} failed; see {log}")


def yosys(script, folder, name):
    (folder / f"{name}.ys").write_text(script)
    run(["yosys", "-q", "-s", f"{name}.ys"], folder / f"{name}.log", folder)


def cell_areas():
    text = open(LIBERTY).read()
    return {m[1]: float(m[2]) for m in re.finditer(r"cell\s*\((\w+)\)\s*\{.*?area\s*:\s*([\d.]+)", text, re.S)}


def elaborate(rtl, folder, top):
    """Writes elaborated.il, in which every module has a short name (dlc_pe, dlc_pe_1, ...)."""
    files = " ".join(str(rtl / f) for f in (rtl / "files.f").read_text().split())
    yosys(f"read_verilog -sv {files}\nhierarchy -check -top {top}\nproc\nblackbox *dlc_scratchpad_bank*\n"
          "write_rtlil raw.il\n", folder, "elaborate")
    text = (folder / "raw.il").read_text()
    names, taken = {}, set()
    for module in re.findall(r"^module (\S+)", text, re.M):
        base = re.search(r"dlc_\w+", module)[0]
        name = next(n for n in [base] + [f"{base}_{k}" for k in range(1, 10000)] if n not in taken)
        taken.add(name)
        names[module] = "\\" + name
    renamed = re.sub(r"^( *(?:module|cell) )(\S+)", lambda m: m[1] + names.get(m[2], m[2]), text, flags=re.M)
    (folder / "elaborated.il").write_text(renamed)


def bank_of(module):
    """Shape of a black-boxed scratchpad bank, from its ports."""
    width = {name: len(port["bits"]) for name, port in module["ports"].items()}
    words, ports = 2 ** width["waddr_i"], 1 + width["re_i"]
    bits = words * width["wdata_i"]
    return {"words": words, "width": width["wdata_i"], "read_ports": width["re_i"], "bits": bits,
            "area_um2": round(bits * CELL_UM2 * (1 + PORT * (ports - 1)) / EFFICIENCY),
            "access_ns": round(ACCESS_NS + ACCESS_PER_DOUBLING_NS * math.log2(words), 3)}


def bank_liberty(name, module, bank):
    """A Liberty library with the bank's set-up and access times, so that paths to and from it are analysed."""
    pins, types = [], {}
    for pin, port in module["ports"].items():
        if pin == "clk_i":
            pins.append("pin(clk_i) { direction : input; clock : true; capacitance : 0.05; }")
            continue
        n = len(port["bits"])
        types[n] = (f"type(bus{n}) {{ base_type : array; data_type : bit; bit_width : {n}; bit_from : {n - 1}; "
                    "bit_to : 0; downto : true; }")
        if port["direction"] == "input":
            body = ("direction : input; capacitance : 0.01; timing() { related_pin : \"clk_i\"; "
                    "timing_type : setup_rising; " +
                    " ".join(f'{edge}_constraint(scalar) {{ values("{SETUP_NS}"); }}' for edge in ("rise", "fall")) +
                    " }")
        else:
            body = ("direction : output; timing() { related_pin : \"clk_i\"; timing_type : rising_edge; " +
                    " ".join(f'cell_{edge}(scalar) {{ values("{bank["access_ns"]}"); }} '
                             f'{edge}_transition(scalar) {{ values("0.1"); }}' for edge in ("rise", "fall")) + " }")
        pins.append(f"bus({pin}) {{ bus_type : bus{n}; {body} }}")
    return (f'library(sram_{name}) {{ delay_model : table_lookup; time_unit : "1ns"; voltage_unit : "1V"; '
            'current_unit : "1uA"; capacitive_load_unit (1,pf); ' + THRESHOLDS + "\n".join(types.values()) +
            f"\ncell({name}) {{ area : {bank['area_um2']};\n" + "\n".join(pins) + "\n} }\n")


def synthesise(rtl, folder, top):
    elaborate(rtl, folder, top)
    (folder / "abc.constr").write_text("set_driving_cell INVX4\nset_load 0.05 [all_outputs]\n")
    yosys(f"read_rtlil elaborated.il\nsynth -top {top}\ndfflibmap -liberty {LIBERTY}\n"
          f"abc -liberty {LIBERTY} -constr abc.constr -D {TARGET_PS} -script {ABC}\n"
          "setundef -zero\nsplitnets\nopt_clean -purge\nrename -enumerate\n"
          "write_verilog -noattr -noexpr -nodec -norename -simple-lhs netlist.v\nwrite_json netlist.json\n", folder, "synth")
    return json.load(open(folder / "netlist.json"))["modules"]


class Area:
    """Cell area, flip-flops and SRAM bits of modules with all that they contain."""

    def __init__(self, modules):
        self.modules, self.cells, self.known = modules, cell_areas(), {}
        self.banks = {m: bank_of(d) for m, d in modules.items() if "dlc_scratchpad_bank" in m}

    def of(self, module):
        if module in self.known:
            return self.known[module]
        total = {"cells_um2": 0.0, "flip_flops": 0, "sram_bits": 0, "sram_um2": 0}
        for cell in self.modules[module]["cells"].values():
            part = self.of_type(cell["type"])
            total = {k: total[k] + part[k] for k in total}
        self.known[module] = total
        return total

    def of_type(self, kind):
        if kind in self.banks:
            bank = self.banks[kind]
            return {"cells_um2": 0.0, "flip_flops": 0, "sram_bits": bank["bits"], "sram_um2": bank["area_um2"]}
        if kind in self.modules:
            return self.of(kind)
        if kind not in self.cells:
            raise SystemExit(f"error: cell {kind} was not mapped to the library")
        return {"cells_um2": self.cells[kind], "flip_flops": int(kind.startswith("DFF")), "sram_bits": 0,
                "sram_um2": 0}

    def instances(self, module, count, into):
        into[module] = into.get(module, 0) + count
        for cell in self.modules[module]["cells"].values():
            if cell["type"] in self.modules:
                self.instances(cell["type"], count, into)
        return into


def register_name(modules, top, path):
    """`u_matrix.act_addr_q[3]` in `dlc_matrix` for OpenSTA's instance path `u_matrix/_123_`."""
    *steps, cell = path.split("/")
    module = top
    for step in steps:
        module = modules[module]["cells"][step]["type"]
    found = modules[module]["cells"].get(cell)
    if found is None:
        return path, module
    if found["type"] in modules:  # an SRAM
        return path.replace("/", "."), module
    bit = found["connections"]["Q"][0]
    for name, net in modules[module]["netnames"].items():
        if bit in net["bits"] and not net.get("hide_name"):
            index = f"[{net['bits'].index(bit)}]" if len(net["bits"]) > 1 else ""
            return ".".join(steps + [name + index]), module
    return path, module


def timing(modules, folder, top):
    """Longest path of `top` by OpenSTA: registers, SRAMs, inputs that arrive with the clock edge."""
    banks = [m for m in modules if "dlc_scratchpad_bank" in m]
    for bank in banks:
        (folder / f"{bank}.lib").write_text(bank_liberty(bank, modules[bank], bank_of(modules[bank])))
    libraries = "".join(f"read_liberty {bank}.lib\n" for bank in banks)
    (folder / f"sta_{top}.tcl").write_text(
        f"read_liberty {LIBERTY}\n{libraries}read_verilog netlist.v\nlink_design {top}\n"
        "create_clock -name clk -period 10 [get_ports clk_i]\n"
        "foreach p [all_inputs] { if {[get_property $p full_name] ne \"clk_i\"} { set_input_delay 0 -clock clk $p } }\n"
        "report_checks -path_delay max -format full -digits 3\nexit\n")
    log = folder / f"sta_{top}.log"
    run(["sta", "-no_splash", "-exit", f"sta_{top}.tcl"], log, folder)
    text = log.read_text()
    slack = re.search(r"(-?[\d.]+)\s+slack", text)
    if not slack:
        raise SystemExit(f"error: no path found; see {log}")
    period = 10 - float(slack[1])
    ends = [re.search(r"%s: (\S+)" % which, text)[1] for which in ("Startpoint", "Endpoint")]
    (start, start_module), (end, end_module) = [register_name(modules, top, e) for e in ends]
    steps = re.findall(r"^\s*([\d.]+)\s+([\d.]+) [v^] (\S+) \((\w+)\)", text, re.M)
    return {"period_ns": round(period, 3), "fmax_mhz": round(1000 / period, 1), "start": start,
            "start_module": start_module, "end": end, "end_module": end_module, "gates": max(0, len(steps) - 3),
            "report": str(log)}
