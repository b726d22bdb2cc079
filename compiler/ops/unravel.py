"""Between the number of an element, in row-major order, and its indices."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.construct import maximum, minimum
from ..ir.nodes import Expr, expr
from ..ir.sizes import Size, is_one, larger, least, number, product, size


def ravel(index: Sequence[Expr], shape: Sequence[Size]) -> Expr:
    """The number of the element of `shape` with these indices."""
    first, *others = index or (expr(0),)
    for i, extent in zip(others, shape[1:], strict=True):
        first = first * extent + i
    return first


def unravel(linear: Expr, shape: Sequence[Size]) -> list[Expr]:
    """The indices of element number `linear` of `shape`; any in range where there is no element."""
    indices = []
    for d, extent in enumerate(shape):
        below = product(shape[d + 1 :])
        index = linear if is_one(below) else linear // _divisor(below)
        if d:
            index = index % _divisor(extent)
        elif not least(below):  # little is known of a quotient by 1 in place of 0
            index = maximum(minimum(index, number(extent) - 1), 0)
        indices.append(index)
    return indices


def unravel_within(linear: Expr, shape: Sequence[Size]) -> list[Expr]:
    """`unravel` of a number from 0 on, of which it is not known to be less than there are elements: all indices are in
    range."""
    if not shape:
        return []
    first, *rest = unravel(linear, shape)
    return [minimum(first, larger(size(shape[0] - 1), 0)), *rest]


def _divisor(n: Size) -> Size:
    """`n`, or 1 where that may be 0."""
    return n if least(n) else larger(n, 1)
