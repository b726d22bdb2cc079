"""The interface that each GPU language implements: where values are stored, and kernels as source text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from ..choices import DEFAULT, Choices
from ..costs import GpuCosts
from ..ir.nodes import Buffer, Kernel
from ..program.device_program import DeviceKernel, Placement, Subdimension
from ..target import LayoutPolicy

Placements = Mapping[int, Placement | None]
"""By value: its texture, None for a buffer."""


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A naive kernel compiled by a GPU backend: `params` are its buffers, of which constants may have another layout,
    and `placements` the texture of each (None for a buffer)."""

    kernel: DeviceKernel
    params: tuple[Buffer, ...]
    placements: tuple[Placement | None, ...]


class DeviceBackend(Protocol):
    """A shader language with its schedules. Backends depend on kernels only, not on models."""

    @property
    def name(self) -> str:
        """The name of its target."""
        ...

    @property
    def layouts(self) -> LayoutPolicy: ...

    @property
    def costs(self) -> GpuCosts: ...

    @property
    def stores_whole(self) -> bool:
        """Whether whole numbers that float16 holds are stored so: as operands of hardware for matrices."""
        ...

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether a result of this physical shape can be written, and its neighbouring elements read as vectors."""
        ...

    def place(self, kernels: Sequence[Kernel], arguments: Sequence[Sequence[int]], fixed: Set[int]) -> Placements:
        """The texture of each value, by its number: `arguments[i]` are the values of `kernels[i]`'s parameters, -1 for
        a constant. Values in `fixed` are linear: they are uploaded or read back."""
        ...

    def place_linear(self, elements: int) -> Placement | None:
        """The texture of so many elements in linear order, None for a buffer."""
        ...

    def memory_order(self, shape: tuple[int, ...], place: Placement | None) -> tuple[Subdimension, ...] | None:
        """The order of the elements of a physical shape at `place`, outermost first; None where it is linear. The
        extents of a dimension may exceed it: the rest is padding."""
        ...

    def compile_kernel(
        self, naive: Kernel, placements: Sequence[Placement | None], choices: Choices = DEFAULT
    ) -> CompiledKernel:
        """`placements` are of the parameters; None for a constant: the backend chooses. `choices` are those of the
        schedule.

        Raises CannotExpress with the reason where the language cannot express the kernel.
        """
        ...

    def compile_simply(self, naive: Kernel, compiled: CompiledKernel) -> CompiledKernel:
        """The kernel `naive` by the simplest schedule, in float32, with the parameters, layouts and placements of
        `compiled`, as which it was compiled before.

        Raises CannotExpress with the reason where the language cannot express that.
        """
        ...
