"""Resized dimensions of which a run decides a size: a table of coordinates that it computes, the rest per element.

Coordinates are those of ops/sampling/sample, in float32 and in the same order of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..dtypes import F32, I32
from ..ir.construct import maximum, minimum, select, unary
from ..ir.nodes import Const, Expr
from ..ir.sizes import Size, larger, number
from ..tensor import Tensor, compute
from .sampling.between import cubic_weights
from .sampling.sample import COORDINATES

VaryingTaps = list[tuple[Expr, Expr]]
"""The indices of the elements that make one of the result, and their weights."""


@dataclass(frozen=True, slots=True)
class VaryingAxis:
    """A dimension to resize from `size` elements to `count`, by `scale`, or as these sizes say."""

    dimension: int
    size: Size
    count: Size
    scale: float | None = None

    def coordinates(self, name: str, mode: str) -> Tensor:
        """The input coordinate of each output element: float32 of `count`; mode is a key of POSITIONS."""
        return compute(name, (self.count,), (), lambda o: POSITIONS[mode](self, o.cast(F32)))

    def clamped(self, index: Expr) -> Expr:
        """The nearest element to a whole number in float32."""
        return minimum(maximum(index.cast(I32), 0), number(larger(self.size, 1)) - 1)

    def nearest(self, coordinates: Tensor, mode: str) -> Callable[[Expr], Expr]:
        """From an index of the result to that of an element; mode is a key of NEAREST."""
        return lambda o: self.clamped(NEAREST[mode](self, coordinates[o]))

    def linear(self, coordinates: Tensor) -> Callable[[Expr], VaryingTaps]:
        """Between two elements."""

        def taps(o: Expr) -> VaryingTaps:
            low = unary("floor", coordinates[o])
            share = coordinates[o] - low
            return [(self.clamped(low), 1.0 - share), (self.clamped(low + 1.0), share)]

        return taps

    def cubic(self, coordinates: Tensor, c: float, *, exclude_outside: bool) -> Callable[[Expr], VaryingTaps]:
        """Keys' cubic convolution with coefficient `c`. With `exclude_outside` elements beyond the ends have no
        weight."""

        def taps(o: Expr) -> VaryingTaps:
            low = unary("floor", coordinates[o])
            share = coordinates[o] - low
            weights = cubic_weights(share, c)
            places = [low - 1.0, low, low + 1.0, low + 2.0]
            if exclude_outside:
                inside = [(Const(0.0, F32) <= p) & (p < number(self.size, F32)) for p in places]
                weights = [select(i, w, 0.0) for i, w in zip(inside, weights, strict=True)]
                total = weights[0] + weights[1] + weights[2] + weights[3]
                weights = [w / select(total.eq(0.0), 1.0, total) for w in weights]
            return [(self.clamped(p), w) for p, w in zip(places, weights, strict=True)]

        return taps

    @property
    def factor(self) -> Expr:
        """By how much the result is larger."""
        if self.scale is not None:
            return Const(self.scale, F32)
        return number(self.count, F32) / number(larger(self.size, 1), F32)


def _half_pixel(a: VaryingAxis, x: Expr) -> Expr:
    return (x + 0.5) / a.factor - 0.5


def _align_corners(a: VaryingAxis, x: Expr) -> Expr:
    return x * (number(a.size, F32) - 1.0) / number(larger(number(a.count) - 1, 1), F32)


def _half_pixel_symmetric(a: VaryingAxis, x: Expr) -> Expr:
    adjustment = number(a.count, F32) / (a.factor * number(larger(a.size, 1), F32))
    return number(a.size, F32) / 2.0 * (1.0 - adjustment) + _half_pixel(a, x)


POSITIONS: Mapping[str, Callable[[VaryingAxis, Expr], Expr]] = {
    "align_corners": _align_corners,
    "asymmetric": lambda a, x: x / a.factor,
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": lambda a, x: select(Const(1) < number(a.count), _half_pixel(a, x), 0.0),
    "tf_half_pixel_for_nn": lambda a, x: (x + 0.5) / a.factor,
}
"""By ONNX's coordinate_transformation_mode; a part of the input by its roi needs sizes that are known."""

assert POSITIONS.keys() | {"tf_crop_and_resize"} == COORDINATES.keys()

NEAREST: Mapping[str, Callable[[VaryingAxis, Expr], Expr]] = {
    "floor": lambda _, x: unary("floor", x),
    "ceil": lambda _, x: unary("ceil", x),
    "round_prefer_floor": lambda _, x: unary("ceil", x - 0.5),
    "round_prefer_ceil": lambda _, x: unary("floor", x + 0.5),
    "simple": lambda a, x: select(a.factor < 1.0, unary("ceil", x), unary("floor", x)),
}
"""By nearest_mode: the whole number for a coordinate (sample.ROUNDING)."""
