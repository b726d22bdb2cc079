"""Which iteration of a naive kernel computes an element of its result."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..errors import InternalError
from ..ir.affine import Affine, affine
from ..ir.layout import Layout
from ..ir.nodes import Const, Expr, Store, Var
from ..ir.rewrite import free_vars


def unfold(line: Expr, shape: tuple[int, ...]) -> tuple[Expr, ...]:
    """Indices of the `line`-th element of `shape`; the outermost that moves leaves its extent where `line` does."""
    indices: list[Expr] = []
    stride = prod(shape)
    outermost = True
    for extent in shape:
        stride //= extent
        index = affine(line // stride) if extent > 1 else affine(Const(0))
        indices.append((index if outermost else affine(index.to_expr() % extent)).to_expr())
        outermost = outermost and extent == 1
    return tuple(indices)


def invert_store(store: Store, loops: Sequence[Var], indices: Sequence[Expr], kernel: str) -> dict[Var, Expr]:
    """The loop variables at the element `indices` of the result: each is an index in memory, or a logical one where the
    layout splits that axis, less where the results of the kernel begin there."""
    layout = store.buffer.layout or Layout.row_major(store.buffer.shape)
    stored = (*layout.logical(store.indices), *store.indices)
    places = (*layout.logical(indices), *indices)
    axes = tuple(zip(map(affine, stored), places, strict=True))
    env = {}
    for v in loops:
        place = _at(v, axes, loops)
        if place is None:
            raise InternalError(f"kernel {kernel}: no axis of the result runs with loop {v.name}")
        env[v] = place
    return env


def _at(v: Var, axes: Sequence[tuple[Affine, Expr]], loops: Sequence[Var]) -> Expr | None:
    """The variable where an axis with its index is at a place."""
    for index, place in axes:
        first = index.without(v)
        if index.coefficient(v) == 1 and not free_vars(first.to_expr()) & set(loops):
            return affine(place - first.to_expr()).to_expr() if first.terms or first.constant else place
    return Const(0) if v.extent == 1 else None
