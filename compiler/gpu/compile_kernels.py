"""Compiles the distinct kernels of a model for a device."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from ..choices import DEFAULT, Choices, key_of_choices
from ..codegen.device_backend import CompiledKernel, DeviceBackend
from ..errors import CannotExpress
from ..ir.nodes import Kernel
from ..ir.printer import print_kernel
from ..passes.compute_in_halves import compute_in_floats
from ..pipeline.plan_kernels import KernelPlan, Placements
from ..program.device_program import Alternative, DeviceKernel


class KernelCompiler:
    """Has the backend compile each distinct kernel once: equal ones are the same object."""

    def __init__(self, backend: DeviceBackend) -> None:
        self.backend = backend
        self._compiled: dict[Hashable, CompiledKernel] = {}
        self._sources: dict[int, tuple[Kernel, CompiledKernel, Choices]] = {}

    def compile(self, naive: Kernel, placements: Placements, choices: Choices = DEFAULT) -> CompiledKernel:
        """Raises CannotExpress from the backend, and ScheduleError where `choices` are not legal."""
        key = (print_kernel(naive, named=False), placements, key_of_choices(choices))
        if key not in self._compiled:
            self._compiled[key] = self.backend.compile_kernel(naive, placements, choices)
            self._sources[id(self._compiled[key].kernel)] = naive, self._compiled[key], choices
        return self._compiled[key]

    def source_of(self, kernel: DeviceKernel) -> tuple[Kernel, CompiledKernel]:
        """The naive kernel of one that it has compiled."""
        naive, compiled, _ = self._sources[id(kernel)]
        return naive, compiled

    def alternatives(self, kernel: DeviceKernel) -> tuple[Alternative, ...]:
        """Alternatives of a kernel that it has compiled, the fastest first: its schedule in float32, where
        it computes in float16, and the simplest schedule, where that is another one and the language can express
        it."""
        naive, compiled, choices = self._sources[id(kernel)]
        in_floats, found = compute_in_floats(naive), list[Alternative]()
        if in_floats is not naive:
            again = self.backend.compile_kernel(in_floats, compiled.placements, choices)
            found.append(Alternative("without-f16", again.kernel))
        try:
            simple = self.backend.compile_simply(naive, compiled)
        except CannotExpress:
            return tuple(found)
        if simple.kernel.source not in (kernel.source, *(a.kernel.source for a in found)):
            found.append(Alternative("other-schedule", simple.kernel))
        return tuple(found)


class DistinctKernels:
    """Compiled kernels, numbered in order of use: first those of `before`."""

    def __init__(self, compiler: KernelCompiler, before: tuple[CompiledKernel, ...] = ()) -> None:
        self._compiler = compiler
        self.kernels = list(before)
        self._numbers = {id(k): i for i, k in enumerate(self.kernels)}

    def number(self, naive: Kernel, placements: Placements, choices: Choices = DEFAULT) -> int:
        """The number of the kernel. Raises CannotExpress from the backend."""
        compiled = self._compiler.compile(naive, placements, choices)
        if id(compiled) not in self._numbers:
            self._numbers[id(compiled)] = len(self.kernels)
            self.kernels.append(compiled)
        return self._numbers[id(compiled)]


@dataclass(frozen=True, slots=True)
class CompiledGroups:
    """By number of the group: the number of its kernel among `kernels`, or the reason of the CannotExpress."""

    kernels: tuple[CompiledKernel, ...]
    numbers: Mapping[int, int]
    refused: Mapping[int, str]


def compile_kernels(plan: KernelPlan, compiler: KernelCompiler) -> CompiledGroups:
    """The kernels of the groups on the device."""
    distinct = DistinctKernels(compiler)
    numbers: dict[int, int] = {}
    refused: dict[int, str] = {}
    for i, k in plan.items():
        try:
            numbers[i] = distinct.number(k.naive, k.placements, k.choices)
        except CannotExpress as reason:
            refused[i] = str(reason)
    return CompiledGroups(tuple(distinct.kernels), numbers, refused)
