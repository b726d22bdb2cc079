"""The layout of a matrix product's operand that the model has transposed (the keys of attention)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from ..ir.affine import affine
from ..ir.contraction import Contraction, find_contraction
from ..ir.layout import Layout
from ..ir.nodes import Expr, Load, Node, Origin, Var
from ..ir.rewrite import free_vars, loads, rewrite_top_down
from .fuse import Group, copy_of
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class _Transposed:
    """A contraction whose second operand `t`, loaded by `b`, has `dimension` along the innermost axis of the result,
    which is not innermost in `t`. Memory of the result is rounded up along it to a multiple of `align`: as many
    columns are computed, and have to be there in the operand. `is_product`: that axis moves `t` alone, unlike the
    channels of a depthwise convolution."""

    contraction: Contraction
    b: Load
    t: Tensor
    dimension: int
    align: int
    is_product: bool


def order_columns(
    groups: tuple[Group, ...], layouts: Mapping[Tensor, Layout], fixed: set[Tensor], rows: int | None
) -> tuple[tuple[Group, ...], dict[Tensor, Layout]]:
    """`groups` and `layouts` in which products load vectors along their columns: for each product of two computed
    tensors of which one has its columns along a dimension that is not innermost, that dimension becomes innermost.

    The operand's producer writes it so where the product is all that reads it; `fixed` tensors (graph inputs and
    outputs) and those with other readers are copied, for products of at least `rows` rows (None for no copies).
    """
    readers = Counter(t for g in groups for t in g.reads)
    new = dict(layouts)
    copies: dict[tuple[Tensor, int, int], Group] = {}
    ordered: list[Group] = []
    for g in groups:
        for way in _transposed(g, new):
            c, t, d, align = way.contraction, way.t, way.dimension, way.align
            alone = all(x.buffer is not t.buffer for x in (*loads(c.a), *loads(g.body)))
            repaid = rows is not None and prod(v.extent for v in c.rows) >= rows
            if t not in fixed and readers[t] == 1 and alone and new[t].is_row_major and (way.is_product or repaid):
                new[t] = _innermost(new[t], d, align)
            elif repaid and not _has_unit_step(g, new):
                if (t, d, align) not in copies:
                    copies[t, d, align] = copy_of(f"{t.name}.columns{d}", t, Origin((t.name,), ("Layout",)))
                    ordered.append(copies[t, d, align])
                    new[copies[t, d, align].output] = _innermost(Layout.row_major(t.extents), d, align)
                g = _reading(g, way.b, copies[t, d, align].output)
        ordered.append(g)
    return tuple(ordered), new


def _transposed(g: Group, layouts: Mapping[Tensor, Layout]) -> Iterator[_Transposed]:
    """The group as such products, at most two."""
    if g.reduce is None or g.reduce.op != "sum" or not g.axes:
        return
    contraction = find_contraction(g.axes, g.reduce.axes, g.reduce.value)
    last = layouts[g.output].order[-1]
    column, align = g.axes[last], layouts[g.output].align[last]
    by_buffer = {t.buffer: t for t in g.reads}
    for c in contraction.orientations if contraction is not None else ():
        if not isinstance(c.b, Load) or c.b.guard is not None or column not in (*c.columns, *c.batch):
            continue
        t = by_buffer[c.b.buffer]
        dimension = _dimension_of(column, c.b)
        if not t.is_constant and dimension is not None and dimension != layouts[t].order[-1]:
            yield _Transposed(c, c.b, t, dimension, align, column in c.columns)


def _has_unit_step(g: Group, layouts: Mapping[Tensor, Layout]) -> bool:
    """Whether the product loads vectors of one of its operands as it is; a schedule packs constants."""
    assert g.reduce is not None
    by_buffer = {t.buffer: t for t in g.reads}
    contraction = find_contraction(g.axes, g.reduce.axes, g.reduce.value)
    for c in contraction.orientations if contraction is not None else ():
        if isinstance(c.b, Load) and c.b.guard is None:
            t = by_buffer[c.b.buffer]
            if t.is_constant or any(_dimension_of(v, c.b) == layouts[t].order[-1] for v in c.columns):
                return True
    return False


def _dimension_of(column: Var, b: Load) -> int | None:
    """The dimension that is indexed by `column` alone, if no other index uses it."""
    dimensions = [d for d, i in enumerate(b.indices) if column in free_vars(i)]
    return dimensions[0] if len(dimensions) == 1 and affine(b.indices[dimensions[0]]) == affine(column) else None


def _innermost(layout: Layout, dimension: int, align: int) -> Layout:
    """The row-major `layout` with a dimension moved to the end, and rounded up to a multiple of `align`."""
    order = (*(d for d in layout.order if d != dimension), dimension)
    return replace(layout, order=order, align=tuple(align if d == dimension else 1 for d in range(len(order))))


def _reading(g: Group, b: Load, copy: Tensor) -> Group:
    """`g` with the load `b` of another tensor's `copy`."""
    assert g.reduce is not None
    moved = Load(copy.buffer, b.indices)

    def rule(n: Node) -> Expr | None:
        return moved if n is b else None

    value = rewrite_top_down(g.reduce.value, rule)
    used = {x.buffer for e in (g.body, value) for x in loads(e)}
    reads = dict.fromkeys((*(t for t in g.reads if t.buffer in used), copy))
    return replace(g, reduce=replace(g.reduce, value=value), reads=tuple(reads))
