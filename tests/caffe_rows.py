"""Layers of Caffe, each with what NumPy makes of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from caffe_reference import RNG, arg_max, conv, deconv, interp, lrn, pool, positive, real, sigmoid, softmax

Array = np.ndarray


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
