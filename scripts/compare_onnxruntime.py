#!/usr/bin/env python3
"""Compare the quantised tensors that dlc computed with ONNX Runtime's.

  compare_onnxruntime.py MODEL.onnx INPUT.npy DIR
      DIR holds what dlc dumped: one .npy for each quantised tensor and an
      index.json {"tensors": [{"name", "file", "dtype", "shape"}, ...]}, where
      "name" is the output of a QuantizeLinear node of the model.
  compare_onnxruntime.py MODEL.onnx INPUT.npy --make-reference DIR
      writes ONNX Runtime's own tensors to DIR in that format.
  compare_onnxruntime.py MODEL.onnx --accuracy DATASET.npy LABELS.npy
      prints ONNX Runtime's top-1.

A difference of one step in one tensor may grow in later ones: a tie that float
and integer arithmetic round differently in a global pool can move a logit by
two steps.  --isolate feeds DIR's tensors to ONNX Runtime in place of its own,
so that each tensor is judged given the inputs that dlc had.

ONNX Runtime runs with all graph optimisations off, so that every Quantize-
Linear and DequantizeLinear is computed as the graph says (--accuracy uses a
plain session).  Shapes must be equal: both sides are in the logical (NCHW)
order of the ONNX graph.

INPUT.npy is one input, or a data set of which --index N picks one item.  An
item is cast to the input's type, given the batch axis if it lacks it, reshaped
where only axes of 1 differ, and transposed from NHWC where only that fits.

Exit status: 0 agreed, 1 differed (a tensor by more than --max-step steps, or
fewer than --min-equal % of all elements equal, or a wrong shape or dtype, or
with --require-all a tensor not dumped), 2 could not compare.

Needs PyPI's numpy, onnx and onnxruntime.
"""

import argparse
import json
import re
import sys
from pathlib import Path

TOOL = "compare_onnxruntime.py"

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as e:
    if not {"-h", "--help"} & set(sys.argv[1:]):
        sys.exit(f"{TOOL}: {e}: pip install numpy onnx onnxruntime")


def fail(message):
    print(f"{TOOL}: {message}", file=sys.stderr)
    sys.exit(2)


def load_npy(path):
    try:
        return np.load(path)
    except (OSError, ValueError) as e:
        fail(f"cannot read {path}: {e}")


def file_name(tensor):
    """The file name of a tensor, by dlc's rule."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", tensor) + ".npy"


class Model:
    def __init__(self, path, expose, given=None):
        """expose: make every quantised tensor an output.  given: name -> array of
        quantised tensors that their consumers read instead of the computed ones."""
        try:
            model = onnx.load(path)
        except Exception as e:  # protobuf's error type differs by version
            fail(f"cannot read {path}: {e}")
        graph = model.graph
        constants = {i.name for i in graph.initializer}
        inputs = [i for i in graph.input if i.name not in constants]
        if len(inputs) != 1:
            fail(f"{path} has {len(inputs)} inputs, expected 1")
        self.input = inputs[0]
        self.producer = {o: n for n in graph.node for o in n.output}
        self.quantised = [n.output[0] for n in graph.node if n.op_type == "QuantizeLinear"]
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        if expose:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            present = {o.name for o in graph.output}
            for name in self.quantised:
                if name not in present:  # ONNX Runtime infers type and shape
                    graph.output.append(onnx.ValueInfoProto(name=name))
        self.given = {}
        for name, v in (given or {}).items():
            alias = f"{name}/given"
            self.given[alias] = v
            for n in graph.node:
                for i, t in enumerate(n.input):
                    if t == name:
                        n.input[i] = alias
            graph.input.append(onnx.helper.make_tensor_value_info(
                alias, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape))
        try:
            self.session = ort.InferenceSession(model.SerializeToString(), options,
                                                providers=["CPUExecutionProvider"])
        except Exception as e:
            fail(f"ONNX Runtime refuses {path}: {e}")

    def source(self, tensor):
        """Name and operator of the node whose result a QuantizeLinear quantises."""
        node = self.producer.get(self.producer[tensor].input[0])
        return f"{node.op_type} {node.name}".strip() if node else "input"

    def shape(self):
        """Shape of the input; None where it is dynamic."""
        return [d.dim_value if d.HasField("dim_value") else None
                for d in self.input.type.tensor_type.shape.dim]

    def feed(self, item, args):
        """The feed of one item (an array with or without the batch axis)."""
        want = self.shape()
        dtype = onnx.helper.tensor_dtype_to_np_dtype(self.input.type.tensor_type.elem_type)
        x = np.asarray(item)
        if args.scale != 1.0 or args.zero_point != 0.0:
            x = (x.astype(np.float32) - np.float32(args.zero_point)) * np.float32(args.scale)
        x = x.astype(dtype)

        def fits(shape):
            return len(shape) == len(want) and all(w is None or w == s for w, s in zip(want, shape))

        if not fits(x.shape):
            fixed = [1 if w is None else w for w in want]
            squeezed = [d for d in x.shape if d != 1]
            batched = x if x.ndim == len(want) else x[None]
            if batched.ndim == len(want) and fits(batched.shape):
                x = batched
            elif squeezed == [d for d in fixed if d != 1]:
                x = x.reshape(fixed)
            elif batched.ndim == 4 and fits(np.moveaxis(batched, 3, 1).shape):
                x = np.moveaxis(batched, 3, 1)
            else:
                fail(f"input of shape {list(item.shape)} does not fit {self.input.name} {want}")
        return {self.input.name: np.ascontiguousarray(x)}

    def run(self, feed, names):
        return dict(zip(names, self.session.run(list(names), {**feed, **self.given})))


def read_item(args, model):
    data = load_npy(args.input)
    if args.index is not None:
        if not 0 <= args.index < len(data):
            fail(f"--index {args.index} is outside {args.input} ({len(data)} items)")
        return data[args.index]
    batch = model.shape()[0] if model.shape() else None
    if batch and data.ndim == len(model.shape()) and len(data) != batch:
        fail(f"{args.input} holds {len(data)} items: choose one with --index N")
    return data


def make_reference(args):
    model = Model(args.model, expose=True)
    values = model.run(model.feed(read_item(args, model), args), model.quantised)
    folder = Path(args.make_reference)
    folder.mkdir(parents=True, exist_ok=True)
    index, used = [], set()
    for name, v in values.items():
        file = file_name(name)
        while file in used:  # two names that differ only in replaced characters
            file = file[:-4] + "_.npy"
        used.add(file)
        np.save(folder / file, v)
        index.append(dict(name=name, file=file, dtype=str(v.dtype), shape=list(v.shape)))
    (folder / "index.json").write_text(json.dumps({"tensors": index}, indent=1) + "\n")
    print(f"wrote {len(index)} tensors to {folder}")
    return 0


def compare(args):
    folder = Path(args.dir)
    try:
        entries = json.loads((folder / "index.json").read_text())["tensors"]
        entries = [(e["name"], e["file"], e["dtype"], tuple(e["shape"])) for e in entries]
    except (OSError, ValueError, KeyError, TypeError) as e:
        fail(f"cannot read {folder / 'index.json'}: {e!r}")
    if not entries:
        fail(f"{folder / 'index.json'} lists no tensor")
    model = Model(args.model, expose=True)
    unknown = [name for name, *_ in entries if name not in set(model.quantised)]
    if unknown:
        fail("not the output of a QuantizeLinear node of the model: " + ", ".join(unknown))
    item = read_item(args, model)
    reference = model.run(model.feed(item, args), [e[0] for e in entries])
    if args.isolate:
        given = {name: load_npy(folder / file) for name, file, _, _ in entries}
        given = {name: v for name, v in given.items()  # one that is wrong anyway is left out
                 if v.dtype == reference[name].dtype and v.shape == reference[name].shape}
        model = Model(args.model, expose=True, given=given)
        reference = model.run(model.feed(item, args), [e[0] for e in entries])

    elements = equal = worst = 0
    bad = []
    width = max(6, max(len(e[0]) for e in entries))
    print(f"{'tensor':{width}}  {'elements':>9}  {'equal %':>8}  {'max step':>8}  computed by")
    for name, file, dtype, shape in entries:
        want, got = reference[name], load_npy(folder / file)
        problem = None
        if got.dtype != want.dtype or dtype != str(want.dtype):
            problem = f"dtype {got.dtype} (index.json: {dtype}), ONNX Runtime has {want.dtype}"
        elif got.shape != want.shape or shape != want.shape:
            problem = f"shape {list(got.shape)} (index.json: {list(shape)}), ONNX Runtime has {list(want.shape)}"
        if problem:
            bad.append(name)
            elements += want.size  # counted as unequal
            print(f"{name:{width}}  {want.size:9}  {'-':>8}  {'-':>8}  {model.source(name)}  WRONG: {problem}")
            continue
        step = np.abs(got.astype(np.int64) - want.astype(np.int64))
        same, most = int((step == 0).sum()), int(step.max(initial=0))
        elements, equal, worst = elements + want.size, equal + same, max(worst, most)
        note = ""
        if most > args.max_step:
            bad.append(name)
            at = tuple(int(i) for i in np.unravel_index(int(step.argmax()), step.shape))
            note = f"  WRONG: at {list(at)} {got[at]}, ONNX Runtime has {want[at]}"
        percent = 100 * same / want.size if want.size else 100.0
        print(f"{name:{width}}  {want.size:9}  {percent:8.3f}  {most:8}  {model.source(name)}{note}")

    percent = 100 * equal / elements if elements else 100.0
    missing = [t for t in model.quantised if t not in {e[0] for e in entries}]
    if missing:
        print(f"not dumped ({len(missing)} of {len(model.quantised)}): " + ", ".join(missing))
    ok = not bad and percent >= args.min_equal and not (missing and args.require_all)
    print(f"{'AGREE' if ok else 'DIFFER'}: {len(entries)} tensors, {elements} elements, {percent:.4f} % equal, "
          f"largest difference {worst} step{'' if worst == 1 else 's'}, {len(bad)} wrong tensor{'' if len(bad) == 1 else 's'} "
          f"(limits: {args.max_step} step, {args.min_equal} %)")
    return 0 if ok else 1


def accuracy(args):
    model = Model(args.model, expose=False)
    data, labels = load_npy(args.accuracy[0]), load_npy(args.accuracy[1])
    if len(data) != len(labels):
        fail(f"{len(data)} items but {len(labels)} labels")
    count = min(len(data), args.limit or len(data))
    if count == 0:
        fail(f"{args.accuracy[0]} is empty")
    output = model.session.get_outputs()[0].name
    hits = sum(int(model.run(model.feed(data[i], args), [output])[output].argmax()) == int(labels[i])
               for i in range(count))
    print(f"{args.model}: top-1 {100 * hits / count:.2f} % ({hits} of {count})")
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", metavar="MODEL.onnx")
    p.add_argument("input", metavar="INPUT.npy", nargs="?")
    p.add_argument("dir", metavar="DIR", nargs="?", help="folder that dlc dumped")
    p.add_argument("--make-reference", metavar="DIR", help="write ONNX Runtime's tensors instead of comparing")
    p.add_argument("--accuracy", nargs=2, metavar=("DATASET.npy", "LABELS.npy"), help="print the top-1 instead of comparing")
    p.add_argument("--index", type=int, metavar="N", help="INPUT.npy is a data set: take item N")
    p.add_argument("--limit", type=int, metavar="N", default=0, help="--accuracy: the first N items only")
    p.add_argument("--scale", type=float, default=1.0, help="feed (value - ZERO_POINT) * SCALE (default: 1)")
    p.add_argument("--zero-point", type=float, default=0.0, help="see --scale (default: 0)")
    p.add_argument("--isolate", action="store_true",
                   help="judge each tensor by itself: ONNX Runtime computes it from DIR's tensors")
    p.add_argument("--max-step", type=int, default=1, help="largest difference allowed (default: %(default)s)")
    p.add_argument("--min-equal", type=float, default=99.5, metavar="PERCENT", help="least share of equal elements (default: %(default)s)")
    p.add_argument("--require-all", action="store_true", help="every quantised tensor of the model must be in DIR")
    args = p.parse_intermixed_args()
    if args.accuracy:
        if args.input or args.make_reference:
            p.error("--accuracy takes no INPUT.npy, DIR or --make-reference")
        return accuracy(args)
    if not args.input:
        p.error("INPUT.npy is missing")
    if args.make_reference:
        if args.dir:
            p.error("give DIR or --make-reference, not both")
        return make_reference(args)
    if not args.dir:
        p.error("DIR is missing")
    return compare(args)


if __name__ == "__main__":
    sys.exit(main())
