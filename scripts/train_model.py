#!/usr/bin/env python3
"""Train dlc's own test model and export it as float and as int8 (QDQ) ONNX.

The model is a small residual CNN for CIFAR-10 (see ARCH below).  Three steps,
which --stage selects (default: all of them):

  train     needs torch + numpy; trains and writes CHECKPOINT (.npz)
  export    needs onnx + onnxruntime + numpy; folds the batch norms, writes the
            float ONNX, calibrates it on training images and writes the QDQ ONNX
  evaluate  needs onnxruntime + numpy; prints the top-1 of both on test1000

The network's input is 1x3x32x32 float, raw pixel values 0..255; the
normalisation is folded into the first convolution.  In training the images are
zero-padded *before* the normalisation, so that folding it is exact at the
borders too.

Environment used for the committed files (Debian 12):
  apt-get install python3-torch python3-venv
  /usr/bin/python3 -m venv --system-site-packages VENV
  VENV/bin/pip install onnx onnxruntime 'numpy<2'
  OMP_NUM_THREADS=1 VENV/bin/python scripts/train_model.py
"""

import argparse
import io
import lzma
import math
import os
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent

# ---------------------------------------------------------------------------
# The architecture: one list that the trainer, the exporter and the README share.
# Each entry is (kind, name, settings); a block's input is the output before it.
# ---------------------------------------------------------------------------
ARCH = [
    ("conv", "stem", dict(cin=3, cout=16, k=3, stride=1)),
    ("residual", "stage1.block0", dict(cin=16, mid=16, cout=16, stride=1)),
    ("residual", "stage2.block0", dict(cin=16, mid=32, cout=32, stride=2)),
    ("residual", "stage3.block0", dict(cin=32, mid=64, cout=64, stride=2)),
    ("dwsep", "stage3.block1", dict(cin=64, cout=64)),
    ("maxpool", "stage4.pool", dict(k=2, stride=2)),
    ("residual", "stage4.block0", dict(cin=64, mid=48, cout=64, stride=1)),
]
FEATURES = 64
CLASSES = 10


def conv_layers():
    """All convolutions as name -> dict(cin, cout, k, stride, groups)."""
    out = {}
    for kind, name, a in ARCH:
        if kind == "conv":
            out[f"{name}.conv"] = dict(cin=a["cin"], cout=a["cout"], k=a["k"], stride=a["stride"], groups=1)
        elif kind == "residual":
            out[f"{name}.conv1"] = dict(cin=a["cin"], cout=a["mid"], k=3, stride=a["stride"], groups=1)
            out[f"{name}.conv2"] = dict(cin=a["mid"], cout=a["cout"], k=3, stride=1, groups=1)
            if a["stride"] != 1 or a["cin"] != a["cout"]:
                out[f"{name}.shortcut"] = dict(cin=a["cin"], cout=a["cout"], k=1, stride=a["stride"], groups=1)
        elif kind == "dwsep":
            out[f"{name}.depthwise"] = dict(cin=a["cin"], cout=a["cin"], k=3, stride=1, groups=a["cin"])
            out[f"{name}.pointwise"] = dict(cin=a["cin"], cout=a["cout"], k=1, stride=1, groups=1)
    return out


# ---------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------
def load_train(data_dir):
    with lzma.open(data_dir / "train20000_u8_nhwc.npy.xz") as f:
        images = np.load(io.BytesIO(f.read()))
    labels = np.load(data_dir / "train20000_labels.npy").astype(np.int64)
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)), labels


def load_test(data_dir):
    images = np.load(data_dir / "test1000_u8_nhwc.npy")
    labels = np.load(data_dir / "test1000_labels.npy").astype(np.int64)
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)), labels


# ---------------------------------------------------------------------------
# Training (torch)
# ---------------------------------------------------------------------------
def train(args):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    rng = np.random.default_rng(args.seed)

    images, labels = load_train(args.data)
    if args.limit:
        images, labels = images[: args.limit], labels[: args.limit]
    # Statistics of the training images; both go into the checkpoint.
    mean = images.mean(axis=(0, 2, 3), dtype=np.float64).astype(np.float32)
    std = images.std(axis=(0, 2, 3), dtype=np.float64).astype(np.float32)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = nn.ModuleDict()
            self.norms = nn.ModuleDict()
            for name, c in conv_layers().items():
                # The stem's padding is done on the raw pixels (see prepare()).
                pad = 0 if name == "stem.conv" else c["k"] // 2
                key = name.replace(".", "/")
                self.convs[key] = nn.Conv2d(c["cin"], c["cout"], c["k"], c["stride"], pad,
                                            groups=c["groups"], bias=False)
                self.norms[key] = nn.BatchNorm2d(c["cout"])
                nn.init.kaiming_normal_(self.convs[key].weight, mode="fan_out", nonlinearity="relu")
            self.fc = nn.Linear(FEATURES, CLASSES)

        def layer(self, name, x):
            key = name.replace(".", "/")
            return self.norms[key](self.convs[key](x))

        def forward(self, x):
            for kind, name, a in ARCH:
                if kind == "conv":
                    x = F.relu(self.layer(f"{name}.conv", x))
                elif kind == "residual":
                    y = F.relu(self.layer(f"{name}.conv1", x))
                    y = self.layer(f"{name}.conv2", y)
                    if a["stride"] != 1 or a["cin"] != a["cout"]:
                        x = self.layer(f"{name}.shortcut", x)
                    x = F.relu(x + y)
                elif kind == "dwsep":
                    x = F.relu(self.layer(f"{name}.depthwise", x))
                    x = F.relu(self.layer(f"{name}.pointwise", x))
                elif kind == "maxpool":
                    x = F.max_pool2d(x, a["k"], a["stride"])
            return self.fc(x.mean(dim=(2, 3)))

    net = Net().to(memory_format=torch.channels_last)
    n = len(images)
    t_images = torch.from_numpy(images)
    reflected = F.pad(t_images.float(), (4, 4, 4, 4), mode="reflect").to(torch.uint8)
    t_labels = torch.from_numpy(labels)
    t_mean = torch.from_numpy(mean).view(1, 3, 1, 1)
    t_std = torch.from_numpy(std).view(1, 3, 1, 1)

    def prepare(raw):
        x = F.pad(raw.float(), (1, 1, 1, 1))  # zero padding of the stem, in pixel values
        return ((x - t_mean) / t_std).contiguous(memory_format=torch.channels_last)

    def augment(idx):
        b = len(idx)
        out = torch.empty((b, 3, 32, 32), dtype=torch.uint8)
        dy, dx = rng.integers(0, 9, b), rng.integers(0, 9, b)
        flip, cy, cx = rng.random(b) < 0.5, rng.integers(0, 32, b), rng.integers(0, 32, b)
        half = args.cutout // 2
        for i in range(b):
            img = reflected[idx[i], :, dy[i]: dy[i] + 32, dx[i]: dx[i] + 32]
            out[i] = img.flip(2) if flip[i] else img
            if half:
                out[i, :, max(cy[i] - half, 0): cy[i] + half, max(cx[i] - half, 0): cx[i] + half] = 120
        return out

    decay, plain = [], []
    for p in net.parameters():
        (decay if p.ndim > 1 else plain).append(p)
    opt = torch.optim.SGD([dict(params=decay, weight_decay=args.weight_decay), dict(params=plain, weight_decay=0.0)],
                          lr=args.lr, momentum=0.9, nesterov=True)
    per_epoch = n // args.batch
    total, warm = args.epochs * per_epoch, max(1, int(args.warmup * per_epoch))

    def save():
        arrays = dict(mean=mean, std=std)
        for name in conv_layers():
            key = name.replace(".", "/")
            c, b = net.convs[key], net.norms[key]
            arrays[f"{name}.weight"] = c.weight.detach().float().contiguous().numpy()
            scale = b.weight.detach() / torch.sqrt(b.running_var + b.eps)
            arrays[f"{name}.bn_scale"] = scale.numpy()
            arrays[f"{name}.bn_shift"] = (b.bias.detach() - b.running_mean * scale).numpy()
        arrays["head.fc.weight"] = net.fc.weight.detach().numpy()
        arrays["head.fc.bias"] = net.fc.bias.detach().numpy()
        args.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        tmp = args.checkpoint.with_suffix(".tmp.npz")
        np.savez(tmp, **arrays)
        os.replace(tmp, args.checkpoint)

    start, step = time.time(), 0
    for epoch in range(args.epochs):
        net.train()
        order = torch.from_numpy(rng.permutation(n))
        loss_sum = hits = seen = 0
        for k in range(per_epoch):
            idx = order[k * args.batch: (k + 1) * args.batch]
            if step < warm:
                lr = args.lr * (step + 1) / warm
            else:
                lr = args.lr * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))
            for g in opt.param_groups:
                g["lr"] = lr
            x, y = prepare(augment(idx)), t_labels[idx]
            with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
                logits = net(x)
            loss = F.cross_entropy(logits.float(), y, label_smoothing=args.label_smoothing)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            step += 1
            loss_sum += float(loss.detach()) * len(idx)
            hits += int((logits.detach().argmax(1) == y).sum())
            seen += len(idx)
        print(f"epoch {epoch + 1}/{args.epochs}  loss {loss_sum / seen:.4f}  train top-1 {100 * hits / seen:.1f} %"
              f"  lr {lr:.4f}  {time.time() - start:.0f} s", flush=True)
        save()
    print(f"wrote {args.checkpoint}")


# ---------------------------------------------------------------------------
# Float graph: plain lists, so that the quantiser can walk them without onnx
# ---------------------------------------------------------------------------
class Node:
    def __init__(self, op, name, inputs, output, **attrs):
        self.op, self.name, self.inputs, self.output, self.attrs = op, name, inputs, output, attrs


def float_graph(params):
    """Folds the batch norms; returns (nodes, initialisers, MACs, parameters)."""
    nodes, inits, macs = [], {}, 0
    layers = conv_layers()
    mean, std = params["mean"].astype(np.float64), params["std"].astype(np.float64)

    def conv(name, x, size):
        nonlocal macs
        c = layers[name]
        scale = params[f"{name}.bn_scale"].astype(np.float64)
        w = params[f"{name}.weight"].astype(np.float64) * scale[:, None, None, None]
        b = params[f"{name}.bn_shift"].astype(np.float64)
        if name == "stem.conv":  # fold (x - mean) / std
            w = w / std[None, :, None, None]
            b = b - (w * mean[None, :, None, None]).sum(axis=(1, 2, 3))
        inits[f"{name}.weight"], inits[f"{name}.bias"] = w.astype(np.float32), b.astype(np.float32)
        pad, size = c["k"] // 2, size // c["stride"]
        nodes.append(Node("Conv", name, [x, f"{name}.weight", f"{name}.bias"], name, dilations=[1, 1],
                          group=c["groups"], kernel_shape=[c["k"]] * 2, pads=[pad] * 4, strides=[c["stride"]] * 2))
        macs += w.size * size * size
        return name, size

    def relu(name, x):
        nodes.append(Node("Relu", name, [x], name))
        return name

    x, size = "input", 32
    for kind, name, a in ARCH:
        if kind == "conv":
            y, size = conv(f"{name}.conv", x, size)
            x = relu(f"{name}.relu", y)
        elif kind == "residual":
            y, ysize = conv(f"{name}.conv1", x, size)
            y = relu(f"{name}.relu1", y)
            y, ysize = conv(f"{name}.conv2", y, ysize)
            if f"{name}.shortcut" in layers:
                x, size = conv(f"{name}.shortcut", x, size)
            nodes.append(Node("Add", f"{name}.add", [x, y], f"{name}.add"))
            x = relu(f"{name}.relu2", f"{name}.add")
        elif kind == "dwsep":
            y, size = conv(f"{name}.depthwise", x, size)
            x = relu(f"{name}.relu1", y)
            y, size = conv(f"{name}.pointwise", x, size)
            x = relu(f"{name}.relu2", y)
        elif kind == "maxpool":
            nodes.append(Node("MaxPool", name, [x], name, kernel_shape=[a["k"]] * 2, pads=[0] * 4,
                              strides=[a["stride"]] * 2))
            x, size = name, size // a["stride"]
    nodes.append(Node("GlobalAveragePool", "head.pool", [x], "head.pool"))
    nodes.append(Node("Flatten", "head.flatten", ["head.pool"], "head.flatten", axis=1))
    inits["head.fc.weight"] = params["head.fc.weight"].astype(np.float32)
    inits["head.fc.bias"] = params["head.fc.bias"].astype(np.float32)
    macs += inits["head.fc.weight"].size
    nodes.append(Node("Gemm", "head.fc", ["head.flatten", "head.fc.weight", "head.fc.bias"], "head.fc", transB=1))
    nodes.append(Node("Softmax", "head.softmax", ["head.fc"], "output", axis=-1))
    return nodes, inits, macs, sum(v.size for v in inits.values())


def to_onnx(nodes, inits, graph_name, extra_outputs=()):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, CLASSES])]
    outputs += [helper.make_tensor_value_info(t, TensorProto.FLOAT, None) for t in extra_outputs]
    graph = helper.make_graph(
        [helper.make_node(n.op, n.inputs, [n.output], name=n.name, **n.attrs) for n in nodes], graph_name,
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, 32, 32])], outputs,
        [numpy_helper.from_array(np.asarray(v), k) for k, v in inits.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="dlc-train-model")
    model.ir_version = 7
    if not extra_outputs:  # the checker wants shapes, ONNX Runtime does not
        onnx.checker.check_model(model)
    return model


# ---------------------------------------------------------------------------
# Quantisation
# ---------------------------------------------------------------------------
def activation_range(samples):
    """Scale and zero point (int8) with the least squared error on the samples."""
    lo, hi = min(0.0, float(samples.min())), max(0.0, float(samples.max()))
    if hi - lo < 1e-6:
        return np.float32(1e-6), np.int8(-128)
    best = None
    for shrink in np.linspace(1.0, 0.4, 31):
        scale = np.float32((hi - lo) * shrink / 255)
        zero = int(np.clip(np.rint(-128 - lo * shrink / scale), -128, 127))
        q = np.clip(np.rint(samples / scale) + zero, -128, 127)
        error = float(np.square((q - zero) * scale - samples, dtype=np.float64).mean())
        if best is None or error < best[0]:
            best = (error, scale, np.int8(zero))
    return best[1], best[2]


def calibrate(nodes, inits, tensors, images):
    """Ranges of the given float tensors over the images, by ONNX Runtime."""
    model = to_onnx(nodes, inits, "calibration", [t for t in tensors if t != "output"])
    session = session_for(model.SerializeToString())
    rng = np.random.default_rng(0)
    samples = {t: [] for t in tensors}
    for image in images:
        values = session.run(list(tensors), {"input": image[None].astype(np.float32)})
        for t, v in zip(tensors, values):
            v = v.ravel()
            extremes = np.array([v.min(), v.max()], np.float32)
            keep = v if v.size <= 512 else rng.choice(v, 512, replace=False)
            samples[t].append(np.concatenate([extremes, keep]))
    return {t: activation_range(np.concatenate(s)) for t, s in samples.items()}


def quantise(nodes, inits, images):
    """The QDQ form of the float graph; returns (nodes, initialisers)."""
    consumers = {}
    for n in nodes:
        for t in n.inputs:
            consumers.setdefault(t, []).append(n)
    same_range = {"MaxPool", "Flatten"}  # output keeps its input's scale
    quantised = ["input"]
    for n in nodes:
        fused = n.op in ("Conv", "Add", "Gemm") and [c.op for c in consumers.get(n.output, [])] == ["Relu"]
        if not fused and n.op != "Softmax":
            quantised.append(n.output)
    producer = {n.output: n for n in nodes}
    measured = [t for t in quantised if t != "input" and producer[t].op not in same_range]
    ranges = calibrate(nodes, inits, measured, images)
    ranges["input"] = (np.float32(1.0), np.int8(-128))  # exact for pixels 0..255
    for t in quantised:
        if t not in ranges:
            ranges[t] = ranges[producer[t].inputs[0]]

    out, q = [], {}

    def quantise_tensor(t):
        scale, zero = ranges[t]
        q[f"{t}_s"], q[f"{t}_z"] = np.array(scale, np.float32), np.array(zero, np.int8)
        out.append(Node("QuantizeLinear", f"{t}.quantize", [t, f"{t}_s", f"{t}_z"], f"{t}_q"))
        out.append(Node("DequantizeLinear", f"{t}.dequantize", [f"{t}_q", f"{t}_s", f"{t}_z"], f"{t}_dq"))

    def quantise_weights(n):
        x, w_name, b_name = n.inputs
        w, b = inits[w_name].astype(np.float64), inits[b_name].astype(np.float64)
        x_scale = np.float64(ranges[x][0])
        w_scale = np.abs(w).reshape(len(w), -1).max(axis=1) / 127
        # A (nearly) dead channel must not push its int32 bias out of range.
        w_scale = np.maximum(w_scale, np.maximum(np.abs(b) / (x_scale * 2**24), 1e-10)).astype(np.float32)
        shape = (-1,) + (1,) * (w.ndim - 1)
        q[f"{w_name}_q"] = np.clip(np.rint(w / w_scale.reshape(shape)), -127, 127).astype(np.int8)
        q[f"{w_name}_s"], q[f"{w_name}_z"] = w_scale, np.zeros(len(w), np.int8)
        b_scale = (np.float32(x_scale) * w_scale).astype(np.float32)
        q[f"{b_name}_q"], q[f"{b_name}_s"] = np.rint(b / b_scale.astype(np.float64)).astype(np.int32), b_scale
        out.append(Node("DequantizeLinear", f"{w_name}.dequantize", [f"{w_name}_q", f"{w_name}_s", f"{w_name}_z"],
                        f"{w_name}_dq", axis=0))
        out.append(Node("DequantizeLinear", f"{b_name}.dequantize", [f"{b_name}_q", f"{b_name}_s"],
                        f"{b_name}_dq", axis=0))

    quantise_tensor("input")
    for n in nodes:
        if n.op in ("Conv", "Gemm"):
            quantise_weights(n)
        names = [f"{t}_dq" if t in quantised or t in inits else t for t in n.inputs]
        out.append(Node(n.op, n.name, names, n.output, **n.attrs))
        if n.output in quantised:
            quantise_tensor(n.output)
    return out, q


def export(args):
    import onnx

    params = dict(np.load(args.checkpoint))
    nodes, inits, macs, count = float_graph(params)
    images, _ = load_train(args.data)
    q_nodes, q_inits = quantise(nodes, inits, images[: args.calibration])
    args.out.mkdir(parents=True, exist_ok=True)
    for name, (ns, vs) in {"cifar_resnet": (nodes, inits), "cifar_resnet_int8": (q_nodes, q_inits)}.items():
        path = args.out / f"{name}.onnx"
        onnx.save(to_onnx(ns, vs, name), path)
        ops = {}
        for n in ns:
            ops[n.op] = ops.get(n.op, 0) + 1
        print(f"wrote {path} ({path.stat().st_size} bytes): "
              + ", ".join(f"{op} {k}" for op, k in sorted(ops.items(), key=lambda i: -i[1])))
    print(f"parameters {count}, MACs {macs}")
    images, labels = load_test(args.data)
    np.save(args.out / "cifar_images.npy", images[:16])
    np.save(args.out / "cifar_labels.npy", labels[:16])


# ---------------------------------------------------------------------------
# Evaluation
# ---------------------------------------------------------------------------
def session_for(model, optimise=True):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimise:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def evaluate(args):
    images, labels = load_test(args.data)
    for name, optimise in (("cifar_resnet", True), ("cifar_resnet_int8", True), ("cifar_resnet_int8", False)):
        session = session_for(str(args.out / f"{name}.onnx"), optimise)
        hits = [int(session.run(None, {"input": image[None].astype(np.float32)})[0].argmax()) == label
                for image, label in zip(images, labels)]
        how = "" if optimise else " (graph optimisations off)"
        print(f"{name}.onnx: top-1 {100 * np.mean(hits):.1f} % of {len(hits)} test images{how}")


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--stage", choices=["all", "train", "export", "evaluate"], default="all",
                   help="which steps to run (default: all)")
    p.add_argument("--data", type=Path, default=ROOT.parent / "shared/assets/data/cifar10", help="CIFAR-10 folder (default: %(default)s)")
    p.add_argument("--out", type=Path, default=ROOT / "tests/models", help="folder for the ONNX files (default: %(default)s)")
    p.add_argument("--checkpoint", type=Path, default=Path("/tmp/cifar_resnet.npz"), help="trained parameters (default: %(default)s)")
    t = p.add_argument_group("training")
    t.add_argument("--epochs", type=int, default=70, help="default: %(default)s")
    t.add_argument("--batch", type=int, default=128, help="default: %(default)s")
    t.add_argument("--lr", type=float, default=0.2, help="peak learning rate (default: %(default)s)")
    t.add_argument("--warmup", type=float, default=2.0, help="warm-up epochs (default: %(default)s)")
    t.add_argument("--weight-decay", type=float, default=5e-4, help="default: %(default)s")
    t.add_argument("--label-smoothing", type=float, default=0.1, help="default: %(default)s")
    t.add_argument("--cutout", type=int, default=8, help="side of the square blanked in each image, 0 for none (default: %(default)s)")
    t.add_argument("--no-bf16", dest="bf16", action="store_false", help="train in float32 (default: bfloat16 autocast)")
    t.add_argument("--threads", type=int, default=1, help="torch threads (default: %(default)s)")
    t.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    t.add_argument("--limit", type=int, default=0, help="train on the first N images only (for a quick trial)")
    q = p.add_argument_group("quantisation")
    q.add_argument("--calibration", type=int, default=512, help="training images for the activation ranges (default: %(default)s)")
    return p.parse_args()


def main():
    args = parse_args()
    if not (args.data / "test1000_labels.npy").exists():
        sys.exit(f"train_model.py: no CIFAR-10 data in {args.data} (--data)")
    if args.stage in ("all", "train"):
        train(args)
    if args.stage in ("all", "export"):
        export(args)
    if args.stage in ("all", "export", "evaluate"):
        evaluate(args)


if __name__ == "__main__":
    main()
