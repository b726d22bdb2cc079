"""tag, vectorise: how a loop is carried out."""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import For, LoopKind, Stmt, Var
from ..access import vectorisable
from .loops import illegal, on_loops
from .split import NARROWEST_VECTOR


def tag(stmt: Stmt, var: Var, kind: LoopKind) -> Stmt:
    """for v: S   ->   for v unroll: S

    A VECTOR loop must be parallel.
    """

    def change(loop: For) -> Stmt:
        if kind is LoopKind.VECTOR and not loop.parallel:
            raise illegal("tag", loop, "a reduction loop cannot be a vector")
        return replace(loop, kind=kind)

    return on_loops(stmt, var, change)


def vectorise(stmt: Stmt, var: Var, lanes: int) -> Stmt:
    """for v < 4: S   ->   for v < 4 vector: S          where S can run in lanes; elsewhere: for v < 4 unroll: S

    A loop longer than `lanes`, shorter than the narrowest vector or of no power of two is unrolled. After `sink`, this
    is decided for each of the loops over `var`.
    """

    def change(loop: For) -> Stmt:
        if not loop.parallel:
            raise illegal("vectorise", loop, "a reduction loop cannot be a vector")
        extent = loop.var.extent
        fits = NARROWEST_VECTOR <= extent <= lanes and extent & (extent - 1) == 0
        wide = fits and vectorisable(loop.body, loop.var)
        return replace(loop, kind=LoopKind.VECTOR if wide else LoopKind.UNROLL)

    return on_loops(stmt, var, change)
