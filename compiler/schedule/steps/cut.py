"""cut: one loop becomes several in sequence, at given points."""

from __future__ import annotations

from ...ir.nodes import For, Seq, Stmt, Var
from ...ir.rewrite import substitute
from .loops import illegal, on_loops


def cut(stmt: Stmt, var: Var, points: list[int]) -> tuple[Stmt, list[Var]]:
    """for v < 10: S(v)   ->   for v < 3: S(v);  for v < 7: S(v + 3)          (points = [3])

    Points outside the loop are ignored. Returns the variable of each piece.
    """
    inside = sorted({p for p in points if 0 < p < var.extent})
    starts = [0, *inside]
    ends = [*inside, var.extent]
    pieces = [Var(var.name, e - s) for s, e in zip(starts, ends, strict=True)]
    if not inside:
        return stmt, [var]

    def change(loop: For) -> Stmt:
        if var.length is not None:
            raise illegal("cut", loop, "it is dynamic")
        loops = []
        for v, start in zip(pieces, starts, strict=True):
            body = substitute(loop.body, {var: v + start if start else v})
            loops.append(For(v, body, loop.kind, loop.parallel))
        return Seq(tuple(loops))

    return on_loops(stmt, var, change), pieces
