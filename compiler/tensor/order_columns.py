"""Which way round an operand of a matrix product lies, if the model has it transposed (the keys of attention)."""

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
    """New layouts for tensors that a product of two computed tensors reads along its columns, but that lie along its
    reduction: the columns become innermost, so that the product loads vectors and its producer scatters instead, once.

    Only what one kernel reads is turned, at one place, and not what is `fixed` (graph inputs and outputs).
    """
    readers = Counter(t for g in groups for t in g.reads)
    turned: dict[Tensor, Layout] = {}
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
            place = _place_of(column, c.b)
            if movable and alone and place is not None:
                order = (*(d for d in range(t.rank) if d != place), place)
                turned[t] = replace(layouts[t], order=order)
    return turned


def _place_of(column: Var, b: Load) -> int | None:
    """The dimension that is indexed by just `column`, if no other index mentions it."""
    places = [d for d, i in enumerate(b.indices) if column in free_vars(i)]
    return places[0] if len(places) == 1 and affine(b.indices[places[0]]) == affine(column) else None
