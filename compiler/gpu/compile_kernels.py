"""Compiles the distinct kernels of a model for a device."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, MutableMapping
from dataclasses import dataclass

from ..choices import DEFAULT, Replay, key_of_choices
from ..codegen.device_backend import CompiledKernel, DeviceBackend
from ..cpu.compile_for_cpu import KernelChoices, default_choices
from ..errors import CannotExpress, ScheduleError
from ..ir.nodes import Kernel
from ..ir.printer import print_kernel
from ..pipeline.lowered import Lowered
from ..program.device_program import Placement
from .partition_host import HostPartition
from .place_textures import DeviceTensors
from .storage_types import StorageTypes


class DistinctKernels:
    """Compiled kernels, numbered in order of use. `compiled` keeps them between attempts at a program."""

    def __init__(
        self,
        backend: DeviceBackend,
        compiled: MutableMapping[Hashable, CompiledKernel],
        choices: KernelChoices = default_choices,
    ) -> None:
        self.backend, self._compiled, self._choices = backend, compiled, choices
        self._numbers: dict[Hashable, int] = {}
        self.kernels: list[CompiledKernel] = []

    def renumbered(self) -> DistinctKernels:
        """Kernels of another attempt at the program: none yet."""
        return DistinctKernels(self.backend, self._compiled, self._choices)

    def number(self, naive: Kernel, placements: tuple[Placement | None, ...]) -> int:
        """The number of the kernel. Raises CannotExpress from the backend. Where recorded choices are not legal, the
        kernel has its default schedule."""
        choices = self._choices(naive, placements)
        key = (print_kernel(naive, named=False), placements, key_of_choices(choices))
        if key not in self._numbers:
            if key not in self._compiled:
                try:
                    self._compiled[key] = self.backend.compile_kernel(naive, placements, choices)
                except (ScheduleError, CannotExpress) as error:
                    if not isinstance(choices, Replay):
                        raise
                    choices.refused(str(error))
                    self._compiled[key] = self.backend.compile_kernel(naive, placements, DEFAULT)
            self._numbers[key] = len(self.kernels)
            self.kernels.append(self._compiled[key])
        return self._numbers[key]


@dataclass(frozen=True, slots=True)
class CompiledGroups:
    """By number of the group: the number of its kernel, or the reason of the CannotExpress."""

    numbers: Mapping[int, int]
    refused: Mapping[int, str]


def compile_kernels(
    model: Lowered,
    naive: Mapping[int, Kernel],
    partition: HostPartition,
    tensors: DeviceTensors,
    types: StorageTypes,
    kernels: DistinctKernels,
) -> CompiledGroups:
    """Adds the kernels of the groups on the device, from their `naive` ones, to `kernels`."""
    numbers: dict[int, int] = {}
    refused: dict[int, str] = {}
    for i in partition.groups:
        params = (*model.groups[i].reads, model.groups[i].output)
        try:
            numbers[i] = kernels.number(types.apply(naive[i], params), tuple(tensors.placement(t) for t in params))
        except CannotExpress as reason:
            refused[i] = str(reason)
    return CompiledGroups(numbers, refused)
