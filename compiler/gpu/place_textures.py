"""The tensors that a device holds: their numbers, the owners of their memory, and their textures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ..codegen.device_backend import DeviceBackend
from ..ir.nodes import Kernel
from ..pipeline.lowered import Lowered
from ..program.device_program import Placement
from ..program.live_ranges import owner_of
from ..tensor import Tensor
from .partition_host import HostPartition


@dataclass(frozen=True, slots=True)
class DeviceTensors:
    """`numbers` are those of the program's values: inputs, results of groups, aliases. Each tensor shares the
    memory of its owner, itself unless it is an alias; `placements` are by owner."""

    numbers: Mapping[Tensor, int]
    owners: Mapping[Tensor, Tensor]
    placements: Mapping[Tensor, Placement | None]

    def placement(self, t: Tensor) -> Placement | None:
        """None for a buffer, and for a constant: its placement depends on the kernel that reads it."""
        return None if t.is_constant else self.placements[self.owners[t]]


def place_textures(
    model: Lowered, kernels: Mapping[int, Kernel], partition: HostPartition, backend: DeviceBackend
) -> DeviceTensors:
    """Numbers the tensors on the device and has the backend place them; `kernels` are by number of their group."""
    numbers: dict[Tensor, int] = {}
    tensors = (*(t for _, t in model.tensors.inputs), *(g.output for g in model.groups), *model.aliases)
    for t in dict.fromkeys((*tensors, *(owner_of(t, model.aliases) for t in tensors))):
        if owner_of(t, model.aliases) in partition.on_device:
            numbers[t] = len(numbers)
    owners = {t: owner_of(t, model.aliases) for t in numbers}
    groups = [model.groups[i] for i in partition.groups]
    arguments = [[-1 if t.is_constant else numbers[owners[t]] for t in (*g.reads, g.output)] for g in groups]
    ports = {owner_of(t, model.aliases) for _, t in (*model.tensors.inputs, *model.tensors.outputs)}
    crossing = {t for s in partition.segments for t in (*s.reads, *s.writes)}
    crossing |= {owner_of(t, model.aliases) for t in model.observed}  # read back
    fixed = {numbers[t] for t in ports | crossing if t in numbers}
    chosen = backend.place([kernels[i] for i in partition.groups], arguments, fixed)
    # The backend places the arguments of kernels only, not unused inputs.
    placements = {t: chosen[n] if n in chosen else backend.place_linear(prod(t.extents)) for t, n in numbers.items()}
    return DeviceTensors(numbers, owners, placements)
