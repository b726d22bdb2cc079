"""Loops of which a value uses quotients and remainders as two: groups of channels and the channels of each, blocks of a
tensor that was reshaped."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.affine import affine
from ..ir.nest import Reduction
from ..ir.nodes import Binary, Const, Expr, Stmt, Var
from ..ir.rewrite import walk
from ..ir.simplify import simplify_stmt
from ..ir.sizes import divides
from .steps import rounded, split


def split_groups(stmt: Stmt, nest: Reduction) -> Stmt:
    """A channel loop of which the value uses `channel // size` (a grouped convolution) becomes groups x channels."""
    for v in nest.loops:
        size = _divisor(nest.value, v)
        if size is not None and divides(size, v.extent if v.length is None else v.length) and v.extent > size:
            stmt, _ = split(stmt, v, [rounded(v, size)])
            return simplify_stmt(stmt)
    return stmt


def split_blocks(stmt: Stmt, loops: Sequence[Var], value: Expr, least: int) -> Stmt:
    """for i < 256: y[i] = x[i // 64, i % 64]   ->   for io < 4: for ii < 64: y[64 * io + ii] = x[io, ii]

    for the innermost of `loops`, and blocks of at least so many elements: lanes have neighbours then.
    """
    for v in loops[-1:]:
        size = _divisor(value, v)
        blocks = size is not None and v.length is None and v.extent % size == 0 and least <= size < v.extent
        if size is not None and blocks and size == _divisor(value, v, "%"):
            stmt, _ = split(stmt, v, [(v.extent // size, size)])
            return simplify_stmt(stmt)
    return stmt


def _divisor(value: Expr, v: Var, op: str = "//") -> int | None:
    for n in walk(value):
        if isinstance(n, Binary) and n.op == op and isinstance(n.b, Const) and affine(n.a) == affine(v):
            return int(n.b.value)
    return None
