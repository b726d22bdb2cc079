"""overlap: tiles of one size cover a loop that they do not divide."""

from __future__ import annotations

from ...ir.construct import minimum
from ...ir.nodes import For, Stmt, Var
from ...ir.rewrite import substitute
from .loops import illegal, on_loops


def overlap(stmt: Stmt, var: Var, size: int) -> tuple[Stmt, tuple[Var, Var]]:
    """for v < 10: S(v)   ->   for vo < 3: for vi < 4: S(min(4*vo, 6) + vi)

    Returns the outer and inner variable. The last tile begins earlier, so that some iterations run twice and store the
    same values again. The loop must be parallel and no shorter than a tile.
    """
    outer, inner = Var(f"{var.name}o", -(-var.extent // size)), Var(f"{var.name}i", size)
    start = minimum(outer * size, var.extent - size) if var.extent % size else outer * size

    def change(loop: For) -> Stmt:
        if not loop.parallel or size > var.extent:
            raise illegal("overlap", loop, f"it is a reduction or shorter than {size}")
        body = substitute(loop.body, {var: start + inner})
        return For(outer, For(inner, body, loop.kind), loop.kind)

    return on_loops(stmt, var, change), (outer, inner)
