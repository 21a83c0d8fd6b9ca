#!/usr/bin/env python3
"""Writes the small models and arrays of tests/errors/inputs that are wrong in one way each (needs the Python package onnx).

Usage: make_inputs.py [FOLDER]      default: the folder inputs beside this script
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT


def value(name, shape, kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs, outputs, constants=(), opset=13, imports=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *imports])
    made.ir_version = 8
    return made


def one(op, inputs, shapes, constants=(), y=None, opset=13, **attributes):
    """One node, its first inputs being graph inputs of the given shapes."""
    node = helper.make_node(op, inputs, ["y"], name="n", **attributes)
    return model([node], [value(n, s) for n, s in shapes.items()], [value("y", y)], constants, opset)


def quantise(scale, zero=np.uint8(0), x=(1, 4, 4, 4), **attributes):
    return one("QuantizeLinear", ["x", "s", "z"], {"x": x},
               [constant("s", np.asarray(scale, np.float32)), constant("z", zero)], **attributes)


def weight(*shape):
    return constant("w", np.ones(shape, np.float32))


def models():
    x = {"x": [1, 4, 8, 8]}
    yield "scale_zero", quantise(0.0)
    yield "scale_nan", quantise(np.nan)
    yield "scale_negative", quantise(-0.5)
    yield "scale_length", quantise([0.5, 0.5, 0.5], np.zeros(3, np.uint8), axis=1)
    yield "zero_point_type", one("DequantizeLinear", ["q", "s", "z"], {}, [
        constant("q", np.zeros((2, 2), np.int8)), constant("s", np.float32(1)), constant("z", np.uint8(0))])
    yield "opset_unknown", one("Relu", ["x"], x, opset=99)
    yield "opset_too_old", one("Relu", ["x"], x, opset=3)
    yield "declared_shape", one("Relu", ["x"], x, y=[1, 4, 8, 9])
    yield "declared_type", model([helper.make_node("Relu", ["x"], ["y"], name="n")], [value("x", [1, 4])],
                                 [value("y", [1, 4], TensorProto.INT32)])
    yield "reshape_elements", one("Reshape", ["x", "s"], x, [constant("s", np.int64([7, 7]))])
    yield "matmul_inner", one("MatMul", ["x", "w"], {"x": [1, 10]}, [weight(11, 3)])
    yield "concat_shapes", one("Concat", ["x", "x2"], {"x": [1, 4, 8, 8], "x2": [1, 4, 8, 7]}, axis=1)
    yield "axis_outside", one("Softmax", ["x"], x, axis=4)
    yield "kernel_larger_than_input", one("MaxPool", ["x"], x, kernel_shape=[9, 9])
    yield "stride_zero", one("Conv", ["x", "w"], x, [weight(4, 4, 3, 3)], strides=[0, 1])
    yield "pads_count", one("Conv", ["x", "w"], x, [weight(4, 4, 3, 3)], pads=[1, 1])
    yield "group_channels", one("Conv", ["x", "w"], x, [weight(6, 4, 3, 3)], group=3)
    yield "too_few_inputs", one("Conv", ["x"], x)
    yield "perm_not_a_permutation", one("Transpose", ["x"], x, perm=[0, 1, 1, 2])
    yield "attribute_kind", one("Softmax", ["x"], x, axis=1.5)
    yield "broadcast_shapes", one("Add", ["x", "w"], x, [weight(3)])
    yield "input_twice", model([helper.make_node("Relu", ["x"], ["y"], name="n")],
                               [value("x", [1, 4]), value("x", [1, 4])], [value("y", None)])
    yield "output_twice", model([helper.make_node("Relu", ["x"], ["y"], name="n")], [value("x", [1, 4])],
                                [value("y", None), value("y", None)])
    yield "no_outputs", model([helper.make_node("Relu", ["x"], ["y"], name="n")], [value("x", [1, 4])], [])
    short = weight(4, 4, 3, 3)
    short.raw_data = short.raw_data[:-4]
    yield "initialiser_short", one("Conv", ["x", "w"], x, [short])
    outside = weight(4, 4, 3, 3)
    outside.ClearField("raw_data")
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="../../etc/passwd")
    yield "external_outside", one("Conv", ["x", "w"], x, [outside])
    yield "input_sequence", model(
        [helper.make_node("SequenceAt", ["x", "i"], ["y"], name="n")],
        [helper.make_tensor_sequence_value_info("x", F, None), value("i", [], TensorProto.INT64)], [value("y", None)])
    yield "input_string", model([helper.make_node("Identity", ["x"], ["y"], name="n")],
                                [value("x", [1], TensorProto.STRING)], [value("y", None, TensorProto.STRING)])
    branch = helper.make_graph([helper.make_node("Identity", ["x"], ["b"])], "branch", [], [value("b", None)])
    yield "control_flow", model(
        [helper.make_node("If", ["c"], ["y"], name="n", then_branch=branch, else_branch=branch)],
        [value("x", [1]), value("c", [], TensorProto.BOOL)], [value("y", None)])
    yield "one_dimension_twice", one("Add", ["a", "b"], {"a": ["n", 4], "b": ["n", 4]})
    yield "int8_input", model(
        [helper.make_node("DequantizeLinear", ["x", "s"], ["y"], name="n")], [value("x", [1, 4], TensorProto.INT8)],
        [value("y", None)], [constant("s", np.float32(0.5))])


def arrays():
    yield "floats_1x4", np.zeros((1, 4), np.float32)
    yield "floats_2x4", np.zeros((2, 4), np.float32)
    yield "floats_3x4", np.zeros((3, 4), np.float32)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "inputs"
    for name, made in models():
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())
    for name, array in arrays():
        np.save(folder / f"{name}.npy", array)


if __name__ == "__main__":
    main()
