#!/usr/bin/env python3
"""Makes the malformed ONNX files of tests/errors/inputs (needs PyPI onnx and numpy).

Usage: scripts/make_error_inputs.py
"""
import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "errors", "inputs")


def save(name, nodes, inputs=None, outputs=None, initializers=(), domains=()):
    inputs = inputs or [h.make_tensor_value_info("x", T.FLOAT, [1, 3, 8, 8])]
    outputs = outputs or [h.make_tensor_value_info("y", T.FLOAT, None)]
    graph = h.make_graph(nodes, name, inputs, outputs, list(initializers))
    opsets = [h.make_opsetid("", 13)] + [h.make_opsetid(d, 1) for d in domains]
    model = h.make_model(graph, opset_imports=opsets, ir_version=7)
    with open(os.path.join(FOLDER, name + ".onnx"), "wb") as f:
        f.write(model.SerializeToString())


def weights(name, shape):
    return nh.from_array(np.zeros(shape, np.float32), name)


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    open(os.path.join(FOLDER, "empty.onnx"), "wb").close()
    with open(os.path.join(FOLDER, "garbage.onnx"), "wb") as f:
        f.write(bytes((i * 37 + 11) % 256 for i in range(500)))
    conv = h.make_node("Conv", ["x", "w"], ["y"], name="conv1")
    save("unknown_operator", [h.make_node("Convolute", ["x"], ["y"], name="first")])
    save("custom_domain", [h.make_node("Fancy", ["x"], ["y"], name="first", domain="ai.example")], domains=["ai.example"])
    save("missing_initializer", [conv])
    save("wrong_channels", [conv], initializers=[weights("w", [4, 5, 3, 3])])
    save("cycle", [h.make_node("Add", ["x", "b"], ["a"], name="first"), h.make_node("Relu", ["a"], ["b"], name="second"),
                   h.make_node("Relu", ["b"], ["y"], name="third")])
    save("duplicate_value", [h.make_node("Relu", ["x"], ["y"], name="first"), h.make_node("Relu", ["x"], ["y"], name="second")])
    save("unbound_dimension", [h.make_node("Relu", ["x"], ["y"], name="first")],
         inputs=[h.make_tensor_value_info("x", T.FLOAT, [1, 3, "height", 8])])
    save("missing_output", [h.make_node("Relu", ["x"], ["z"], name="first")])
    save("bad_attribute", [h.make_node("Conv", ["x", "w"], ["y"], name="conv1", strides=[0, 1])], initializers=[weights("w", [4, 3, 3, 3])])
    external = weights("w", [4, 3, 3, 3])
    external.ClearField("raw_data")
    external.data_location = T.EXTERNAL
    entry = external.external_data.add()
    entry.key, entry.value = "location", "no_such_file.bin"
    save("missing_external_data", [conv], initializers=[external])


if __name__ == "__main__":
    main()
