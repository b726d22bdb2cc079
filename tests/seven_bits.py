"""A model whose weights have seven bits."""

from __future__ import annotations

import numpy as np
import onnx
from onnx_models import model, node


def seven_bits() -> onnx.ModelProto:
    """A product and a convolution of n images, by weights of at most 64, as onnxruntime's reduce_range gives them."""
    generator = np.random.default_rng(0)
    w = generator.integers(-64, 65, (16, 8, 3, 3)).astype(np.int8)
    v = generator.integers(-64, 65, (16, 5)).astype(np.int8)
    w[0], v[:, 0] = 64, -64
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("ConvInteger", ["q", "w", "z"], ["sums"], pads=[1, 1, 1, 1]),
        node("Cast", ["sums"], ["c"], to=onnx.TensorProto.FLOAT),
        node("ReduceMax", ["c"], ["m"], axes=[2, 3], keepdims=0),
        node("DynamicQuantizeLinear", ["m"], ["p", "t", "u"]),
        node("MatMulInteger", ["p", "v", "u"], ["products"]),
        node("Cast", ["products"], ["y"], to=onnx.TensorProto.FLOAT),
    ]
    return model(nodes, {"x": ["n", 8, 6, 5]}, ["y"], {"w": w, "v": v}, opset=17)
