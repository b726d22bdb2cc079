"""Values between the pixels of a tensor, at places that a run computes: weighted sums of the pixels around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...dtypes import F32, I32
from ...ir.construct import maximum, minimum, select, unary
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, number, size
from ...tensor import Tensor, compute
from ..window import both

MOST_AXES = 3
"""Axes along which there are places: a kernel reads two tables of each, and of a cubic interpolation 64 pixels."""


@dataclass(frozen=True, slots=True)
class Tap:
    """A pixel along one axis: its index, which is in range; it is zero unless `inside` holds. A weight of None is 1."""

    index: Expr
    inside: Expr | None = None
    weight: Expr | None = None


def zero_outside(i: Expr, extent: Size) -> Tap:
    """Pixel `i`; all is zero beyond the ends."""
    tap = last_outside(i, extent)
    return Tap(tap.index, tap.index.eq(i))


def last_outside(i: Expr, extent: Size) -> Tap:
    """Pixel `i`; the last one stands beyond the ends."""
    return Tap(maximum(minimum(i, number(size(extent - 1))), 0))


def limited(place: Expr, extent: Size, reach: int) -> Expr:
    """A place, of a float type, that is at most `reach` pixels beyond the ends. One that is not a number is before the
    first pixel."""
    most = number(size(extent - 1 + reach), place.dtype)
    return minimum(maximum(Const(float(-reach), place.dtype), place), most)


@dataclass(frozen=True, slots=True)
class Places:
    """Places along an axis, as tables, which all channels read: the number of the pixel before each, int32, and how far
    behind that it is, a float, None where it is of no interest."""

    first: Tensor
    share: Tensor | None

    @property
    def tables(self) -> tuple[Tensor | None, ...]:
        return self.first, self.share


def tabulated(
    name: str,
    shape: Sequence[Size],
    reads: tuple[Tensor | None, ...],
    place: Callable[..., Expr],
    *,
    whole: bool = False,
) -> Places:
    """The tables of `place(*index)`, a number of a float type, which is `whole` where it has no fraction."""
    if whole:
        return Places(compute(f"{name}.first", shape, reads, lambda *i: place(*i).cast(I32)), None)

    def share(*index: Expr) -> Expr:
        at = place(*index)
        return at - unary("floor", at)

    first = compute(f"{name}.first", shape, reads, lambda *i: unary("floor", place(*i)).cast(I32))
    return Places(first, replace(compute(f"{name}.share", shape, reads, share), exact=True))


def cubic_weights(share: Expr, c: float) -> list[Expr]:
    """Weights of the four pixels around a place, which is `share` behind the second: Keys' cubic convolution with
    coefficient `c`."""

    def near(t: Expr) -> Expr:
        return ((c + 2) * t - (c + 3)) * t * t + 1.0

    def far(t: Expr) -> Expr:
        return ((c * t - 5 * c) * t + 8 * c) * t - 4 * c

    return [far(share + 1.0), near(share), near(1.0 - share), far(2.0 - share)]


def weighted(first: Expr, weights: Sequence[Expr], pixel: Callable[[Expr], Tap]) -> list[Tap]:
    """Neighbouring pixels from number `first` on, with their weights."""
    taps = [pixel(first + k if k else first) for k in range(len(weights))]
    return [Tap(t.index, t.inside, w) for t, w in zip(taps, weights, strict=True)]


def interpolated(x: Tensor, before: Sequence[Expr], axes: Sequence[Sequence[Tap]]) -> Expr:
    """The sum of the pixels of `x` at the indices `before` and at a tap of each of the last axes, by their weights.
    Integers are taken as float32, unless it is one pixel."""
    dtype = x.dtype if x.dtype.is_float or all(t.weight is None for taps in axes for t in taps) else F32

    def total(index: list[Expr], inside: Expr | None) -> Expr:
        if len(index) == x.rank:
            # Not a guarded read: what indices read would be guarded, too, and be computed again for each pixel.
            pixel = x.read(index).cast(dtype)
            return pixel if inside is None else select(inside, pixel, 0)
        first, *others = (
            part if t.weight is None else part * t.weight.cast(dtype)
            for t in axes[len(index) - len(before)]
            for part in (total([*index, t.index], both(inside, t.inside)),)
        )
        for part in others:
            first = first + part
        return first

    return total([*before], None)
