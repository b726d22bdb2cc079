"""Grids within the limit of a dimension."""

from __future__ import annotations

from dataclasses import replace

from ..ir.construct import minimum
from ..ir.nodes import Expr, For, Kernel, LoopKind, Stmt, Var
from ..ir.rewrite import rewrite_top_down, substitute
from ..ir.simplify import simplify_expr


def fit_grid(kernel: Kernel, workgroups: int) -> Kernel:
    """for b < 100000 block: S(b)   ->   for h < 2 block: for l < 50000 block: S(min(50000*h + l, 99999))

    Where the product of the two exceeds the extent, the last workgroup runs again and stores the same values.
    """

    def rule(n: object) -> Stmt | None:
        if isinstance(n, For) and n.kind is LoopKind.BLOCK and n.var.extent > workgroups:
            extent, length = n.var.extent, n.var.length
            count = -(-extent // workgroups)
            low = Var(f"{n.var.name}l", -(-extent // count))
            used = None if length is None else simplify_expr((length + (low.extent - 1)) // low.extent)
            high = Var(f"{n.var.name}h", count, used)
            at: Expr = high * low.extent + low
            if length is not None:
                at = minimum(at, length - 1)
            elif count * low.extent > extent:
                at = minimum(at, extent - 1)
            body = rewrite_top_down(substitute(n.body, {n.var: at}), rule)
            return For(high, For(low, body, LoopKind.BLOCK), LoopKind.BLOCK)
        return None

    body = rewrite_top_down(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)
