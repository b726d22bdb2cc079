"""tag: how a loop is carried out."""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import For, LoopKind, Stmt, Var
from .loops import illegal, on_loops


def tag(stmt: Stmt, var: Var, kind: LoopKind) -> Stmt:
    """for v: S   ->   for v unroll: S

    A VECTOR loop must be parallel.
    """

    def change(loop: For) -> Stmt:
        if kind is LoopKind.VECTOR and not loop.parallel:
            raise illegal("tag", loop, "a reduction loop cannot be a vector")
        return replace(loop, kind=kind)

    return on_loops(stmt, var, change)
