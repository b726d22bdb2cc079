"""Layout: the order of a tensor's elements in memory. Operators and tensors have logical shapes only.

    physical dimensions = logical axes in `order`, each with `pad` zeros before and after and its extent rounded up to a
    multiple of `align`; the axes of `blocks` are split, and their inner parts follow as the innermost dimensions.

Padding holds zeros, so a convolution can read beyond its input's edge. What rounding up and the room after a block
add holds no particular value, and no result depends on it; but the rest of the last block of a constant's axis is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import NamedTuple

import numpy as np

from ..dtypes import DType
from .nodes import Buffer, Expr

Array = np.ndarray


class Block(NamedTuple):
    """`size` neighbours of a logical axis that stand together, in memory for `room` of them."""

    axis: int
    size: int
    room: int


@dataclass(frozen=True, slots=True)
class Layout:
    """`pad`, `align` are per logical axis; `blocks` are of different axes, the last of them innermost."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    pad: tuple[tuple[int, int], ...]
    align: tuple[int, ...]
    blocks: tuple[Block, ...] = ()

    @staticmethod
    def row_major(shape: tuple[int, ...]) -> Layout:
        n = len(shape)
        return Layout(tuple(shape), tuple(range(n)), ((0, 0),) * n, (1,) * n)

    @staticmethod
    def channels_last(
        shape: tuple[int, ...], *, align: int = 1, pad: tuple[tuple[int, int], ...] | None = None
    ) -> Layout:
        """N, spatial axes, C; C rounded up to a multiple of `align`; `pad` is for the spatial axes."""
        n = len(shape)
        order = (0, *range(2, n), 1)
        spatial = pad if pad is not None else ((0, 0),) * (n - 2)
        return Layout(tuple(shape), order, ((0, 0), (0, 0), *spatial), (1, align) + (1,) * (n - 2))

    @property
    def is_row_major(self) -> bool:
        return self == Layout.row_major(self.shape)

    def extent(self, axis: int) -> int:
        """The extent of a logical axis in memory, before blocking."""
        lo, hi = self.pad[axis]
        n = lo + self.shape[axis] + hi
        step = lcm(self.align[axis], self.block_size(axis))
        return -(-n // step) * step

    def block_size(self, axis: int) -> int:
        """1 for an axis without a block."""
        return next((b.size for b in self.blocks if b.axis == axis), 1)

    @property
    def physical_shape(self) -> tuple[int, ...]:
        outer = (self.extent(axis) // self.block_size(axis) for axis in self.order)
        return (*outer, *(b.room for b in self.blocks))

    def index(self, logical: Sequence[Expr]) -> tuple[Expr, ...]:
        """The physical indices of a logical element."""
        shifted = [i if not lo else i + lo for i, (lo, _) in zip(logical, self.pad, strict=True)]
        sizes = {b.axis: b.size for b in self.blocks}
        outer = (shifted[axis] // sizes[axis] if axis in sizes else shifted[axis] for axis in self.order)
        return (*outer, *(shifted[b.axis] % b.size for b in self.blocks))

    def logical(self, physical: Sequence[Expr]) -> tuple[Expr, ...]:
        """The inverse of `index`."""
        rank = len(self.order)
        inner = {b.axis: (b.size, i) for b, i in zip(self.blocks, physical[rank:], strict=True)}
        result: dict[int, Expr] = {}
        for axis, i in zip(self.order, physical[:rank], strict=True):
            if axis in inner:
                size, rest = inner[axis]
                i = i * size + rest
            lo = self.pad[axis][0]
            result[axis] = i - lo if lo else i
        return tuple(result[a] for a in range(len(self.shape)))

    def buffer(
        self, name: str, dtype: DType, *, constant: bool = False, values: tuple[int, int] | None = None
    ) -> Buffer:
        """Memory for elements whose interval is `values`, where that is known."""
        return Buffer(name, self.physical_shape, dtype, constant=constant, layout=self, values=values)

    def pack(self, data: Array) -> Array:
        """`data`, of the logical shape, in the order of memory."""
        ends = [(lo, self.extent(a) - lo - n) for a, (n, (lo, _)) in enumerate(zip(self.shape, self.pad, strict=True))]
        if any(lo or hi for lo, hi in ends):
            data = np.pad(data, ends)
        if not self.blocks:
            return np.asarray(data.transpose(self.order), order="C")
        rank = len(self.order)
        sizes = [self.block_size(a) for a in range(rank)]
        split = data.reshape(
            [n for extent, size in zip(data.shape, sizes, strict=True) for n in (extent // size, size)]
        )
        order = [2 * a for a in self.order] + [2 * b.axis + 1 for b in self.blocks]
        parts = split.transpose(*order, *({2 * a + 1 for a in range(rank)} - set(order)))
        room = [(0, b.room - b.size) for b in self.blocks]
        return np.ascontiguousarray(np.pad(parts.reshape(parts.shape[: len(order)]), [(0, 0)] * rank + room))

    def unpack(self, data: Array) -> Array:
        """The inverse of `pack`: the logical elements of `data`, which is of the physical shape."""
        rank = len(self.order)
        data = data[tuple(slice(n) for n in (*data.shape[:rank], *(b.size for b in self.blocks)))]
        inner = {b.axis: rank + i for i, b in enumerate(self.blocks)}
        place = {axis: d for d, axis in enumerate(self.order)}
        parts = data.transpose([d for a in range(rank) for d in (place[a], *([inner[a]] if a in inner else ()))])
        logical = parts.reshape([self.extent(a) for a in range(rank)])
        inside = tuple(slice(lo, lo + n) for n, (lo, _) in zip(self.shape, self.pad, strict=True))
        return np.asarray(logical[inside], order="C")
