"""fuse: two perfectly nested loops become one."""

from __future__ import annotations

from ...ir.nodes import Const, Expr, ExprLike, For, Stmt, Var
from ...ir.rewrite import substitute
from ...ir.simplify import simplify_expr
from .loops import illegal, on_loops


def fuse(stmt: Stmt, outer: Var, inner: Var) -> tuple[Stmt, Var]:
    """for a < 4: for b < 3: S(a, b)   ->   for ab < 12: S(ab // 3, ab % 3)
    for a < 4: for b < n of 3: S(a, b)   ->   for ab < 4 * n of 12: S(ab // n, ab % n)

    Returns the new variable. Both loops must be of one kind and perfectly nested.
    """
    size: ExprLike = inner.extent if inner.length is None else inner.length
    length = None if outer.length is inner.length is None else simplify_expr(_trips(outer) * size)
    fused = Var(f"{outer.name}{inner.name}", outer.extent * inner.extent, length)

    def change(loop: For) -> Stmt:
        nested = loop.body
        if not isinstance(nested, For) or nested.var is not inner:
            raise illegal("fuse", loop, f"loop {inner.name} is not directly inside {outer.name}")
        if nested.parallel != loop.parallel or nested.kind is not loop.kind:
            raise illegal("fuse", loop, "the loops are of different kinds")
        env = {outer: fused // size, inner: fused % size}
        return For(fused, substitute(nested.body, env), loop.kind, loop.parallel)

    return on_loops(stmt, outer, change), fused


def _trips(v: Var) -> Expr:
    return Const(v.extent) if v.length is None else v.length
