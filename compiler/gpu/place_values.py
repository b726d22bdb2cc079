"""Device memory for the values of a run: the storage of each."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

from ..dtypes import DType
from ..pipeline.lowered import Lowered
from ..program.device_program import DeviceValue, Placement, Storage
from ..program.live_ranges import Access, owner_of
from ..program.plan_storages import Need, plan_storages
from ..tensor import Tensor
from ..tensor.place_tensors import Timeline, timeline
from .partition_host import HostPartition, Segment
from .place_textures import DeviceTensors
from .storage_types import StorageTypes

COPIED = 16
"""Bytes: copies and bindings of buffers are multiples of this."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """`values` by their number, in `storages`."""

    storages: tuple[Storage, ...]
    values: tuple[DeviceValue, ...]


def place_values(model: Lowered, partition: HostPartition, tensors: DeviceTensors, types: StorageTypes) -> DeviceMemory:
    """Storages shared by values whose live ranges do not overlap. An alias shares its owner's."""
    inputs, outputs = (
        [t for _, t in ports if t in tensors.numbers] for ports in (model.tensors.inputs, model.tensors.outputs)
    )
    states = [before for before, _ in model.tensors.state_tensors]
    outputs += states
    outputs += [owner for t in model.observed if (owner := owner_of(t, model.aliases)) in tensors.numbers]
    line: Timeline[int | Segment] = timeline(partition.steps, lambda s: _access(model, s))
    on_host = [t for a in line.accesses for t in (*a.reads, *a.writes) if t not in tensors.numbers]
    ranges = line.ranges(model.aliases, [*inputs, *on_host], outputs)
    needs: dict[Tensor, Need] = {}
    for t, owner in tensors.owners.items():
        size = storage_bytes(model.layouts[t].physical_shape, types.of(t), tensors.placements[owner])
        if owner in needs:
            size = max(size, needs[owner].size)
        kind = owner if owner in states else _kind(model, owner, tensors, types)
        needs[owner] = Need(size, ranges[owner].first, ranges[owner].last, kind)
    chosen, sizes = plan_storages(list(needs.values()))
    storage = dict(zip(needs, chosen, strict=True))
    storages = []
    for number, size in enumerate(sizes):
        t = next(t for t in needs if storage[t] == number)
        storages.append(Storage(size, types.of(t), tensors.placements[t], state=t in states))
    values = (
        DeviceValue(t.name, storage[owner], t.dtype, model.layouts[t].physical_shape, ranges[owner])
        for t, owner in tensors.owners.items()
    )
    return DeviceMemory(tuple(storages), tuple(values))


def storage_bytes(shape: tuple[int, ...], element: DType, place: Placement | None) -> int:
    """The bytes of a value of a physical shape in the texture `place`, or in a buffer."""
    return (
        max(COPIED, -(-prod(shape) * element.bytes // COPIED) * COPIED)
        if place is None
        else place.elements * element.bytes
    )


def _access(model: Lowered, step: int | Segment) -> Access[Tensor]:
    if isinstance(step, Segment):
        return Access(step.reads, step.writes)
    group = model.groups[step]
    return Access(tuple(t for t in group.reads if not t.is_constant), (group.output,))


def _kind(model: Lowered, owner: Tensor, tensors: DeviceTensors, types: StorageTypes) -> Hashable:
    """Values of equal kind may share a storage: halos rely on zero-initialised memory, so a layout with one is part of
    the kind."""
    layout = model.layouts[owner]
    halo = layout if any(lo or hi for lo, hi in layout.pad) else None
    return (halo, tensors.placements[owner], types.of(owner))
