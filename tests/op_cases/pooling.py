"""Rows of pooling, over windows and over all of the image."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_a = Arrays(21)
_x = _a.normal


def _pool(op: str, id: str, x: Array, kernel: list[int], opset: int = 22, outputs: int = 1, **attributes: Any) -> Case:
    return Case(f"{op.lower()}{id}", op, (x,), {"kernel_shape": kernel, **attributes}, opset, outputs=outputs)


def _common(op: str) -> list[Case]:
    """Cases of attributes that every operator over windows must honour."""
    return [
        _pool(op, "", _x(1, 3, 6, 7), [2, 3]),
        _pool(op, "-stride", _x(2, 3, 7, 8), [3, 3], strides=[2, 3]),
        _pool(op, "-pads", _x(1, 2, 5, 5), [3, 3], pads=[1, 1, 1, 1]),
        _pool(op, "-pads-uneven", _x(1, 2, 6, 5), [3, 4], pads=[0, 1, 2, 3], strides=[2, 2]),
        _pool(op, "-dilation", _x(1, 2, 8, 9), [3, 2], dilations=[2, 3]),
        _pool(op, "-dilation-pads", _x(1, 2, 7, 7), [3, 3], dilations=[2, 2], pads=[2, 1, 1, 2], strides=[2, 1]),
        _pool(op, "-ceil", _x(1, 2, 6, 7), [3, 3], strides=[2, 2], ceil_mode=1),
        _pool(op, "-ceil-pads", _x(1, 2, 6, 6), [3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1),
        _pool(op, "-ceil-drops-last", _x(1, 1, 2, 3), [1, 2], strides=[2, 2], ceil_mode=1),
        _pool(op, "-ceil-beyond", _x(1, 2, 2, 4), [3, 3], strides=[2, 2], ceil_mode=1),
        _pool(op, "-same-upper", _x(1, 2, 5, 6), [3, 2], auto_pad="SAME_UPPER", strides=[2, 2]),
        _pool(op, "-same-lower", _x(1, 2, 5, 6), [3, 2], auto_pad="SAME_LOWER", strides=[2, 2]),
        _pool(op, "-valid", _x(1, 2, 5, 6), [3, 2], auto_pad="VALID"),
        _pool(op, "-opset-7", _x(1, 2, 6, 6), [3, 3], opset=7, pads=[1, 0, 0, 1]),
        _pool(op, "-1d", _x(2, 3, 9), [3], strides=[2], pads=[1, 1]),
        _pool(op, "-3d", _x(1, 2, 4, 5, 4), [2, 3, 2], strides=[1, 2, 1], pads=[1, 0, 0, 0, 1, 1]),
        _pool(op, "-large", _x(1, 1, 9, 21), [5, 5], pads=[2, 2, 2, 2]),
        _pool(op, "-large-dilation", _x(1, 3, 11, 23), [4, 5], opset=22, dilations=[2, 3], pads=[3, 2, 1, 4]),
        _pool(op, "-large-ceil", _x(1, 5, 10, 13), [6, 6], strides=[2, 1], pads=[1, 2, 3, 4], ceil_mode=1),
        _pool(op, "-none", _x(1, 2, 2, 5), [3, 3]),
        _pool(op, "-none-stride", _x(1, 2, 1, 5), [3, 3], strides=[2, 2], ceil_mode=1),
        _pool(op, "-beyond", _x(1, 2, 2, 5), [4, 3], strides=[3, 2], pads=[1, 0, 0, 0]),
        _pool(op, "-one-tap", _x(1, 2, 5, 5), [1, 1], strides=[2, 2]),
        _pool(op, "-whole", _x(2, 3, 4, 4), [4, 4]),
    ]


_MAX = [
    *_common("MaxPool"),
    _pool("MaxPool", "-negative", -np.abs(_x(1, 2, 4, 4)) - 1, [3, 3], pads=[1, 1, 1, 1]),
    _pool("MaxPool", "-ceil-opset-10", _x(1, 2, 6, 7), [3, 3], opset=10, strides=[2, 2], ceil_mode=1),
    _pool("MaxPool", "-uint8", _a.integers(0, 256, 1, 2, 5, 5, dtype="uint8"), [3, 3], pads=[1, 1, 1, 1]),
    _pool("MaxPool", "-int8", _a.integers(-128, 0, 1, 2, 5, 5, dtype="int8"), [3, 3], pads=[1, 1, 1, 1]),
    _pool("MaxPool", "-indices", _x(2, 3, 6, 7), [2, 2], strides=[2, 2], outputs=2),
    _pool("MaxPool", "-indices-pads", _x(2, 2, 5, 5), [3, 3], strides=[2, 2], pads=[1, 1, 1, 1], outputs=2),
    _pool("MaxPool", "-indices-dilation", _x(1, 2, 7, 7), [3, 2], dilations=[2, 2], outputs=2),
    _pool("MaxPool", "-indices-columns", _x(2, 3, 5, 6), [2, 3], storage_order=1, outputs=2),
    _pool("MaxPool", "-indices-ties", np.ones((1, 2, 5, 5), np.float32), [3, 3], pads=[1, 1, 1, 1], outputs=2),
    _pool("MaxPool", "-indices-1d", _x(2, 3, 9), [3], strides=[2], outputs=2),
    _pool("MaxPool", "-indices-3d", _x(2, 2, 4, 4, 3), [2, 2, 2], outputs=2),
    _pool("MaxPool", "-indices-3d-columns", _x(2, 2, 4, 3, 5), [2, 2, 2], storage_order=1, outputs=2),
]

_AVERAGE = [
    *_common("AveragePool"),
    _pool("AveragePool", "-padded", _x(1, 2, 5, 5), [3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    _pool("AveragePool", "-padded-uneven", _x(1, 2, 5, 6), [3, 2], pads=[2, 0, 1, 1], count_include_pad=1),
    _pool("AveragePool", "-padded-ceil", _x(1, 2, 6, 6), [3, 3], strides=[2, 2], ceil_mode=1, count_include_pad=1),
    _pool(
        "AveragePool",
        "-padded-ceil-pads",
        _x(1, 2, 6, 7),
        [3, 3],
        strides=[2, 2],
        pads=[1, 1, 1, 1],
        ceil_mode=1,
        count_include_pad=1,
    ),
    *(
        _pool(
            "AveragePool",
            f"-padded-short-{opset}-{ceil}",
            _x(1, 2, 6, 6),
            [3, 7],
            opset=opset,
            strides=[2, 2],
            ceil_mode=ceil,
            count_include_pad=1,
        )
        for opset in (11, 19)
        for ceil in (0, 1)
    ),
    _pool("AveragePool", "-padded-same", _x(1, 2, 6, 5), [3, 3], auto_pad="SAME_UPPER", count_include_pad=1),
    _pool("AveragePool", "-float64", _x(1, 2, 5, 6).astype(np.float64), [3, 3], pads=[1, 1, 1, 1]),
    _pool("AveragePool", "-opset-11", _x(1, 2, 6, 6), [3, 3], opset=11, strides=[2, 2], ceil_mode=1),
]

_LP = [
    *_common("LpPool"),
    _pool("LpPool", "-p1", _x(1, 2, 5, 5), [3, 3], p=1, pads=[1, 1, 1, 1]),
    _pool("LpPool", "-p3", _x(1, 2, 5, 5), [3, 3], p=3),
]


def _global(op: str, **attributes: Any) -> list[Case]:
    name = op.lower()
    return [
        Case(name, op, (_x(2, 3, 5, 7),), attributes),
        Case(f"{name}-1d", op, (_x(1, 3, 9),), attributes),
        Case(f"{name}-3d", op, (_x(1, 2, 3, 4, 5),), attributes),
        Case(f"{name}-one-element", op, (_x(1, 3, 1, 1),), attributes),
        Case(f"{name}-opset-7", op, (_x(1, 3, 4, 3),), attributes, opset=7),
    ]


def _with_nan() -> list[Case]:
    """As NumPy and PyTorch have it: whether a NaN is the result depends on its place in onnxruntime, where a window of
    minus infinity alone gives the least finite number."""
    image = np.where(_x(1, 8, 9, 11) > 1.6, np.float32(np.nan), _x(1, 8, 9, 11))
    image[0, 0], image[0, 1] = np.nan, -np.inf
    views = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))[:, :, ::2, ::2]
    flat = views.reshape(*views.shape[:4], 9)
    best = np.argmax(flat, axis=-1)
    rows, columns = np.indices(best.shape)[2:] * 2
    places = (rows + best // 3) * 11 + columns + best % 3 + (np.arange(8) * 99)[None, :, None, None]
    window = {"kernel_shape": [3, 3], "strides": [2, 2]}
    padded = np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    around = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)).max((-2, -1))
    return [
        Case("maxpool-nan", "MaxPool", (image,), window, expected=(flat.max(-1),)),
        Case("maxpool-nan-indices", "MaxPool", (image,), window, outputs=2, expected=(flat.max(-1), places)),
        Case("maxpool-nan-pads", "MaxPool", (image,), {"kernel_shape": [3, 3], "pads": [1] * 4}, expected=(around,)),
        Case("globalmaxpool-nan", "GlobalMaxPool", (image,), expected=(image.max((2, 3), keepdims=True),)),
    ]


CASES = [
    *_MAX,
    *_with_nan(),
    *_AVERAGE,
    *_LP,
    *_global("GlobalAveragePool"),
    *_global("GlobalMaxPool"),
    *_global("GlobalLpPool"),
    Case("globallppool-p1", "GlobalLpPool", (_x(1, 3, 4, 3),), {"p": 1}),
    Case("globallppool-p3", "GlobalLpPool", (_x(1, 3, 4, 3),), {"p": 3}),
    # Of ceil_mode only 1 is true.
    *(_pool(op, "-ceil-2", _x(1, 2, 5, 5), [2, 2], strides=[2, 2], ceil_mode=2) for op in ("MaxPool", "AveragePool")),
]
