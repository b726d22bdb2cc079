"""Convolutions by Winograd's algorithm: fewer products of larger matrices, between linear transforms of small tiles.

    windows[i, j, n, th, tw, c]  = sum over a, b of B'[i, a] B'[j, b] x[n, c, m th + a - top, k tw + b - left]
    filters[i, j, o, c]          = sum over a, b of G[i, a] G[j, b] w[o, c, a, b]             (prepared at load)
    products[i, j, n, th, tw, o] = sum over c of windows[i, j, n, th, tw, c] filters[i, j, o, c]
    y[n, o, h, w]                = sum over i, j of A'[h % m, i] A'[w % k, j] products[i, j, n, h // m, w // k, o]

for output tiles of m x k: F(m, 3) defines the matrices of i, and F(k, 3) those of j. All four are ordinary tensors: the
last takes in bias, residual and activation as any reduction does, the third is a contraction like others. The matrices
are in the bodies (`ir/entry`), so that a schedule has them. On some targets n, th and tw are one
dimension, the flattened tile index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..dtypes import F32
from ..ir.entry import Entry
from ..ir.nodes import Buffer, Const, Expr, Origin
from ..ir.simplify import simplify_expr
from .layer_choices import LayerChoices, default_layers
from .match_convolution import Convolution, match_convolution
from .program import Rewritten, TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor, compute, reduce
from .winograd_matrices import OutputTile, winograd

Array = np.ndarray
Choice = Callable[[Tensor, Convolution, int], Sequence[OutputTile | None]]
"""The output tiles by which a convolution, one of so many of its shapes, can be computed, the preferred one first;
None: the direct convolution."""


def use_winograd(
    program: TensorProgram,
    choose: Choice,
    choices: LayerChoices = default_layers,
    *,
    flat_tiles: bool = False,
    most: int | None = None,
) -> TensorProgram:
    """The program with the convolutions that `choose` picks computed by tiles. `flat_tiles`: one dimension is the
    flattened tile index. Transformed filters take `most` bytes in all, where that is given. The choice is `winograd` of
    the result."""
    rewritten: list[Rewritten] = []
    channels_last, windows = set(program.channels_last), set(program.windows)
    alike = _alike(program)
    rooms = None if most is None else filter_rooms(program, choose, most)

    def make(t: Tensor) -> tuple[Tensor, ...]:
        match = match_convolution(t)
        if match is None:
            return (t,)
        options = choose(t, match, alike[_shapes(t, match)])
        if rooms is not None:
            options = [o for o in options if o is None or filter_bytes(match, o) <= rooms[t.buffer]]
        tile = choices(t).choose("winograd", options)
        if tile is None:
            return (t,)
        stages = by_tiles(t, match, tile, flat_tiles=flat_tiles)
        rewritten.append(Rewritten(tile, t, stages))
        channels_last.update((match.x.buffer, t.buffer))
        windows.add(stages[0].buffer)
        return stages

    result = replace_tensors(program, make)
    if not rewritten:
        return program
    origins = dict(result.origins)
    for r in rewritten:
        names = origins[r.tensors[-1]].nodes
        for part, op in zip(r.tensors, ("WinogradInput", "WinogradWeights", "WinogradProducts"), strict=False):
            origins[part] = Origin(names, (op,) * len(names))
    return replace(
        result,
        origins=origins,
        channels_last=frozenset(channels_last),
        windows=frozenset(windows),
        rewritten=tuple(rewritten),
    )


def filter_bytes(conv: Convolution, tile: OutputTile) -> int:
    """The size of the transformed filters of a convolution."""
    filters, channels = conv.weights.extents[:2]
    return (tile[0] + 2) * (tile[1] + 2) * filters * channels * F32.bytes


def filter_rooms(program: TensorProgram, choose: Choice, most: int) -> Mapping[Buffer, int]:
    """The bytes of `most` that the filters of each convolution may take, by the buffer of its result."""
    layers = [(t, c) for t in program.tensors if (c := match_convolution(t)) is not None]
    alike = _alike(program)
    return _share(most, [(t, c, choose(t, c, alike[_shapes(t, c)])[0]) for t, c in layers])


def _alike(program: TensorProgram) -> Counter[tuple[object, ...]]:
    """How many convolutions there are of each shapes."""
    return Counter(_shapes(t, c) for t in program.tensors if (c := match_convolution(t)) is not None)


def _share(most: int, layers: Sequence[tuple[Tensor, Convolution, OutputTile | None]]) -> Mapping[Buffer, int]:
    """The bytes that filters of each layer may take of `most`: those of its tile, or none. What tiles save goes with
    the multiplications, hence for each byte of filters with the positions: layers of large images come first."""
    rooms = {}
    for t, conv, tile in sorted(layers, key=lambda layer: -prod((*layer[0].extents[2:], layer[0].extents[0]))):
        size = 0 if tile is None else filter_bytes(conv, tile)
        rooms[t.buffer] = size if size <= most else 0
        most -= rooms[t.buffer]
    return rooms


def _shapes(t: Tensor, conv: Convolution) -> tuple[object, ...]:
    return t.extents, conv.x.extents, conv.weights.extents, conv.top, conv.left


def by_tiles(
    t: Tensor, conv: Convolution, tile: OutputTile, *, flat_tiles: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """windows, filters, products and the result, which keeps the buffer of `t`."""
    m, k = tile
    down, across = winograd(m), winograd(k)
    window_shape = (m + 2, k + 2)
    x, w = conv.x, conv.weights
    batch, filters, height, width = t.extents
    rows, columns, channels = -(-height // m), -(-width // k), x.extents[1]

    def tile_index(b: Expr, th: Expr, tw: Expr) -> list[Expr]:
        return [(b * rows + th) * columns + tw] if flat_tiles else [b, th, tw]

    def window(i: Expr, j: Expr, *tile_and_channel: Expr) -> Expr:
        *at, c = tile_and_channel
        b, th, tw = (at[0] // (rows * columns), at[0] // columns % rows, at[0] % columns) if flat_tiles else at

        def term(a: Expr, d: Expr) -> Expr:
            element = _read_inside(x, [b, c, th * m + a - conv.top, tw * k + d - conv.left])
            return entry(down.input, i, a) * (entry(across.input, j, d) * element)

        return reduce("sum", window_shape, term)

    def filter_(i: Expr, j: Expr, o: Expr, c: Expr) -> Expr:
        def term(a: Expr, d: Expr) -> Expr:
            return entry(down.weights, i, a) * (entry(across.weights, j, d) * w.read([o, c, a, d]))

        return reduce("sum", (3, 3), term)

    tiles = (batch * rows * columns,) if flat_tiles else (batch, rows, columns)
    exact = t.exact or max(tile) > 2  # the error of larger tiles is ten times float16's rounding
    windows = replace(compute(f"{t.name}.windows", (*window_shape, *tiles, channels), (x,), window), exact=exact)
    window_filters = compute(f"{t.name}.filters", (*window_shape, filters, channels), (w,), filter_)
    transformed = replace(window_filters, prepared=True, exact=exact)

    def product(i: Expr, j: Expr, *tile_and_filter: Expr) -> Expr:
        *at, o = tile_and_filter
        return reduce("sum", (channels,), lambda c: windows[i, j, *at, c] * transformed[i, j, o, c])

    sums = compute(f"{t.name}.products", (*window_shape, *tiles, filters), (windows, transformed), product)
    products = replace(sums, exact=exact)

    def result(b: Expr, o: Expr, h: Expr, v: Expr) -> Expr:
        def term(i: Expr, j: Expr) -> Expr:
            element = products[i, j, *tile_index(b, h // m, v // k), o]
            return entry(down.output, h % m, i) * (entry(across.output, v % k, j) * element)

        return reduce("sum", window_shape, term)

    y = compute(t.name, t.extents, (products,), result)
    return windows, transformed, products, Tensor(t.buffer, y.axes, y.body, y.reads, exact=t.exact)


def entry(matrix: Array, row: Expr, column: Expr) -> Entry:
    """matrix[row, column] in float32."""
    return Entry(tuple(tuple(map(float, line)) for line in matrix.astype(np.float32)), row, column)


def _read_inside(x: Tensor, index: list[Expr]) -> Expr:
    """The element at `index`, zero where a spatial index is out of bounds."""
    guard: Expr | None = None
    for i, extent in zip(index[2:], x.extents[2:], strict=True):
        inside = (Const(0) <= i) & (i < extent)
        guard = inside if guard is None else guard & inside
    return simplify_expr(x.read(index, guard))
