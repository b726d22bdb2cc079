"""The layout of a fragment's constants: output channels in the elements of a texel, the reduction axis next to them."""

from __future__ import annotations

from dataclasses import replace

from ...ir.affine import affine
from ...ir.layout import Layout
from ...ir.nest import Reduction, match_nest
from ...ir.nodes import Kernel, Load
from ...ir.rewrite import loads
from ..steps import pack


def order_constants(kernel: Kernel) -> Kernel:
    """w[c, r, s, k]   ->   w[r, s, c, k], where c is the longest loop of the sum and k an axis of the result

    The last axis of a constant is left to `build_kernel`; the one before it is along rows of texels, the others in
    different rows.
    """
    nest = match_nest(kernel.body)
    if not isinstance(nest, Reduction):
        return kernel
    for x in list(loads(nest.value)):
        if not x.buffer.constant or x.buffer.layout is None or x.guard is not None:
            continue
        layout = _order(x, nest, x.buffer.layout)
        if layout != x.buffer.layout:
            body, new = pack(kernel.body, x.buffer, layout)
            params = tuple(new if p is x.buffer else p for p in kernel.params)
            kernel = replace(kernel, body=body, params=params)
            return order_constants(kernel)
    return kernel


def _order(x: Load, nest: Reduction, layout: Layout) -> Layout:
    axes = list(layout.order)
    if layout.blocks or len(axes) < 3:
        return layout
    last = axes.pop()
    extents = {
        axis: max((v.extent for v in nest.over if affine(x.indices[i]).coefficient(v)), default=0)
        for i, axis in enumerate(layout.order[:-1])
    }
    axes.sort(key=lambda axis: extents[axis])
    return replace(layout, order=(*axes, last))
