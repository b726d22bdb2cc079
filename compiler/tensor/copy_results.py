"""Results of products that widen their weights are tiles of rows, also where a model returns them row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ..costs import GpuCosts
from ..ir.contraction import Contraction, find_contraction
from ..ir.layout import Layout
from ..ir.nodes import Load
from ..ir.rewrite import loads
from .fuse import Group, copy_of
from .tensor import Tensor


def copy_results(
    groups: tuple[Group, ...], layouts: Mapping[Tensor, Layout], lines: set[Tensor], costs: GpuCosts
) -> tuple[tuple[Group, ...], dict[Tensor, Layout]]:
    """y[i, j] = sum over k of x[i, k] * (float32(q[k, j]) * s[j])
    ->  t[i, j] = sum over k of x[i, k] * (float32(q[k, j]) * s[j]);   y[i, j] = t[i, j]

    where y is one of `lines`, which fragments compute row by row: weights are widened for each row of y, and for
    `costs.rows` rows of t at a time.
    """
    copied: list[Group] = []
    new = dict(layouts)
    for g in groups:
        if g.output not in lines or not _gains(g, costs):
            copied.append(g)
            continue
        y = g.output
        tiles = replace(y, buffer=replace(y.buffer, name=f"{y.name}.tiles"))
        new[tiles] = layouts[y]
        copied += [replace(g, output=tiles), replace(copy_of(y.name, tiles, g.origin), output=y)]
    return tuple(copied), new


def _gains(g: Group, costs: GpuCosts) -> bool:
    """Whether the weights that are not widened again take longer than a copy."""
    product = _widening(g)
    if product is None:
        return False
    rows, columns = (prod(v.extent for v in axes) for axes in (product.rows, product.columns))
    elements = columns * prod(v.extent for v in product.over)
    copy = costs.launch + 2 * g.output.buffer.size * g.output.dtype.bytes * costs.byte
    return (rows - -(-rows // costs.rows)) * elements * costs.widen > copy


def _widening(g: Group) -> Contraction | None:
    """The group as a product by weights that it computes from constants."""
    if g.reduce is None:
        return None
    constants = {t.buffer for t in g.reads if t.is_constant}
    contraction = find_contraction(g.axes, g.reduce.axes, g.reduce.value)
    for way in () if contraction is None else contraction.orientations:
        computed = not isinstance(way.b, Load) and all(x.buffer in constants for x in loads(way.b))
        if computed and way.rows and way.columns:
            return way
    return None
