"""DeformConv: a convolution whose taps are moved, each by an offset of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from ...ir.nodes import Expr
from ...ir.sizes import Size
from ...tensor import Tensor, compute
from ..call import Call
from ..products.convolution import add_bias, check_channels, image_and_weights
from ..products.convolution_transpose import Groups
from ..reductions.reduce_axes import reduce_over
from ..window import scaled, windows_of
from .between import MOST_AXES, interpolated, limited, tabulated, weighted, zero_outside


def _deform_conv(call: Call) -> Tensor:
    """x (N, IC, spatial), w (OC, IC/group, taps), offset (N, groups * taps * rank, positions), optional bias (OC) and
    mask (N, groups * taps, positions), which is a factor of each tap; `offset_group` groups of channels.

    What the taps read, interpolated linearly and zero outside of the image, is a tensor; the rest is a contraction.
    """
    x, w = image_and_weights(call)
    group, offset_group = call.attribute("group", 1), call.attribute("offset_group", 1)
    batch, _, *sizes = x.shape
    (channels,) = call.fixed(x, (1,))
    filters, depth, *kernel = call.fixed(w)
    check_channels(call, channels, depth * group, filters, group)
    check_channels(call, channels, channels, channels, offset_group)
    rank, taps = len(kernel), prod(kernel)
    if rank > MOST_AXES:
        raise call.unsupported(f"its input has {rank} spatial axes", f"have 1 to {MOST_AXES} of them")
    windows = windows_of(call, sizes, kernel)
    positions: tuple[Size, ...] = tuple(window.count for window in windows)
    offset = call.input(2, (batch, offset_group * taps * rank, *positions))
    mask = call.optional(4, (batch, offset_group * taps, *positions))
    offsets, groups = Groups(offset_group, channels // offset_group, 0), Groups(group, depth, filters // group)

    def number(group_of: Expr, k: Sequence[Expr]) -> Expr:
        """The number of a tap of a group of channels."""
        for step, count in zip(k, kernel, strict=True):
            group_of = scaled(group_of, count) + step
        return group_of

    def place(d: int, n: Expr, own: Expr, *rest: Expr) -> Expr:
        k, o = rest[:rank], rest[rank:]
        moved = offset[n, scaled(number(own, k), rank) + d, *o]
        return limited(windows[d].at(o[d], k[d]).cast(x.dtype) + moved, sizes[d], 2)

    shape = (batch, offset_group, *kernel, *positions)
    places = [tabulated(f"{call.name}.{d}", shape, (offset,), partial(place, d)) for d in range(rank)]

    def read(n: Expr, c: Expr, *rest: Expr) -> Expr:
        own, _ = offsets.split(c, offsets.depth)
        axes = []
        for p, extent in zip(places, sizes, strict=True):
            assert p.share is not None
            share = p.share[n, own, *rest]
            axes.append(weighted(p.first[n, own, *rest], [1.0 - share, share], partial(zero_outside, extent=extent)))
        return interpolated(x, (n, c), axes)

    reads = (x, *(t for p in places for t in p.tables))
    columns = compute(f"{call.name}.columns", (batch, channels, *kernel, *positions), reads, read)
    if mask is not None:
        plain, factors = columns, mask

        def masked(n: Expr, c: Expr, *rest: Expr) -> Expr:
            own, _ = offsets.split(c, offsets.depth)
            return plain[n, c, *rest] * factors[n, number(own, rest[:rank]), *rest[rank:]]

        columns = compute(f"{call.name}.masked", plain.shape, (plain, factors), masked)

    def body(n: Expr, oc: Expr, *o: Expr) -> Expr:
        own, _ = groups.split(oc, groups.filters)
        return reduce_over(
            "sum", (depth, *kernel), lambda ic, *k: columns[n, groups.input(own, ic), *k, *o] * w[oc, ic, *k]
        )

    total = compute(call.name, (batch, filters, *positions), (columns, w), body)
    return add_bias(call, total, 3)


OPERATORS = {"DeformConv": _deform_conv}
