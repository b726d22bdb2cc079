"""The WebGPU backend: from a naive kernel to a compute shader."""

from __future__ import annotations

from dataclasses import dataclass

from ..costs import WEBGPU_COSTS, GpuCosts
from ..ir.nodes import Kernel
from ..program.device_program import Feature
from ..simt import lower
from ..simt.backend import ComputeBackend, layouts_of, stages_of
from ..simt.lower import for_shaders
from ..target import WEBGPU, GpuTarget, LayoutPolicy
from .features import find_features
from .render import render

TREE_PASSES, SUBGROUP_PASSES = for_shaders(lower.TREE_PASSES), for_shaders(lower.SUBGROUP_PASSES)
STAGES = stages_of("wgsl", TREE_PASSES)
POLICY = layouts_of(WEBGPU)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebGpu(ComputeBackend):
    """WGSL within the limits that every browser grants."""

    tree_passes = TREE_PASSES
    subgroup_passes = SUBGROUP_PASSES
    target: GpuTarget = WEBGPU
    name: str = "webgpu"
    layouts: LayoutPolicy = POLICY
    costs: GpuCosts = WEBGPU_COSTS
    language: str = "wgsl"
    subgroups: bool = True

    def render(self, lowered: Kernel) -> str:
        return render(lowered)

    def find_features(self, lowered: Kernel) -> tuple[Feature, ...]:
        return find_features(lowered)
