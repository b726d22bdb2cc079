"""The layout in which a contraction reads a constant operand: panels as wide as a tile."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.affine import affine
from ...ir.layout import Block, Layout
from ...ir.nodes import Expr, Load, Var
from ...ir.rewrite import free_vars


def panels_of(b: Load, column: Var, over: list[Var], width: int, block: Var | None = None) -> Layout:
    """The constant in panels of `width` columns; inside a panel its reduction dimensions in the order of the loops.
    With `block`, panels hold as many rows as this loop counts, and all panels of these rows are contiguous."""
    old = b.buffer.layout
    assert old is not None
    logical = old.logical(b.indices)
    position = {v: i for i, v in enumerate(over)}

    def rank(axis: int) -> tuple[int, int]:
        inside = [position[v] for v in free_vars(logical[axis]) if v in position]
        return (1, max(inside)) if inside else (0, axis)

    blocked = _axis_of(column, logical)
    order = tuple(sorted(range(len(logical)), key=rank))
    none = ((0, 0),) * len(logical)
    ones = (1,) * len(logical)
    if free_vars(logical[blocked]) == {column} or _aligned(logical[blocked], column, width):
        inner: list[Block] = []
        if block is not None:
            row = next(d for d, i in enumerate(logical) if block in free_vars(i))
            order = tuple(d for a in order if a != row for d in ((row, a) if a == blocked else (a,)))
            inner.append(Block(row, block.extent, block.extent))
        return Layout(old.shape, order, none, ones, (*inner, Block(blocked, width, width)))
    # Several groups share the dimension and panels would straddle them: columns last, unblocked, as long as before.
    rest = tuple(a for a in order if a != blocked)
    return Layout(old.shape, (*rest, blocked), none, old.align)


def begins_panel(b: Load, column: Var, width: int) -> bool:
    """Whether the column loop starts where a panel does: beyond its last column there are those of the panel alone."""
    assert b.buffer.layout is not None
    logical = b.buffer.layout.logical(b.indices)
    return _aligned(logical[_axis_of(column, logical)], column, width)


def _axis_of(column: Var, logical: Sequence[Expr]) -> int:
    return next(d for d, i in enumerate(logical) if column in free_vars(i))


def _aligned(index: Expr, column: Var, width: int) -> bool:
    """Whether `index` is a multiple of `width` where the column loop starts, so that no panel straddles two groups."""
    return affine(index).without(column).is_multiple(width)
