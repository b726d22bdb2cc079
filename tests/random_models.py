"""Random models of the operators that layouts, fusion and memory planning decide about: a chain with side branches, by
a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx_models import Array, model, node

Shape = tuple[int, ...]


class RandomModel:
    """Grows by one operator at a time; `shapes` has every tensor so far."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Array] = {}
        self.shapes: dict[str, Shape] = {"x": (1, *(self.whole(low, 8) for low in (1, 3, 3)))}

    def whole(self, low: int, high: int) -> int:
        """low <= n <= high"""
        return int(self.generator.integers(low, high + 1))

    def pick(self, options: Any) -> Any:
        return options[self.whole(0, len(options) - 1)]

    def weight(self, *shape: int) -> str:
        fan = float(np.prod(shape[1:], initial=1))
        return self.constant((self.generator.standard_normal(shape) / np.sqrt(fan)).astype(np.float32))

    def integers(self, *values: int) -> str:
        return self.constant(np.asarray(values, np.int64))

    def constant(self, data: Array) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = data
        return name

    def add(self, op: str, inputs: list[str], shape: Shape, **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(node(op, inputs, [name], **attributes))
        self.shapes[name] = shape
        return name

    def like(self, accept: Callable[[Shape], bool]) -> str:
        """Some tensor whose shape is accepted."""
        return str(self.pick([n for n, s in self.shapes.items() if accept(s)]))


def convolution(m: RandomModel, a: str) -> None:
    s = m.shapes[a]
    kernel, stride = m.pick([1, 3]), m.pick([1, 1, 2])
    pad = m.whole(0, kernel - 1)
    out = [(n + 2 * pad - kernel) // stride + 1 for n in s[2:]]
    if len(s) != 4 or min(out) < 1:
        return
    group = m.pick([1, 1, 1, s[1]])
    channels = s[1] if group > 1 else m.whole(1, 9)
    inputs = [a, m.weight(channels, s[1] // group, kernel, kernel), *m.pick([[], [m.weight(channels)]])]
    m.add("Conv", inputs, (s[0], channels, *out), group=group, strides=[stride] * 2, pads=[pad] * 4)


def pool(m: RandomModel, a: str) -> None:
    if len(m.shapes[a]) == 4:
        m.add(m.pick(["MaxPool", "AveragePool"]), [a], m.shapes[a], kernel_shape=[3, 3], pads=[1] * 4)


def relu(m: RandomModel, a: str) -> None:
    m.add("Relu", [a], m.shapes[a])


def add(m: RandomModel, a: str) -> None:
    m.add("Add", [a, m.like(lambda s: s == m.shapes[a])], m.shapes[a])


def scale(m: RandomModel, a: str) -> None:
    m.add("Mul", [a, m.weight(m.shapes[a][-1])], m.shapes[a])


def concat(m: RandomModel, a: str) -> None:
    s = m.shapes[a]
    axis = m.whole(0, len(s) - 1)
    b = m.like(lambda o: len(o) == len(s) and (*o[:axis], *o[axis + 1 :]) == (*s[:axis], *s[axis + 1 :]))
    m.add("Concat", [a, b], (*s[:axis], s[axis] + m.shapes[b][axis], *s[axis + 1 :]), axis=axis)


def transpose(m: RandomModel, a: str) -> None:
    perm = [int(p) for p in m.generator.permutation(len(m.shapes[a]))]
    m.add("Transpose", [a], tuple(m.shapes[a][p] for p in perm), perm=perm)


def reshape(m: RandomModel, a: str) -> None:
    """To two, three or four dimensions."""
    rest, shape = int(np.prod(m.shapes[a])), [1]
    for _ in range(m.whole(0, 2)):
        shape.append(m.pick([d for d in range(1, rest + 1) if rest % d == 0]))
        rest //= shape[-1]
    shape.append(rest)
    m.add("Reshape", [a, m.integers(*shape)], tuple(shape))


def matrix_product(m: RandomModel, a: str) -> None:
    s, columns = m.shapes[a], m.whole(1, 9)
    m.add("MatMul", [a, m.weight(s[-1], columns)], (*s[:-1], columns))


def product_with_itself(m: RandomModel, a: str) -> None:
    s = m.shapes[a]
    if len(s) < 2:
        return
    perm = [*range(len(s) - 2), len(s) - 1, len(s) - 2]
    turned = m.add("Transpose", [a], (*s[:-2], s[-1], s[-2]), perm=perm)
    m.add("MatMul", [a, turned], (*s[:-1], s[-2]))


def softmax(m: RandomModel, a: str) -> None:
    m.add("Softmax", [a], m.shapes[a], axis=m.whole(0, len(m.shapes[a]) - 1))


def reduction(m: RandomModel, a: str) -> None:
    s, axis = m.shapes[a], m.whole(0, len(m.shapes[a]) - 1)
    m.add(m.pick(["ReduceMean", "ReduceMax"]), [a, m.integers(axis)], (*s[:axis], 1, *s[axis + 1 :]))


def pad(m: RandomModel, a: str) -> None:
    s = m.shapes[a]
    pads = [m.whole(0, 1) for _ in range(2 * len(s))]
    shape = tuple(n + lo + hi for n, lo, hi in zip(s, pads[: len(s)], pads[len(s) :], strict=True))
    m.add("Pad", [a, m.integers(*pads)], shape)


def cut(m: RandomModel, a: str) -> None:
    s, axis, step = m.shapes[a], m.whole(0, len(m.shapes[a]) - 1), m.whole(1, 2)
    if s[axis] > 1:
        inputs = [a, *(m.integers(v) for v in (1, s[axis], axis, step))]
        m.add("Slice", inputs, (*s[:axis], len(range(1, s[axis], step)), *s[axis + 1 :]))


OPERATORS = (
    convolution,
    convolution,
    convolution,
    pool,
    relu,
    add,
    scale,
    concat,
    transpose,
    reshape,
    matrix_product,
    product_with_itself,
    softmax,
    reduction,
    pad,
    cut,
)


def random_model(seed: int, largest: int = 4000) -> onnx.ModelProto:
    """A model with input `x` of four dimensions and one or two outputs, no tensor over `largest` elements."""
    m = RandomModel(seed)
    for _ in range(m.whole(5, 13)):
        recent = [n for n in list(m.shapes)[-4:] if np.prod(m.shapes[n]) * 4 <= largest]
        if recent:
            m.pick(OPERATORS)(m, m.pick(recent))
    relu(m, next(reversed(m.shapes)))
    made = [n for n in m.shapes if n != "x"]
    outputs = sorted({made[-1], m.pick(made)})
    used = {name for x in m.nodes for name in x.input}
    weights = {name: data for name, data in m.weights.items() if name in used}
    return model(m.nodes, {"x": m.shapes["x"]}, outputs, weights, opset=18)
