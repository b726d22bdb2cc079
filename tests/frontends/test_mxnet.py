"""Operators of MXNet: each agrees with NumPy. (They were compared with MXNet 1.9.1, too, which needs NumPy 1.)"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import erf, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from mxnet_models import Symbol, write_model
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray
RNG = np.random.default_rng(zlib.crc32(b"mxnet"))


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def positive(*shape: int) -> Array:
    return RNG.uniform(0.2, 2, shape).astype(np.float32)


@dataclass(frozen=True)
class Row:
    """An operator on `inputs` and `weights`, which gives `reference(*inputs, *weights)`."""

    op: str
    case: str
    inputs: Sequence[Array]
    attributes: Mapping[str, Any]
    reference: Callable[..., Array | Sequence[Array]]
    weights: Sequence[Array] = field(default=())
    results: int = 1

    @property
    def id(self) -> str:
        return f"{self.op}-{self.case}"

    def write(self, folder: Path) -> Path:
        symbol = Symbol()
        operands = [symbol.variable(f"x{i}") for i in range(len(self.inputs))]
        # Those that are trained are arguments, statistics are auxiliary.
        states = ["arg"] * 2 + ["aux"] * 2 if self.op == "BatchNorm" else ["arg"] * len(self.weights)
        operands += [symbol.variable(f"w{i}") for i in range(len(self.weights))]
        node = symbol.node(self.op, "y", operands, **self.attributes)
        arrays = {f"{s}:w{i}": w for i, (s, w) in enumerate(zip(states, self.weights, strict=True))}
        return write_model(folder, symbol.json(*((node, i) for i in range(self.results))), arrays)


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def conv(x: Array, w: Array, b: Array | None, stride: int, pad: int, group: int) -> Array:
    parts = []
    for part, weights in zip(np.split(x, group, 1), np.split(w, group), strict=True):
        wide = np.pad(part, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
        taps = sliding_window_view(wide, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
        parts.append(np.einsum("nchwij,ocij->nohw", taps, weights))
    y = np.concatenate(parts, 1)
    return y if b is None else y + b.reshape(-1, 1, 1)


def deconv(x: Array, w: Array, stride: int, pad: int, more: int) -> Array:
    n, _, h, width = x.shape
    k = w.shape[2]
    y = np.zeros((n, w.shape[1], (h - 1) * stride + k + more, (width - 1) * stride + k + more), np.float32)
    for i in range(h):
        for j in range(width):
            patch = np.tensordot(x[:, :, i, j], w, (1, 0))
            y[:, :, i * stride : i * stride + k, j * stride : j * stride + k] += patch
    return y[:, :, pad : y.shape[2] - pad, pad : y.shape[3] - pad]


def pool(
    x: Array, reduce: Callable[..., Array], kernel: int, stride: int, pad: int, fill: float, *, full: bool
) -> Array:
    n = (x.shape[2] + 2 * pad - kernel) / stride
    count = int(np.ceil(n) if full else np.floor(n)) + 1
    behind = (count - 1) * stride + kernel - x.shape[2] - pad
    wide = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=fill)
    wide = np.pad(wide, [(0, 0), (0, 0), *[(0, max(behind - pad, 0))] * 2], constant_values=np.nan)
    return reduce(sliding_window_view(wide, (kernel, kernel), axis=(2, 3))[:, :, ::stride, ::stride], axis=(4, 5))


def batch_norm(x: Array, g: Array, b: Array, m: Array, v: Array, axis: int, eps: float) -> Array:
    g, b, m, v = (np.expand_dims(a, [d for d in range(x.ndim) if d != axis]) for a in (g, b, m, v))
    return (x - m) / np.sqrt(v + eps) * g + b


def lrn(x: Array, size: int, alpha: float, beta: float, k: float) -> Array:
    squares = np.pad(x * x, [(0, 0), (size // 2, size // 2), (0, 0), (0, 0)])
    return x / (k + alpha / size * sum(squares[:, i : i + x.shape[1]] for i in range(size))) ** beta


def bilinear(x: Array, h: int, w: int) -> Array:
    for axis, n in ((2, h), (3, w)):
        at = np.linspace(0, x.shape[axis] - 1, n)
        low = at.astype(int)
        high = np.minimum(low + 1, x.shape[axis] - 1)
        share = np.expand_dims(at - low, [d for d in range(4) if d != axis])
        x = np.take(x, low, axis) * (1 - share) + np.take(x, high, axis) * share
    return x


X, P = real(2, 4, 6, 6), positive(2, 3, 4)
STATE = [positive(4), real(4), real(4), positive(4)]
UNARY: dict[str, tuple[Callable[[Array], Array], Array]] = {
    "BlockGrad": (lambda x: x, P),
    "abs": (np.abs, X),
    "arccos": (np.arccos, X),
    "arcsin": (np.arcsin, X),
    "arctan": (np.arctan, X),
    "ceil": (np.ceil, 3 * X),
    "cos": (np.cos, X),
    "cosh": (np.cosh, X),
    "erf": (np.vectorize(erf), P),
    "exp": (np.exp, X),
    "expm1": (np.expm1, X),
    "floor": (np.floor, 3 * X),
    "hard_sigmoid": (lambda x: (0.2 * x + 0.5).clip(0, 1), 4 * X),
    "log": (np.log, P),
    "log10": (np.log10, P),
    "log1p": (np.log1p, P),
    "log2": (np.log2, P),
    "negative": (np.negative, X),
    "ones_like": (np.ones_like, X),
    "reciprocal": (np.reciprocal, P),
    "relu": (lambda x: x.clip(0), X),
    "rint": (np.rint, 3 * X),
    "rsqrt": (lambda x: 1 / np.sqrt(x), P),
    "sigmoid": (sigmoid, X),
    "sign": (np.sign, X),
    "sin": (np.sin, X),
    "sinh": (np.sinh, X),
    "softsign": (lambda x: x / (1 + abs(x)), X),
    "sqrt": (np.sqrt, P),
    "square": (np.square, X),
    "tan": (np.tan, X),
    "tanh": (np.tanh, X),
    "zeros_like": (np.zeros_like, X),
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "_maximum": np.maximum,
    "_not_equal": np.not_equal,
    "_power": np.power,
    "broadcast_add": np.add,
    "broadcast_div": np.divide,
    "broadcast_equal": np.equal,
    "broadcast_greater": np.greater,
    "broadcast_lesser_equal": np.less_equal,
    "broadcast_minimum": np.minimum,
    "elemwise_mul": np.multiply,
    "elemwise_sub": np.subtract,
}
SCALAR: dict[str, Callable[[Array], Array]] = {
    "_div_scalar": lambda x: x / 1.5,
    "_greater_scalar": lambda x: x > 1.5,
    "_maximum_scalar": lambda x: np.maximum(x, 1.5),
    "_minimum_scalar": lambda x: np.minimum(x, 1.5),
    "_minus_scalar": lambda x: x - 1.5,
    "_mul_scalar": lambda x: x * 1.5,
    "_plus_scalar": lambda x: x + 1.5,
    "_power_scalar": lambda x: x**1.5,
    "_rdiv_scalar": lambda x: 1.5 / x,
    "_rminus_scalar": lambda x: 1.5 - x,
    "_rpower_scalar": lambda x: 1.5**x,
}
REDUCTIONS: dict[str, Callable[..., Array]] = {
    "max": np.max,
    "mean": np.mean,
    "min": np.min,
    "prod": np.prod,
    "sum": np.sum,
}
NUMBERS = RNG.integers(0, 5, (2, 3)).astype(np.float32)
Q = np.where(RNG.random(P.shape) < 0.5, P, positive(2, 3, 4))
SELU = (1.0507009873554805, 1.6732632423543772)
ROWS = [
    *(Row(op, "", [x], {}, of) for op, (of, x) in UNARY.items()),
    *(Row(op, "", [P, positive(3, 1) if op.startswith("broadcast") else Q], {}, of) for op, of in BINARY.items()),
    *(Row(op, "", [P], {"scalar": 1.5}, of) for op, of in SCALAR.items()),
    *(Row(op, "axes", [X], {"axis": (1, -1)}, lambda x, of=of: of(x, (1, 3))) for op, of in REDUCTIONS.items()),
    Row(
        "sum", "exclude", [X], {"axis": 1, "exclude": True, "keepdims": True}, lambda x: x.sum((0, 2, 3), keepdims=True)
    ),
    Row("mean", "all", [X], {}, lambda x: x.mean().reshape(1)),
    Row("norm", "", [X], {"axis": 1}, lambda x: np.sqrt((x * x).sum(1))),
    Row("argmax", "", [X], {"axis": 1}, lambda x: x.argmax(1)),
    Row("argmin", "", [X], {"axis": -1, "keepdims": True}, lambda x: x.argmin(-1)[..., None]),
    *(
        Row("Activation", kind, [X], {"act_type": kind}, of)
        for kind, of in (("relu", lambda x: x.clip(0)), ("softrelu", lambda x: np.log1p(np.exp(x))), ("tanh", np.tanh))
    ),
    Row("LeakyReLU", "leaky", [X], {"slope": 0.1}, lambda x: np.where(x > 0, x, 0.1 * x)),
    Row("LeakyReLU", "elu", [X], {"act_type": "elu", "slope": 0.5}, lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    Row("LeakyReLU", "selu", [X], {"act_type": "selu"}, lambda x: SELU[0] * np.where(x > 0, x, SELU[1] * np.expm1(x))),
    Row("LeakyReLU", "gelu", [P], {"act_type": "gelu"}, lambda x: x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2),
    Row(
        "LeakyReLU",
        "prelu",
        [X],
        {"act_type": "prelu"},
        lambda x, a: np.where(x > 0, x, x * a[:, None, None]),
        [real(4)],
    ),
    Row("clip", "", [X], {"a_min": -0.5, "a_max": 0.25}, lambda x: x.clip(-0.5, 0.25)),
    Row("Cast", "", [3 * P], {"dtype": "float32"}, lambda x: x),
    Row("where", "", [(P > 1).astype(np.float32), P, Q], {}, lambda c, x, y: np.where(c, x, y)),
    Row("add_n", "", [P, Q, P], {"num_args": 3}, lambda x, y, z: x + y + z),
    Row(
        "Convolution",
        "",
        [X],
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "num_filter": 6, "num_group": 2},
        lambda x, w, b: conv(x, w, b, 2, 1, 2),
        [real(6, 2, 3, 3), real(6)],
    ),
    Row(
        "Deconvolution",
        "",
        [X],
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "adj": (1, 1), "num_filter": 5},
        lambda x, w: deconv(x, w, 2, 1, 1),
        [real(4, 5, 3, 3)],
    ),
    Row(
        "FullyConnected",
        "",
        [X],
        {"num_hidden": 5},
        lambda x, w, b: x.reshape(2, -1) @ w.T + b,
        [real(5, 144), real(5)],
    ),
    Row(
        "FullyConnected",
        "last",
        [P],
        {"num_hidden": 5, "flatten": False, "no_bias": True},
        lambda x, w: x @ w.T,
        [real(5, 4)],
    ),
    Row("Embedding", "", [NUMBERS], {"input_dim": 5, "output_dim": 3}, lambda x, w: w[x.astype(int)], [real(5, 3)]),
    Row(
        "Pooling",
        "max",
        [X],
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
        lambda x: pool(x, np.nanmax, 3, 2, 1, -np.inf, full=False),
    ),
    Row(
        "Pooling",
        "average-full",
        [X],
        {"kernel": (3, 3), "stride": (2, 2), "pool_type": "avg", "pooling_convention": "full"},
        lambda x: pool(x, np.nanmean, 3, 2, 0, 0, full=True),
    ),
    Row(
        "Pooling",
        "average-within",
        [X],
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "avg", "count_include_pad": False},
        lambda x: pool(x, np.nanmean, 3, 2, 1, np.nan, full=False),
    ),
    Row(
        "Pooling",
        "sum",
        [X],
        {"kernel": (2, 2), "stride": (2, 2), "pool_type": "sum"},
        lambda x: pool(x, np.sum, 2, 2, 0, 0, full=False),
    ),
    Row(
        "Pooling",
        "global",
        [X],
        {"global_pool": True, "pool_type": "avg", "kernel": (7, 7)},
        lambda x: x.mean((2, 3), keepdims=True),
    ),
    Row("BatchNorm", "fixed", [X], {}, lambda x, g, b, m, v: batch_norm(x, g * 0 + 1, b, m, v, 1, 1e-3), STATE),
    Row("BatchNorm", "", [X], {"fix_gamma": False, "eps": 1e-5}, lambda x, *s: batch_norm(x, *s, 1, 1e-5), STATE),
    Row("BatchNorm", "last", [P], {"fix_gamma": False, "axis": -1}, lambda x, *s: batch_norm(x, *s, 2, 1e-3), STATE),
    Row(
        "LayerNorm",
        "",
        [P],
        {"eps": 1e-3},
        lambda x, g, b: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3) * g + b,
        [real(4), real(4)],
    ),
    Row(
        "InstanceNorm",
        "",
        [P],
        {"eps": 0.01},
        lambda x, g, b: (
            (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 0.01) * g[:, None] + b[:, None]
        ),
        [real(3), real(3)],
    ),
    *(
        Row(
            "L2Normalization",
            mode,
            [X],
            {"mode": mode, "eps": 0.01},
            lambda x, a=a: x / np.sqrt((x * x).sum(a, keepdims=True) + 0.01),
        )
        for mode, a in (("instance", (1, 2, 3)), ("channel", 1), ("spatial", (2, 3)))
    ),
    Row("LRN", "", [X], {"nsize": 3, "alpha": 0.5, "beta": 0.6, "knorm": 1.5}, lambda x: lrn(x, 3, 0.5, 0.6, 1.5)),
    Row("dot", "", [real(2, 3), real(4, 3)], {"transpose_b": True}, lambda x, y: x @ y.T),
    Row("batch_dot", "", [real(2, 4, 3), real(2, 4, 5)], {"transpose_a": True}, lambda x, y: x.swapaxes(1, 2) @ y),
    Row(
        "UpSampling",
        "",
        [X],
        {"scale": 2, "sample_type": "nearest", "num_args": 1},
        lambda x: x.repeat(2, 2).repeat(2, 3),
    ),
    Row("_contrib_BilinearResize2D", "", [X], {"height": 11, "width": 9}, lambda x: bilinear(x, 11, 9)),
    Row("_contrib_AdaptiveAvgPooling2D", "", [X], {"output_size": 1}, lambda x: x.mean((2, 3), keepdims=True)),
    Row("Concat", "", [X, real(2, 3, 6, 6)], {"dim": 1, "num_args": 2}, lambda x, y: np.concatenate([x, y], 1)),
    Row("stack", "", [P, Q], {"axis": 1, "num_args": 2}, lambda x, y: np.stack([x, y], 1)),
    Row("SliceChannel", "", [X], {"num_outputs": 2, "axis": 1}, lambda x: np.split(x, 2, 1), results=2),
    Row(
        "split",
        "squeezed",
        [P],
        {"num_outputs": 3, "axis": 1, "squeeze_axis": True},
        lambda x: list(np.moveaxis(x, 1, 0)),
        results=3,
    ),
    Row("slice_axis", "", [X], {"axis": -1, "begin": 1, "end": None}, lambda x: x[..., 1:]),
    Row("slice", "", [X], {"begin": (None, 3), "end": (None, None), "step": (None, -1)}, lambda x: x[:, 3::-1]),
    Row("slice_like", "", [X, real(2, 3, 2, 9)], {"axes": (1, 2)}, lambda x, y: x[:, :3, :2]),
    Row("Flatten", "", [X], {}, lambda x: x.reshape(2, -1)),
    Row("Reshape", "", [X], {"shape": (0, -1, 6)}, lambda x: x.reshape(2, 24, 6)),
    Row("Reshape", "codes", [X], {"shape": (-3, -4, 2, -1, -2)}, lambda x: x.reshape(8, 2, 3, 6)),
    Row("Reshape", "reverse", [X], {"shape": (-1, 0), "reverse": True}, lambda x: x.reshape(-1, 6)),
    Row("transpose", "", [P], {"axes": (1, 2, 0)}, lambda x: x.transpose(1, 2, 0)),
    Row("transpose", "all", [P], {}, np.transpose),
    Row("SwapAxis", "", [P], {"dim1": 0, "dim2": 2}, lambda x: x.swapaxes(0, 2)),
    Row("expand_dims", "", [P], {"axis": -1}, lambda x: x[..., None]),
    Row("squeeze", "", [real(2, 1, 3)], {"axis": 1}, lambda x: x[:, 0]),
    Row("tile", "", [P], {"reps": (2, 1, 2, 3)}, lambda x: np.tile(x, (2, 1, 2, 3))),
    Row("repeat", "", [P], {"repeats": 3, "axis": 1}, lambda x: x.repeat(3, 1)),
    Row("broadcast_to", "", [real(2, 1, 3)], {"shape": (0, 4, 0)}, lambda x: np.broadcast_to(x, (2, 4, 3))),
    Row("broadcast_axis", "", [real(2, 1, 3)], {"axis": 1, "size": 4}, lambda x: np.broadcast_to(x, (2, 4, 3))),
    Row("broadcast_like", "", [real(2, 1, 4), P], {}, lambda x, y: np.broadcast_to(x, y.shape)),
    *(
        Row(
            "Pad",
            mode,
            [X],
            {"mode": mode, "pad_width": (0, 0, 0, 0, 1, 2, 2, 1)},
            lambda x, mode=mode: np.pad(x, [(0, 0), (0, 0), (1, 2), (2, 1)], mode),
        )
        for mode in ("constant", "edge", "reflect")
    ),
    Row("take", "", [real(4, 3), NUMBERS], {}, lambda x, i: x[i.astype(int).clip(0, 3)]),
    Row(
        "one_hot",
        "",
        [NUMBERS],
        {"depth": 5, "on_value": 2.0, "off_value": -1.0},
        lambda x: np.where(np.arange(5) == x[..., None], 2, -1),
    ),
    Row("softmax", "", [X], {"axis": 1, "temperature": 2.0}, lambda x: softmax(x / 2, 1)),
    Row("log_softmax", "", [P], {}, lambda x: np.log(softmax(x, -1))),
    Row("SoftmaxActivation", "last", [X], {}, lambda x: softmax(x, -1)),
    Row("SoftmaxActivation", "", [X], {"mode": "channel"}, lambda x: softmax(x, 1)),
    Row("SoftmaxOutput", "", [X], {}, lambda x: softmax(x.reshape(2, -1), 1).reshape(x.shape)),
    Row("SoftmaxOutput", "channels", [X], {"multi_output": True}, lambda x: softmax(x, 1)),
    Row("SoftmaxOutput", "last", [X], {"preserve_shape": True}, lambda x: softmax(x, -1)),
    Row("LogisticRegressionOutput", "", [X], {}, sigmoid),
    Row("_equal_scalar", "", [NUMBERS], {"scalar": 2.0}, lambda x: x == 2),
    Row("_lesser_equal_scalar", "", [P], {"scalar": 1.0}, lambda x: x <= 1),
    Row("broadcast_greater_equal", "", [P, Q], {}, np.greater_equal),
    Row("broadcast_power", "", [P, positive(3, 1)], {}, np.power),
    Row(
        "UpSampling",
        "bilinear",
        [X],
        {"scale": 2, "sample_type": "bilinear", "num_args": 2, "num_filter": 4},
        lambda x, w: np.concatenate([deconv(x[:, [c]], w[[c]], 2, 1, 0) for c in range(4)], 1),
        [real(4, 1, 4, 4)],
    ),
    Row(
        "depth_to_space",
        "",
        [X],
        {"block_size": 2},
        lambda x: x.reshape(2, 2, 2, 1, 6, 6).transpose(0, 3, 4, 1, 5, 2).reshape(2, 1, 12, 12),
    ),
    Row(
        "space_to_depth",
        "",
        [X],
        {"block_size": 2},
        lambda x: x.reshape(2, 4, 3, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 16, 3, 3),
    ),
]


def results(row: Row, path: Path) -> list[Array]:
    feeds = {f"x{i}": x for i, x in enumerate(row.inputs)}
    model = webnn_compile.compile(path, shapes={name: x.shape for name, x in feeds.items()})
    return list(model.run(feeds).values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_operator(row: Row, tmp_path: Path) -> None:
    expected = row.reference(*row.inputs, *row.weights)
    for got, want in zip(results(row, row.write(tmp_path)), expected if row.results > 1 else [expected], strict=True):
        assert got.shape == np.shape(want)
        assert prod(got.shape) > 0
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
