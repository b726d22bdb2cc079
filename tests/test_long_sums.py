"""Long sums on every target: results within 2.5e-6 of float64's, relative to the largest, whatever axes are summed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as product_of

import numpy as np
import onnx
import pytest
from onnx_models import Array, model, node
from op_table import BACKENDS

BOUND = 2.5e-6


def uniform(*shape: int) -> Array:
    return np.random.default_rng(0).uniform(0, 1, shape).astype(np.float32)


def shifted(*shape: int) -> Array:
    """Normal, around 3."""
    return np.random.default_rng(1).normal(3, 1, shape).astype(np.float32)


def tenths(*shape: int) -> Array:
    """Equal terms: every addition errs in the same direction."""
    return np.full(shape, 0.1, np.float32)


def reduce(op: str, x: Array, *axes: int) -> tuple[onnx.ModelProto, Array, Array]:
    wide = x.astype(np.float64)
    want = {
        "ReduceSum": lambda: wide.sum(axes),
        "ReduceMean": lambda: wide.mean(axes),
        "ReduceL2": lambda: np.sqrt((wide**2).sum(axes)),
    }[op]()
    made = node(op, ["x", "axes"], ["y"], keepdims=0)
    return model([made], {"x": x.shape}, ["y"], {"axes": np.asarray(axes)}, opset=18), x, want


def normalise(x: Array, axes: Sequence[int]) -> Array:
    """By mean and variance along `axes`, with ONNX's usual epsilon."""
    wide = x.astype(np.float64)
    return (wide - wide.mean(tuple(axes), keepdims=True)) / np.sqrt(wide.var(tuple(axes), keepdims=True) + 1e-5)


def layer_norm(x: Array, axis: int) -> tuple[onnx.ModelProto, Array, Array]:
    made = node("LayerNormalization", ["x", "scale"], ["y"], axis=axis)
    weights = {"scale": np.ones(x.shape[axis:], np.float32)}
    return model([made], {"x": x.shape}, ["y"], weights), x, normalise(x, range(axis, x.ndim))


def instance_norm(x: Array) -> tuple[onnx.ModelProto, Array, Array]:
    channels = x.shape[1]
    made = node("InstanceNormalization", ["x", "scale", "bias"], ["y"])
    weights = {"scale": np.ones(channels, np.float32), "bias": np.zeros(channels, np.float32)}
    return model([made], {"x": x.shape}, ["y"], weights), x, normalise(x, range(2, x.ndim))


def group_norm(x: Array, groups: int) -> tuple[onnx.ModelProto, Array, Array]:
    channels = x.shape[1]
    made = node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=groups)
    weights = {"scale": np.ones(channels, np.float32), "bias": np.zeros(channels, np.float32)}
    want = normalise(x.reshape(x.shape[0], groups, -1), [2]).reshape(x.shape)
    return model([made], {"x": x.shape}, ["y"], weights, opset=21), x, want


def log_softmax_and_layer_norm(*shape: int) -> tuple[onnx.ModelProto, Array, Array]:
    x = shifted(*shape)
    nodes = [node("LogSoftmax", ["x"], ["p"], axis=-1), node("LayerNormalization", ["p", "scale"], ["y"], axis=0)]
    wide = x.astype(np.float64)
    p = wide - np.log(np.exp(wide).sum(-1, keepdims=True))
    return model(nodes, {"x": shape}, ["y"], {"scale": np.ones(shape, np.float32)}), x, normalise(p, range(x.ndim))


def softmax(x: Array, axis: int) -> tuple[onnx.ModelProto, Array, Array]:
    e = np.exp(x.astype(np.float64))
    return model([node("Softmax", ["x"], ["y"], axis=axis)], {"x": x.shape}, ["y"]), x, e / e.sum(axis, keepdims=True)


def average_pool(x: Array) -> tuple[onnx.ModelProto, Array, Array]:
    want = x.astype(np.float64).mean((2, 3), keepdims=True)
    return model([node("GlobalAveragePool", ["x"], ["y"])], {"x": x.shape}, ["y"]), x, want


def product(x: Array, columns: int) -> tuple[onnx.ModelProto, Array, Array]:
    w = np.random.default_rng(2).uniform(0, 1, (x.shape[1], columns)).astype(np.float32)
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": x.shape}, ["y"], {"w": w})
    return proto, x, x.astype(np.float64) @ w.astype(np.float64)


def running_sum(x: Array) -> tuple[onnx.ModelProto, Array, Array]:
    proto = model([node("CumSum", ["x", "axis"], ["y"])], {"x": x.shape}, ["y"], {"axis": np.asarray(1)})
    return proto, x, x.astype(np.float64).cumsum(1)


CASES = {
    "layer norm, short last axis": lambda: layer_norm(shifted(349525, 3), 0),
    "layer norm of rows, short last axis": lambda: layer_norm(uniform(17, 6168, 5), 1),
    "layer norm of a log softmax": lambda: log_softmax_and_layer_norm(8, 208, 2, 6, 3),
    "all": lambda: reduce("ReduceSum", uniform(349525, 3), 0, 1),
    "all, equal": lambda: reduce("ReduceSum", tenths(116509, 3), 0, 1),
    "a long row": lambda: reduce("ReduceSum", uniform(1000003), 0),
    "first axis, vectors": lambda: reduce("ReduceSum", shifted(50000, 12), 0),
    "first axis, five": lambda: reduce("ReduceMean", tenths(50000, 5), 0),
    "axes apart": lambda: reduce("ReduceSum", uniform(3001, 7, 5), 0, 2),
    "first axes": lambda: reduce("ReduceSum", tenths(100, 101, 64), 0, 1),
    "many rows": lambda: reduce("ReduceMean", tenths(3000, 301, 3), 1, 2),
    "many long rows": lambda: reduce("ReduceSum", uniform(2100, 4099), 1),
    "roots of squares": lambda: reduce("ReduceL2", tenths(20000, 2, 3), 0, 1, 2),
    "softmax of columns": lambda: softmax(uniform(30000, 3), 0),
    "softmax of columns, vectors": lambda: softmax(uniform(30000, 8), 0),
    "average pool": lambda: average_pool(tenths(1, 8, 333, 301)),
    "instance norm": lambda: instance_norm(uniform(1, 3, 400, 3, 101)),
    "group norm": lambda: group_norm(uniform(1, 6, 200, 203), 2),
    "product": lambda: product(uniform(30, 20000), 32),
    "product, many tiles": lambda: product(uniform(260, 12000), 256),
    "product, weights from memory": lambda: product(uniform(5, 9600), 512),
    "running sum": lambda: running_sum(uniform(2, 9000)),
}


# NumPy over index grids takes minutes for these.
SLOW = {("product, many tiles", "evaluate"), ("running sum", "evaluate")}


@pytest.mark.parametrize(("case", "backend"), [p for p in product_of(CASES, BACKENDS) if p not in SLOW])
def test_long_sums(case: str, backend: str) -> None:
    proto, x, want = CASES[case]()
    (got,) = BACKENDS[backend](proto, {"x": x})
    assert float(np.abs(got.astype(np.float64) - want).max()) <= BOUND * float(np.abs(want).max())
