"""Straight-line code for products of small constant matrices and vectors, with common subexpressions computed once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..dtypes import F32
from ..ir.nodes import Alloc, Buffer, Const, Expr, For, If, Load, LoopKind, Scope, Seq, Stmt, Store, Var
from ..ir.rewrite import rewrite_top_down

Array = np.ndarray


@dataclass(slots=True)
class Lines:
    """Straight-line code on local values: elements of one local buffer, one per lane where `at` is a lane."""

    at: Expr
    lines: list[tuple[Buffer | None, tuple[Expr, ...], Expr, Expr | None]] = field(default_factory=list)
    count: int = 0
    local: Buffer = field(default_factory=lambda: Buffer("values", (), F32, Scope.LOCAL))

    def let(self, e: Expr) -> Expr:
        """A name for the value of `e`."""
        if isinstance(e, Load) and e.buffer is self.local:
            return e
        slot = (Const(self.count), self.at)
        self.count += 1
        self.lines.append((None, slot, e, None))
        return Load(self.local, slot)

    def store(self, s: Store, where: Expr | None = None) -> None:
        """Where the condition holds."""
        self.lines.append((s.buffer, s.indices, s.value, where))

    def transform(self, matrix: Array, x: list[Expr]) -> list[Expr]:
        """The expressions matrix @ x, with common subexpressions named."""
        matrix, x = self._pair_columns(matrix, x)
        partner = _row_pairs(matrix)
        results: list[Expr | None] = [None] * len(matrix)
        for i, row in enumerate(matrix):
            if results[i] is not None:
                continue
            if i not in partner:
                results[i] = _combination(row, x)
                continue
            other = matrix[partner[i]]
            even, odd = (row + other) / 2, (row - other) / 2
            scale = odd[np.flatnonzero(odd)[-1]]
            e, o = self.let(_combination(even, x)), self.let(_combination(odd / scale, x))
            results[i] = _plus(e, scale, o)
            results[partner[i]] = _plus(e, -scale, o)
        return [r for r in results if r is not None]

    def _pair_columns(self, matrix: Array, x: list[Expr]) -> tuple[Array, list[Expr]]:
        """Columns p and q that differ in signs only become one of x[p] + x[q] and one of x[p] - x[q]."""
        matrix, x = matrix.copy(), list(x)
        for p in range(matrix.shape[1]):
            for q in range(p + 1, matrix.shape[1]):
                same, opposite = (matrix[:, p] == sign * matrix[:, q] for sign in (1, -1))
                both = np.flatnonzero(matrix[:, q])
                if len(both) > 2 and np.all(same | opposite) and not np.all(same) and not np.all(opposite):
                    total, difference = self.let(x[p] + x[q]), self.let(x[p] - x[q])
                    matrix[:, q] = np.where(same, 0, matrix[:, p])
                    matrix[:, p] = np.where(same, matrix[:, p], 0)
                    x[p], x[q] = total, difference
        return matrix, x

    def statement(self, lane: Var | None) -> Stmt:
        lanes = lane.extent if lane is not None else 1
        local = Buffer("values", (self.count, lanes), F32, Scope.LOCAL)

        def rule(n: object) -> Expr | None:
            return Load(local, n.indices) if isinstance(n, Load) and n.buffer is self.local else None

        lines: list[Stmt] = []
        for buffer, at, e, where in self.lines:
            store = Store(buffer or local, at, rewrite_top_down(e, rule))
            lines.append(store if where is None else If(where, store))
        body: Stmt = Seq(tuple(lines))
        return Alloc(local, body if lane is None else For(lane, body, LoopKind.VECTOR))


def _row_pairs(matrix: Array) -> dict[int, int]:
    """Rows that differ in the signs of some entries only, each pair once."""
    pairs: dict[int, int] = {}
    used: set[int] = set()
    for i in range(len(matrix)):
        for k in range(i + 1, len(matrix)):
            even, odd = matrix[i] + matrix[k], matrix[i] - matrix[k]
            if i not in used and k not in used and even.any() and odd.any() and not np.any((even != 0) & (odd != 0)):
                pairs[i] = k
                used |= {i, k}
    return pairs


def _combination(row: Array, x: list[Expr]) -> Expr:
    """The sum of row[k] * x[k], starting with a term without multiplication where there is one."""
    terms = sorted((k for k in range(len(x)) if row[k]), key=lambda k: (row[k] != 1, abs(row[k]) != 1, k))
    if not terms:
        return Const(0.0, F32)
    first = terms[0]
    result = x[first] if row[first] == 1 else -x[first] if row[first] == -1 else x[first] * float(row[first])
    for k in terms[1:]:
        result = _plus(result, row[k], x[k])
    return result


def _plus(a: Expr, factor: float, b: Expr) -> Expr:
    if factor in (1, -1):
        return a + b if factor == 1 else a - b
    return a + b * float(factor)
