"""Pictures of any size as bytes of the size that a model takes: resized, cut out or surrounded.

Pixels are int32 words, of which red is the lowest byte, then green, blue and alpha, as the pages of browsers have them.
Resizing is Pillow's, of bytes: an axis at a time, columns first, by a triangle that widens as the picture shrinks, each
axis rounded to bytes. Positions are exact, ratios of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...dtypes import F32, I32, U8
from ...ir.construct import all_of, maximum, minimum, select, unary
from ...ir.nodes import Expr, binary
from ...ir.sizes import Size, divided, larger, least, number, shown, size, smaller
from ...tensor import Tensor, compute, constant
from ..call import Call
from ..reductions.reduce_axes import reduce_over

LONGEST = 2**14
"""Rows and columns of a resized picture, at most: products of two positions are int32."""

NARROWEST = 64
"""A surrounded picture takes one part of so many of each side, at least."""

_POINT = 22
"""Bits after the point of weights: with bytes their sums are int32."""

GREY = (19595, 38470, 7471)
"""Shares of red, green and blue of 2**16, by Rec. 601."""


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a picture, of `size` pixels: resized to `resized`, of which `count` are taken from `first` on, a number
    below zero where there is room before. `surrounded`: there may be room, before or behind."""

    size: Size
    resized: Size
    count: int
    first: Size
    surrounded: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A side before it is resized: `pixels`, to become `count`; of "crop" the middle of `whole`."""

    pixels: Size
    count: int
    whole: int


def _crop(a: Span, b: Span) -> Side:
    """The middle of a picture that is resized until it covers `whole` of both sides."""
    whole = divided(size(number(a.pixels) * b.whole), b.pixels)
    resized = smaller(larger(whole, max(a.whole, a.count)), LONGEST)
    spare = size(number(resized) - a.count)
    half = divided(spare, 2)
    # Halves are rounded to even.
    return Side(a.pixels, resized, a.count, size(number(half) + (number(spare) % 2) * (number(half) % 2)))


def _stretch(a: Span, _: Span) -> Side:
    return Side(a.pixels, a.count, a.count, 0)


def _letterbox(a: Span, b: Span) -> Side:
    """All of a picture in the middle, as large as it fits."""
    side = _top_left(a, b)
    room = divided(size(a.count - number(side.resized)), 2)
    return replace(side, first=size(0 - number(room)))


def _top_left(a: Span, b: Span) -> Side:
    """All of a picture in the corner."""
    rounded = divided(size(number(a.pixels) * (2 * b.count) + number(b.pixels)), size(number(b.pixels) * 2))
    resized = smaller(larger(rounded, max(a.count // NARROWEST, 1)), a.count)
    return Side(a.pixels, resized, a.count, 0, surrounded=True)


RESIZES = {"crop": _crop, "letterbox": _letterbox, "letterbox-top-left": _top_left, "stretch": _stretch}
"""How a side becomes as long as the model's, by the names of formats."""


@dataclass(frozen=True, slots=True)
class _Taps:
    """Elements of a side of the result: the first of the pixels that each is made of, and their weights, of _POINT bits
    after the point, some of them zero. `placed` has how long the side becomes, and the first of its pixels that is
    taken."""

    side: Side
    placed: Tensor
    first: Tensor
    weights: Tensor

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return self.first, self.weights

    def inside(self, o: Expr) -> Expr:
        """Whether the picture has the element `o` of the result."""
        place = o + self.placed[1,]
        return (place >= 0) & (place < self.placed[0,])

    def total(self, o: Expr, element: Callable[[Expr], Expr]) -> Expr:
        """The sum of the weighted elements, int32, at these pixels."""
        last = number(self.side.size) - 1

        def term(tap: Expr) -> Expr:
            at = minimum(maximum(self.first[o,] + tap, 0), last)
            return element(at) * self.weights[tap, o]

        return reduce_over("sum", (self.weights.shape[0],), term)


def _byte(total: Expr) -> Expr:
    """The byte that a weighted sum makes, halves rounded up."""
    return minimum(maximum(binary("shr", total + (1 << _POINT - 1), _POINT), 0), 255).cast(U8)


def _taps(name: str, side: Side) -> _Taps:
    # Kernels read what sizes decide: as expressions these are longer than all else.
    numbers = number(side.resized), number(side.first)
    placed = compute(f"{name}.placed", (2,), (), lambda i: select(i.eq(0), *numbers))
    n, r = number(side.size), maximum(placed[0,], 1)
    m = maximum(n, r)

    def centre(o: Expr) -> Expr:
        """Twice the middle of an element of the picture, times `resized`."""
        return (minimum(maximum(o + placed[1,], 0), r - 1) * 2 + 1) * n

    first = compute(
        f"{name}.first",
        (side.count,),
        (placed,),
        lambda o: minimum(maximum(centre(o) - m * 2 + r, 0) // (r * 2), n - 1),
    )
    reach = number(larger(side.size, side.resized)) * 2
    count = size(number(divided(size(reach), side.resized)) + 2)

    def share(tap: Expr, o: Expr) -> Expr:
        at = first[o,] + tap
        away = unary("abs", (at * 2 + 1) * r - centre(o))
        return select(at < n, maximum(m * 2 - away, 0), 0)

    shares = compute(f"{name}.shares", (count, side.count), (first, placed), share)
    totals = compute(
        f"{name}.totals", (side.count,), (shares,), lambda o: reduce_over("sum", (count,), lambda t: shares[t, o])
    )

    def weight(tap: Expr, o: Expr) -> Expr:
        """The ratio of integers rounded to the nearest, halves up, on any device: a quotient of floats, corrected by
        what it leaves, which int32 has though the products overflow."""
        part, total = shares[tap, o], totals[o,]
        near = unary("round", part.cast(F32) / total.cast(F32) * float(1 << _POINT)).cast(I32)
        rest = (binary("shl", part, _POINT) - near * total) * 2
        return near + (rest >= total).cast(I32) - (rest < 0 - total).cast(I32)

    return _Taps(side, placed, first, compute(f"{name}.weights", shares.shape, (shares, totals), weight))


def _picture(call: Call) -> Tensor:
    """Bytes [1, channels, rows, columns], or with channels last, of a picture [height, width]. Attributes: `rows`,
    `columns`; `resize`, of RESIZES, and for "crop" of which `whole`, rows and columns, these are the middle;
    `channels`: 3, `reversed` or not, or 1; `fill`, red, green and blue where there is no picture; `last`: channels are
    last."""
    call.check_dtypes((0,), I32)
    words = call.input(0, (None, None))
    height, width = words.shape
    if not all(map(least, words.shape)):
        raise call.unsupported(f"a picture of {shown(words.shape)} may have no pixels", "set its least size to 1")
    rows, columns = call.attribute("rows", 0), call.attribute("columns", 0)
    whole = call.attribute("whole", (rows, columns))
    spans = Span(height, rows, whole[0]), Span(width, columns, whole[1])
    place = RESIZES[call.attribute("resize", "stretch")]
    sides = place(*spans), place(*spans[::-1])
    channels, name = call.attribute("channels", 3), call.name
    down, across = _taps(f"{name}.rows", sides[0]), _taps(f"{name}.columns", sides[1])

    def colour(word: Expr, c: Expr) -> Expr:
        if channels == 3:
            return binary("shr", word, c * 8) & 255
        parts = [(binary("shr", word, 8 * i) & 255) * share for i, share in enumerate(GREY)]
        return binary("shr", parts[0] + parts[1] + parts[2] + (1 << 15), 16)

    flip, last = call.flag("reversed", 0), call.flag("last", 0)

    def narrow(y: Expr, x: Expr, c: Expr) -> Expr:
        return across.total(x, lambda at: colour(words[y, at], channels - 1 - c if flip else c))

    # Rows of a channel, or of all, are one dimension: vectors go along it.
    lines = (columns * channels,) if last else (channels, columns)

    def place_in(line: Sequence[Expr]) -> tuple[Expr, Expr]:
        """Column and channel."""
        return (line[0] // channels, line[0] % channels) if last else (line[1], line[0])

    sums = compute(f"{name}.sums", (height, *lines), (words, *across.reads), lambda y, *l: narrow(y, *place_in(l)))
    strip = compute(f"{name}.strip", sums.shape, (sums,), lambda *i: _byte(sums[i]))

    def small(*i: Expr) -> Expr:
        y, line = (i[0], i[1:]) if last else (i[1], (i[0], i[2]))
        return down.total(y, lambda at: strip.read([at, *line]).cast(I32))

    shape = (rows, *lines) if last else (channels, rows, columns)
    totals = compute(f"{name}.totals", shape, (strip, *down.reads), small)
    fill = constant(f"{name}.fill", np.array(call.attribute("fill", (0,) * channels), np.uint8))

    def element(*index: Expr) -> Expr:
        y, x, c = index[1:] if last else (*index[2:], index[1])
        pixel = _byte(totals.read([y, x * channels + c] if last else [c, y, x]))
        within = [t.inside(o) for t, o in ((down, y), (across, x)) if t.side.surrounded]
        return select(all_of(*within), pixel, fill[channels - 1 - c if flip else c,]) if within else pixel

    result = (1, rows, columns, channels) if last else (1, channels, rows, columns)
    return compute(name, result, (totals, fill, *(t.placed for t in (down, across) if t.side.surrounded)), element)


OPERATORS = {"Picture": _picture}
