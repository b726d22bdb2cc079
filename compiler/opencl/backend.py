"""The OpenCL backend: from a naive kernel to OpenCL C."""

from __future__ import annotations

from dataclasses import dataclass

from ..costs import WEBGPU_COSTS, GpuCosts
from ..ir.nodes import Kernel
from ..simt.backend import ComputeBackend, layouts_of, stages_of
from ..system.run_passes import Observer
from ..target import GpuTarget
from .dialect import COLLECTIVES
from .render import render

STAGES = stages_of("opencl")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCl(ComputeBackend):
    """OpenCL C for a device of the facts in `target`."""

    name: str = "opencl"
    costs: GpuCosts = WEBGPU_COSTS
    language: str = "opencl"
    collectives: tuple[str, ...] = tuple(COLLECTIVES)

    def render(self, lowered: Kernel) -> str:
        return render(lowered)


def backend_for(target: GpuTarget, observe: Observer) -> OpenCl:
    """The backend for a device of these facts."""
    return OpenCl(target=target, layouts=layouts_of(target), subgroups=target.subgroups, observe=observe)
