"""Constants of many matrices, so that equal places of all of them do not meet in the same cache sets.

Who makes such a constant at load, Winograd's filters, writes to all the matrices at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ...costs import CpuCosts
from ...dtypes import DType
from ...ir.layout import Layout


def spread_panels(layout: Layout, matrices: int, row: int, dtype: DType, costs: CpuCosts) -> Layout:
    """`layout`, in panels, of `matrices` one after the other; where they would otherwise lie a large power of two
    apart, its panels are a little longer in their axis `row`, or a panel more."""
    *inner, (blocked, width, _) = layout.blocks

    def distance(made: Layout) -> int:
        return prod(made.physical_shape) * dtype.bytes // matrices

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
