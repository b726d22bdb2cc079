"""The layout of each materialised tensor: channels last for convolutions, few as in ONNX, with a halo of zeros.

Layout belongs to the stored value, not to the operator: a group computes over logical indices, and `build_kernel` maps
those to each value's layout. So no transposes arise that would have to be cancelled; a model's own Transpose whose
result has the bytes of its operand becomes an alias (see `aliases`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from ..costs import CPU_COSTS, CpuCosts
from ..dtypes import I8, I16, I32, U8
from ..ir.affine import affine
from ..ir.conditions import conjuncts, nonnegative
from ..ir.facts import range_of
from ..ir.layout import Layout
from ..ir.nodes import Binary, Const, Expr, Load, expr
from ..ir.rewrite import loads
from ..ir.sizes import Size, capacity
from ..target import CPU_LAYOUTS, LANES, LayoutPolicy
from .fuse import Group
from .fuse.dataflow import count
from .merge_taps import merged_channels
from .pad_matrices import pad_matrices
from .program import TensorProgram
from .spatial_reads import IMAGES, is_along_rows, keeps_axes, reads_spatially
from .tensor import Tensor

CHANNEL_ALIGN = LANES
"""Channels are rounded up to a multiple of this: the elements of a v128, a vec4f, a texel."""

HALO_LIMIT = 8
"""Widest halo, in elements a side, that convolutions always have; a wider one where `CpuCosts` say that it pays."""


Halos = dict[Tensor, tuple[tuple[int, int], ...]]
"""Zeros before and after each spatial axis."""


def choose_layout(
    program: TensorProgram,
    groups: tuple[Group, ...],
    policy: LayoutPolicy = CPU_LAYOUTS,
    costs: CpuCosts = CPU_COSTS,
) -> dict[Tensor, Layout]:
    """The layout of every graph input and group output; constants are row-major until a schedule packs them."""
    fixed = {t for _, t in (*program.inputs, *program.outputs)}
    last: set[Tensor] = set()
    along: set[Tensor] = set()
    for g in groups:
        if g.reduce is None or g.output.rank < 3 or g.output.dtype not in IMAGES:
            continue
        spatial = [t for t in g.reads if reads_spatially(g.reduce, g.axes, g.reads, t)]
        if spatial:
            (along if is_along_rows(g.reduce, (*spatial, g.output), policy.rows) else last).update(spatial, (g.output,))
        last.update(t for t in g.reads if t.buffer in program.channels_last)
        if g.anchor in program.channels_last:
            last.add(g.output)
    _spread(groups, last)
    layouts = row_major(program, groups)
    rows = _rows(groups)
    halos = _halos(groups, costs if policy.fill_halos else None) if policy.halos else {}
    if not policy.fill_halos:
        halos = _equal_halos(halos, groups)
    for t in along & halos.keys() - last - fixed:
        layouts[t] = replace(layouts[t], pad=((0, 0), (0, 0), *halos[t]))
    for t in last - fixed:
        if t.rank >= 3 and t.dtype in IMAGES:
            few = not policy.few_channels and t.extents[1] < CHANNEL_ALIGN and t.dtype not in (I8, I16, U8)
            align = 1 if few or t in rows else CHANNEL_ALIGN  # products take pairs, and four bytes
            pad = halos.get(t, ((0, 0),) * (t.rank - 2))
            layouts[t] = Layout.channels_last(t.extents, align=align, pad=_in_pairs(t, pad) if t in rows else pad)
    if policy.dots:
        layouts.update((t, _whole_pairs(layouts[t])) for t in _multiplied(groups) - fixed - last)
    layouts.update((t, _windows(t, policy, costs)) for t in layouts if t.buffer in program.windows)
    return layouts


def _rows(groups: tuple[Group, ...]) -> set[Tensor]:
    """The tensors that convolutions read by rows of their windows."""
    sums = [(g, x) for g in groups if g.reduce is not None for x in loads(g.reduce.value)]
    merged = {(g, x.buffer) for g, x in sums if merged_channels(x) is not None}
    return {t for g, _ in merged for t in g.reads if (g, t.buffer) in merged}


def _in_pairs(t: Tensor, pad: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """The halo with a column more where a row is no whole number of pairs."""
    *before, (low, high) = pad
    odd = t.extents[1] * (low + t.extents[-1] + high) % 2
    return (*before, (low, high + odd))


def _multiplied(groups: tuple[Group, ...]) -> set[Tensor]:
    """The matrices of int16 of which integer products with constants take rows: their schedule reads pairs."""
    found = set()
    for g in groups:
        if g.reduce is not None and g.reduce.op == "sum" and g.reduce.dtype == I32:
            known = {r.buffer for r in g.reads if r.is_constant}
            read = {x.buffer for x in loads(g.reduce.value)}
            found |= {t for t in g.reads if t.dtype == I16 and t.rank > 1 and t.buffer in read - known and read & known}
    return found


def _whole_pairs(layout: Layout) -> Layout:
    """The layout with rows of whole pairs; constants have zeros for what rounding adds."""
    return replace(layout, align=(*layout.align[:-1], 2)) if layout.is_row_major and layout.shape[-1] % 2 else layout


def _windows(t: Tensor, policy: LayoutPolicy, costs: CpuCosts) -> Layout:
    """The layout of Winograd's windows: many matrices, written at once."""
    if policy.windows is None:
        return pad_matrices(t.extents, t.dtype, costs)
    return replace(Layout.row_major(t.extents), order=policy.windows)


def row_major(program: TensorProgram, groups: tuple[Group, ...]) -> dict[Tensor, Layout]:
    """Every graph input and group output row-major, as in ONNX."""
    inputs = (t for _, t in program.inputs)
    return {t: Layout.row_major(t.extents) for t in (*inputs, *(g.output for g in groups))}


def _spread(groups: tuple[Group, ...], last: set[Tensor]) -> None:
    """Maps between channels-last tensors of one rank are channels-last too; runs until nothing changes."""
    changed = True
    while changed:
        changed = False
        for g in groups:
            if g.output in last or g.output.rank < 3 or g.output.dtype not in IMAGES or g.reduce is not None:
                continue
            if any(t in last and t.rank == g.output.rank for t in g.reads) and keeps_axes(g.body, g.axes):
                last.add(g.output)
                changed = True


def _halos(groups: tuple[Group, ...], costs: CpuCosts | None) -> Halos:
    """For each tensor, how far beyond its edges convolutions read it; with `costs`, also where that is far, or an edge
    is where a run says."""
    halos: dict[Tensor, list[list[int]]] = {}
    for g in groups:
        if g.reduce is None or g.reduce.op != "sum":
            continue
        by_buffer = {t.buffer: t for t in g.reads}
        for x in loads(g.reduce.value):
            t = by_buffer.get(x.buffer)
            shape = () if t is None else sizes_of(t.shape, t.extents) if costs else t.extents
            if t is None or x.guard is None or t.is_constant or not guard_is_bounds(x, shape):
                continue
            reach = [r for i, n in zip(x.indices[2:], shape[2:], strict=True) if (r := reach_of(i, n)) is not None]
            if len(reach) < t.rank - 2:
                continue
            products = g.output.buffer.size * count(g.reduce.axes)
            if max(map(max, reach)) > HALO_LIMIT and not (costs and _wide_halo_pays(t, reach, products, costs)):
                continue
            pads = halos.setdefault(t, [[0, 0] for _ in t.extents[2:]])
            for p, r in zip(pads, reach, strict=True):
                p[0], p[1] = max(p[0], r[0]), max(p[1], r[1])
    return {t: tuple((lo, hi) for lo, hi in pads) for t, pads in halos.items()}


def _wide_halo_pays(t: Tensor, reach: list[tuple[int, int]], products: int, costs: CpuCosts) -> bool:
    """Whether so many multiply-adds without guards are worth the zeros around `t`."""
    padded = prod(n + lo + hi for n, (lo, hi) in zip(t.extents[2:], reach, strict=True)) * prod(t.extents[:2])
    zeros = padded - t.buffer.size
    return zeros * costs.halo_zero <= products and zeros * t.dtype.bytes <= costs.largest_halo


def _equal_halos(halos: Halos, groups: tuple[Group, ...]) -> Halos:
    """One halo for all tensors of a shape that have any, and for those that are added to them: kernels that differ in
    nothing else become one, and the tensors may share memory. Costs only bytes: halos rely on zero-initialised
    memory."""
    widest: dict[tuple[int, ...], tuple[tuple[int, int], ...]] = {}
    for t, halo in halos.items():
        if any(map(any, halo)):
            other = widest.get(t.extents, halo)
            widest[t.extents] = tuple((max(a, c), max(b, d)) for (a, b), (c, d) in zip(other, halo, strict=True))
    reduced = {x.buffer for g in groups if g.reduce is not None for x in loads(g.reduce.value)}
    added = {t for g in groups for t in g.reads if t.buffer not in reduced}
    with_halo = {t for t, halo in halos.items() if any(map(any, halo))}
    return {t: widest[t.extents] for t in added | with_halo if t.extents in widest}


def sizes_of(shape: Iterable[Size], extents: tuple[int, ...]) -> tuple[Size, ...]:
    """The shape around which a tensor may have a halo: `shape`, but the capacity of a size that may be negative."""
    return tuple(
        n if isinstance(n, int) or (range_of(n) or (-1,))[0] >= 0 else e for n, e in zip(shape, extents, strict=True)
    )


def reach_of(index: Expr, size: Size) -> tuple[int, int] | None:
    """How far an index goes below 0 and above size - 1, and above the capacity of the size."""
    r = range_of(index)
    beyond = None if r is None or isinstance(size, int) else range_of(index - size)
    if r is None or (beyond is None and not isinstance(size, int)):
        return None
    high = r[1] - capacity(size)
    return max(0, -r[0]), max(0, 1 + (high if beyond is None else max(high, beyond[1])))


def guard_is_bounds(x: Load, shape: Sequence[Size] | None = None) -> bool:
    """Whether the guard is exactly the bounds check of the indices in an image of `shape`, the capacities where none is
    given, so that a halo of zeros is equivalent."""
    if x.guard is None or len(x.indices) < 3:
        return False
    edges = []
    extents = x.buffer.layout.shape if x.buffer.layout else x.buffer.shape
    for i, n in zip(x.indices, extents if shape is None else shape, strict=True):
        a = affine(i)
        edges += [a, affine(Binary("-", Binary("-", expr(n), Const(1)), i))]
    return all(any(form in edges for form in nonnegative(c)) for c in conjuncts(x.guard))
