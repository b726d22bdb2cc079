"""Windows put back to where they were taken from: Col2Im adds what they have, MaxUnpool places their maxima."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...dtypes import BOOL, I64
from ...ir.construct import all_of, maximum, minimum, select
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, equal, known_less, number, product, shown, size
from ...tensor import Tensor, compute
from ..call import Call
from ..movement.gather import to_int32
from ..movement.reshaping import reshaped
from ..products.convolution_transpose import Spread
from ..unravel import ravel, unravel, unravel_within
from ..window import both, per_axis, scaled, windows_of
from .reduce_axes import reduce_over


def _col2im(call: Call) -> Tensor:
    """Columns [N, C * taps, windows] of windows over an image: their sums at each pixel [N, C, *image_shape]."""
    x = call.input(0, (None, None, None))
    image, block = call.counts(1, "image_shape") or (), call.ints(2, "block_shape") or ()
    (rows,) = call.fixed(x, (1,))
    if not block or len(image) != len(block) or min(block) < 1 or rows % prod(block) or x.dtype == BOOL:
        raise call.unsupported(
            f"{rows} rows of {x.dtype}, image_shape {shown(image)} and block_shape {shown(block)} do not fit",
            "the model is invalid: export it again",
        )
    windows = windows_of(call, image, block)
    counts = [w.count for w in windows]
    if not equal(product(counts), x.shape[2]):
        raise call.unsupported(
            f"an image of {shown(image)} has {shown(counts)} windows, its input {shown(x.shape[2:])}",
            "check the input shape",
        )
    columns = reshaped(f"{call.name}.columns", x, (x.shape[0], rows // prod(block), *block, *counts))
    spreads = [Spread(w.count, w.kernel, w.stride, w.dilation, w.before, w.size) for w in windows]

    def body(n: Expr, c: Expr, *o: Expr) -> Expr:
        def column(*j: Expr) -> Expr:
            places, taps, exists = _reaching(spreads, o, j)
            # Windows and taps are one dimension each in memory: an index of it is proved from ranges alone.
            places = [maximum(minimum(i, number(s.size) - 1), 0) for i, s in zip(places, spreads, strict=True)]
            taps = [minimum(k, s.kernel - 1) for k, s in zip(taps, spreads, strict=True)]
            return columns.read([n, c, *taps, *places], exists)

        return reduce_over("sum", [s.reaches for s in spreads], column)

    return compute(call.name, (*columns.shape[:2], *image), (columns,), body)


def _reaching(
    spreads: Sequence[Spread], o: Sequence[Expr], j: Sequence[Expr]
) -> tuple[list[Expr], list[Expr], Expr | None]:
    """The windows and taps that are number `j` of those which may reach position o, and whether there are any."""
    places, taps, exists = [], [], None
    for s, position, number_of in zip(spreads, o, j, strict=True):
        place, tap, there = s.reaching(position, number_of)
        places.append(place)
        taps.append(tap)
        exists = both(exists, there)
    return places, taps, exists


def _max_unpool(call: Call) -> Tensor:
    """Maxima and their places in the whole input of a MaxPool: that input, zeros elsewhere, and with `output_shape`
    zeros at its end. Of several maxima of one place the last one is there. A run ends with an error where a place is
    not in the window of its maximum: no MaxPool with these attributes gives it."""
    x = call.image(0)
    indices = call.input(1, x.shape)
    rank = x.rank - 2
    kernel, strides = (per_axis(call, name, (1,) * rank) for name in ("kernel_shape", "strides"))
    if min(*kernel, *strides, 1) < 1:
        raise call.unsupported(f"kernel_shape {list(kernel)}, strides {list(strides)}", "the model is invalid")
    pads = per_axis(call, "pads", (0,) * (2 * rank))
    spreads = []
    for d, extent in enumerate(x.shape[2:]):
        count = size((extent - 1) * strides[d] - (pads[d] + pads[rank + d]) + kernel[d])
        spreads.append(Spread(extent, kernel[d], strides[d], 1, pads[d], count))
    whole = (*x.shape[:2], *(s.count for s in spreads))
    shape = call.counts(2, "output_shape") or whole
    if len(shape) != x.rank or any(known_less(n, e) for n, e in zip(shape, whole, strict=True)):
        raise call.unsupported(
            f"output_shape {shown(shape)} does not hold the {shown(whole)} that were pooled", "the model is invalid"
        )
    steps = [s.reaches for s in spreads]

    def place(at: Sequence[Expr], j: Sequence[Expr]) -> tuple[Expr, Expr]:
        """Number `j` of the maxima that may be at a position, and whether it is there."""
        places, _, exists = _reaching(spreads, at[2:], j)
        index = [*at[:2], *places]
        here = indices.read(index, exists).eq(ravel(at, whole).cast(I64))
        return x.read(index, exists), here if exists is None else exists & here

    def first(*at: Expr) -> Expr:
        return reduce_over("min", steps, lambda *j: select(place(at, j)[1], ravel(j, steps), prod(steps)))

    chosen = compute(f"{call.name}.chosen", whole, (indices,), first) if prod(steps) > 1 else None

    def value(*at: Expr) -> Expr:
        j = [Const(0)] * rank if chosen is None else unravel_within(maximum(chosen.read(at), 0), steps)
        number_there, here = place(at, j)
        return select(here, number_there, 0)

    _refuse_others(call, indices, spreads, whole)
    result = compute(call.name, whole, (x, indices, chosen), value)
    if all(equal(n, e) for n, e in zip(shape, whole, strict=True)):
        return result
    return compute(
        f"{call.name}.whole",
        shape,
        (result,),
        lambda *at: result.read(at, all_of(*(i < number(e) for i, e in zip(at, whole, strict=True)))),
    )


def _refuse_others(call: Call, indices: Tensor, spreads: Sequence[Spread], whole: Sequence[Size]) -> None:
    """A run ends with an error where an index is of no position of its window."""
    area = product(whole[2:])

    def wrong(n: Expr, c: Expr, *p: Expr) -> Expr:
        index = indices[n, c, *p]
        start = scaled(scaled(n, whole[1]) + c, area)
        within = (index >= start.cast(I64)) & (index < (start + area).cast(I64))
        at = unravel(maximum(to_int32(index) - start, 0), whole[2:])
        for s, position, i in zip(spreads, p, at, strict=True):
            offset = i - scaled(position, s.stride) + s.before
            within = within & (offset >= 0) & (offset < s.kernel)
        return select(within, Const(0), 1)

    found = compute(
        f"{call.name}.wrong", (), (indices,), lambda: reduce_over("max", indices.shape, lambda *at: wrong(*at))
    )
    call.refuse_where(
        found.read(()) > 0, (found,), "this run computes indices that no MaxPool of the same attributes has"
    )


OPERATORS = {"Col2Im": _col2im, "MaxUnpool": _max_unpool}
