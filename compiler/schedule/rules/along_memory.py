"""Sums of products of fewer columns than lanes: vectors lie along the sum. A convolution with one output channel reads
the channels of its window."""

from __future__ import annotations

from collections.abc import Mapping

from ...dtypes import F32
from ...ir.contraction import find_contraction, loaded_operand
from ...ir.layout import Layout
from ...ir.nest import Reduction
from ...ir.nodes import Buffer, Load, Stmt, Var
from ...ir.rewrite import free_vars
from ...ir.simplify import simplify_stmt
from ...target import Target
from ..access import vectorisable
from ..steps import NARROWEST_VECTOR, pack, reorder
from .merge_reduction import merge_reduction
from .reduction import lies_along
from .roles import find_roles, order_reduction


def along_memory(
    stmt: Stmt, nest: Reduction, target: Target, packed: Mapping[Buffer, Buffer]
) -> tuple[Stmt, dict[Buffer, Buffer]] | None:
    """The nest with its reduction loops in the order of an operand in memory, and the constant operand in the same
    order. None where vectors of columns are possible, or none along the sum, or these without a change."""
    roles = find_roles(nest)
    if nest.acc.dtype != F32 or not nest.over or (roles is not None and roles.column.extent >= NARROWEST_VECTOR):
        return None
    if nest.loops and nest.loops[-1].extent >= NARROWEST_VECTOR and vectorisable(stmt, nest.loops[-1]):
        return None
    if roles is None and lies_along(merge_reduction(stmt)[1], target):
        return None
    contraction = find_contraction(nest.loops, nest.over, nest.value)
    for c in () if contraction is None else contraction.orientations:
        b = loaded_operand(c.b)
        if b is None or not b.buffer.constant or b.buffer.layout is None or b.buffer.layout.blocks:
            continue
        order = order_reduction(nest, c.a)
        layout = _in_order(b, b.buffer.layout, order)
        if b.buffer in packed and packed[b.buffer].layout != layout:
            continue
        ordered, buffer = pack(reorder(stmt, order) if len(order) > 1 else stmt, b.buffer, layout)
        _, merged = merge_reduction(simplify_stmt(ordered))
        if lies_along(merged, target):
            return simplify_stmt(ordered), {b.buffer: buffer}
    return None


def _in_order(b: Load, old: Layout, over: list[Var]) -> Layout:
    """The layout of a constant whose dimensions along the sum come last, in the order of the loops `over`."""
    logical = old.logical(b.indices)

    def rank(axis: int) -> tuple[int, int]:
        inside = [n for n, v in enumerate(over) if v in free_vars(logical[axis])]
        return (1, max(inside)) if inside else (0, axis)

    none, ones = ((0, 0),) * len(logical), (1,) * len(logical)
    return Layout(old.shape, tuple(sorted(range(len(logical)), key=rank)), none, ones)
