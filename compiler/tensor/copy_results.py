"""Results of products with weights are tiles of rows, also where a model returns them row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

from ..costs import GpuCosts
from ..ir.contraction import Contraction, find_contraction
from ..ir.layout import Layout
from ..ir.nodes import Load
from ..ir.rewrite import loads
from ..target import LANES
from .fuse import Group, copy_of
from .tensor import Tensor


def copy_results(
    groups: tuple[Group, ...],
    layouts: Mapping[Tensor, Layout],
    lines: set[Tensor],
    costs: GpuCosts,
    is_image: Callable[[tuple[int, ...], bool], bool],
) -> tuple[tuple[Group, ...], dict[Tensor, Layout]]:
    """y[i, j] = sum over k of x[i, k] * w[k, j]
    ->  t[i, j] = sum over k of x[i, k] * w[k, j];   y[i, j] = t[i, j]

    where y is one of `lines`, which fragments compute row by row: each row of y loads the weights again, and widens
    those of few bits, and `costs.rows` rows of t share them. Where a row of y is no whole number of texels, as that of
    a vocabulary of 50,257, each of a texel's elements has loads of its own: 64 x 384 by 384 x 5001 takes 14 times as
    long as in tiles, by 384 x 5000 3.3 times. `is_image`: whether a tensor of some extents, which vary or not, is in
    tiles at all.
    """
    copied: list[Group] = []
    new = dict(layouts)
    for g in groups:
        varies = any(v.length is not None for v in g.axes)
        if g.output not in lines or not _gains(g, costs) or not is_image(g.output.extents, varies):
            copied.append(g)
            continue
        y = g.output
        tiles = replace(y, buffer=replace(y.buffer, name=f"{y.name}.tiles"))
        new[tiles] = layouts[y]
        copied += [replace(g, output=tiles), replace(copy_of(y.name, tiles, g.origin), output=y)]
    return tuple(copied), new


def _gains(g: Group, costs: GpuCosts) -> bool:
    """Whether what tiles save takes longer than a copy: vectors of both operands that several rows of a tile share, and
    weights that are not widened again for each. A line's vectors are of one row where rows are whole vectors, else of
    several, each of which loads its own."""
    product = _product(g)
    if product is None:
        return False
    rows, columns, depth = (prod(v.extent for v in axes) for axes in (product.rows, product.columns, product.over))
    height = min(rows, costs.rows)
    tiles, vectors = -(-rows // height), -(-columns // LANES)
    in_line = 1 if columns % LANES == 0 else LANES
    loads_saved = (rows * in_line * (1 + LANES) - tiles * (height + LANES)) * vectors * depth / LANES
    saved = loads_saved * costs.load
    if not isinstance(product.b, Load):
        saved += (rows - tiles) * columns * depth * costs.widen
    copy = costs.launch + 2 * g.output.buffer.size * g.output.dtype.bytes * costs.byte
    return saved > copy + costs.shader / costs.amortised_runs


def _product(g: Group) -> Contraction | None:
    """The group as a product of several rows by constant weights, whose columns are neighbours in the result."""
    if g.reduce is None or len(g.axes) < 2:
        return None
    constants = {t.buffer for t in g.reads if t.is_constant}
    contraction = find_contraction(g.axes, g.reduce.axes, g.reduce.value)
    for way in () if contraction is None else contraction.orientations:
        constant = all(x.buffer in constants for x in loads(way.b))
        if constant and g.axes[-2] in way.rows and g.axes[-1] in way.columns:
            return way
    return None
