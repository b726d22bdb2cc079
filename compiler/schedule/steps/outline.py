"""outline: a region becomes a function of its own."""

from __future__ import annotations

from ...ir.nodes import Alloc, For, Outline, Stmt, Var
from ...ir.rewrite import rewrite_top_down


def outline(stmt: Stmt, around: tuple[Var, ...] = ()) -> Stmt:
    """local acc; ...   ->   outline: local acc; ...

    With `around`, the loops over these variables become part of the functions:
    for v: local acc; ...   ->   outline: for v: local acc; ...
    """

    def rule(n: object) -> Stmt | None:
        match n:
            case Alloc():
                return Outline(n)
            case For() if n.var in around:
                return Outline(n)
        return None

    return rewrite_top_down(stmt, rule)
