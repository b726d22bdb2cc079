"""extend: a longer loop, with stores guarded beyond the old end."""

from __future__ import annotations

from collections.abc import Collection

from ...ir.nodes import Binary, Buffer, Expr, For, If, Load, Scope, Stmt, Store, Var
from ...ir.rewrite import free_vars, rewrite, substitute
from .loops import illegal, on_loops


def extend(stmt: Stmt, var: Var, extent: int, padded: Collection[Buffer] = ()) -> tuple[Stmt, Var]:
    """for v < 10: y[v] = x[v] * w[v]   ->   for v < 12: if v < 10: y[v] = (x[v] if v < 10) * w[v]      (padded = {w})

    Returns the new variable. Loads indexed by the loop are guarded, except from buffers that are `padded` for it;
    tiles then divide the loop. It must be parallel. Of a dynamic loop the capacity grows: tiles may go beyond its end.
    """
    wider = Var(var.name, extent, var.length)
    inside = wider < (var.extent if var.length is None else var.length)

    def rule(n: object) -> Expr | Stmt | None:
        match n:
            case Load(buffer, indices, guard) if buffer.scope is Scope.GLOBAL and buffer not in padded:
                if any(wider in free_vars(i) for i in indices):
                    return Load(buffer, indices, inside if guard is None else Binary("and", guard, inside))
            case Store(buffer, _, _) if buffer.scope is Scope.GLOBAL:
                return If(inside, n)
        return None

    def change(loop: For) -> Stmt:
        if not loop.parallel or extent < var.extent:
            raise illegal("extend", loop, f"it is a reduction or longer than {extent}")
        return For(wider, rewrite(substitute(loop.body, {var: wider}), rule), loop.kind)

    return (stmt, var) if extent == var.extent else (on_loops(stmt, var, change), wider)
