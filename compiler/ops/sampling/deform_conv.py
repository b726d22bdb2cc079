"""DeformConv: a convolution whose taps are moved, each by an offset of its own."""

from __future__ import annotations

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
from .between import interpolated, limited, linear_taps, zero_outside


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
    if 2**rank > 16:
        raise call.unsupported(f"its input has {rank} spatial axes", "use 1 to 4")
    windows = windows_of(call, sizes, kernel)
    positions: tuple[Size, ...] = tuple(window.count for window in windows)
    offset = call.input(2, (batch, offset_group * taps * rank, *positions))
    mask = call.optional(4, (batch, offset_group * taps, *positions))
    offsets, groups = Groups(offset_group, channels // offset_group, 0), Groups(group, depth, filters // group)

    def read(n: Expr, c: Expr, *rest: Expr) -> Expr:
        k, o = rest[:rank], rest[rank:]
        tap, _ = offsets.split(c, offsets.depth)
        for step, count in zip(k, kernel, strict=True):
            tap = scaled(tap, count) + step
        places = [
            window.at(o[d], k[d]).cast(x.dtype) + offset[n, scaled(tap, rank) + d, *o]
            for d, window in enumerate(windows)
        ]
        axes = [
            linear_taps(limited(place, extent, 2), partial(zero_outside, extent=extent))
            for place, extent in zip(places, sizes, strict=True)
        ]
        value = interpolated(x, (n, c), axes)
        return value if mask is None else value * mask[n, tap, *o]

    columns = compute(f"{call.name}.columns", (batch, channels, *kernel, *positions), (x, offset, mask), read)

    def body(n: Expr, oc: Expr, *o: Expr) -> Expr:
        own, _ = groups.split(oc, groups.filters)
        return reduce_over(
            "sum", (depth, *kernel), lambda ic, *k: columns[n, groups.input(own, ic), *k, *o] * w[oc, ic, *k]
        )

    total = compute(call.name, (batch, filters, *positions), (columns, w), body)
    return add_bias(call, total, 3)


OPERATORS = {"DeformConv": _deform_conv}
