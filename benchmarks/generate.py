"""Models of well-known architecture with random weights of a fixed seed, scaled so that values stay near one."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, np.dtype[Any]]
OPSET = 17


class Builder:
    """Collects nodes and weights; a value is its name."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"{op.lower()}{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def constant(self, data: Array) -> str:
        name = f"weight{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(data, order="C"), name))
        return name

    def scalar(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def normal(self, shape: Sequence[int], deviation: float, mean: float = 0.0) -> str:
        return self.constant((mean + deviation * self._generator.standard_normal(shape)).astype(np.float32))

    def linear(self, x: str, columns: int, rows: int) -> str:
        """x @ W + b"""
        product = self.node("MatMul", [x, self.normal((columns, rows), 1 / sqrt(columns))])
        return self.node("Add", [product, self.normal((rows,), 0.05)])

    def model(
        self, name: str, inputs: Sequence[tuple[str, int, Sequence[int | str]]], output: str, shape: Sequence[int | str]
    ) -> onnx.ModelProto:
        graph = helper.make_graph(
            self._nodes,
            name,
            [helper.make_tensor_value_info(*i) for i in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
            self._weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def mobilenetv2() -> onnx.ModelProto:
    """Sandler et al. 2018, table 2: 224 x 224, width 1, 300 million multiplications."""
    b = Builder(3)
    zero, six = b.scalar(0), b.scalar(6)

    def convolution(
        x: str, channels: tuple[int, int], side: int, stride: int = 1, group: int = 1, gain: float = 2
    ) -> str:
        inner = channels[0] // group
        weights = b.normal((channels[1], inner, side, side), sqrt(gain / (inner * side * side)))
        pads = [side // 2] * 4
        bias = b.normal((channels[1],), 0.05)
        return b.node("Conv", [x, weights, bias], kernel_shape=[side] * 2, strides=[stride] * 2, pads=pads, group=group)

    def clipped(x: str) -> str:
        return b.node("Clip", [x, zero, six])

    x, width = clipped(convolution("input", (3, 32), 3, 2)), 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, channels, count, first in stages:
        for i in range(count):
            stride, wide, y = first if i == 0 else 1, width * expansion, x
            if expansion != 1:
                y = clipped(convolution(y, (width, wide), 1))
            y = clipped(convolution(y, (wide, wide), 3, stride, wide))
            y = convolution(y, (wide, channels), 1, gain=1)
            x = b.node("Add", [x, y]) if stride == 1 and width == channels else y
            width = channels
    x = b.node("GlobalAveragePool", [clipped(convolution(x, (320, 1280), 1))])
    x = b.linear(b.node("Flatten", [x], axis=1), 1280, 1000)
    return b.model("mobilenetv2", [("input", TensorProto.FLOAT, [1, 3, 224, 224])], x, [1, 1000])


def lstm(steps: int = 100, size: int = 256, layers: int = 2) -> onnx.ModelProto:
    """Layers of Hochreiter and Schmidhuber 1997, with a forget gate, on a sequence of one batch."""
    b = Builder(5)
    directions, x = b.constant(np.array([1], np.int64)), "input"
    for _ in range(layers):
        weights = [b.normal((1, 4 * size, size), 1 / sqrt(size)) for _ in range(2)]
        y = b.node("LSTM", [x, *weights, b.normal((1, 8 * size), 0.05)], hidden_size=size)
        x = b.node("Squeeze", [y, directions])
    return b.model("lstm", [("input", TensorProto.FLOAT, [steps, 1, size])], x, [steps, 1, size])


def bert(
    layers: int = 4, hidden: int = 256, heads: int = 4, tokens: int | None = 128, words: int = 8000, longest: int = 128
) -> onnx.ModelProto:
    """Devlin et al. 2018, at the size that is known as "mini": an encoder with a mask, feed-forward 4 x hidden. Without
    a number of `tokens` of any length up to the `longest`."""
    b = Builder(4)
    part = hidden // heads

    def integers(*values: int) -> str:
        return b.constant(np.array(values, np.int64))

    def normalised(x: str) -> str:
        return b.node("LayerNormalization", [x, b.normal((hidden,), 0.1, 1), b.normal((hidden,), 0.05)], epsilon=1e-12)

    length = -1 if tokens is None else tokens
    split, joined = integers(1, length, heads, part), integers(1, length, hidden)
    scale, one, half, root = b.scalar(1 / sqrt(part)), b.scalar(1), b.scalar(0.5), b.scalar(sqrt(2))
    mask = b.node("Cast", [b.node("Unsqueeze", ["attention_mask", integers(1, 2)])], to=TensorProto.FLOAT)
    mask = b.node("Mul", [b.node("Sub", [one, mask]), b.scalar(-10000)])
    x = b.node("Gather", [b.normal((words, hidden), 0.5), "input_ids"])
    positions = b.normal((1, longest if tokens is None else tokens, hidden), 0.5)
    if tokens is None:
        end = b.node("Gather", [b.node("Shape", ["input_ids"]), integers(1)])
        positions = b.node("Slice", [positions, integers(0), end, integers(1)])
    x = normalised(b.node("Add", [x, positions]))

    def in_heads(x: str, order: Sequence[int]) -> str:
        return b.node("Transpose", [b.node("Reshape", [b.linear(x, hidden, hidden), split])], perm=order)

    for _ in range(layers):
        query, key, value = (in_heads(x, order) for order in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
        scores = b.node("Add", [b.node("Mul", [b.node("MatMul", [query, key]), scale]), mask])
        mixed = b.node("MatMul", [b.node("Softmax", [scores], axis=-1), value])
        mixed = b.node("Reshape", [b.node("Transpose", [mixed], perm=(0, 2, 1, 3)), joined])
        x = normalised(b.node("Add", [b.linear(mixed, hidden, hidden), x]))
        y = b.linear(x, hidden, 4 * hidden)
        y = b.node("Mul", [b.node("Mul", [y, b.node("Add", [b.node("Erf", [b.node("Div", [y, root])]), one])]), half])
        x = normalised(b.node("Add", [b.linear(y, 4 * hidden, hidden), x]))
    inputs = [(name, TensorProto.INT64, [1, tokens or "tokens"]) for name in ("input_ids", "attention_mask")]
    return b.model("bert", inputs, x, [1, tokens or "tokens", hidden])
