"""Linear transforms of small tiles by constant matrices, y = A x B': what Winograd's algorithm has around its products.

A nest sums A[i, a] * (B[j, b] * x[a, b, ...]) over a and b, with A and B written as selections by index. Here i and j
(often h % m, w % m), a and b are unrolled, what A and B hold becomes literals, columns are transformed before rows, and
sums and differences that two results share are made once: 36 results of 36 elements take some 12 x 13 operations
instead of 36 x 36. Channels fill the lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from ...dtypes import F32
from ...ir.index import affine, flat_offset
from ...ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, Load, LoopKind, Outline, Scope, Seq, Stmt, Store, Var
from ...ir.rewrite import free_vars, loads, rewrite_top_down, substitute, walk
from ...ir.simplify import simplify_expr, simplify_stmt
from ...target import Target
from ..access import Access, vectorisable
from ..nest import Reduction, match_nest
from ..steps import NARROWEST_VECTOR, segments, vector_segments
from .each_nest import each_nest

Array = np.ndarray

LARGEST = 8
"""Rows or columns of a matrix; more would not be worth unrolling."""


@dataclass(frozen=True, slots=True)
class Transform:
    """out[i, j] = sum over a, b of rows[i, a] * columns[j, b] * element(a, b). `i`, `j` are loops of the nest."""

    i: Var
    j: Var
    a: Var
    b: Var
    rows: Array
    columns: Array
    element: Load


def find_transform(nest: Reduction) -> Transform | None:
    """The transform that a nest is once its loops are split by `tile_loops`, None where it is none."""
    factors = _factors(nest.value)
    elements = [f for f in factors if isinstance(f, Load)]
    tables = [f for f in factors if not any(True for _ in loads(f))]
    if nest.op != "+" or len(nest.over) != 2 or len(elements) != 1 or len(tables) != 2 or len(factors) != 3:
        return None
    if nest.acc.dtype != F32 or nest.start.value != Const(0.0, F32):
        return None
    found: list[tuple[Var, Var, Array]] = []
    for over in nest.over:
        table = next((t for t in tables if over in free_vars(t)), None)
        others = free_vars(table) - {over} if table is not None else set()
        if table is None or len(others) > 1 or over.extent > LARGEST:
            return None
        out = next(iter(others), None)
        if out is None or out not in nest.loops or out.extent > LARGEST:
            return None
        found.append((out, over, _matrix(table, out, over)))
    (i, a, rows), (j, b, columns) = found
    return Transform(i, j, a, b, rows, columns, elements[0]) if i is not j else None


def tile_loops(stmt: Stmt) -> Stmt:
    """Loops whose variable is used as v % m (by a matrix, or in where the result lies) are split into tiles of m and
    a rest; each combination becomes a nest of its own."""
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    periods = _periods(nest)
    inner = stmt
    while isinstance(inner, For):
        inner = inner.body
    nests: list[Stmt] = []
    for parts in product(*(_parts(v, m) for v, m in periods.items())):
        env: dict[Var, Expr] = {}
        loops: list[Var] = []
        tiles = dict(zip(periods, parts, strict=True))
        for v in nest.loops:
            outer, within, start = tiles.get(v, (None, v, 0))
            loops += [within] if outer is None else [outer, within]
            env[v] = within if outer is None else outer * within.extent + within + start
        made = substitute(inner, env)
        for v in reversed(loops):
            made = For(v, made)
        nests.append(simplify_stmt(made))
    return Seq(tuple(nests))


def _parts(v: Var, m: int) -> list[tuple[Var, Var, int]]:
    """The loops over tiles and within them, and where they start: for full tiles, and for the rest."""
    made = []
    start = 0
    for count, size in segments(v.extent, m):
        made.append((Var(f"{v.name}o", count), Var(f"{v.name}i", size), start))
        start += count * size
    return made


def _periods(nest: Reduction) -> dict[Var, int]:
    found: dict[Var, int] = {}
    for e in (*(f for f in _factors(nest.value) if not isinstance(f, Load)), *nest.store.indices):
        for n in walk(e):
            if isinstance(n, Binary) and n.op == "%" and isinstance(n.b, Const):
                v = next((v for v in nest.loops if affine(n.a) == affine(v)), None)
                if v is not None:
                    found[v] = int(n.b.value)
    return found


def is_transform(nest: Reduction) -> bool:
    """Whether a nest multiplies by two matrices that are written as selections."""
    factors = _factors(nest.value)
    return len(nest.over) == 2 and len(factors) == 3 and sum(not any(True for _ in loads(f)) for f in factors) == 2


def schedule_transform(stmt: Stmt, target: Target) -> Stmt:
    """The nest unrolled over each tile; channels innermost, in vectors. A nest that is no transform stays naive."""
    return each_nest(tile_loops(stmt), lambda s: _schedule(s, target))


def _schedule(stmt: Stmt, target: Target) -> Stmt:
    nest = match_nest(stmt)
    if not isinstance(nest, Reduction):
        return stmt
    found = find_transform(nest)
    if found is None:
        return stmt
    around = [v for v in nest.loops if v not in (found.i, found.j)]
    lane = next((v for v in reversed(around) if _step(nest.store, v) == 1 and vectorisable(nest.store, v)), None)
    if lane is None or not vectorisable(found.element, lane):
        lane = None
    inner = _across(nest, found, lane, target)
    result: Stmt = Outline(inner)
    for v in reversed([v for v in around if v is not lane]):
        result = For(v, result)
    return simplify_stmt(result)


def _across(nest: Reduction, t: Transform, lane: Var | None, target: Target) -> Stmt:
    """The tile for all channels: loops of vectors, and one of single elements for the rest."""
    if lane is None:
        return _tile(nest, t, None, Const(0))
    pieces: list[Stmt] = []
    start = 0
    for count, size in vector_segments(lane.extent, target.lanes):
        outer, inner = Var(f"{lane.name}o", count), Var(f"{lane.name}i", size)
        at = outer * size + inner + start
        if size < NARROWEST_VECTOR:
            pieces.append(For(outer, For(inner, _tile(_substituted(nest, lane, at), t, None, Const(0)))))
        else:
            pieces.append(For(outer, _tile(_substituted(nest, lane, at), t, inner, inner)))
        start += count * size
    return Seq(tuple(pieces))


def _substituted(nest: Reduction, lane: Var, at: Expr) -> Reduction:
    """The nest with `at` for the variable `lane` in its accesses."""
    env = {lane: at}
    update = Store(nest.acc, (), Binary("+", Load(nest.acc, ()), substitute(nest.value, env)))
    indices = tuple(substitute(i, env) for i in nest.store.indices)
    store = Store(nest.store.buffer, indices, substitute(nest.store.value, env))
    return Reduction(nest.loops, nest.acc, nest.start, nest.over, update, store)


def _tile(nest: Reduction, t: Transform, lane: Var | None, at: Expr) -> Stmt:
    """One tile: every element loaded once, columns of the window transformed by `rows`, then rows by `columns`."""
    element = next(f for f in _factors(nest.value) if isinstance(f, Load))
    lines = _Lines(at)
    half: list[list[Expr]] = []
    for b in range(t.b.extent):
        values = [lines.let(substitute(element, {t.a: Const(a), t.b: Const(b)})) for a in range(t.a.extent)]
        half.append([lines.let(e) for e in lines.transform(t.rows, values)])
    for i in range(t.i.extent):
        results = lines.transform(t.columns, [half[b][i] for b in range(t.b.extent)])
        for j, value in enumerate(results):
            lines.store(nest, lines.let(value), {t.i: Const(i), t.j: Const(j)})
    return lines.statement(lane)


@dataclass(slots=True)
class _Lines:
    """Straight-line code on local values: elements of one local buffer, with a lane each where `at` is a lane."""

    at: Expr
    lines: list[tuple[Buffer | None, tuple[Expr, ...], Expr]] = field(default_factory=list)
    count: int = 0
    local: Buffer = field(default_factory=lambda: Buffer("values", (), F32, Scope.LOCAL))

    def let(self, e: Expr) -> Expr:
        """A name for the value of `e`."""
        if isinstance(e, Load) and e.buffer is self.local:
            return e
        place = (Const(self.count), self.at)
        self.count += 1
        self.lines.append((None, place, e))
        return Load(self.local, place)

    def store(self, nest: Reduction, value: Expr, env: dict[Var, Expr]) -> None:
        """The nest's store, of `value` after its epilogue."""
        stored = rewrite_top_down(
            substitute(nest.store.value, env),
            lambda n: value if isinstance(n, Load) and n.buffer is nest.acc else None,
        )
        self.lines.append((nest.store.buffer, tuple(substitute(i, env) for i in nest.store.indices), stored))

    def transform(self, matrix: Array, x: list[Expr]) -> list[Expr]:
        """The expressions matrix @ x, shared parts named."""
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
        """Columns p and q that agree but for signs become one of x[p] + x[q] and one of x[p] - x[q]."""
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

        stores = tuple(Store(b or local, at, rewrite_top_down(e, rule)) for b, at, e in self.lines)
        body: Stmt = Seq(stores)
        return Alloc(local, body if lane is None else For(lane, body, LoopKind.VECTOR))


def _row_pairs(matrix: Array) -> dict[int, int]:
    """Rows that agree but for the sign of some entries, each pair once."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for i in range(len(matrix)):
        for k in range(i + 1, len(matrix)):
            even, odd = matrix[i] + matrix[k], matrix[i] - matrix[k]
            if i not in taken and k not in taken and even.any() and odd.any() and not np.any((even != 0) & (odd != 0)):
                pairs[i] = k
                taken |= {i, k}
    return pairs


def _combination(row: Array, x: list[Expr]) -> Expr:
    """The sum of row[k] * x[k], beginning with a term that needs no multiplication where there is one."""
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


def _factors(e: Expr) -> list[Expr]:
    return _factors(e.a) + _factors(e.b) if isinstance(e, Binary) and e.op == "*" and e.dtype == F32 else [e]


def _matrix(table: Expr, row: Var, column: Var) -> Array:
    def at(i: int, k: int) -> float:
        value = simplify_expr(substitute(table, {row: Const(i), column: Const(k)}))
        assert isinstance(value, Const)
        return float(value.value)

    return np.array([[at(i, k) for k in range(column.extent)] for i in range(row.extent)])


def _step(store: Store, var: Var) -> int | None:
    return Access(store, flat_offset(store.buffer.shape, store.indices)).step(var)
