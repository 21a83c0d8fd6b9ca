#!/usr/bin/env python3
"""ResNet-18 (He et al. 2015) at 224 x 224 with seeded random weights, batch normalisation folded, as a float ONNX file, and
images to calibrate with: a whole network of realistic size for co-simulation. Needs numpy and onnx (PyPI).

Usage: scripts/make_resnet18.py FOLDER     writes resnet18.onnx, resnet18_images.npy
then:  dlc quantize FOLDER/resnet18.onnx --calibrate FOLDER/resnet18_images.npy -o FOLDER/resnet18_int8.onnx
       dlc cosim --hw hwconfigs/edge-16.yaml FOLDER/resnet18_int8.onnx"""
import os
import sys

if len(sys.argv) != 2 or sys.argv[1] in ('-h', '--help'):
    print(__doc__)
    sys.exit(0 if len(sys.argv) == 2 else 2)

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(18)
nodes, weights = [], []


def conv(x, name, cin, cout, k, stride, relu=True):
    # He initialisation keeps the variance through ReLU; halved, since residual sums double it.
    w = rng.standard_normal((cout, cin, k, k)) * np.sqrt(1.0 / (cin * k * k))
    weights.append(numpy_helper.from_array(w.astype(np.float32), name + '.weight'))
    weights.append(numpy_helper.from_array((rng.standard_normal(cout) * 0.05).astype(np.float32), name + '.bias'))
    nodes.append(helper.make_node('Conv', [x, name + '.weight', name + '.bias'], [name], name, kernel_shape=[k, k],
                                  strides=[stride] * 2, pads=[k // 2] * 4))
    if not relu:
        return name
    nodes.append(helper.make_node('Relu', [name], [name + '.relu'], name + '.relu'))
    return name + '.relu'


x = conv('image', 'conv1', 3, 64, 7, 2)
nodes.append(helper.make_node('MaxPool', [x], ['pool1'], 'pool1', kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
x, cin = 'pool1', 64
for layer, cout in enumerate([64, 128, 256, 512], start=1):
    for block in range(2):
        name, stride = f'layer{layer}.{block}', 2 if layer > 1 and block == 0 else 1
        shortcut = x if stride == 1 and cin == cout else conv(x, name + '.downsample', cin, cout, 1, stride, relu=False)
        y = conv(conv(x, name + '.conv1', cin, cout, 3, stride), name + '.conv2', cout, cout, 3, 1, relu=False)
        nodes.append(helper.make_node('Add', [y, shortcut], [name + '.add'], name + '.add'))
        nodes.append(helper.make_node('Relu', [name + '.add'], [name], name))
        x, cin = name, cout
nodes.append(helper.make_node('GlobalAveragePool', [x], ['pool'], 'pool'))
nodes.append(helper.make_node('Flatten', ['pool'], ['features'], 'flatten'))
weights.append(numpy_helper.from_array((rng.standard_normal((1000, 512)) / 512 ** 0.5).astype(np.float32), 'fc.weight'))
weights.append(numpy_helper.from_array(np.zeros(1000, np.float32), 'fc.bias'))
nodes.append(helper.make_node('Gemm', ['features', 'fc.weight', 'fc.bias'], ['logits'], 'fc', transB=1))
graph = helper.make_graph(nodes, 'resnet18', [helper.make_tensor_value_info('image', TensorProto.FLOAT, [1, 3, 224, 224])],
                          [helper.make_tensor_value_info('logits', TensorProto.FLOAT, [1, 1000])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8)
onnx.checker.check_model(model)
os.makedirs(sys.argv[1], exist_ok=True)
onnx.save(model, os.path.join(sys.argv[1], 'resnet18.onnx'))
np.save(os.path.join(sys.argv[1], 'resnet18_images.npy'), rng.standard_normal((4, 3, 224, 224)).astype(np.float32))
