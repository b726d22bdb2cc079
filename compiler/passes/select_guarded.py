"""Guarded loads become selections: what a GPU does without a branch."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import BOOL, DType
from ..ir.affine import affine
from ..ir.facts import range_of
from ..ir.lanes import Ramp, Splat, lanes_of
from ..ir.nodes import Binary, Const, Expr, Kernel, Load, Node, Select
from ..ir.rewrite import map_children
from ..target import LANES


def select_guarded(kernel: Kernel) -> Kernel:
    """x[i] if g   ->   select(g, x[select(g, i, 0)], 0)

    Every load then touches memory, at a place that is inside the buffer: also those that the index of a guarded load
    makes, which stand under its guard unless they are inside anyway.
    """
    rewritten = _Guards()
    body = rewritten.node(kernel.body, None)
    assert not isinstance(body, Expr)
    return kernel if body is kernel.body else replace(kernel, body=body)


class _Guards:
    """Rewrites what is shared once for each guard that it stands under."""

    def __init__(self) -> None:
        self._done: dict[tuple[int, int], tuple[Expr | None, Node]] = {}

    def node(self, n: Node, guard: Expr | None) -> Node:
        key = id(n), id(guard)
        if key not in self._done:
            selected = self._load(n, guard) if isinstance(n, Load) else map_children(n, lambda c: self.node(c, guard))
            self._done[key] = guard, selected  # holds the guard: its identity is in the key
        return self._done[key][1]

    def _expr(self, e: Expr, guard: Expr | None) -> Expr:
        selected = self.node(e, guard)
        assert isinstance(selected, Expr)
        return selected

    def _load(self, n: Load, outer: Expr | None) -> Expr:
        test = outer
        if n.guard is not None:
            own = self._expr(n.guard, outer)
            test = own if outer is None else Binary("and", outer, own)
        if test is None or (n.guard is None and all(map(_inside, n.indices, n.buffer.shape))):
            at = tuple(self._expr(i, None) for i in n.indices)
            kept = n.guard is None and all(new is old for new, old in zip(at, n.indices, strict=True))
            return n if kept else Load(n.buffer, at)
        load = Load(n.buffer, tuple(_first_unless(test, self._expr(i, test)) for i in n.indices))
        lanes = lanes_of(load)
        zero = _zero(n.dtype)
        if lanes > 1:
            return Select(Splat(test, lanes), load, Splat(zero, lanes))
        return Select(test, load, zero)


def _inside(index: Expr, extent: int) -> bool:
    """Whether an index is in range wherever it stands."""
    lanes = index.lanes if isinstance(index, Ramp) else 1
    interval = range_of(index.base if isinstance(index, Ramp) else index)
    return interval is not None and interval[0] >= 0 and interval[1] + lanes <= extent


def _first_unless(test: Expr, index: Expr) -> Expr:
    """The index where `test` holds, else the buffer's first."""
    if isinstance(index, Ramp):
        return Ramp(_first_unless(test, index.base), index.lanes)
    form = affine(index)
    if form.terms and form.is_multiple(LANES):
        # A vector's place stays an explicit multiple of four, which later passes recognise.
        return Select(test, affine(index // LANES).to_expr(), Const(0)) * LANES
    return index if isinstance(index, Const) else Select(test, index, Const(0))


def _zero(dtype: DType) -> Const:
    return Const(False if dtype == BOOL else 0.0 if dtype.is_float else 0, dtype)
