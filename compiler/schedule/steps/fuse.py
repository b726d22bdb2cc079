"""fuse: two perfectly nested loops become one."""

from __future__ import annotations

from ...ir.nodes import For, Stmt, Var
from ...ir.rewrite import substitute
from .loops import illegal, on_loops


def fuse(stmt: Stmt, outer: Var, inner: Var) -> tuple[Stmt, Var]:
    """for a < 4: for b < 3: S(a, b)   ->   for ab < 12: S(ab // 3, ab % 3)

    Returns the new variable. Both loops must be of one kind and perfectly nested.
    """
    fused = Var(f"{outer.name}{inner.name}", outer.extent * inner.extent)

    def change(loop: For) -> Stmt:
        nested = loop.body
        if not isinstance(nested, For) or nested.var is not inner:
            raise illegal("fuse", loop, f"loop {inner.name} is not directly inside {outer.name}")
        if nested.parallel != loop.parallel or nested.kind is not loop.kind:
            raise illegal("fuse", loop, "the loops are of different kinds")
        env = {outer: fused // inner.extent, inner: fused % inner.extent}
        return For(fused, substitute(nested.body, env), loop.kind, loop.parallel)

    return on_loops(stmt, outer, change), fused
