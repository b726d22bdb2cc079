"""partition: loops are cut where guards change, so that the interior has none."""

from __future__ import annotations

from ...ir.index import affine
from ...ir.nodes import COMPARISONS, Binary, Expr, For, Load, Node, Select, Stmt, Var
from ...ir.rewrite import walk
from ...ir.simplify import simplify_stmt
from .cut import cut


def partition(stmt: Stmt, candidates: list[Var]) -> Stmt:
    """for v < 10: x[v - 1] if v > 0   ->   for v < 1: (zero);  for v < 9: x[v]

    Each candidate is cut where a comparison of a guard or a selection becomes always true or always false, whatever
    the other variables are; the decided guards are then simplified away.
    """
    for var in candidates:
        loop = next((n for n in walk(stmt) if isinstance(n, For) and n.var is var), None)
        if loop is None or not loop.parallel:
            continue
        points = {p for c in _conditions(loop.body) for p in _thresholds(c, var)}
        stmt, _ = cut(stmt, var, sorted(points))
        stmt = simplify_stmt(stmt)
    return stmt


def _conditions(stmt: Stmt) -> set[Expr]:
    found: set[Expr] = set()
    for n in walk(stmt):
        cond: Node | None = n.guard if isinstance(n, Load) else n.cond if isinstance(n, Select) else None
        if cond is not None:
            found.update(c for c in walk(cond) if isinstance(c, Binary) and c.op in COMPARISONS)
    return found


def _thresholds(c: Expr, var: Var) -> list[int]:
    """Values of `var` at which `c`, a comparison, starts or stops to be decided."""
    assert isinstance(c, Binary)
    if c.a.dtype.name != "int32":
        return []
    difference = affine(c.a) + affine(c.b).scale(-1)
    k = difference.coefficient(var)
    rest = difference.without(var).range()
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
