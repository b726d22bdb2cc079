"""Elements of matrices as selections, where a schedule has not unrolled their loops."""

from __future__ import annotations

from collections.abc import Sequence

from ..dtypes import F32
from ..ir.entry import Entry
from ..ir.nodes import Const, Expr, Select
from ..ir.rewrite import N, rewrite
from ..ir.simplify import simplify_expr


def expand_entries(node: N) -> N:
    """matrix[i, j]   ->   select(i < 3, select(i < 1, ...), ...), the elements of a row likewise"""

    def rule(n: object) -> Expr | None:
        if not isinstance(n, Entry):
            return None
        rows = [_pick([Const(x, F32) for x in line], n.column) for line in n.matrix]
        return simplify_expr(_pick(rows, n.row))

    return rewrite(node, rule)


def _pick(values: Sequence[Expr], index: Expr) -> Expr:
    """values[index], by binary search."""

    def between(low: int, high: int) -> Expr:
        if high - low == 1:
            return values[low]
        middle = (low + high) // 2
        return Select(index < middle, between(low, middle), between(middle, high))

    return between(0, len(values))
