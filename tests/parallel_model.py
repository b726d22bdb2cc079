"""A small model whose loops are worth several threads."""

from __future__ import annotations

import onnx
from onnx_models import model, node, random


def parallel_model() -> onnx.ModelProto:
    """x (1, 3, 64, 64) to y (1, 1000) and e (1, 64, 32, 32), by convolutions (one by Winograd's algorithm), pooling, an
    activation and a product."""
    nodes = [
        node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["c", "w2"], ["d"], pads=[1, 1, 1, 1]),
        node("Sigmoid", ["d"], ["e"]),
        node("GlobalAveragePool", ["e"], ["f"]),
        node("Flatten", ["f"], ["g"]),
        node("Gemm", ["g", "w3"], ["y"]),
    ]
    weights = {"w1": random((32, 3, 3, 3)), "w2": random((64, 32, 3, 3)), "w3": random((64, 1000))}
    return model(nodes, {"x": [1, 3, 64, 64]}, ["y", "e"], weights)
