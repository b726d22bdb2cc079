"""Padding for constants of many matrices, so that equal positions of all of them do not map to the same cache sets.

Winograd's filters are such a constant: its transform at load writes to all the matrices at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ...costs import CpuCosts
from ...dtypes import DType
from ...ir.layout import Layout


def pad_panels(layout: Layout, matrices: int, row: int, dtype: DType, costs: CpuCosts) -> Layout:
    """`layout`, in panels, of `matrices` stored consecutively; where their distance would be a large power of two, its
    panels are padded in their axis `row`, or by a panel."""
    *inner, (blocked, width, _) = layout.blocks

    def distance(padded: Layout) -> int:
        return prod(padded.physical_shape) * dtype.bytes // matrices

    if matrices <= costs.ways:
        return layout

    def longer() -> Iterator[Layout]:
        for panels in range(2):
            for rows in range(4):
                align = list(layout.align)
                align[blocked] = layout.extent(blocked) + panels * width
                if not inner:
                    align[row] = layout.extent(row) + rows
                roomy = (*(b._replace(room=b.size + rows) for b in inner), layout.blocks[-1])
                yield replace(layout, align=tuple(align), blocks=roomy)

    return min((layout, *longer()), key=lambda x: costs.set_distance(distance(x)))
