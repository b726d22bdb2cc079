"""The CUDA backend: from a naive kernel to CUDA C++."""

from __future__ import annotations

from dataclasses import dataclass

from ..costs import WEBGPU_COSTS, GpuCosts
from ..ir.nodes import Kernel
from ..simt.backend import ComputeBackend, layouts_of, stages_of
from ..system.run_passes import Observer
from ..target import GpuTarget
from .render import render

STAGES = stages_of("cuda")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuda(ComputeBackend):
    """CUDA C++ for a device of the facts in `target`. Every device has warps: kernels for subgroups serve all."""

    name: str = "cuda"
    costs: GpuCosts = WEBGPU_COSTS
    language: str = "cuda"
    subgroups: bool = True

    def render(self, lowered: Kernel) -> str:
        return render(lowered)


def backend_for(target: GpuTarget, observe: Observer) -> Cuda:
    """The backend for a device of these facts."""
    return Cuda(target=target, layouts=layouts_of(target), observe=observe)
