"""Rows of quantised operators of images whose channels come last, as onnxruntime's optimiser writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays, scalar
from op_table import Array, Case

_a = Arrays(45)


def _bytes(dtype: str, *shape: int) -> Array:
    return _a.integers(-128, 128, *shape, dtype=dtype) if dtype == "int8" else _a.integers(0, 256, *shape, dtype=dtype)


def _case(id: str, op: str, *inputs: Array | None, **attributes: Any) -> Case:
    known = frozenset(i for i, t in enumerate(inputs) if i and t is not None)
    return Case(f"ms-{id}", op, inputs, attributes, 17, known, domain="com.microsoft")


def _conv(id: str, x: Array, w: Array, *, per_filter: bool = False, bias: bool = True, **attributes: Any) -> Case:
    """Weights are small: onnxruntime's sums in 16 bits saturate on no processor."""
    filters, dtype = len(w), str(x.dtype)
    w_scale = _a.uniform(0.005, 0.02, filters) if per_filter else scalar(0.013)
    w_zero = np.zeros(filters, w.dtype) if per_filter else scalar(0 if w.dtype == np.int8 else 55, str(w.dtype))
    zeros = (9, -7) if dtype == "int8" else (131, 120)
    return _case(
        f"qlinearconv-last-{id}",
        "QLinearConv",
        *(x, scalar(0.031), scalar(zeros[0], dtype), w, w_scale, w_zero, scalar(0.17), scalar(zeros[1], dtype)),
        *([_a.integers(-900, 900, filters, dtype="int32")] if bias else []),
        channels_last=1,
        **attributes,
    )


def _small(*shape: int, dtype: str = "int8") -> Array:
    return _a.integers(-60, 60, *shape, dtype=dtype) if dtype == "int8" else _a.integers(0, 120, *shape, dtype=dtype)


_CONV = [
    _conv("pads", _bytes("uint8", 1, 7, 5, 3), _small(4, 3, 3, 3), pads=[1, 1, 1, 1]),
    _conv(
        "strides", _bytes("int8", 2, 7, 9, 5), _small(6, 5, 3, 2), per_filter=True, strides=[2, 3], pads=[0, 1, 2, 0]
    ),
    _conv("dilations", _bytes("uint8", 1, 11, 9, 3), _small(5, 3, 3, 3, dtype="uint8"), dilations=[2, 3]),
    _conv("groups", _bytes("uint8", 1, 5, 6, 6), _small(9, 2, 2, 3), per_filter=True, group=3, auto_pad="SAME_UPPER"),
    _conv("depthwise", _bytes("int8", 1, 7, 9, 17), _small(17, 1, 3, 3), per_filter=True, group=17, pads=[1, 1, 1, 1]),
    _conv("points", _bytes("int8", 1, 9, 7, 19), _small(13, 19, 1, 1), bias=False),
    _conv("line", _bytes("uint8", 2, 11, 3), _small(4, 3, 3), pads=[1, 0]),
    _conv("volume", _bytes("uint8", 1, 4, 5, 3, 2), _small(3, 2, 2, 3, 1), pads=[0, 1, 0, 1, 1, 0]),
]


def _pool(id: str, op: str, x: Array, **attributes: Any) -> Case:
    """An average, which is on the quanta of the result."""
    dtype = str(x.dtype)
    quanta = (scalar(0.03), scalar(3, dtype), scalar(0.0273), scalar(9, dtype))
    return _case(f"{op.lower()}-last-{id}", op, x, *quanta, channels_last=1, **attributes)


_WINDOW = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}

_POOL = [
    _pool("pads", "QLinearAveragePool", _bytes("uint8", 2, 7, 6, 3), **_WINDOW),
    _pool("count", "QLinearAveragePool", _bytes("int8", 1, 9, 7, 5), count_include_pad=1, **_WINDOW),
    _pool("uint8", "QLinearGlobalAveragePool", _bytes("uint8", 2, 5, 3, 7)),
    _pool("int8", "QLinearGlobalAveragePool", _bytes("int8", 1, 7, 6, 19)),
    *(
        _case(f"nhwcmaxpool-{id}", "NhwcMaxPool", x, **attributes)
        for id, x, attributes in (
            ("uint8", _bytes("uint8", 2, 7, 6, 3), _WINDOW),
            ("int8", _bytes("int8", 1, 9, 7, 17), {**_WINDOW, "ceil_mode": 1}),
            ("below", -np.abs(_bytes("int8", 1, 5, 5, 3) // 2) - 60, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
            ("dilations", _bytes("uint8", 1, 9, 8, 2), {"kernel_shape": [3, 2], "dilations": [2, 3]}),
            ("same", _bytes("int8", 1, 5, 7, 3), {"kernel_shape": [2, 2], "strides": [2, 2], "auto_pad": "SAME_LOWER"}),
            ("line", _bytes("uint8", 2, 11, 3), {"kernel_shape": [3], "strides": [2]}),
        )
    ),
]

CASES = [*_CONV, *_POOL]
