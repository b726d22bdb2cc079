"""Layout: how the elements of a tensor lie in memory. Operators and tensors know logical shapes only.

    physical dimensions = logical axes in `order`, each with `pad` zeros before and after and its extent rounded up to a
    multiple of `align`; an axis with `block` is split, its inner part becoming the innermost dimension.

Padding holds zeros, so a convolution can read beyond its input's edge. What rounding up adds holds no particular
value, and nobody's result depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np

from ..dtypes import DType
from .nodes import Buffer, Expr

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Stages:
    """Reductions of more than `most` elements are made in stages where there are fewer results than `busy`, which keep
    the device so."""

    most: int
    busy: int


@dataclass(frozen=True, slots=True)
class LayoutPolicy:
    """What a target wants of its tensors' layouts.

    `windows`: the order in which the dimensions of Winograd's windows lie (row and column inside a window, window,
    channel), all windows being one line; None where they are an image, taken in bands that stay in a cache. `borders`:
    zeros around what convolutions read; `few_channels`: even fewer than four channels are rounded up to four;
    `fill_borders`: a kernel writes the border of its result each time (elsewhere it is zero from the start and stays
    so); `linear`: memory is one line of elements, so that a tensor may lie in another's memory in another shape;
    `reads`: how many tensors a kernel may read; `stages`: which reductions are made in stages (None for none), and
    `shared` which of those that several invocations share, all but products; `busy`: how many tiles of a product keep
    the device busy, else it is made in parts.
    """

    windows: tuple[int, ...] | None = None
    borders: bool = True
    few_channels: bool = False
    fill_borders: bool = True
    linear: bool = True
    reads: int | None = None
    stages: Stages | None = None
    shared: Stages | None = None
    busy: int | None = None


CPU_LAYOUTS = LayoutPolicy()


@dataclass(frozen=True, slots=True)
class Layout:
    """`pad`, `align` are per logical axis; `block` = (axis, factor) or None."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    pad: tuple[tuple[int, int], ...]
    align: tuple[int, ...]
    block: tuple[int, int] | None = None

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
        step = self.align[axis]
        if self.block is not None and self.block[0] == axis:
            step = lcm(step, self.block[1])
        return -(-n // step) * step

    @property
    def physical_shape(self) -> tuple[int, ...]:
        dims = []
        for axis in self.order:
            if self.block is not None and self.block[0] == axis:
                dims.append(self.extent(axis) // self.block[1])
            else:
                dims.append(self.extent(axis))
        if self.block is not None:
            dims.append(self.block[1])
        return tuple(dims)

    def index(self, logical: Sequence[Expr]) -> tuple[Expr, ...]:
        """The physical indices of a logical element."""
        shifted = [i if not lo else i + lo for i, (lo, _) in zip(logical, self.pad, strict=True)]
        dims = []
        for axis in self.order:
            if self.block is not None and self.block[0] == axis:
                dims.append(shifted[axis] // self.block[1])
            else:
                dims.append(shifted[axis])
        if self.block is not None:
            dims.append(shifted[self.block[0]] % self.block[1])
        return tuple(dims)

    def logical(self, physical: Sequence[Expr]) -> tuple[Expr, ...]:
        """The inverse of `index`."""
        dims: list[Expr] = list(physical)
        inner = dims.pop() if self.block is not None else None
        result: dict[int, Expr] = {}
        for axis, i in zip(self.order, dims, strict=True):
            if inner is not None and self.block is not None and self.block[0] == axis:
                i = i * self.block[1] + inner
            lo = self.pad[axis][0]
            result[axis] = i - lo if lo else i
        return tuple(result[a] for a in range(len(self.shape)))

    def buffer(self, name: str, dtype: DType, *, constant: bool = False) -> Buffer:
        return Buffer(name, self.physical_shape, dtype, constant=constant, layout=self)

    def pack(self, data: Array) -> Array:
        """`data`, of the logical shape, as it lies in memory."""
        ends = [(lo, self.extent(a) - lo - n) for a, (n, (lo, _)) in enumerate(zip(self.shape, self.pad, strict=True))]
        if any(lo or hi for lo, hi in ends):
            data = np.pad(data, ends)
        if self.block is None:
            return np.asarray(data.transpose(self.order), order="C")
        axis, factor = self.block
        split = data.reshape(*data.shape[:axis], -1, factor, *data.shape[axis + 1 :])
        outer = [a if a <= axis else a + 1 for a in self.order]
        return np.ascontiguousarray(split.transpose(*outer, axis + 1))

    def unpack(self, data: Array) -> Array:
        """The inverse of `pack`: the logical elements of `data`, which is of the physical shape."""
        if self.block is not None:
            place = self.order.index(self.block[0])
            data = np.moveaxis(data, -1, place + 1)
            data = data.reshape(*data.shape[:place], -1, *data.shape[place + 2 :])
        logical = data.transpose(np.argsort(self.order))
        inside = tuple(slice(lo, lo + n) for n, (lo, _) in zip(self.shape, self.pad, strict=True))
        return np.asarray(logical[inside], order="C")
