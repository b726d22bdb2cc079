"""Small networks to be quantised."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx_models import model, node, random

Array = np.ndarray[Any, np.dtype[Any]]


def residual(opset: int = 17) -> onnx.ModelProto:
    """A convolution, a block with a residual, two branches that are joined, and a product at the end."""
    nodes = [
        node("Conv", ["x", "k0", "b0"], ["c0"], "stem", pads=[1, 1, 1, 1]),
        node("Relu", ["c0"], ["r0"], "stem_relu"),
        node("MaxPool", ["r0"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p", "k1", "b1"], ["c1"], "one", pads=[1, 1, 1, 1]),
        node("Clip", ["c1", "zero", "six"], ["r1"], "one_clip"),
        node("Conv", ["r1", "k2"], ["c2"], "two", pads=[1, 1, 1, 1]),
        node("Add", ["c2", "p"], ["sum"], "add"),
        node("Relu", ["sum"], ["r2"], "add_relu"),
        node("Conv", ["r2", "k3"], ["c3"], "depthwise", group=8, pads=[1, 1, 1, 1]),
        node("ConvTranspose", ["r2", "k4", "b4"], ["c4"], "transposed", group=2, pads=[1, 1, 1, 1]),
        node("Sigmoid", ["c4"], ["s4"], "sigmoid"),
        node("Concat", ["c3", "s4"], ["joined"], "concat", axis=1),
        node("GlobalAveragePool", ["joined"], ["mean"], "mean"),
        node("Flatten", ["mean"], ["flat"], "flatten"),
        node("Gemm", ["flat", "g", "gb"], ["y"], "dense", transB=1, alpha=0.5, beta=2.0),
        node("Softmax", ["y"], ["probabilities"], "softmax"),
    ]
    weights = {
        "k0": random((8, 3, 3, 3)) / 3,
        "b0": random((8,), 1),
        "k1": random((8, 8, 3, 3), 2) / 6,
        "b1": random((8,), 3),
        "k2": random((8, 8, 3, 3), 4) / 6,
        "k3": random((8, 1, 3, 3), 5),
        "k4": random((8, 3, 3, 3), 6) / 4,
        "b4": random((6,), 7),
        "g": random((10, 14), 8),
        "gb": random((1, 10), 9),
        "zero": np.float32(0),
        "six": np.float32(6),
    }
    return model(nodes, {"x": [1, 3, 8, 8]}, ["probabilities", "y"], weights, opset)


def mixer() -> onnx.ModelProto:
    """Products with biases, and what encoders of text have between them; of a length that varies."""
    nodes = [
        node("Gather", ["table", "tokens"], ["e"], "embed"),
        node("MatMul", ["e", "w0"], ["m0"], "up"),
        node("Add", ["m0", "b0"], ["a0"], "up_bias"),
        node("Relu", ["a0"], ["r0"], "up_relu"),
        node("MatMul", ["r0", "w1"], ["m1"], "down"),
        node("Add", ["b1", "m1"], ["a1"], "down_bias"),
        node("Add", ["a1", "e"], ["y"], "residual"),
    ]
    weights = {
        "table": random((50, 32)),
        "w0": random((32, 64), 1) / 5,
        "b0": random((64,), 2),
        "w1": random((64, 32), 3) / 5,
        "b1": random((32,), 4),
    }
    return model(nodes, {"tokens": [1, "length"]}, ["y"], weights, dtype=onnx.TensorProto.INT64)


def pictures(count: int = 6) -> list[dict[str, Array]]:
    return [{"x": random((1, 3, 8, 8), 100 + i)} for i in range(count)]


def operators(proto: onnx.ModelProto) -> dict[str, list[str]]:
    """By name of a node, the operators that read its first output."""
    readers: dict[str, list[str]] = {}
    for n in proto.graph.node:
        for name in n.input:
            readers.setdefault(name, []).append(n.op_type)
    return {n.name: sorted(readers.get(n.output[0], [])) for n in proto.graph.node}
