"""Models of one operator in a shape that was a cliff: other shapes of it were fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .generate import Builder

SIDE = 56
CHANNELS = 64


def pool_heat_map() -> onnx.ModelProto:
    """The suppression of neighbours in a heat map: large windows of one channel."""
    b, shape = Builder(1), (1, 1, 480, 480)
    y = b.node("MaxPool", ["x"], kernel_shape=[9, 9], pads=[4, 4, 4, 4])
    return b.model("pool_heat_map", [("x", TensorProto.FLOAT, shape)], y, shape)


def convolve_to_one_channel() -> onnx.ModelProto:
    """The head of a network for depth or masks."""
    b = Builder(2)
    y = b.node("Conv", ["x", b.normal((1, 32, 3, 3), 0.06)], pads=[1, 1, 1, 1])
    return b.model("convolve_to_one_channel", [("x", TensorProto.FLOAT, (1, 32, 128, 128))], y, (1, 1, 128, 128))


def convolve_tokens() -> onnx.ModelProto:
    """A depthwise convolution of tokens that become an image (Xie et al. 2021, SegFormer, Mix-FFN)."""
    b = Builder(3)
    columns = b.node("Transpose", ["x"], perm=[0, 2, 1])
    image = b.node("Reshape", [columns, b.constant(np.array([1, CHANNELS, SIDE, SIDE]))])
    weights = b.normal((CHANNELS, 1, 3, 3), 0.3)
    y = b.node("Conv", [image, weights], group=CHANNELS, pads=[1, 1, 1, 1])
    inputs = [("x", TensorProto.FLOAT, (1, SIDE * SIDE, CHANNELS))]
    return b.model("convolve_tokens", inputs, y, (1, CHANNELS, SIDE, SIDE))


def sum_along_line() -> onnx.ModelProto:
    """Running sums of long lines."""
    b, shape = Builder(4), (1, 4000, 16)
    y = b.node("CumSum", ["x", b.constant(np.array(1))])
    return b.model("sum_along_line", [("x", TensorProto.FLOAT, shape)], y, shape)


def first_of_many() -> onnx.ModelProto:
    """The anchors that a detector keeps: 300 of 8,400."""
    model = Builder(5).model("first_of_many", [("x", TensorProto.FLOAT, (1, 8400))], "y", (1, 300))
    model.graph.initializer.append(numpy_helper.from_array(np.array([300]), "k"))
    model.graph.node.append(helper.make_node("TopK", ["x", "k"], ["y", "indices"], "first"))
    return model


OPERATORS: Mapping[str, Callable[[], onnx.ModelProto]] = {
    "heat map": pool_heat_map,
    "depth map": convolve_to_one_channel,
    "tokens": convolve_tokens,
    "running sum": sum_along_line,
    "first of many": first_of_many,
}
