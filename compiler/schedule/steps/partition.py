"""partition: loops are cut where guards change, so that the interior has none."""

from __future__ import annotations

from ...ir.affine import affine
from ...ir.facts import range_of_sum
from ...ir.nodes import COMPARISONS, Binary, Expr, For, Load, Node, Select, Seq, Stmt, Var
from ...ir.rewrite import walk
from ...ir.simplify import simplify_stmt
from .cut import cut
from .loops import on_loops


def partition(stmt: Stmt, candidates: list[Var]) -> Stmt:
    """for v < 10: x[v - 1] if v > 0   ->   for v < 1: (zero);  for v < 9: x[v]

    Each candidate is cut where a comparison of a guard or a selection becomes always true or always false, whatever
    the other variables are; the decided guards are then simplified away. Dynamic loops stay whole.
    """
    for var in candidates:
        if any(isinstance(n, For) and n.var is var for n in walk(stmt)):
            stmt = simplify_stmt(on_loops(stmt, var, _pieces))
    return stmt


def _pieces(loop: For) -> Stmt:
    """The loop cut in two, and each half again: each cut halves a long chain of selections, so simplifying all pieces
    takes O(n log n)."""
    points = {p for c in _conditions(loop.body) for p in _thresholds(c, loop.var) if 0 < p < loop.var.extent}
    if not loop.parallel or not points or loop.var.length is not None:
        return loop
    halves, variables = cut(loop, loop.var, [sorted(points)[len(points) // 2]])
    assert isinstance(halves, Seq)
    simplified = [simplify_stmt(half) for half in halves.stmts]
    return Seq(tuple(_pieces(half) if isinstance(half, For) and half.var in variables else half for half in simplified))


def _conditions(stmt: Stmt) -> set[Expr]:
    conditions: set[Expr] = set()
    for n in walk(stmt):
        cond: Node | None = n.guard if isinstance(n, Load) else n.cond if isinstance(n, Select) else None
        if cond is not None:
            conditions.update(c for c in walk(cond) if isinstance(c, Binary) and c.op in COMPARISONS)
    return conditions


def _thresholds(c: Expr, var: Var) -> list[int]:
    """Values of `var` at which `c`, a comparison, becomes constant or stops being so."""
    assert isinstance(c, Binary)
    if c.a.dtype.name != "int32":
        return []
    difference = affine(c.a) + affine(c.b).scale(-1)
    k = difference.coefficient(var)
    rest = range_of_sum(difference.without(var))
    if not k or rest is None:
        return []
    lo, hi = rest
    if c.op == "<=":
        lo, hi = lo - 1, hi - 1
    if c.op in ("==", "!="):
        return [p for bound in (lo, hi) for p in (-bound // k, -bound // k + 1)] if lo == hi else []
    # k*v + rest < 0: always true while k*v + hi < 0, always false while k*v + lo >= 0
    if k > 0:
        return [-(hi // k), -(lo // k)]
    return [hi // -k + 1, lo // -k + 1]
