"""A GPU's backend that is another one but for what a subclass overrides."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from ..choices import DEFAULT, Choices
from ..codegen.device_backend import CompiledKernel, DeviceBackend, Placements
from ..costs import GpuCosts
from ..ir.nodes import Kernel
from ..program.device_program import Placement, Subdimension
from ..target import LayoutPolicy


@dataclass(frozen=True, slots=True)
class WrappedBackend:
    """`backend`, which does all the work."""

    backend: DeviceBackend

    @property
    def name(self) -> str:
        return self.backend.name

    @property
    def layouts(self) -> LayoutPolicy:
        return self.backend.layouts

    @property
    def costs(self) -> GpuCosts:
        return self.backend.costs

    @property
    def stores_whole(self) -> bool:
        return self.backend.stores_whole

    def fits(self, shape: tuple[int, ...]) -> bool:
        return self.backend.fits(shape)

    def place(self, kernels: Sequence[Kernel], arguments: Sequence[Sequence[int]], fixed: Set[int]) -> Placements:
        return self.backend.place(kernels, arguments, fixed)

    def place_linear(self, elements: int) -> Placement | None:
        return self.backend.place_linear(elements)

    def memory_order(self, shape: tuple[int, ...], place: Placement | None) -> tuple[Subdimension, ...] | None:
        return self.backend.memory_order(shape, place)

    def compile_kernel(
        self, naive: Kernel, placements: Sequence[Placement | None], choices: Choices = DEFAULT
    ) -> CompiledKernel:
        return self.backend.compile_kernel(naive, placements, choices)

    def compile_simply(self, naive: Kernel, compiled: CompiledKernel) -> CompiledKernel:
        return self.backend.compile_simply(naive, compiled)
