"""The channel loop of a grouped convolution as groups and the channels of each."""

from __future__ import annotations

from ..ir.affine import affine
from ..ir.nest import Reduction
from ..ir.nodes import Binary, Const, Stmt, Var
from ..ir.rewrite import walk
from ..ir.simplify import simplify_stmt
from ..ir.sizes import divides
from .steps import rounded, split


def split_groups(stmt: Stmt, nest: Reduction) -> Stmt:
    """A channel loop of which the value uses `channel // size` (a grouped convolution) becomes groups x channels."""
    for v in nest.loops:
        size = _divisor(nest, v)
        if size is not None and divides(size, v.extent if v.length is None else v.length) and v.extent > size:
            stmt, _ = split(stmt, v, [rounded(v, size)])
            return simplify_stmt(stmt)
    return stmt


def _divisor(nest: Reduction, v: Var) -> int | None:
    for n in walk(nest.value):
        if isinstance(n, Binary) and n.op == "//" and isinstance(n.b, Const) and affine(n.a) == affine(v):
            return int(n.b.value)
    return None
