"""Bounds of the elements of integer tensors that a run computes: by them they may be sizes.

A shape may be as much as its bound, for which memory is laid out: of ConstantOfShape(Min(k, 10)), at most 10 elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from ..dtypes import BOOL, I32
from ..ir.construct import maximum
from ..ir.facts import Facts
from ..ir.intervals import Range, limits, union, within
from ..ir.memo import memo
from ..ir.nodes import Buffer, Const, Expr, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import substitute
from ..ir.simplify import simplify_expr
from ..ir.sizes import Size, larger, least, number, size
from .computed_sizes import computed_size
from .known_elements import Element, element_value, exact_floats, known_elements
from .tensor import Bounds, Tensor, compute

MOST_ELEMENTS = 8
"""The largest tensor whose elements are bounded one by one: dimensions of a shape."""

MOST = 1 << 24
"""The largest number that counts as a bound."""


_OF_FLOATS: Range = -(1 << 64), 1 << 64
"""For an interval of floats, of which none is computed."""


@memo
def with_bounds(t: Tensor) -> Tensor:
    """`t`, if it holds integers that are not known, with their bounds; if few floats that are exact, with these.

    Of a chain of tensors within one operator each is bounded for the one that reads it, twice: hence the memo.
    """
    if t.body is None or t.elements is not None:
        return t
    if t.dtype.is_float:
        exact = None if t.is_dynamic or t.buffer.size > MOST_ELEMENTS else exact_floats(t)
        return t if exact is None else replace(t, bounds=Bounds(_OF_FLOATS, exact))
    if t.dtype == BOOL:
        return replace(t, bounds=Bounds((1, 1))) if t.body == Const(True, BOOL) else t
    ranges = Facts({r.buffer: span_of(r) for r in t.reads if not r.dtype.is_float})
    span = _range(t.body, ranges)
    if t.is_dynamic or t.buffer.size > MOST_ELEMENTS:
        return replace(t, bounds=Bounds(span))
    operands = {r.buffer: (r.extents, _elements(r)) for r in t.reads}
    bounded = [_bounded(t, at, ranges, operands) for at in product(*map(range, t.extents))]
    return replace(t, bounds=Bounds(span, tuple(e for e, _ in bounded), tuple(n for _, n in bounded)))


def bounded_size(name: str, reads: Sequence[Tensor], value: Expr) -> Size | None:
    """The integer that a run computes from `reads`, or 0 where that is less, as a size; None where it has no upper
    bound."""
    bounds = with_bounds(compute(name, (1,), tuple(reads), lambda _: value)).bounds
    return None if bounds is None or bounds.counts is None else bounds.counts[0]


def span_of(t: Tensor) -> Range:
    """The interval of the elements of an integer tensor."""
    if t.bounds is not None:
        return t.bounds.span
    if t.elements is not None:
        ranges = Facts({})
        spans = [ranges.of(number(n)) for n in t.elements]
        return min((low for low, _ in spans), default=0), max((high for _, high in spans), default=0)
    bounded = with_bounds(t) if t.data is None else t
    return (t.buffer.values or limits(t.dtype)) if bounded.bounds is None else bounded.bounds.span


def _elements(t: Tensor) -> tuple[Element | None, ...] | None:
    """Known elements of an operand: one by another operator, or made within the same."""
    if t.elements is not None or t.data is not None:
        return known_elements(t)
    bounds = t.bounds or with_bounds(t).bounds
    return None if bounds is None else bounds.elements


def _bounded(
    t: Tensor,
    at: tuple[int, ...],
    ranges: Facts,
    operands: dict[Buffer, tuple[tuple[int, ...], tuple[Element | None, ...] | None]],
) -> tuple[Size | None, Size | None]:
    """The element at `at`, and its maximum with 0, as sizes where they have bounds."""
    assert t.body is not None
    exact = element_value(t.body, dict(zip(t.axes, at, strict=True)), operands)
    if exact is not None:
        return size(exact), larger(size(exact), 0)
    here: dict[Var, Expr] = {v: Const(i) for v, i in zip(t.axes, at, strict=True)}
    body = substitute(t.body, here)
    body = body if isinstance(body, Reduce) else simplify_expr(body)
    low, high = _range(body, ranges)
    if high > MOST:
        return None, None
    name = f"{t.name}[{', '.join(map(str, at))}]" if at else t.name

    def measured(name: str, smallest: int, value: Callable[[Expr], Expr]) -> Size:
        """The `value`, of which the least is `smallest`, that a run computes from the element."""
        if smallest >= high:
            return smallest
        before = min(smallest, 0)
        element = compute(f"{name}.element", (1,), t.reads, lambda _: body)
        source = compute(name, (1,), (element,), lambda i: (value(element[i]) - before).cast(I32))
        return size(computed_size(name, high - before + 1, source, smallest - before) + before)

    if low >= -MOST:
        measure = measured(name, low, lambda element: element)
        return measure, larger(measure, 0)
    return None, measured(f"{name}.count", 0, lambda element: maximum(element, 0))


def _range(body: Expr, ranges: Facts) -> Range:
    """The interval of a tensor's body."""
    if not isinstance(body, Reduce):
        return ranges.of(body)
    start, (low, high) = ranges.of(body.init), ranges.of(body.value)
    steps = prod(v.extent for v in body.axes)
    match body.op:
        case "sum":
            interval = start[0] + min(low * steps, 0), start[1] + max(high * steps, 0)
        case "max" | "min" if steps and all(v.length is None or least(v.length) for v in body.axes):
            pick = max if body.op == "max" else min
            interval = pick(low, start[0]), pick(high, start[1])
        case "max" | "min":
            interval = union(start, (low, high))
        case _:
            interval = limits(body.dtype)
    whole = limits(body.dtype)
    return interval if within(interval, whole) else whole
