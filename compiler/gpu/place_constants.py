"""Constants on a device: uploaded, with a strided copy, repacked or computed, in the layout that a kernel reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from ..codegen.device_backend import CompiledKernel, DeviceBackend
from ..ir.layout import Layout
from ..ir.nodes import Buffer, Cast
from ..passes.narrow_types import narrow_types
from ..pipeline.lowered import Lowered, kernel_name
from ..program.device_program import Constant, CopyDimension, DeviceValue, Launch, Placement, Storage
from ..tensor import Tensor
from ..tensor.build_kernel import build_kernel
from ..tensor.fuse import Group
from ..tensor.repack_kernel import repack_kernel
from .compile_kernels import DistinctKernels
from .find_arrangement import find_arrangement
from .narrow_model import constant_range
from .place_values import DeviceMemory, storage_bytes
from .storage_types import StorageTypes

ConstantUse = tuple[Tensor, Layout, Placement | None]
"""A constant with the layout and texture in which a kernel reads it."""


@dataclass(frozen=True, slots=True)
class PlacedConstants:
    """`numbers` of values, which are added to `memory`; `uploads`, then launches to `prepare`, fill them at load."""

    numbers: Mapping[ConstantUse, int]
    memory: DeviceMemory
    uploads: tuple[Constant, ...]
    prepare: tuple[Launch, ...]


def place_constants(
    model: Lowered,
    launches: Mapping[int, CompiledKernel],
    backend: DeviceBackend,
    types: StorageTypes,
    kernels: DistinctKernels,
    memory: DeviceMemory,
) -> PlacedConstants:
    """The constants that the `launches` read: compiled kernels by number of their group.

    Constants are added to the bundle's weights unless they are there, kernels that prepare them to `kernels`. Storages
    that only these read are marked `prepare_only`.
    """
    constants = _Constants(model, backend, types, kernels, memory)
    read = set[int]()
    for group, kernel in launches.items():
        g = model.groups[group]
        read.update(constants.number(*w) for w in constant_uses((*g.reads, g.output), kernel))
    uploaded = {constants.values[c.value].storage for c in constants.uploads}
    kept = {constants.values[v].storage for v in read}
    storages = (replace(s, prepare_only=True) if i in uploaded - kept else s for i, s in enumerate(constants.storages))
    extended = DeviceMemory(tuple(storages), tuple(constants.values))
    return PlacedConstants(constants.numbers, extended, tuple(constants.uploads), tuple(constants.prepare))


def constant_uses(tensors: tuple[Tensor, ...], kernel: CompiledKernel) -> list[ConstantUse]:
    """The constants among a kernel's arguments, in the layouts and places of its parameters."""
    params = zip(tensors, kernel.params, kernel.placements, strict=True)
    return [constant_use(t, b, place) for t, b, place in params if t.is_constant]


def constant_use(t: Tensor, b: Buffer, place: Placement | None) -> ConstantUse:
    """A constant as the parameter `b`, placed at `place`."""
    assert b.layout is not None
    return t, b.layout, place


def _narrow(group: Group, source: Tensor) -> Group:
    """The group of `source`, of which that of the wider constant computes each element."""
    match group.body:
        case Cast(_, a) if a.dtype == source.dtype:
            return replace(group, output=source, body=a)
    return replace(group, output=source, body=Cast(source.dtype, group.body))


class _Constants:
    """Adds constants on first use; each (constant, layout, placement) once."""

    def __init__(
        self,
        model: Lowered,
        backend: DeviceBackend,
        types: StorageTypes,
        kernels: DistinctKernels,
        memory: DeviceMemory,
    ) -> None:
        self._prepared = dict(model.prepared)
        self._backend, self._types, self._kernels = backend, types, kernels
        self._shipped: dict[tuple[Tensor, Layout], int] = {}
        self._same: dict[tuple[object, ...], int] = {}
        self.numbers: dict[ConstantUse, int] = {}
        self.storages: list[Storage] = list(memory.storages)
        self.values: list[DeviceValue] = list(memory.values)
        self.uploads: list[Constant] = []
        self.prepare: list[Launch] = []

    def number(self, t: Tensor, layout: Layout, place: Placement | None) -> int:
        """The value that holds constant `t` in `layout` at `place` after loading."""
        key = (t, layout, place)
        if key not in self.numbers:
            source = self._types.source(t)
            if source is not t:
                if source.prepared and source not in self._prepared:
                    self._prepared[source] = _narrow(self._prepared[t], source)
                self.numbers[key] = self.number(source, layout, place)
            else:
                self.numbers[key] = self._computed_value(*key) if t.prepared else self._shipped_value(*key)
        return self.numbers[key]

    def _shipped_value(self, t: Tensor, layout: Layout, place: Placement | None) -> int:
        there, offset = self._types.weights.find(t, layout)
        key = offset, there, layout, place, self._types.of(t)
        if key not in self._same:  # the same bytes may be of several tensors
            self._same[key] = self._uploaded_value(t, there, offset, layout, place)
        return self._same[key]

    def _uploaded_value(self, t: Tensor, there: Layout, offset: int, layout: Layout, place: Placement | None) -> int:
        order = self._backend.memory_order(layout.physical_shape, place)
        if there == layout and order is None:
            return self._upload(t, there, offset)
        dimensions = find_arrangement(there, layout, order)
        if dimensions is None:
            return self._repacked_value(t, there, offset, layout, place)
        value = self._new_value(t, layout, place)
        self._add_upload(value, t, there, offset, dimensions)
        return value

    def _repacked_value(self, t: Tensor, there: Layout, offset: int, layout: Layout, place: Placement | None) -> int:
        """All layouts of a constant are repacked from one upload."""
        if (t, there) not in self._shipped:
            self._shipped[t, there] = self._upload(t, there, offset)
        source = self._shipped[t, there]
        plain = repack_kernel(t, there, layout)
        narrowed = narrow_types(plain, {} if t.dtype.is_float else {plain.params[0]: constant_range(t)}).kernel
        naive = self._types.apply(narrowed, (t, t))
        value = self._new_value(t, layout, place)
        at = self._kernels.number(naive, (self.storages[self.values[source].storage].placement, place))
        self.prepare.append(Launch(at, naive.name, (source, value)))
        return value

    def _computed_value(self, t: Tensor, layout: Layout, place: Placement | None) -> int:
        """A tensor computed at load from constants alone."""
        group = self._prepared[t]
        value = self._new_value(t, layout, place)
        tensors = (*group.reads, t)
        plain = build_kernel(kernel_name(group), group, {t: layout}, fill_halo=False)
        read = zip(group.reads, plain.params, strict=False)
        ranges = {b: constant_range(r) for r, b in read if not r.dtype.is_float}
        naive = self._types.apply(narrow_types(plain, ranges).kernel, tensors)
        at = self._kernels.number(naive, (*(None for _ in group.reads), place))
        *reads, _ = constant_uses(tensors, self._kernels.kernels[at])
        arguments = (*(self.number(*w) for w in reads), value)
        self.prepare.append(Launch(at, naive.name, arguments, group.origin.nodes, group.origin.ops))
        return value

    def _upload(self, t: Tensor, layout: Layout, offset: int) -> int:
        """A value in the layout of the weights."""
        value = self._new_value(t, layout, self._backend.place_linear(prod(layout.physical_shape)))
        self._add_upload(value, t, layout, offset)
        return value

    def _add_upload(
        self, value: int, t: Tensor, there: Layout, offset: int, dimensions: tuple[CopyDimension, ...] | None = None
    ) -> None:
        shipped = self._types.weights.dtype(t)
        size = prod(there.physical_shape) * shipped.bytes
        limits = t.extents if dimensions is not None else ()
        self.uploads.append(Constant(value, offset, size, shipped, dimensions, limits))

    def _new_value(self, t: Tensor, layout: Layout, place: Placement | None) -> int:
        shape, element = layout.physical_shape, self._types.of(t)
        self.storages.append(Storage(storage_bytes(shape, element, place), element, place))
        self.values.append(DeviceValue(t.name, len(self.storages) - 1, t.dtype, shape))
        return len(self.values) - 1
