"""One reduction for the minimum and the maximum of the same elements, where a launch takes longer than it saves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ..ir.construct import select, unary
from ..ir.nodes import Buffer, Const, Expr, Load, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import substitute
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor

MAXIMUM = {"min": "max", "min_nan": "max_nan"}
"""By the operation of a minimum that of the maximum of the negatives, which is minus the minimum."""


def merge_extremes(program: TensorProgram) -> TensorProgram:
    """low = min of x[r]; high = max of x[r]
    ->  extremes[e] = max of (e == 0 ? -x[r] : x[r]), e < 2; low = -extremes[0]; high = extremes[1]

    Each is one float, and read by maps alone, which take the elements of `extremes`.
    """
    other = {a.buffer: b for low, high in _pairs(program) for a, b in ((low, high), (high, low))}
    made: dict[Buffer, Tensor] = {}

    def make(t: Tensor) -> list[Tensor]:
        if t.buffer not in other:
            return [t]
        if t.buffer in made:
            return [_element(t, made[t.buffer])]
        extremes = _extremes(t)
        made[other[t.buffer].buffer] = extremes
        return [extremes, _element(t, extremes)]

    return replace_tensors(program, make)


def _pairs(program: TensorProgram) -> Iterator[tuple[Tensor, Tensor]]:
    """Minima and maxima of the same elements, each of them in one pair."""
    reduced = {r for t in program.tensors if t.is_reduction for r in t.reads}
    kept = program.stored.union((t for _, t in program.outputs), reduced)
    single = [t for t in program.tensors if t.is_reduction and t not in kept and _is_single_float(t)]
    for low in tuple(single):
        highs = (t for t in single if t.reads == low.reads and _are_extremes(low.body, t.body))
        high = next(highs, None)
        if high is not None:
            single = [t for t in single if t is not high]
            yield low, high


def _is_single_float(t: Tensor) -> bool:
    return prod(t.extents) == 1 and t.dtype.is_float and not t.prepared


def _are_extremes(low: Expr | None, high: Expr | None) -> bool:
    """Whether one body is the minimum of the elements that the other is the maximum of."""
    if not isinstance(low, Reduce) or not isinstance(high, Reduce) or MAXIMUM.get(low.op) != high.op:
        return False
    lengths = [[(v.extent, v.length) for v in r.axes] for r in (low, high)]
    if lengths[0] != lengths[1] or low.init.value != -high.init.value:
        return False
    return substitute(high.value, dict(zip(high.axes, low.axes, strict=True))) == low.value


def _extremes(t: Tensor) -> Tensor:
    """Both extremes of the elements of which `t` is one."""
    assert isinstance(t.body, Reduce)
    which, low, value, init = Var("e", 2), t.body.op in MAXIMUM, t.body.value, t.body.init
    both = select(which.eq(0), unary("neg", value), value)
    start = Const(-init.value, init.dtype) if low else init
    body = Reduce(MAXIMUM.get(t.body.op, t.body.op), t.body.axes, both, start)
    buffer = Buffer(f"{t.name}.extremes", (2, *t.extents), t.dtype)
    return replace(t, buffer=buffer, axes=(which, *t.axes), body=body)


def _element(t: Tensor, extremes: Tensor) -> Tensor:
    """`t` as that of the `extremes` that it is."""
    low = isinstance(t.body, Reduce) and t.body.op in MAXIMUM
    element: Expr = Load(extremes.buffer, (Const(0 if low else 1), *t.axes))
    return replace(t, body=unary("neg", element) if low else element, reads=(extremes,))
