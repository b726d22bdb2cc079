"""Rows of Resize and Upsample."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_a = Arrays(27)
_x = _a.normal


NOTHING = np.zeros(0, np.float32)


def _scaled(id: str, x: Array, scales: list[float], opset: int = 19, **attributes: Any) -> Case:
    roi = NOTHING if opset < 13 else None  # opset 11 has no optional inputs
    inputs = (x, roi, np.array(scales, np.float32))
    return Case(f"resize-{id}", "Resize", inputs, attributes, opset, constants=frozenset({1, 2}))


def _sized(id: str, x: Array, sizes: list[int], opset: int = 19, **attributes: Any) -> Case:
    absent = NOTHING if opset < 13 else None
    inputs = (x, absent, absent, np.array(sizes, np.int64))
    return Case(f"resize-{id}", "Resize", inputs, attributes, opset, constants=frozenset({1, 2, 3}))


def _cropped(id: str, x: Array, roi: list[float], sizes: list[int], opset: int = 19, **attributes: Any) -> Case:
    return Case(
        f"resize-crop-{id}",
        "Resize",
        (x, np.array(roi, np.float32), None, np.array(sizes, np.int64)),
        {"coordinate_transformation_mode": "tf_crop_and_resize", **attributes},
        opset,
        constants=frozenset({1, 3}),
    )


_WORDS = np.random.default_rng(9).integers(-(2**31), 2**31, (5, 7)).astype(np.int32)
"""A picture of 5 x 7 pixels."""


def _picture(channels: int) -> Case:
    """The picture as large as it is: its bytes, in the order of colours that is asked for."""
    colours = _WORDS.view(np.uint8).reshape(5, 7, 4)[..., :3]
    grey = (colours.astype(np.int64) @ (19595, 38470, 7471) + 2**15 >> 16).astype(np.uint8)[..., None]
    want = colours[..., ::-1] if channels == 3 else grey
    attributes = {"rows": 5, "columns": 7, "channels": channels, "reversed": int(channels == 3)}
    expected = (want.transpose(2, 0, 1)[None],)
    return Case(f"picture-{channels}", "Picture", (_WORDS,), attributes, domain="webnn_compile", expected=expected)


MODES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")

_NEAREST = [
    _scaled("nearest-twice", _x(1, 2, 3, 4), [1, 1, 2, 2], mode="nearest"),
    _scaled("nearest-default", _x(1, 2, 3, 4), [1, 1, 2, 3]),
    _scaled("nearest-channels", _x(1, 2, 3, 4), [2, 3, 1, 1]),
    _scaled("nearest-down", _x(1, 2, 6, 7), [1, 1, 0.5, 0.6], nearest_mode="floor"),
    _scaled("nearest-half", _x(1, 2, 6, 8), [1, 1, 0.5, 0.5], coordinate_transformation_mode="asymmetric"),
    _scaled("nearest-same", _x(1, 2, 3, 4), [1, 1, 1, 1]),
    _scaled("nearest-1d", _x(5), [1.7]),
    _scaled("nearest-3d", _x(1, 2, 3, 2, 3), [1, 1, 2, 2, 2]),
    _scaled("nearest-int32", _a.integers(-9, 9, 1, 1, 3, 4, dtype="int32"), [1, 1, 2, 2]),
    _scaled("nearest-uint8", _a.integers(0, 256, 1, 1, 3, 4, dtype="uint8"), [1, 1, 1.5, 2]),
    _sized("nearest-sizes", _x(1, 2, 5, 4), [1, 2, 7, 9]),
    *(
        _sized(f"nearest-{m}-{r}", _x(1, 1, 5, 6), [1, 1, n, 2 * n], coordinate_transformation_mode=m, nearest_mode=r)
        for n, m in zip((7, 8, 3, 13, 9), MODES, strict=True)
        for r in ROUNDINGS
    ),
    _sized("nearest-opset-11", _x(1, 1, 4, 4), [1, 1, 6, 3], 11, coordinate_transformation_mode="tf_half_pixel_for_nn"),
    _sized("nearest-opset-13", _x(1, 1, 4, 4), [1, 1, 6, 3], 13),
    _sized("nearest-axes", _x(1, 1, 4, 5), [7, 3], axes=[2, 3]),
    _sized("nearest-axes-turned", _x(1, 1, 4, 5), [7, 3], axes=[3, 2]),
    _scaled("nearest-axes-scales", _x(1, 1, 4, 5), [2, 1.5], 18, axes=[-1, -2]),
    _sized("nearest-not-larger", _x(1, 1, 4, 5), [7, 8], axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
    _sized("nearest-not-smaller", _x(1, 1, 4, 5), [7, 8], axes=[2, 3], keep_aspect_ratio_policy="not_smaller"),
]

_LINEAR = [
    *(
        _sized(f"linear-{m}-{way}", _x(1, 2, 5, 6), sizes, mode="linear", coordinate_transformation_mode=m)
        for m in MODES
        for way, sizes in (("up", [1, 2, 9, 13]), ("down", [1, 2, 3, 4]), ("one", [1, 2, 1, 6]))
    ),
    _scaled("linear-twice", _x(1, 3, 4, 4), [1, 1, 2, 2], mode="linear"),
    _scaled("linear-one-axis", _x(1, 3, 4, 5), [1, 1, 1, 2.5], mode="linear"),
    _scaled("linear-from-one", _x(1, 2, 1, 3), [1, 1, 3, 2], mode="linear"),
    _scaled(
        "linear-symmetric-scales",
        _x(1, 1, 5, 7),
        [1, 1, 1.3, 0.7],
        mode="linear",
        coordinate_transformation_mode="half_pixel_symmetric",
    ),
    _scaled("linear-2d", _x(4, 5), [1.5, 2], mode="linear"),
    _scaled("linear-3d", _x(1, 1, 3, 4, 3), [1, 1, 2, 1.5, 2], mode="linear"),
    _scaled("linear-opset-11", _x(1, 2, 4, 4), [1, 1, 1.5, 2], 11, mode="linear"),
    _scaled("linear-opset-13", _x(1, 2, 4, 4), [1, 1, 0.6, 2], 13, mode="linear"),
    _scaled("linear-float64", _x(1, 1, 4, 5).astype(np.float64), [1, 1, 2, 1.5], mode="linear"),
    _scaled("cubic-float64", _x(1, 1, 4, 5).astype(np.float64), [1, 1, 2, 1.5], mode="cubic"),
    _scaled("linear-uint8", _a.integers(0, 256, 1, 1, 4, 4, dtype="uint8"), [1, 1, 2, 2], mode="linear"),
    _scaled("linear-int32", _a.integers(-99, 99, 1, 1, 4, 4, dtype="int32"), [1, 1, 2, 2], mode="linear"),
    _sized("linear-antialias", _x(1, 1, 9, 8), [1, 1, 4, 3], mode="linear", antialias=1),
    _sized(
        "linear-antialias-uint8",
        _a.integers(0, 256, 1, 1, 9, 8, dtype="uint8"),
        [1, 1, 9, 3],
        mode="linear",
        antialias=1,
    ),
    _scaled(
        "linear-antialias-uint8-up",
        _a.integers(0, 256, 1, 2, 5, 4, dtype="uint8"),
        [1, 1, 2, 2],
        mode="linear",
        antialias=1,
    ),
    _sized(
        "linear-antialias-int32",
        _a.integers(-99, 99, 1, 1, 9, 8, dtype="int32"),
        [1, 1, 9, 3],
        mode="linear",
        antialias=1,
    ),
    _sized("linear-antialias-up", _x(1, 1, 4, 5), [1, 1, 7, 8], mode="linear", antialias=1),
    _sized("linear-antialias-exclude", _x(1, 1, 9, 8), [1, 1, 4, 3], mode="linear", antialias=1, exclude_outside=1),
]

_CUBIC = [
    *(
        _sized(f"cubic-{m}-{way}", _x(1, 2, 5, 6), sizes, mode="cubic", coordinate_transformation_mode=m)
        for m in MODES
        for way, sizes in (("up", [1, 2, 9, 13]), ("down", [1, 2, 3, 4]))
    ),
    _scaled("cubic-twice", _x(1, 1, 4, 4), [1, 1, 2, 2], mode="cubic"),
    _scaled("cubic-coefficient", _x(1, 1, 4, 4), [1, 1, 2, 1.5], mode="cubic", cubic_coeff_a=-0.5),
    _scaled("cubic-exclude", _x(1, 1, 4, 4), [1, 1, 2, 0.8], mode="cubic", exclude_outside=1),
    _scaled("cubic-2d", _x(4, 5), [2, 1.5], mode="cubic"),
    _scaled("cubic-opset-11", _x(1, 1, 4, 4), [1, 1, 2, 2], 11, mode="cubic"),
    _sized("cubic-antialias", _x(1, 1, 9, 8), [1, 1, 4, 3], mode="cubic", antialias=1),
    _sized(
        "cubic-antialias-uint8",
        _a.integers(0, 2, 1, 1, 9, 8, dtype="uint8") * np.uint8(255),
        [1, 1, 4, 3],
        mode="cubic",
        antialias=1,
    ),
    _sized("cubic-antialias-exclude", _x(1, 1, 9, 8), [1, 1, 4, 3], mode="cubic", antialias=1, exclude_outside=1),
]

_CROP = [
    _cropped("linear", _x(1, 1, 5, 6), [0, 0, 0.2, 0.3, 1, 1, 0.8, 0.9], [1, 1, 4, 3], mode="linear"),
    _cropped(
        "beyond",
        _x(1, 1, 5, 6),
        [0, 0, 0.4, -0.2, 1, 1, 1.3, 0.9],
        [1, 1, 4, 5],
        mode="linear",
        extrapolation_value=7.5,
    ),
    _cropped("nearest", _x(1, 1, 5, 6), [0, 0, 0.2, 0.3, 1, 1, 0.8, 1.4], [1, 1, 4, 3]),
    _cropped("one", _x(1, 1, 5, 6), [0, 0, 0.2, 0.3, 1, 1, 0.8, 0.9], [1, 1, 1, 3], mode="linear"),
    _cropped("axes", _x(1, 1, 5, 6), [0.1, 0.3, 0.8, 0.9], [4, 3], mode="linear", axes=[2, 3]),
    _cropped(
        "cubic", _x(1, 1, 5, 6), [0, 0, 0.2, 0.3, 1, 1, 0.8, 1.2], [1, 1, 4, 3], mode="cubic", extrapolation_value=2.0
    ),
]


def _old(op: str, id: str, x: Array, scales: list[float], opset: int, **attributes: Any) -> Case:
    return Case(
        f"{op.lower()}-{id}", op, (x, np.array(scales, np.float32)), attributes, opset, constants=frozenset({1})
    )


_OLD = [
    Case("upsample-opset-7", "Upsample", (_x(1, 2, 3, 4),), {"scales": [1.0, 1.0, 2.0, 3.0]}, opset=7),
    Case(
        "upsample-opset-7-linear",
        "Upsample",
        (_x(1, 2, 3, 4),),
        {"scales": [1.0, 1.0, 2.0, 3.0], "mode": "linear"},
        opset=7,
    ),
    _old("Upsample", "opset-9", _x(1, 2, 3, 4), [1, 1, 2, 2], 9, mode="nearest"),
    _old("Upsample", "opset-9-fraction", _x(1, 2, 3, 4), [1, 1, 1.5, 2.3], 9, mode="nearest"),
    _old("Upsample", "opset-9-linear", _x(1, 2, 3, 4), [1, 1, 2, 1.5], 9, mode="linear"),
    _old("Resize", "opset-10", _x(1, 2, 3, 4), [1, 1, 2, 2.5], 10, mode="nearest"),
    _old("Resize", "opset-10-down", _x(1, 2, 7, 8), [1, 1, 0.6, 0.5], 10, mode="nearest"),
    _old("Resize", "opset-10-linear", _x(1, 2, 4, 5), [1, 1, 2, 0.6], 10, mode="linear"),
]

_EMPTY = [
    _scaled("nearest-to-nothing", _x(1, 1, 4, 1), [1, 1, 1, 0.5]),
    _scaled("linear-to-nothing", _x(1, 2, 4, 1), [1, 1, 1.5, 0.5], mode="linear"),
    _scaled("cubic-to-nothing", _x(1, 2, 1, 5), [1, 1, 0.9, 2], mode="cubic"),
    _scaled("antialias-to-nothing", _x(1, 1, 4, 1), [1, 1, 1, 0.5], mode="linear", antialias=1),
]

CASES = [*_NEAREST, *_LINEAR, *_CUBIC, *_CROP, *_OLD, *_EMPTY, *map(_picture, (1, 3))]
