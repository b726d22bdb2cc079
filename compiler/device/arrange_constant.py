"""A constant that is shipped in one layout and wanted in another, or in an image: a copy by strides at upload.

A copy costs a page some milliseconds; a kernel for it would be compiled first, which takes software rasterisers 40.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ..ir.layout import Layout
from ..program.device_program import Digit, Subdimension

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a logical axis: it counts `extent` steps of `weight` elements."""

    axis: int
    weight: int
    extent: int


def find_arrangement(
    there: Layout, wanted: Layout, order: Sequence[Subdimension] | None = None
) -> tuple[Digit, ...] | None:
    """The digits, outermost first, by which elements in `there` are put in `order` of the physical shape of `wanted`,
    by default its linear order; None where no strides say that (groups that straddle blocks, borders, blocks with room
    after them)."""
    if any(lo or hi for layout in (there, wanted) for lo, hi in layout.pad):
        return None
    if any(b.room > b.size for layout in (there, wanted) for b in layout.blocks):
        return None
    parts = _parts(wanted) if order is None else _reordered(_parts(wanted), order)
    if parts is None:
        return None
    digits: list[Digit] = []
    for p in parts:
        found = _digits(p, there)
        if found is None:
            return None
        digits += found
    exact = {a for a, n in enumerate(there.shape) if prod(p.extent for p in parts if p.axis == a) == n}
    return _merged([replace(d, axis=-1, weight=0) if d.axis in exact else d for d in digits])


def _parts(layout: Layout) -> list[_Part]:
    """The dimensions of memory in terms of logical axes."""
    sizes = [(a, layout.block_size(a)) for a in layout.order]
    return [
        *(_Part(a, size, layout.extent(a) // size) for a, size in sizes),
        *(_Part(b.axis, 1, b.size) for b in layout.blocks),
    ]


def _reordered(parts: list[_Part], order: Sequence[Subdimension]) -> list[_Part] | None:
    """`parts`, one for each dimension, as `order` splits them. None where padding of a dimension that is split would
    lie inside an axis."""
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


def _digits(part: _Part, there: Layout) -> list[Digit] | None:
    """A part by strides in `there`: two digits where it crosses the border of a block."""
    strides: dict[tuple[int, int], int] = {}
    size = 1
    for p in reversed(_parts(there)):
        strides[p.axis, p.weight] = size
        size *= p.extent
    block = there.block_size(part.axis)
    stride, inner = strides[part.axis, block], strides[part.axis, 1]
    if part.weight % block == 0:
        return [Digit(part.extent, part.weight // block * stride, part.axis, part.weight)]
    if block % part.weight == 0:
        inside = block // part.weight
        if part.extent <= inside and inside % part.extent == 0:
            return [Digit(part.extent, part.weight * inner, part.axis, part.weight)]
        if part.extent % inside == 0:
            outer = Digit(part.extent // inside, stride, part.axis, block)
            return [outer, Digit(inside, part.weight * inner, part.axis, part.weight)]
    return None


def _merged(digits: Sequence[Digit]) -> tuple[Digit, ...]:
    """Neighbours that count on are one digit."""
    made: list[Digit] = []
    for d in digits:
        if d.extent == 1:
            continue
        last = made[-1] if made else None
        if last and (last.axis, last.stride, last.weight) == (d.axis, d.stride * d.extent, d.weight * d.extent):
            made[-1] = replace(d, extent=last.extent * d.extent)
        else:
            made.append(d)
    return tuple(made)


def arrange(source: Array, digits: Sequence[Digit], limits: Sequence[int]) -> Array:
    """The elements of `source`, flat, as `digits` say; zero where the position on an axis reaches its limit."""
    shape = tuple(d.extent for d in digits)
    offset = np.zeros(shape, np.int64)
    places: dict[int, Array] = {}
    for k, d in enumerate(digits):
        steps = np.arange(d.extent, dtype=np.int64).reshape((-1,) + (1,) * (len(digits) - 1 - k))
        offset += steps * d.stride
        if d.axis >= 0:
            places[d.axis] = places.get(d.axis, 0) + steps * d.weight
    inside = np.ones(shape, bool)
    for axis, place in places.items():
        inside &= place < limits[axis]
    return np.where(inside, source[np.where(inside, offset, 0)], source.dtype.type(0)).reshape(-1)
