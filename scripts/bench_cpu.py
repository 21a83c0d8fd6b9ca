"""Table of `scripts/bench cpu`: dlc's CPU backend beside ONNX Runtime on the same files, threads and inputs.

The two are run in turns, so that a busy machine disturbs both; the best time of all turns counts.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import time

ASSETS = "../shared/assets/models"
BERT = {"batch": 1, "max_seq_len_in_batch": 8}
MODELS = [
    ("mobilenetv2_int8_qdq", "mobilenetv2_int8_qdq/model.onnx", {}),
    ("light_resnet50", "onnx_light/light_resnet50.onnx", {}),
    ("light_squeezenet", "onnx_light/light_squeezenet.onnx", {}),
    ("ultraface", "ultraface/version-RFB-320.onnx", {}),
    ("ort_bert_toy", "ort_bert_toy/model.onnx", BERT),
]
TURNS = 3


def dlc_ms(dlc, path, dims, threads, runs):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [dlc, "run", "--engine", "cpu", path, "-q", "-j", str(threads), "--repeat", str(runs), "--report", report.name]
        for name, value in dims.items():
            command += ["--dim", f"{name}={value}"]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise RuntimeError(run.stderr.strip())
        result = json.load(open(report.name))
        return result["run_seconds"]["cpu"] * 1e3, result["cpu"]["jit_seconds"]


def onnxruntime_ms(path, dims, threads, runs):
    try:
        import numpy as np
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8}
    feed = {}
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) else int(dims.get(d, 1)) for d in i.shape]
        feed[i.name] = np.random.RandomState(0).rand(*shape).astype(types[i.type])
    best = math.inf
    for _ in range(runs):
        begin = time.perf_counter()
        session.run(None, feed)
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


def main():
    dlc, runs = sys.argv[1], int(sys.argv[2])
    print(f"{'network':<24} {'threads':>7} {'dlc ms':>9} {'onnxruntime ms':>15} {'ratio':>6} {'JIT s':>7}")
    ratios = []
    for name, file, dims in MODELS:
        path = os.path.join(ASSETS, file)
        if not os.path.exists(path):
            print(f"{name:<24} skipped: {path} is absent")
            continue
        for threads in (1, 2):
            mine, other, jit = math.inf, math.inf, 0
            try:
                for _ in range(TURNS):
                    ms, seconds = dlc_ms(dlc, path, dims, threads, runs)
                    mine, jit = min(mine, ms), max(jit, seconds)
                    theirs = onnxruntime_ms(path, dims, threads, runs)
                    other = min(other, theirs) if theirs is not None else other
            except RuntimeError as error:
                print(f"{name:<24} {threads:>7} does not run: {error}", flush=True)
                continue
            ratio = other / mine
            if math.isfinite(other):
                ratios.append(ratio)
                print(f"{name:<24} {threads:>7} {mine:>9.3f} {other:>15.3f} {ratio:>6.2f} {jit:>7.3f}", flush=True)
            else:
                print(f"{name:<24} {threads:>7} {mine:>9.3f} {'-':>15} {'-':>6} {jit:>7.3f}", flush=True)
    if ratios:
        print(f"geometric mean of the ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
