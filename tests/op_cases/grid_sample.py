"""Rows of GridSample. Of mode cubic with padding by the border the ONNX reference is not the one (see the operator)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_a = Arrays(91)
_x = _a.normal

PADDING = ("zeros", "border", "reflection")

_FAR = np.asarray([[[[-7.3, 4.1], [1, 1], [-1, 1]], [[0.1, -30.7], [1e5, 0.3], [-1e5, -0.2]]]], np.float32)
"""Places at the corners and far away."""


def _grid(*shape: int) -> Array:
    """A fifth of the places is outside, and some of these by more than the image's size."""
    return np.asarray(_x(*shape) * 0.8, np.float32)


def _case(id: str, x: Array, grid: Array, opset: int = 20, **attributes: Any) -> Case:
    return Case(f"gridsample-{id}", "GridSample", (x, grid), attributes, opset, tolerance=2e-5)


_FLAT = [
    _case(
        f"{mode}-{padding}-{corners}",
        _x(2, 3, 5, 7),
        _grid(2, 4, 6, 2),
        mode=mode,
        padding_mode=padding,
        align_corners=corners,
    )
    for mode in ("linear", "nearest", "cubic")
    for padding in PADDING
    for corners in (0, 1)
]

_DEEP = [
    _case(
        f"3d-{mode}-{padding}-{corners}",
        _x(1, 2, 3, 5, 4),
        _grid(1, 2, 3, 5, 3),
        mode=mode,
        padding_mode=padding,
        align_corners=corners,
    )
    for mode in ("linear", "nearest")
    for padding in PADDING
    for corners in (0, 1)
]

_FAR_AWAY = [
    _case(f"far-{mode}-{padding}", _x(1, 2, 4, 3), _FAR, mode=mode, padding_mode=padding)
    for mode in ("linear", "nearest")
    for padding in ("zeros", "border")
]

_ONE_PIXEL = [
    _case(f"one-row-{padding}-{mode}", _x(1, 2, 1, 3), _grid(1, 3, 4, 2), mode=mode, padding_mode=padding)
    for padding in PADDING
    for mode in ("linear", "cubic")
]

_OLD = [
    _case("opset-16", _x(1, 3, 4, 5), _grid(1, 3, 3, 2), 16),
    _case("opset-16-nearest", _x(1, 3, 4, 5), _grid(1, 3, 3, 2), 16, mode="nearest", padding_mode="border"),
    _case("opset-16-bicubic", _x(1, 3, 4, 5), _grid(1, 3, 3, 2), 16, mode="bicubic", align_corners=1),
]

_MICROSOFT = [
    replace(
        _case(f"microsoft-{i}", _x(1, 3, 4, 5), _grid(1, 2, 7, 2), mode=mode, padding_mode=padding, align_corners=i),
        domain="com.microsoft",
    )
    for i, (mode, padding) in enumerate((("bicubic", "reflection"), ("bilinear", "zeros")))
]

_OTHERS = [
    _case("3d-cubic-zeros", _x(1, 1, 3, 4, 3), _grid(1, 1, 2, 3, 3), mode="cubic", align_corners=1),
    _case("3d-cubic-reflection", _x(1, 1, 2, 4, 3), _grid(1, 1, 2, 3, 3), mode="cubic", padding_mode="reflection"),
    _case("1d-linear", _x(2, 3, 6), _grid(2, 5, 1), mode="linear"),
    _case("1d-cubic", _x(2, 3, 6), _grid(2, 5, 1), mode="cubic", padding_mode="reflection", align_corners=1),
    _case("float64", _x(1, 2, 4, 5).astype(np.float64), _grid(1, 3, 3, 2).astype(np.float64)),
    _case("int32", _a.integers(-99, 99, 1, 2, 4, 5, dtype="int32"), _grid(1, 3, 3, 2), mode="nearest"),
    replace(
        _case("uint8", np.asarray([[[10, 21]]], np.uint8), np.asarray([[[-1], [0], [1]]], np.float32), align_corners=1),
        expected=(np.asarray([[[10, 15, 21]]], np.uint8),),  # the ONNX reference has weights of uint8
    ),
    _case("nothing", _x(1, 2, 4, 5), _grid(1, 0, 3, 2)),
    _case("one-channel", _x(3, 1, 9, 11), _grid(3, 13, 5, 2), align_corners=1),
    _case("other-flag", _x(1, 2, 5, 7), _grid(1, 4, 6, 2), align_corners=-7),
]

CASES = [*_FLAT, *_DEEP, *_FAR_AWAY, *_ONE_PIXEL, *_OLD, *_MICROSOFT, *_OTHERS]
