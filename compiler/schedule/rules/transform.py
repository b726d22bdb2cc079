"""Linear transforms of small tiles by constant matrices, y = A x B': those of Winograd's algorithm.

A nest sums A[i, a] * (B[j, b] * x[a, b, ...]) over a and b, with A and B as data (`ir/entry`); i and j may stand for
h % m and w % m. Here all four are unrolled, the elements of A and B become literals, and columns are
transformed before rows: 36 results of 36 elements take some 12 x 13 operations instead of 36 x 36. Channels fill the
lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from ...dtypes import F32
from ...ir.affine import affine, flat_offset
from ...ir.entry import Entry
from ...ir.forms import entries
from ...ir.nest import Reduction
from ...ir.nodes import (
    Alloc,
    Binary,
    Buffer,
    Const,
    Expr,
    For,
    Load,
    Outline,
    Scope,
    Seq,
    Stmt,
    Store,
    Var,
)
from ...ir.rewrite import free_vars, rewrite_top_down, substitute, walk
from ...ir.simplify import simplify_expr, simplify_stmt
from ...target import Target
from ..access import Access, vectorisable
from ..linear_map import Lines
from ..steps import NARROWEST_VECTOR, segments, vector_segments

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: result i of the loop `out` (i = out % size) is the sum over `over` of matrix[i, over] * ..."""

    out: Var
    over: Var
    matrix: Array

    @property
    def parts(self) -> list[Part]:
        """The full tiles of the loop, and the rest."""
        parts: list[Part] = []
        start = 0
        for count, size in segments(self.out.extent, len(self.matrix)):
            parts.append(Part(Var(f"{self.out.name}o", count), size, start))
            start += count * size
        return parts


@dataclass(frozen=True, slots=True)
class Part:
    """`tile.extent` tiles of `size` results each, the first of them at `start`."""

    tile: Var
    size: int
    start: int

    def at(self, i: Expr) -> Expr:
        return self.tile * self.size + i + self.start


@dataclass(frozen=True, slots=True)
class TransformLoops:
    """out[i, j] = sum over a, b of rows[i, a] * columns[j, b] * element(a, b)."""

    rows: Axis
    columns: Axis
    element: Expr


def transform_loops(nest: Reduction) -> TransformLoops | None:
    """The loops of a transform; None where one over results is gone, since a band has a single row."""
    product = entries(nest.value)
    assert product is not None
    element, by_column = product
    rows, columns = (_axis(v, by_column[v]) for v in nest.over)
    return None if rows is None or columns is None else TransformLoops(rows, columns, element)


def _axis(over: Var, entry: Entry) -> Axis | None:
    """The axis of a matrix of which the row is a loop, or its place in a tile, and the column is summed."""
    out = next(iter(free_vars(entry.row)), None)
    return None if out is None else Axis(out, over, np.asarray(entry.matrix)[: out.extent])


def _period(e: Expr, v: Var) -> int | None:
    """m where `e` uses v as v % m."""
    for n in walk(e):
        if isinstance(n, Binary) and n.op == "%" and isinstance(n.b, Const) and affine(n.a) == affine(v):
            return int(n.b.value)
    return None


def schedule_transform(nest: Reduction, t: TransformLoops, target: Target) -> Stmt:
    """The nest of transform `t`, unrolled over each tile; channels innermost, in vectors."""
    loops = [v for v in nest.loops if v not in (t.rows.out, t.columns.out)]
    stmts: list[Stmt] = []
    for parts in product(t.rows.parts, t.columns.parts):
        for split, env in _panels(nest, loops):
            stmts.append(_channels(nest, t, parts, split, env, target))
    return simplify_stmt(Seq(tuple(stmts)))


def _panels(nest: Reduction, loops: list[Var]) -> Iterator[tuple[list[Var], dict[Var, Expr]]]:
    """The loops, and the substitution for the old ones. Where the result's layout has panels of channels, or blocks of
    several loops: a loop over panels and one inside, for whole panels and for the rest."""
    kinds: list[list[tuple[list[Var], dict[Var, Expr]]]] = []
    for v in loops:
        width = next((m for i in nest.store.indices if (m := _period(i, v)) is not None), None)
        kinds.append([([v], {})] if width is None else list(_parts_of(v, width)))
    for kind in product(*kinds):
        yield [v for variables, _ in kind for v in variables], {v: e for _, env in kind for v, e in env.items()}


def _parts_of(v: Var, width: int) -> Iterator[tuple[list[Var], dict[Var, Expr]]]:
    start = 0
    for count, size in segments(v.extent, width):
        panel, inside = Var(f"{v.name}o", count), Var(f"{v.name}i", size)
        yield [panel, inside], {v: panel * size + inside + start}
        start += count * size


def _channels(
    nest: Reduction, t: TransformLoops, parts: tuple[Part, Part], loops: list[Var], env: dict[Var, Expr], target: Target
) -> Stmt:
    """Loops over tiles, and around each the loop over channels: in vectors, single elements for the rest."""
    tile = Tile(nest, t, parts, env)
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
class Tile:
    """One kind of tile of a nest; `env` is the substitution for its loops."""

    nest: Reduction
    transform: TransformLoops
    parts: tuple[Part, Part]
    env: dict[Var, Expr]

    def fills_lanes(self, v: Var) -> bool:
        """Whether neighbours in `v` are contiguous in the store and in the loads."""
        store = self.store(Const(0), Const(0), Const(0.0, F32), {})
        if _stride(store, v) != 1 or not vectorisable(store, v):
            return False
        values = (simplify_expr(self.element(Const(0), Const(0), {})), self.nest.store.value)
        return all(vectorisable(e, v) for e in values)

    def element(self, a: Expr, b: Expr, env: dict[Var, Expr]) -> Expr:
        t = self.transform
        rows, columns = self.parts
        first = {t.rows.out: rows.at(Const(0)), t.columns.out: columns.at(Const(0))}
        return substitute(substitute(t.element, {t.rows.over: a, t.columns.over: b, **first, **self.env}), env)

    def store(self, i: Expr, j: Expr, value: Expr, env: dict[Var, Expr]) -> Store:
        """Result i, j of the tile, after the nest's epilogue."""
        rows, columns = self.parts
        here = {self.transform.rows.out: rows.at(i), self.transform.columns.out: columns.at(j), **self.env}

        def place(e: Expr) -> Expr:
            return substitute(substitute(e, here), env)

        def rule(n: object) -> Expr | None:
            return value if isinstance(n, Load) and n.buffer is self.nest.acc else None

        stored = rewrite_top_down(place(self.nest.store.value), rule)
        return Store(self.nest.store.buffer, tuple(place(i) for i in self.nest.store.indices), stored)

    def statement(self, env: dict[Var, Expr], lane: Var | None) -> Stmt:
        """Each column of elements is transformed by `rows`, then each row of the results by `columns`."""
        t = self.transform
        rows, columns = (axis.matrix[: p.size] for axis, p in zip((t.rows, t.columns), self.parts, strict=True))
        half = Buffer("half", (len(rows), columns.shape[1], 1 if lane is None else lane.extent), F32, Scope.LOCAL)
        at = lane if lane is not None else Const(0)
        b = Var("b", columns.shape[1])
        down = Lines(at)
        elements = [down.let(self.element(Const(a), b, env)) for a in range(rows.shape[1])]
        for k, value in enumerate(down.transform(rows, elements)):
            down.store(Store(half, (Const(k), b, at), value))
        i = Var("i", len(rows))
        across = Lines(at)
        elements = [across.let(Load(half, (i, Const(k), at))) for k in range(columns.shape[1])]
        for k, value in enumerate(across.transform(columns, elements)):
            across.store(self.store(i, Const(k), across.let(value), env))
        return Alloc(half, Seq((For(b, down.statement(lane)), For(i, across.statement(lane)))))


def _stride(store: Store, var: Var) -> int | None:
    return Access(store, flat_offset(store.buffer.shape, store.indices)).stride(var)
