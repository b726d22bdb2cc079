"""GridSample: an image at the places that a grid names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dtypes import F16, F32, F64
from ...ir.construct import maximum, minimum, unary
from ...ir.nodes import Const, Expr, expr
from ...ir.sizes import Size, number, shown, size
from ...tensor import Tensor, compute
from ..call import Call
from .between import (
    MOST_AXES,
    Places,
    Tap,
    cubic_weights,
    interpolated,
    last_outside,
    limited,
    tabulated,
    weighted,
    zero_outside,
)

MODES = {"bicubic": "cubic", "bilinear": "linear", "cubic": "cubic", "linear": "linear", "nearest": "nearest"}
"""Names of modes in opset 16 and com.microsoft, and in opset 20."""

PADDING = ("border", "reflection", "zeros")

_REACH = {"nearest": 1, "linear": 2, "cubic": 3}
"""Distances from the image, in pixels, at which a place takes none of it."""

_COEFFICIENT = -0.75
"""Coefficient of Keys' cubic convolution."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of the image; with `corners` -1 and 1 are its first and last pixels, else their outer edges."""

    mode: str
    padding: str
    corners: bool
    extent: Size

    def place(self, coordinate: Expr) -> Expr:
        """The number of the pixel, with a fraction unless the mode is nearest, at a coordinate in -1..1."""
        place = self._place(coordinate)
        if self.mode == "nearest":
            place = unary("round", place)
        if self.padding == "reflection":
            place = self._reflected(place)
        # Far enough outside that no pixel of the image is taken.
        padded = self.padding == "zeros" or self.mode == "cubic"
        return limited(place, self.extent, _REACH[self.mode] if padded else 0)

    def taps(self, places: Places, at: Sequence[Expr]) -> list[Tap]:
        """The pixels that make the value at the place with an index."""
        first = places.first.read(tuple(at))
        if places.share is None:
            return [self._pixel(first)]
        share = places.share.read(tuple(at))
        if self.mode == "linear":
            return weighted(first, [1.0 - share, share], self._pixel)
        return weighted(first - 1, cubic_weights(share, _COEFFICIENT), self._pixel)

    def _place(self, coordinate: Expr) -> Expr:
        """The number of the pixel, with a fraction."""
        count = number(self.extent, coordinate.dtype)
        if self.corners:
            return (coordinate + 1.0) * ((count - 1.0) * 0.5)
        return (coordinate + 1.0) * (count * 0.5) - 0.5

    def _reflected(self, place: Expr) -> Expr:
        """Between the outer edges of the outer pixels, or between their centres."""
        first = 0.0 if self.corners else -0.5
        span = number(size(self.extent - 1) if self.corners else self.extent, place.dtype)
        distance = unary("abs", place - first)
        turns = unary("floor", distance / maximum(Const(1.0, place.dtype), span * 2.0))
        return span - unary("abs", distance - turns * (span * 2.0) - span) + first

    def _pixel(self, i: Expr) -> Tap:
        if self.padding == "zeros":
            return zero_outside(i, self.extent)
        if self.padding == "reflection" and self.mode == "cubic":  # others reach one pixel beyond, of weight 0
            edge = 0 if self.corners else 1
            i = maximum(i, -edge - i)
            i = minimum(i, number(size(self.extent * 2 - 2 + edge)) - i)
        return last_outside(i, self.extent)


def grid_sample(call: Call) -> Tensor:
    """Image [N, C, *in] at the places grid [N, *out, r], of which the last axis is named first, in -1..1: [N, C, *out].

    As onnxruntime and PyTorch, mode cubic pads each pixel that it takes; ONNX's reference moves the place itself to
    the border first. Places that are not numbers are before the first pixel.
    """
    x = call.image(0)
    extents = x.shape[2:]
    rank = len(extents)
    grid = call.input(1, (x.shape[0], *(None,) * rank, rank))
    if call.domain:
        call.check_dtypes((0, 1), F32, F16, F64)
    mode, padding = MODES.get(call.attribute("mode", "linear")), call.attribute("padding_mode", "zeros")
    if mode is None:
        raise call.unsupported(f"attribute mode={call.attribute('mode', '')!r} is unknown", "use linear")
    if padding not in PADDING:
        raise call.unsupported(f"attribute padding_mode={padding!r} is unknown", "use zeros, border or reflection")
    if not 1 <= rank <= MOST_AXES:
        raise call.unsupported(f"its image has {rank} spatial axes", f"have 1 to {MOST_AXES} of them")
    shape = (*x.shape[:2], *grid.shape[1:-1])
    if 0 in shape:
        return compute(call.name, shape, (), lambda *_: expr(0, x.dtype))
    if 0 in extents:
        raise call.unsupported(f"its input of shape {shown(x.shape)} has no pixels", "check the input shape")
    corners = call.attribute("align_corners", 0) != 0  # any number is true, as in onnxruntime
    axes = [_Axis(mode, padding, corners, extent) for extent in extents]

    places = [
        tabulated(
            f"{call.name}.{d}",
            grid.shape[:-1],
            (grid,),
            lambda *i, axis=axis, d=d: axis.place(grid.read([*i, expr(rank - 1 - d)])),
            whole=mode == "nearest",
        )
        for d, axis in enumerate(axes)
    ]

    def element(n: Expr, c: Expr, *o: Expr) -> Expr:
        taps = [axis.taps(p, (n, *o)) for axis, p in zip(axes, places, strict=True)]
        return interpolated(x, (n, c), taps).cast(x.dtype)

    return compute(call.name, shape, (x, *(t for p in places for t in p.tables)), element)


OPERATORS = {"GridSample": grid_sample}
