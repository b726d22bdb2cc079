"""The order in which a device's storages hold the elements of a kernel's arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ..codegen.device_backend import CompiledKernel, DeviceBackend
from ..dtypes import DType
from ..execution.arrange import arrange
from ..gpu.find_arrangement import find_arrangement
from ..ir.layout import Layout
from ..ir.nodes import Kernel
from ..program.device_program import CopyDimension, DeviceValue, Padding

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Place:
    """Elements of an array of `shape`, in the order of `dimensions`, as of a constant at upload; those at or beyond
    `limits` are padding. The naive kernel has the array in the layout `packed`. `dtype` is the model's."""

    dtype: DType
    shape: tuple[int, ...]
    packed: Layout
    dimensions: tuple[CopyDimension, ...]
    limits: tuple[int, ...]

    @property
    def is_padded(self) -> bool:
        return any(d.axis >= 0 for d in self.dimensions)

    def padding(self, argument: int) -> Padding:
        """Padding of the argument's storage, in few dimensions, and by the axes that have any: no strides matter."""
        merged: list[CopyDimension] = []
        axes = list(dict.fromkeys(d.axis for d in self.dimensions if d.axis >= 0))
        for d in self.dimensions:
            if merged and d.axis == merged[-1].axis == -1:
                merged[-1] = replace(merged[-1], extent=merged[-1].extent * d.extent)
            else:
                merged.append(replace(d, stride=0, axis=axes.index(d.axis) if d.axis >= 0 else -1))
        return Padding(argument, tuple(merged), tuple(self.limits[axis] for axis in axes))

    @property
    def count(self) -> int:
        """Elements of the storage that count, padding included."""
        return prod(d.extent for d in self.dimensions)

    def array(self, elements: Array) -> Array:
        """The array, as the naive kernel has it, of which a storage holds `elements`."""
        if self.is_linear:
            return self.packed.pack(elements.reshape(self.shape))
        size = prod(self.shape)
        number = arrange(np.arange(1, size + 1), self.dimensions, self.limits)
        inside = number > 0
        array = np.zeros(size, elements.dtype)
        array[number[inside] - 1] = elements[inside]
        return self.packed.pack(array.reshape(self.shape))

    def elements(self, result: Array) -> Array:
        """Elements that a storage holds of a result of the naive kernel; padding is zero."""
        corner = result.reshape(self.packed.physical_shape)[tuple(map(slice, self.shape))].reshape(-1)
        return corner if self.is_linear else arrange(corner, self.dimensions, self.limits)

    @property
    def is_linear(self) -> bool:
        return not self.is_padded and all(d.stride == 1 for d in self.dimensions) and len(self.dimensions) < 2


def place_operand(
    backend: DeviceBackend, naive: Kernel, compiled: CompiledKernel, number: int, value: DeviceValue
) -> Place | None:
    """The place of a parameter that is read, for which a launch passes `value`; None where the order is no strided
    one."""
    b, layout = naive.params[number], compiled.params[number].layout
    if not b.constant or layout is None:
        return _place(backend, compiled, number, value, b.shape, Layout.row_major(b.shape))
    packed = b.layout or Layout.row_major(b.shape)
    return _place(backend, compiled, number, value, packed.shape, packed, layout)


def place_result(
    backend: DeviceBackend, naive: Kernel, compiled: CompiledKernel, corner: tuple[int, ...], value: DeviceValue
) -> Place | None:
    """The place of the result, of which the kernel writes the elements before `corner`, likewise."""
    packed = Layout.row_major(naive.params[-1].shape)
    return _place(backend, compiled, len(naive.params) - 1, value, corner, packed)


def _place(
    backend: DeviceBackend,
    compiled: CompiledKernel,
    number: int,
    value: DeviceValue,
    shape: tuple[int, ...],
    packed: Layout,
    layout: Layout | None = None,
) -> Place | None:
    """The place of an array in `layout`, by default in the corner of the parameter's shape."""
    param, placement = compiled.params[number], compiled.placements[number]
    if layout is None:
        layout = Layout(shape, packed.order, packed.pad, packed.shape)
    if prod(value.shape) != param.size or layout.physical_shape != param.shape:
        return None
    order = None
    if placement is not None:
        folded = _folded(layout) if placement.bands > 1 else layout
        if folded is None:
            return None
        layout = folded
        order = backend.memory_order(layout.physical_shape, placement)
    dimensions = find_arrangement(Layout.row_major(layout.shape), layout, order)
    return None if dimensions is None else Place(value.dtype, shape, packed, dimensions, layout.shape)


def _folded(layout: Layout) -> Layout | None:
    """The layout of an image with all of its rows in one dimension; None where some are not written."""
    outer = layout.physical_shape[:-2]
    if sum(n > 1 for n in outer) < 2:
        return layout
    if layout.shape[:-2] != outer:
        return None
    shape = prod(outer), *layout.shape[-2:]
    return Layout(shape, (0, 1, 2), ((0, 0),) * 3, (prod(outer), *layout.physical_shape[-2:]))
