"""reorder: perfectly nested loops in another order."""

from __future__ import annotations

from ...ir.nodes import For, Stmt, Var
from ...ir.rewrite import walk
from .loops import find_loop, illegal, on_loops


def reorder(stmt: Stmt, order: list[Var]) -> Stmt:
    """for a: for b: for c: S   ->   for c: for a: for b: S          (order = [c, a, b])

    The loops must be perfectly nested; loops that are not all parallel may be interchanged only
    if all of them are reduction loops (sums are assumed reassociable).
    """
    variables = set(order)
    top = _outermost(stmt, variables)

    def change(loop: For) -> Stmt:
        loops: dict[Var, For] = {}
        body: Stmt = loop
        while isinstance(body, For) and body.var in variables:
            loops[body.var] = body
            body = body.body
        if set(loops) != variables:
            missing = [v.name for v in order if v not in loops]
            raise illegal("reorder", loop, f"loops {missing} are not directly nested in it")
        if len({x.parallel for x in loops.values()}) > 1:
            raise illegal("reorder", loop, "parallel and reduction loops do not interchange")
        for v in reversed(order):
            body = For(v, body, loops[v].kind, loops[v].parallel)
        return body

    return on_loops(stmt, top, change)


def _outermost(stmt: Stmt, variables: set[Var]) -> Var:
    candidates = [find_loop(stmt, v) for v in variables]
    inside = {v for x in candidates for v in variables if v is not x.var and _contains(x.body, v)}
    return next(x.var for x in candidates if x.var not in inside)


def _contains(stmt: Stmt, var: Var) -> bool:
    return any(isinstance(n, For) and n.var is var for n in walk(stmt))
