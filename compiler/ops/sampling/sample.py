"""Which input elements make an element of a resized axis, and with which weights: tables made at compile time.

Coordinates are computed in float32, as inference engines do, so that ties of `nearest` fall the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

F = np.float32

LONGEST_AXIS = 2**24
"""Whole numbers from 0 that float32 represents exactly."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension to resize, from `size` elements to `count`; `region` is its part of roi, in 0..1."""

    dimension: int
    size: int
    count: int
    scale: float
    region: tuple[float, float] = (0.0, 1.0)

    def coordinates(self, mode: str) -> Array:
        """The input coordinate of each output element, not finite beyond float32; mode is a key of COORDINATES."""
        with np.errstate(all="ignore"):
            return COORDINATES[mode](self, np.arange(self.count, dtype=F), F(self.scale)).astype(F)

    def width(self, antialias: bool) -> float:
        """By how much a kernel is wider than on an axis that does not shrink."""
        return max(1.0, 1 / self.scale) if antialias else 1.0

    def reach(self, radius: int, antialias: bool) -> int:
        """Taps on each side of a coordinate, of a kernel that is zero beyond `radius`."""
        return math.ceil(radius * self.width(antialias))


def _align_corners(a: Axis, x: Array, _: Any) -> Array:
    return np.asarray(x * F(a.size - 1) / F(max(a.count - 1, 1)))


def _half_pixel(_: Axis, x: Array, scale: Any) -> Array:
    return np.asarray((x + F(0.5)) / scale - F(0.5))


def _half_pixel_symmetric(a: Axis, x: Array, scale: Any) -> Array:
    adjustment = F(a.count) / (scale * F(a.size))
    centre = F(a.size) / F(2)
    return np.asarray(centre * (F(1) - adjustment) + _half_pixel(a, x, scale))


def _crop(a: Axis, x: Array, _: Any) -> Array:
    start, end, last = F(a.region[0]), F(a.region[1]), F(a.size - 1)
    if a.count > 1:
        return np.asarray(start * last + x * ((end - start) * last) / F(a.count - 1))
    return np.full_like(x, F(0.5) * (start + end) * last)


COORDINATES: dict[str, Callable[[Axis, Array, Any], Array]] = {
    "align_corners": _align_corners,
    "asymmetric": lambda _, x, scale: np.asarray(x / scale),
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": lambda a, x, scale: _half_pixel(a, x, scale) if a.count > 1 else np.zeros_like(x),
    "tf_crop_and_resize": _crop,
    "tf_half_pixel_for_nn": lambda _, x, scale: np.asarray((x + F(0.5)) / scale),
}
"""By ONNX's coordinate_transformation_mode: of an axis, output positions and its scale."""


ROUNDING: dict[str, Callable[[Axis, Array], Array]] = {
    "floor": lambda _, x: np.asarray(np.floor(x)),
    "ceil": lambda _, x: np.asarray(np.ceil(x)),
    "round_prefer_floor": lambda _, x: np.asarray(np.ceil(x - F(0.5))),
    "round_prefer_ceil": lambda _, x: np.asarray(np.floor(x + F(0.5))),
    "simple": lambda a, x: np.asarray(np.ceil(x) if a.scale < 1 else np.floor(x)),
}
"""ONNX's nearest_mode, and "simple", what Upsample and Resize-10 do: down when enlarging, up when shrinking."""


def nearest(axis: Axis, coordinates: Array, mode: str) -> Array:
    """The int32 input index of each output element; mode is a key of ROUNDING."""
    return np.clip(ROUNDING[mode](axis, coordinates), 0, axis.size - 1).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Taps:
    """`index` (int32) and `weight` (float32), each of shape (count, taps)."""

    index: Array
    weight: Array


TAP_BYTES = 8
"""An index and a weight."""


def linear_kernel(x: Array) -> Array:
    return np.asarray(np.maximum(1 - np.abs(x), 0))


def cubic_kernel(a: float) -> Callable[[Array], Array]:
    """Keys' cubic convolution with coefficient `a`."""

    def kernel(x: Array) -> Array:
        t = np.abs(x)
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        return np.where(t <= 1, near, np.where(t < 2, far, 0))

    return kernel


def interpolate(
    axis: Axis,
    coordinates: Array,
    kernel: Callable[[Array], Array],
    radius: int,
    antialias: bool,
    exclude_outside: bool,
) -> Taps:
    """The taps of an interpolation whose kernel is zero beyond `radius`.

    Beyond its ends the axis repeats its last element, unless `exclude_outside` drops those taps. With `antialias` the
    kernel widens as the axis shrinks.
    """
    width, reach = axis.width(antialias), axis.reach(radius, antialias)
    # Farther outside the taps are the same, all of them the end's element, and int64 could not hold their indices.
    x = np.clip(coordinates.astype(np.float64), -8 * LONGEST_AXIS, 8 * LONGEST_AXIS)[:, None]
    index = np.floor(x).astype(np.int64) + np.arange(1 - reach, reach + 1)
    weight = kernel((index - x) / width)
    if exclude_outside:
        weight = np.where((index >= 0) & (index < axis.size), weight, 0)
    total = weight.sum(axis=1, keepdims=True)
    weight = weight / np.where(total == 0, 1, total)
    used = np.any(weight != 0, axis=0)
    index = np.clip(index, 0, axis.size - 1)
    return Taps(index[:, used].astype(np.int32), weight[:, used].astype(F))
