"""Linear transforms of small tiles in fragments: pixels of a fragment that are results of one tile share its texels.

A fragment writes one row of pixels. Where these run along the columns of a tile (all of a window's row, or one row of
several tiles of results), its texels are fetched once. Columns are transformed first, by the one row of the matrix that
the fragment uses, then the results by all rows of the other matrix. Of a window of 6 x 6 that is 6 fetches for each
texel that is written, where single texels would take 36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.affine import affine
from ...ir.forms import entries
from ...ir.nest import Reduction
from ...ir.nodes import Const, Expr, Load, Stmt, Store, Var
from ...ir.rewrite import free_vars, rewrite_top_down, substitute
from ...ir.simplify import simplify_expr
from ..expand_entries import expand_entries
from ..linear_map import Lines
from .transform import Axis, TransformLoops


@dataclass(frozen=True, slots=True)
class _Tile:
    """Pixels of one tile: `columns` maps each pixel to its column of results."""

    elements: tuple[tuple[Expr, ...], ...]
    columns: dict[int, int | None]


def schedule_fragment_transform(
    nest: Reduction, transform: TransformLoops, at: dict[Var, Expr], tiles: Sequence[Var]
) -> Stmt | None:
    """The statement of a fragment, its `tiles` unrolled (pixels, if any) and vectorised (the elements of a texel).

    `nest` has no parallel loops left: `at` maps the variables of `transform`. None where the elements of a texel are
    results of different rows or columns.
    """
    *pixels, lane = tiles
    outs = [at[axis.out] for axis in (transform.rows, transform.columns)]
    if any(lane in free_vars(e) for e in outs) or any(v in free_vars(outs[0]) for v in pixels):
        return None
    return _Fragment(nest, transform, outs[1], lane, pixels[0] if pixels else Var("pixel", 1)).statement()


class _Fragment:
    """The parts of the statement; `column` is the index of the column of results."""

    def __init__(self, nest: Reduction, transform: TransformLoops, column: Expr, lane: Var, pixel: Var) -> None:
        self._nest, self._transform, self._column = nest, transform, column
        self._lane, self._pixel = lane, pixel
        self._lines = Lines(lane)
        product = entries(nest.value)
        assert product is not None
        self._element, self._entries = product

    def statement(self) -> Stmt:
        for tile in self._by_tile():
            self._write(tile)
        return self._lines.statement(self._lane)

    def _by_tile(self) -> list[_Tile]:
        """The pixels grouped by the elements that they read."""
        t = self._transform
        tiles: dict[object, _Tile] = {}
        for p in range(self._pixel.extent):
            at = {self._pixel: Const(p)}
            elements = tuple(
                tuple(
                    simplify_expr(substitute(self._element, {**at, t.rows.over: Const(a), t.columns.over: Const(b)}))
                    for a in range(t.rows.over.extent)
                )
                for b in range(t.columns.over.extent)
            )
            phase = affine(simplify_expr(substitute(self._column, at) % len(t.columns.matrix)))
            column = None if phase.terms else phase.constant
            key = elements if column is not None else p
            tiles.setdefault(key, _Tile(elements, {})).columns[p] = column
        return list(tiles.values())

    def _write(self, tile: _Tile) -> None:
        t, lines = self._transform, self._lines
        factors = [self._factor(t.rows, 0, a) for a in range(t.rows.over.extent)]
        sums = [lines.let(_sum(factors, [lines.let(e) for e in column])) for column in tile.elements]
        results: list[Expr] = []
        if None not in tile.columns.values():
            results = [lines.let(e) for e in lines.transform(t.columns.matrix, sums)]
        for p, column in tile.columns.items():
            if column is None:
                value = lines.let(_sum([self._factor(t.columns, p, b) for b in range(len(sums))], sums))
            else:
                value = results[column]
            self._store(p, value)

    def _factor(self, axis: Axis, p: int, k: int) -> Expr:
        """Entry k of the row of an axis's matrix for pixel `p`."""
        entry = substitute(self._entries[axis.over], {self._pixel: Const(p), axis.over: Const(k)})
        return simplify_expr(expand_entries(entry))

    def _store(self, p: int, value: Expr) -> None:
        at = {self._pixel: Const(p)}
        store = self._nest.store

        def rule(n: object) -> Expr | None:
            return value if isinstance(n, Load) and n.buffer is self._nest.acc else None

        stored = rewrite_top_down(substitute(store.value, at), rule)
        self._lines.store(Store(store.buffer, tuple(substitute(i, at) for i in store.indices), stored))


def _sum(factors: list[Expr], values: list[Expr]) -> Expr:
    result: Expr | None = None
    for f, v in zip(factors, values, strict=True):
        if isinstance(f, Const) and not f.value:
            continue
        term = v if isinstance(f, Const) and f.value == 1 else v * f
        result = term if result is None else result + term
    assert result is not None
    return result
