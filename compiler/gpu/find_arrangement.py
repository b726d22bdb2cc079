"""A strided copy at upload, for a constant that ships in one layout and is read in another, or in an image.

A copy costs a page some milliseconds; a kernel for it would be compiled first, which takes software rasterisers 40.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from ..ir.layout import Layout
from ..program.device_program import CopyDimension, Subdimension


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a logical axis: `extent` positions, `weight` elements apart."""

    axis: int
    weight: int
    extent: int


def find_arrangement(
    source: Layout, target: Layout, order: Sequence[Subdimension] | None = None
) -> tuple[CopyDimension, ...] | None:
    """The dimensions, outermost first, of the strided copy from `source` into `order` of the physical shape of
    `target`, by default its linear order; None where no strided copy exists (groups that straddle blocks, halos,
    padded blocks)."""
    if any(lo or hi for layout in (source, target) for lo, hi in layout.pad):
        return None
    if any(b.room > b.size for layout in (source, target) for b in layout.blocks):
        return None
    parts = _parts(target) if order is None else _reordered(_parts(target), order)
    if parts is None:
        return None
    dimensions: list[CopyDimension] = []
    for p in parts:
        of_position = _dimensions(p, source)
        if of_position is None:
            return None
        dimensions += of_position
    exact = {a for a, n in enumerate(source.shape) if prod(p.extent for p in parts if p.axis == a) == n}
    return _merged([replace(d, axis=-1, weight=0) if d.axis in exact else d for d in dimensions])


def _parts(layout: Layout) -> list[_Part]:
    """The physical dimensions in terms of logical axes."""
    sizes = [(a, layout.block_size(a)) for a in layout.order]
    return [
        *(_Part(a, size, layout.extent(a) // size) for a, size in sizes),
        *(_Part(b.axis, 1, b.size) for b in layout.blocks),
    ]


def _reordered(parts: list[_Part], order: Sequence[Subdimension]) -> list[_Part] | None:
    """`parts`, one for each dimension, as `order` splits them. None where padding of a dimension that is split would
    are inside an axis."""
    covered = {dim: prod(o.extent for o in order if o.dim == dim) for dim in range(len(parts))}
    counts = Counter(o.dim for o in order)
    split = [dim for dim in covered if counts[dim] > 1]
    straddles = any(
        parts[dim].weight > 1 or any(q.axis == parts[dim].axis and q is not parts[dim] for q in parts) for dim in split
    )
    ragged = any(covered[dim] != parts[dim].extent for dim in split)
    if straddles and ragged:
        return None
    return [_Part(parts[o.dim].axis, parts[o.dim].weight * o.step, o.extent) for o in order]


def _dimensions(part: _Part, there: Layout) -> list[CopyDimension] | None:
    """A part with its strides in `there`: two dimensions where it spans several blocks."""
    strides: dict[tuple[int, int], int] = {}
    size = 1
    for p in reversed(_parts(there)):
        strides[p.axis, p.weight] = size
        size *= p.extent
    block = there.block_size(part.axis)
    stride, inner = strides[part.axis, block], strides[part.axis, 1]
    if part.weight % block == 0:
        return [CopyDimension(part.extent, part.weight // block * stride, part.axis, part.weight)]
    if block % part.weight == 0:
        inside = block // part.weight
        if part.extent <= inside and inside % part.extent == 0:
            return [CopyDimension(part.extent, part.weight * inner, part.axis, part.weight)]
        if part.extent % inside == 0:
            outer = CopyDimension(part.extent // inside, stride, part.axis, block)
            return [outer, CopyDimension(inside, part.weight * inner, part.axis, part.weight)]
    return None


def _merged(dimensions: Sequence[CopyDimension]) -> tuple[CopyDimension, ...]:
    """Contiguous neighbours become one dimension."""
    merged: list[CopyDimension] = []
    for d in dimensions:
        if d.extent == 1:
            continue
        last = merged[-1] if merged else None
        if last and (last.axis, last.stride, last.weight) == (d.axis, d.stride * d.extent, d.weight * d.extent):
            merged[-1] = replace(d, extent=last.extent * d.extent)
        else:
            merged.append(d)
    return tuple(merged)
