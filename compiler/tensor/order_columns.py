"""The layout of a matrix product's operand that the model has transposed (the keys of attention)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ..ir.contraction import find_contraction
from ..ir.index import affine
from ..ir.layout import Layout
from ..ir.nodes import Load, Var
from ..ir.rewrite import free_vars, loads
from .fuse import Group
from .tensor import Tensor


def order_columns(
    groups: tuple[Group, ...], layouts: Mapping[Tensor, Layout], fixed: set[Tensor]
) -> dict[Tensor, Layout]:
    """New layouts for tensors that a product of two computed tensors reads along its columns, but whose innermost axis
    is its reduction: the columns become innermost, so that the product loads vectors and its producer scatters instead,
    once.

    Only for tensors with a single read, and not for `fixed` ones (graph inputs and outputs).
    """
    readers = Counter(t for g in groups for t in g.reads)
    transposed: dict[Tensor, Layout] = {}
    for g in groups:
        if g.reduce is None or g.reduce.op != "sum" or not g.axes:
            continue
        contraction = find_contraction(g.axes, g.reduce.axes, g.reduce.value)
        column = g.axes[layouts[g.output].order[-1]]
        by_buffer = {t.buffer: t for t in g.reads}
        for c in contraction.orientations if contraction is not None else ():
            if not isinstance(c.b, Load) or c.b.guard is not None or column not in c.columns:
                continue
            t = by_buffer[c.b.buffer]
            movable = t not in fixed and not t.is_constant and readers[t] == 1 and layouts[t].is_row_major
            alone = all(x.buffer is not c.b.buffer for x in (*loads(c.a), *loads(g.body)))
            dimension = _dimension_of(column, c.b)
            if movable and alone and dimension is not None:
                order = (*(d for d in range(t.rank) if d != dimension), dimension)
                transposed[t] = replace(layouts[t], order=order)
    return transposed


def _dimension_of(column: Var, b: Load) -> int | None:
    """The dimension that is indexed by `column` alone, if no other index uses it."""
    found = [d for d, i in enumerate(b.indices) if column in free_vars(i)]
    return found[0] if len(found) == 1 and affine(b.indices[found[0]]) == affine(column) else None
