"""Linear transforms of small tiles by constant matrices, y = A x B': what Winograd's algorithm has around its products.

A nest sums A[i, a] * (B[j, b] * x[a, b, ...]) over a and b, with A and B written as selections by index; i and j may
stand for h % m and w % m. Here i, j, a and b are unrolled, what A and B hold becomes literals, and columns are transformed
before rows: 36 results of 36 elements take some 12 x 13 operations instead of 36 x 36. Channels fill the lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ...dtypes import F32
from ...errors import ScheduleError
from ...ir.index import affine, flat_offset
from ...ir.nodes import (
    Binary,
    Const,
    Expr,
    For,
    Load,
    Outline,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
)
from ...ir.rewrite import free_vars, loads, rewrite_top_down, substitute, walk
from ...ir.scalar_ops import apply_binary
from ...ir.simplify import simplify_expr, simplify_stmt
from ...target import Target
from ..access import Access, vectorisable
from ..linear_map import Lines
from ..nest import Reduction, match_nest
from ..steps import NARROWEST_VECTOR, segments, vector_segments

Array = np.ndarray

LARGEST = 8
"""Rows or columns of a matrix; more would not be worth unrolling."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One of the two: result i of the loop `out` (i = out % size) is the sum over `over` of matrix[i, over] * ..."""

    out: Var
    over: Var
    matrix: Array

    @property
    def parts(self) -> list[_Part]:
        """The full tiles of the loop, and the rest."""
        made: list[_Part] = []
        start = 0
        for count, size in segments(self.out.extent, len(self.matrix)):
            made.append(_Part(Var(f"{self.out.name}o", count), size, start))
            start += count * size
        return made


@dataclass(frozen=True, slots=True)
class _Part:
    """`tile.extent` tiles of `size` results each, the first of them at `start`."""

    tile: Var
    size: int
    start: int

    def at(self, i: int) -> Expr:
        return self.tile * self.size + (self.start + i)


@dataclass(frozen=True, slots=True)
class Transform:
    """out[i, j] = sum over a, b of rows[i, a] * columns[j, b] * element(a, b)."""

    rows: Axis
    columns: Axis
    element: Load


def find_transform(nest: Reduction) -> Transform | None:
    """The transform that a nest is, None where it is none."""
    factors = _factors(nest.value)
    elements = [f for f in factors if isinstance(f, Load)]
    tables = [f for f in factors if not any(True for _ in loads(f))]
    if (len(nest.over), len(elements), len(tables), len(factors)) != (2, 1, 2, 3) or nest.op != "+":
        return None
    if nest.acc.dtype != F32 or nest.start.value != Const(0.0, F32):
        return None
    axes = [_axis(nest, over, tables) for over in nest.over]
    rows, columns = axes
    if rows is None or columns is None or rows.out is columns.out:
        return None
    return Transform(rows, columns, elements[0])


def _axis(nest: Reduction, over: Var, tables: list[Expr]) -> Axis | None:
    table = next((t for t in tables if over in free_vars(t)), None)
    others = free_vars(table) - {over} if table is not None else set()
    out = next((v for v in nest.loops if others == {v}), None)
    if table is None or out is None:
        return None
    size = _period(table, out) or out.extent
    if max(size, over.extent) > LARGEST:
        return None
    env = {out: np.arange(size, dtype=np.int32)[:, None], over: np.arange(over.extent, dtype=np.int32)}
    return Axis(out, over, np.broadcast_to(_values(table, env), (size, over.extent)).astype(np.float64))


def _period(e: Expr, v: Var) -> int | None:
    """m where `e` uses v as v % m."""
    for n in walk(e):
        if isinstance(n, Binary) and n.op == "%" and isinstance(n.b, Const) and affine(n.a) == affine(v):
            return int(n.b.value)
    return None


def _values(e: Expr, env: dict[Var, Array]) -> Array:
    """The value of an expression without loads, for arrays of its variables."""
    match e:
        case Const(value, dtype):
            return np.asarray(value, dtype.numpy)
        case Var():
            return env[e]
        case Binary(op, a, b):
            return apply_binary(op, _values(a, env), _values(b, env))
        case Select(c, a, b):
            return np.where(_values(c, env), _values(a, env), _values(b, env))
    raise ScheduleError(f"transform: the matrix holds {type(e).__name__}, where only selections are understood")


def is_transform(nest: Reduction) -> bool:
    return find_transform(nest) is not None


def schedule_transform(stmt: Stmt, target: Target) -> Stmt:
    """The nest `find_transform` knows, unrolled over each tile; channels innermost, in vectors."""
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    t = find_transform(nest)
    assert t is not None
    loops = [v for v in nest.loops if v not in (t.rows.out, t.columns.out)]
    panels = next((v for v in loops if any(_period(i, v) for i in nest.store.indices)), None)
    made: list[Stmt] = []
    for rows, columns in product(t.rows.parts, t.columns.parts):
        if panels is None:
            made.append(_channels(nest, t, (rows, columns), loops, {}, target))
            continue
        # The result lies in panels of channels: one loop over panels, one inside.
        width = next(m for i in nest.store.indices if (m := _period(i, panels)))
        for count, size in segments(panels.extent, width):
            outer, inner = Var(f"{panels.name}o", count), Var(f"{panels.name}i", size)
            start = panels.extent - size if count == 1 else 0
            env = {panels: outer * size + inner + start}
            split = [x for v in loops for x in ((outer, inner) if v is panels else (v,))]
            made.append(_channels(nest, t, (rows, columns), split, env, target))
    return simplify_stmt(Seq(tuple(made)))


def _channels(
    nest: Reduction, t: Transform, parts: tuple[_Part, _Part], loops: list[Var], env: dict[Var, Expr], target: Target
) -> Stmt:
    """Loops over tiles, and around each the loop over channels: in vectors, single elements for the rest."""
    tile = _Tile(nest, t, parts, env)
    lane = next((v for v in reversed(loops) if tile.fills_lanes(v)), None)
    pieces: list[Stmt] = []
    start = 0
    for count, size in vector_segments(lane.extent, target.lanes) if lane is not None else ():
        assert lane is not None
        outer, inner = Var(f"{lane.name}o", count), Var(f"{lane.name}i", size)
        at = {lane: outer * size + inner + start}
        vector = size >= NARROWEST_VECTOR
        body = tile.statement(at, inner if vector else None)
        pieces.append(For(outer, body if vector else For(inner, body)))
        start += count * size
    result: Stmt = Outline(Seq(tuple(pieces)) if lane is not None else tile.statement({}, None))
    for v in reversed([*(v for v in loops if v is not lane), *(p.tile for p in parts)]):
        result = For(v, result)
    return result


@dataclass(frozen=True, slots=True)
class _Tile:
    """One kind of tile of a nest; `env` says what its loops became."""

    nest: Reduction
    transform: Transform
    parts: tuple[_Part, _Part]
    env: dict[Var, Expr]

    def fills_lanes(self, v: Var) -> bool:
        """Whether neighbours in `v` lie side by side, in what is stored and in what is loaded."""
        store = self.store(0, 0, Const(0.0, F32), {})
        if _step(store, v) != 1 or not vectorisable(store, v):
            return False
        return vectorisable(simplify_expr(self.element(0, 0, {})), v) and vectorisable(self.nest.store.value, v)

    def element(self, a: int, b: int, env: dict[Var, Expr]) -> Expr:
        t = self.transform
        rows, columns = self.parts
        first = {t.rows.out: rows.at(0), t.columns.out: columns.at(0)}
        over: dict[Var, Expr] = {t.rows.over: Const(a), t.columns.over: Const(b)}
        return substitute(substitute(t.element, {**over, **first, **self.env}), env)

    def store(self, i: int, j: int, value: Expr, env: dict[Var, Expr]) -> Store:
        """Result i, j of the tile, after the nest's epilogue."""
        t = self.transform
        rows, columns = self.parts
        here = {t.rows.out: rows.at(i), t.columns.out: columns.at(j), **self.env}

        def place(e: Expr) -> Expr:
            return substitute(substitute(e, here), env)

        def rule(n: object) -> Expr | None:
            return value if isinstance(n, Load) and n.buffer is self.nest.acc else None

        stored = rewrite_top_down(place(self.nest.store.value), rule)
        return Store(self.nest.store.buffer, tuple(place(i) for i in self.nest.store.indices), stored)

    def statement(self, env: dict[Var, Expr], lane: Var | None) -> Stmt:
        """Every element is loaded once; columns of the window are transformed by `rows`, then rows by `columns`."""
        t = self.transform
        rows, columns = (axis.matrix[: p.size] for axis, p in zip((t.rows, t.columns), self.parts, strict=True))
        lines = Lines(lane if lane is not None else Const(0))
        half: list[list[Expr]] = []
        for b in range(columns.shape[1]):
            values = [lines.let(self.element(a, b, env)) for a in range(rows.shape[1])]
            half.append([lines.let(e) for e in lines.transform(rows, values)])
        for i in range(len(rows)):
            results = lines.transform(columns, [column[i] for column in half])
            for j, value in enumerate(results):
                lines.store(self.store(i, j, lines.let(value), env))
        return lines.statement(lane)


def _factors(e: Expr) -> list[Expr]:
    return _factors(e.a) + _factors(e.b) if isinstance(e, Binary) and e.op == "*" and e.dtype == F32 else [e]


def _step(store: Store, var: Var) -> int | None:
    return Access(store, flat_offset(store.buffer.shape, store.indices)).step(var)
