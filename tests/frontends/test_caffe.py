"""Layers of Caffe: each agrees with NumPy, and with OpenCV's reader of Caffe models where that is installed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from caffe_models import write_model
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray
RNG = np.random.default_rng(zlib.crc32(b"caffe"))


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def positive(*shape: int) -> Array:
    return RNG.uniform(0.1, 2, shape).astype(np.float32)


@dataclass(frozen=True)
class Row:
    """A layer of this `kind` with `parameters` on `inputs`, which gives `reference(*inputs, *weights)`. `cv` is False
    where OpenCV lacks the layer, its parameters or its further tops."""

    kind: str
    case: str
    inputs: Sequence[Array]
    parameters: str
    reference: Callable[..., Array | Sequence[Array]]
    weights: Sequence[Array] = field(default=())
    tops: int = 1
    cv: bool = True

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.case}"

    @property
    def text(self) -> str:
        shapes = [" ".join(f"dim: {n}" for n in x.shape) for x in self.inputs]
        lines = [f'input: "x{i}" input_shape {{ {s} }}' for i, s in enumerate(shapes)]
        ends = [f'bottom: "x{i}"' for i in range(len(shapes))] + [f'top: "y{i}"' for i in range(self.tops)]
        lines.append(f'layer {{ name: "layer" type: "{self.kind}" {" ".join(ends)} {self.parameters} }}')
        return "\n".join(lines)


def windows(x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """N, C, ..., taps of a padded value."""
    n = len(kernel)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    found = sliding_window_view(x, extents, axis=tuple(range(2, 2 + n)))
    steps = tuple(slice(None, None, s) for s in stride)
    return found[(slice(None), slice(None), *steps, *(slice(None, None, d) for d in dilation))]


def padded(x: Array, pad: Sequence[int]) -> Array:
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])


def conv(
    x: Array,
    w: Array,
    b: Array | float,
    pad: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    group: int = 1,
) -> Array:
    n = w.ndim - 2
    parts = []
    for part, weights in zip(np.split(x, group, 1), np.split(w, group, 0), strict=True):
        taps = windows(padded(part, pad), w.shape[2:], stride, dilation)
        axes = [1, *range(2 + n, 2 + 2 * n)]
        parts.append(np.moveaxis(np.tensordot(taps, weights, (axes, [1, *range(2, 2 + n)])), -1, 1))
    return np.concatenate(parts, 1) + np.reshape(b, (-1, *(1,) * n))


def deconv(x: Array, w: Array, b: Array, stride: int, pad: int, group: int) -> Array:
    n, _, h, width = x.shape
    k, outputs = w.shape[2], w.shape[1]
    y = np.zeros((n, outputs * group, (h - 1) * stride + k, (width - 1) * stride + k), np.float32)
    for g, (part, weights) in enumerate(zip(np.split(x, group, 1), np.split(w, group, 0), strict=True)):
        for i in range(h):
            for j in range(width):
                patch = np.tensordot(part[:, :, i, j], weights, (1, 0))
                y[:, g * outputs : (g + 1) * outputs, i * stride : i * stride + k, j * stride : j * stride + k] += patch
    return y[:, :, pad : y.shape[2] - pad, pad : y.shape[3] - pad] + b.reshape(-1, 1, 1)


def pool(x: Array, kind: str, kernel: int, stride: int, pad: int, ceil: bool = True) -> Array:
    """As PoolingLayer::Forward_cpu has it."""
    h, w = x.shape[2:]

    def count(n: int) -> int:
        steps = (n + 2 * pad - kernel) / stride
        found = int(np.ceil(steps) if ceil else np.floor(steps)) + 1
        return found - 1 if pad and (found - 1) * stride >= n + pad else found

    y = np.zeros((*x.shape[:2], count(h), count(w)), np.float32)
    for i in range(y.shape[2]):
        for j in range(y.shape[3]):
            top, left = i * stride - pad, j * stride - pad
            bottom, right = min(top + kernel, h + pad), min(left + kernel, w + pad)
            size = (bottom - top) * (right - left)
            part = x[:, :, max(top, 0) : min(bottom, h), max(left, 0) : min(right, w)]
            y[:, :, i, j] = part.max((2, 3)) if kind == "max" else part.sum((2, 3)) / size
    return y


def lrn(x: Array, size: int, alpha: float, beta: float, k: float) -> Array:
    squares = np.pad(x * x, [(0, 0), (size // 2, size // 2), (0, 0), (0, 0)])
    total = sum(squares[:, i : i + x.shape[1]] for i in range(size))
    return x / (k + alpha / size * total) ** beta


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def arg_max(x: Array, count: int) -> tuple[Array, Array]:
    order = np.argsort(-x, axis=-1, kind="stable")[..., :count]
    return order.astype(np.float32), np.take_along_axis(x, order, -1)


def interp(x: Array, h: int, w: int) -> Array:
    def along(a: Array, n: int, axis: int) -> Array:
        at = np.linspace(0, a.shape[axis] - 1, n)
        low = np.minimum(at.astype(int), a.shape[axis] - 1)
        high = np.minimum(low + 1, a.shape[axis] - 1)
        share = (at - low).reshape([-1 if d == axis else 1 for d in range(4)])
        return np.take(a, low, axis) * (1 - share) + np.take(a, high, axis) * share

    return along(along(x, h, 2), w, 3)


X = real(2, 4, 7, 9)
CHANNELS = [real(4), positive(4)]
ROWS = [
    Row("AbsVal", "", [X], "", np.abs),
    Row("BNLL", "", [3 * X], "", lambda x: np.log1p(np.exp(x))),
    Row("Clip", "", [X], "clip_param { min: -0.5 max: 0.25 }", lambda x: x.clip(-0.5, 0.25), cv=False),
    Row("Dropout", "", [X], "dropout_param { dropout_ratio: 0.4 }", lambda x: x),
    Row("ELU", "", [X], "elu_param { alpha: 0.5 }", lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    Row("Exp", "", [X], "exp_param { base: 2 scale: 0.5 shift: 1 }", lambda x: 2 ** (0.5 * x + 1)),
    Row("Exp", "e", [X], "", np.exp),
    Row(
        "Log", "", [positive(2, 5)], "log_param { base: 10 scale: 2 shift: 1 }", lambda x: np.log10(2 * x + 1), cv=False
    ),
    Row("Mish", "", [X], "", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    Row("PReLU", "", [X], "", lambda x, a: np.where(x > 0, x, x * a.reshape(-1, 1, 1)), [real(4)]),
    Row(
        "PReLU",
        "shared",
        [X],
        "prelu_param { channel_shared: true }",
        lambda x, a: np.where(x > 0, x, x * a),
        [real(1)],
    ),
    Row(
        "Power",
        "",
        [positive(2, 3, 5, 4)],
        "power_param { power: 1.5 scale: 2 shift: 0.5 }",
        lambda x: (2 * x + 0.5) ** 1.5,
    ),
    Row("ReLU", "", [X], "", lambda x: x.clip(0)),
    Row("ReLU", "slope", [X], "relu_param { negative_slope: 0.1 }", lambda x: np.where(x > 0, x, 0.1 * x)),
    Row("ReLU6", "", [9 * X], "", lambda x: x.clip(0, 6)),
    Row("Sigmoid", "", [X], "", sigmoid),
    Row("Softmax", "", [X], "", lambda x: softmax(x, 1)),
    Row("Softmax", "last", [X], "softmax_param { axis: -1 }", lambda x: softmax(x, 3)),
    Row("Split", "", [X], "", lambda x: [x, x], tops=2, cv=False),
    Row("Swish", "", [X], "swish_param { beta: 0.5 }", lambda x: x * sigmoid(0.5 * x), cv=False),
    Row("TanH", "", [X], "", np.tanh),
    Row("Threshold", "", [X], "threshold_param { threshold: 0.2 }", lambda x: (x > 0.2).astype(np.float32), cv=False),
    Row(
        "Convolution",
        "",
        [X],
        "convolution_param { num_output: 6 kernel_size: 3 pad: 1 stride: 2 group: 2 }",
        lambda x, w, b: conv(x, w, b, (1, 1), (2, 2), (1, 1), 2),
        [real(6, 2, 3, 3), real(6)],
    ),
    Row(
        "Convolution",
        "by-axis",
        [X],
        "convolution_param { num_output: 3 kernel_h: 3 kernel_w: 2 pad_h: 2 pad_w: 0 stride_h: 1 stride_w: 3 "
        "dilation: 2 dilation: 1 bias_term: false }",
        lambda x, w: conv(x, w, 0, (2, 0), (1, 3), (2, 1)),
        [real(3, 4, 3, 2)],
    ),
    Row(
        "Convolution",
        "3d",
        [real(1, 2, 4, 5, 6)],
        "convolution_param { num_output: 3 kernel_size: 2 kernel_size: 3 kernel_size: 2 pad: 1 }",
        lambda x, w, b: conv(x, w, b, (1, 1, 1), (1, 1, 1), (1, 1, 1)),
        [real(3, 2, 2, 3, 2), real(3)],
        cv=False,  # reads beyond one padding for three axes
    ),
    Row(
        "Convolution",
        "1d",
        [real(2, 3, 8)],
        "convolution_param { num_output: 2 kernel_size: 3 stride: 2 }",
        lambda x, w, b: conv(x, w, b, (0,), (2,), (1,)),
        [real(2, 3, 3), real(2)],
        cv=False,
    ),
    Row(
        "Deconvolution",
        "",
        [real(2, 4, 3, 5)],
        "convolution_param { num_output: 6 kernel_size: 4 stride: 2 pad: 1 group: 2 }",
        lambda x, w, b: deconv(x, w, b, 2, 1, 2),
        [real(4, 3, 4, 4), real(6)],
    ),
    Row(
        "InnerProduct",
        "",
        [real(2, 3, 2, 2)],
        "inner_product_param { num_output: 5 }",
        lambda x, w, b: x.reshape(2, -1) @ w.T + b,
        [real(5, 12), real(5)],
    ),
    Row(
        "InnerProduct",
        "transposed",
        [real(2, 6)],
        "inner_product_param { num_output: 5 transpose: true bias_term: false }",
        lambda x, w: x @ w,
        [real(6, 5)],
        cv=False,
    ),
    Row(
        "InnerProduct",
        "axis",
        [real(2, 3, 4, 2)],
        "inner_product_param { num_output: 5 axis: -2 }",
        lambda x, w, b: x.reshape(2, 3, 8) @ w.T + b,
        [real(5, 8), real(5)],
    ),
    Row(
        "Embed",
        "",
        [RNG.integers(0, 7, (2, 3)).astype(np.float32)],
        "embed_param { num_output: 4 input_dim: 7 }",
        lambda x, w, b: w[x.astype(int)] + b,
        [real(7, 4), real(4)],
        cv=False,
    ),
    *(
        Row(
            "Pooling",
            f"{kind}-{kernel}-{stride}-{pad}{'' if ceil else '-floor'}",
            [X],
            f"pooling_param {{ pool: {kind.upper()} kernel_size: {kernel} stride: {stride} pad: {pad} "
            f"ceil_mode: {str(ceil).lower()} }}",
            partial(pool, kind=kind, kernel=kernel, stride=stride, pad=pad, ceil=ceil),
        )
        for kind, kernel, stride, pad, ceil in (
            ("max", 3, 2, 0, True),
            ("max", 2, 2, 1, True),
            ("max", 3, 2, 0, False),
            ("ave", 3, 2, 1, True),
            ("ave", 4, 3, 2, True),
            ("ave", 2, 2, 0, True),
        )
    ),
    Row(
        "Pooling",
        "global",
        [X],
        "pooling_param { pool: AVE global_pooling: true }",
        lambda x: x.mean((2, 3), keepdims=True),
    ),
    Row("LRN", "", [X], "lrn_param { local_size: 3 alpha: 0.5 beta: 0.6 }", lambda x: lrn(x, 3, 0.5, 0.6, 1)),
    Row("LRN", "k", [X], "lrn_param { local_size: 5 k: 2 }", lambda x: lrn(x, 5, 1, 0.75, 2), cv=False),
    Row(
        "LRN",
        "within",
        [X],
        "lrn_param { local_size: 3 alpha: 0.5 beta: 0.6 norm_region: WITHIN_CHANNEL }",
        lambda x: x / (1 + 0.5 * pool(x * x, "ave", 3, 1, 1)) ** 0.6,
    ),
    Row(
        "BatchNorm",
        "",
        [X],
        "batch_norm_param { eps: 0.001 }",
        lambda x, m, v, f: (x - (m / f).reshape(-1, 1, 1)) / np.sqrt((v / f).reshape(-1, 1, 1) + 0.001),
        [*CHANNELS, np.array([2.5], np.float32)],
    ),
    Row(
        "Scale",
        "",
        [X],
        "scale_param { bias_term: true }",
        lambda x, s, b: x * s.reshape(-1, 1, 1) + b.reshape(-1, 1, 1),
        [real(4), real(4)],
    ),
    Row(
        "Scale",
        "axes",
        [X],
        "scale_param { axis: 2 num_axes: -1 bias_term: true }",
        lambda x, s, b: x * s + b,
        [real(7, 9), real(7, 9)],
        cv=False,
    ),
    Row("Scale", "operand", [X, real(2, 4)], "scale_param { axis: 0 }", lambda x, s: x * s[:, :, None, None], cv=False),
    Row("Bias", "", [X], "", lambda x, b: x + b.reshape(-1, 1, 1), [real(4)], cv=False),
    Row(
        "MVN",
        "",
        [X],
        "",
        lambda x: (x - x.mean((2, 3), keepdims=True)) / (x.std((2, 3), keepdims=True) + 1e-9),
    ),
    Row(
        "MVN",
        "channels",
        [X],
        "mvn_param { across_channels: true normalize_variance: false }",
        lambda x: x - x.mean((1, 2, 3), keepdims=True),
    ),
    Row(
        "Normalize",
        "",
        [X],
        "norm_param { across_spatial: false channel_shared: false }",
        lambda x, s: x / np.sqrt((x * x).sum(1, keepdims=True)) * s.reshape(-1, 1, 1),
        [positive(4)],
    ),
    Row(
        "Normalize",
        "spatial",
        [X],
        "norm_param { eps: 0.01 }",
        lambda x, s: x / np.sqrt((x * x).sum((1, 2, 3), keepdims=True) + 0.01) * s,
        [positive(1)],
        cv=False,  # adds eps at each element
    ),
    Row(
        "Eltwise", "sum", [X, real(2, 4, 7, 9)], "eltwise_param { coeff: 2 coeff: -0.5 }", lambda x, y: 2 * x - 0.5 * y
    ),
    Row("Eltwise", "product", [X, X + 1, X - 1], "eltwise_param { operation: PROD }", lambda x, y, z: x * y * z),
    Row("Eltwise", "max", [X, -X], "eltwise_param { operation: MAX }", np.maximum),
    Row("Concat", "", [X, real(2, 3, 7, 9)], "", lambda x, y: np.concatenate([x, y], 1)),
    Row(
        "Concat",
        "old",
        [X, real(2, 4, 5, 9)],
        "concat_param { concat_dim: 2 }",
        lambda x, y: np.concatenate([x, y], 2),
        cv=False,
    ),
    Row(
        "Slice",
        "",
        [X],
        "slice_param { axis: -1 slice_point: 2 slice_point: 5 }",
        lambda x: np.split(x, [2, 5], 3),
        tops=3,
        cv=False,
    ),
    Row("Slice", "even", [X], "", lambda x: np.split(x, 2, 1), tops=2, cv=False),
    Row("Crop", "", [X, real(2, 4, 4, 5)], "crop_param { offset: 1 offset: 3 }", lambda x, _: x[:, :, 1:5, 3:8]),
    Row("Flatten", "", [X], "", lambda x: x.reshape(2, -1)),
    Row("Flatten", "axes", [X], "flatten_param { axis: 1 end_axis: -2 }", lambda x: x.reshape(2, 28, 9)),
    Row(
        "Reshape", "", [X], "reshape_param { shape { dim: 0 dim: 2 dim: -1 dim: 9 } }", lambda x: x.reshape(2, 2, 14, 9)
    ),
    Row(
        "Reshape",
        "axes",
        [X],
        "reshape_param { shape { dim: 2 dim: 2 } axis: 1 num_axes: 1 }",
        lambda x: x.reshape(2, 2, 2, 7, 9),
    ),
    Row("Permute", "", [X], "permute_param { order: 0 order: 2 order: 3 order: 1 }", lambda x: x.transpose(0, 2, 3, 1)),
    Row("Tile", "", [X], "tile_param { axis: 2 tiles: 3 }", lambda x: np.tile(x, (1, 1, 3, 1)), cv=False),
    *(
        Row("Reduction", op, [X], f"reduction_param {{ operation: {op} axis: 2 coeff: 0.5 }}", of, cv=False)
        for op, of in (
            ("SUM", lambda x: x.sum((2, 3)) / 2),
            ("ASUM", lambda x: abs(x).sum((2, 3)) / 2),
            ("SUMSQ", lambda x: (x * x).sum((2, 3)) / 2),
            ("MEAN", lambda x: x.mean((2, 3)) / 2),
        )
    ),
    Row("ArgMax", "", [X], "argmax_param { axis: 1 }", lambda x: x.argmax(1)[:, None].astype(np.float32), cv=False),
    Row(
        "ArgMax",
        "pairs",
        [X],
        "argmax_param { out_max_val: true top_k: 3 }",
        lambda x: np.stack(arg_max(x.reshape(2, -1), 3), 1),
        cv=False,
    ),
    Row("Axpy", "", [real(2, 4, 1, 1), X, -X], "", lambda a, x, y: a * x + y, cv=False),
    Row(
        "ShuffleChannel",
        "",
        [X],
        "shuffle_channel_param { group: 2 }",
        lambda x: x.reshape(2, 2, 2, 7, 9).swapaxes(1, 2).reshape(x.shape),
    ),
    Row("Upsample", "", [X], "upsample_param { scale: 2 }", lambda x: x.repeat(2, 2).repeat(2, 3), cv=False),
    Row("Interp", "", [X], "interp_param { height: 11 width: 5 }", lambda x: interp(x, 11, 5)),
    Row(
        "Interp",
        "zoom",
        [X],
        "interp_param { zoom_factor: 2 pad_beg: -1 }",
        lambda x: interp(x[:, :, 1:, 1:], 11, 15),
        cv=False,
    ),
]


def run(path: Path, row: Row) -> list[Array]:
    model = webnn_compile.compile(path)
    return list(model.run({f"x{i}": x for i, x in enumerate(row.inputs)}).values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_layer(row: Row, tmp_path: Path) -> None:
    path = write_model(tmp_path, row.text, {"layer": row.weights} if len(row.weights) else {})
    expected = row.reference(*row.inputs, *row.weights)
    for got, want in zip(run(path, row), expected if row.tops > 1 else [expected], strict=True):
        assert got.shape == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("row", [row for row in ROWS if row.cv], ids=lambda row: row.id)
def test_layer_as_opencv_has_it(row: Row, tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed: opencv-python-headless<5")
    path = write_model(tmp_path, row.text, {"layer": row.weights} if len(row.weights) else {})
    got = run(path, row)
    weights = path.with_suffix(".caffemodel")
    net = cv2.dnn.readNetFromCaffe(str(path), *([str(weights)] if weights.exists() else []))
    for i, x in enumerate(row.inputs):
        net.setInput(x, f"x{i}")
    expected = net.forward(net.getUnconnectedOutLayersNames())
    for result, want in zip(got, expected, strict=True):
        np.testing.assert_allclose(result.reshape(-1), want.reshape(-1), rtol=1e-4, atol=1e-4)


def test_every_layer_has_a_row() -> None:
    from webnn_compile.frontends.caffe.layers import LAYERS

    detectors = {"DetectionOutput", "PriorBox"}  # test_caffe_detectors
    same = {"ConvolutionDepthwise", "DepthwiseConvolution", "SigmoidCrossEntropyLoss", "SoftmaxWithLoss", "Parameter"}
    assert {row.kind for row in ROWS} == set(LAYERS) - same - detectors
