"""Random small models of the nests that schedules are chosen for, with odd sizes, by a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

import onnx
from convolutions import Case
from onnx_models import model, node, random

Shape = tuple[int, ...]


def pointwise(r: Random) -> onnx.ModelProto:
    shape = [r.randint(1, 9) for _ in range(r.randint(1, 4))]
    match r.randrange(4):
        case 0:
            other = [n if r.random() < 0.6 else 1 for n in shape]
            return model([node("Mul", ["x", "z"], ["y"])], {"x": shape, "z": other}, ["y"])
        case 1:
            perm = r.sample(range(len(shape)), len(shape))
            return model([node("Transpose", ["x"], ["y"], perm=perm)], {"x": shape}, ["y"])
        case 2:
            pads = [r.randint(0, 3) for _ in range(2 * len(shape))]
            return model([node("Pad", ["x"], ["y"], pads=pads)], {"x": shape}, ["y"], opset=10)
    return model([node("Erf", ["x"], ["a"]), node("Relu", ["a"], ["y"])], {"x": shape}, ["y"])


def reduction(r: Random) -> onnx.ModelProto:
    shape = [r.randint(1, 7), r.randint(1, 13), r.randint(1, 40)]
    op, axes = r.choice(["ReduceSum", "ReduceMax", "ReduceMean"]), r.sample(range(3), r.randint(1, 3))
    match r.randrange(3):
        case 0:
            return model([node("Softmax", ["x"], ["y"], axis=r.randrange(3))], {"x": shape}, ["y"])
        case 1:
            shape = [1, r.choice([3, 4, 8]), r.randint(3, 9), r.randint(3, 9)]
            window, strides = [r.randint(1, 3), r.randint(1, 3)], [r.randint(1, 2)] * 2
            pool = node(r.choice(["MaxPool", "AveragePool"]), ["x"], ["y"], kernel_shape=window, strides=strides)
            return model([pool], {"x": shape}, ["y"])
    return model([node(op, ["x"], ["y"], axes=axes, keepdims=r.randrange(2))], {"x": shape}, ["y"], opset=12)


def contraction(r: Random) -> onnx.ModelProto:
    rows, depth, columns = r.randint(1, 20), r.choice([1, 3, 4, 8, 13, 32, 512]), r.randint(1, 36)
    if depth == 512:
        rows, columns = r.randint(1, 4), r.choice([8, 16])
    if r.random() < 0.25:
        shapes = {"x": [2, rows, depth], "w": [2, depth, columns]}
        return model([node("MatMul", ["x", "w"], ["y"])], shapes, ["y"])
    weights = {"w": random((depth, columns), 1), "b": random((columns,), 2)}
    end = r.choice([["Identity"], ["Add"], ["Add", "Relu"], ["Add", "Erf"]])
    nodes, last = [node("MatMul", ["x", "w"], ["t0"])], "t0"
    for n, op in enumerate(end, 1):
        nodes.append(node(op, [last, "b"] if op == "Add" else [last], [f"t{n}"]))
        last = f"t{n}"
    used = weights if "Add" in end else {"w": weights["w"]}
    return model(nodes, {"x": r.choice([[rows, depth], [2, rows, depth]])}, [last], used)


def convolution(r: Random) -> onnx.ModelProto:
    group = r.choice([1, 1, 1, 2])
    return _convolution(r, group, group * r.randint(1, 6), group * r.randint(1, 9))


def depthwise(r: Random) -> onnx.ModelProto:
    channels = r.choice([3, 4, 8, 12])
    return _convolution(r, channels, channels, channels * r.choice([1, 1, 2]))


def _convolution(r: Random, group: int, inputs: int, outputs: int) -> onnx.ModelProto:
    kernel, pads = [r.randint(1, 3), r.randint(1, 3)], [r.randint(0, 1) for _ in range(4)]
    size = [r.randint(3, 9), r.randint(3, 13)]
    weights = {"w": random((outputs, inputs // group, *kernel), 1), "b": random((outputs,), 2)}
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], group=group, pads=pads, strides=[r.randint(1, 2), r.randint(1, 2)]),
        node("Relu", ["c"], ["y"]),
    ]
    return model(nodes, {"x": [1, inputs, *size]}, ["y"], weights)


def transform(r: Random) -> onnx.ModelProto:
    """A convolution that Winograd's algorithm can compute."""
    shape = (1, r.randint(1, 9), r.randint(1, 9), r.randint(1, 13))
    return Case(shape, r.randint(1, 10), tail=r.choice(["", "bias", "relu"])).proto


KINDS: Mapping[str, Callable[[Random], onnx.ModelProto]] = {
    "pointwise": pointwise,
    "reduction": reduction,
    "contraction": contraction,
    "convolution": convolution,
    "depthwise": depthwise,
    "transform": transform,
}
