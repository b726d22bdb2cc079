"""The WebGPU backend: from a naive kernel to a compute shader."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import prod

from ..choices import DEFAULT, Choices
from ..costs import WEBGPU_COSTS, GpuCosts
from ..dtypes import F32
from ..ir.all_reduce import AllReduce
from ..ir.grid import find_grid
from ..ir.layout import LayoutPolicy, Stages
from ..ir.nodes import Barrier, Kernel
from ..ir.rewrite import walk
from ..passes.count_work import count_work
from ..passes.store_halves import load_wide, store_halves
from ..program.device_program import CompiledKernel, DeviceKernel, Param, Placement, Places, Subdimension
from ..schedule.by_choices import schedule_by
from ..schedule.schedule_simt import schedule_simt
from ..target import WEBGPU, GpuTarget
from .check_limits import check_limits
from .features import find_features
from .fit_grid import fit_grid
from .lower import SUBGROUP_PASSES, WGSL_PASSES, Pass, lower
from .render import render

POLICY = LayoutPolicy(
    windows=(0, 1, 2, 3),
    few_channels=True,
    fill_borders=False,
    reads=WEBGPU.storage_buffers - 1,
    stages=Stages(WEBGPU.longest_alone, WEBGPU.minimum_occupancy),
    shared=Stages(WEBGPU.longest_shared, WEBGPU.minimum_occupancy // WEBGPU.invocations),
    occupancy=WEBGPU.minimum_occupancy,
)


@dataclass(frozen=True, slots=True)
class WebGpu:
    """Values lie in buffers, in linear order; a border of zeros is there from the start and never written. Where fewer
    results are wanted than keep a GPU occupied, workgroups share reductions, and long ones are made in stages."""

    target: GpuTarget = WEBGPU
    name: str = "webgpu"
    layouts: LayoutPolicy = POLICY
    costs: GpuCosts = WEBGPU_COSTS

    def fits(self, shape: tuple[int, ...]) -> bool:
        return prod(shape) * F32.bytes <= self.target.binding_bytes

    def place(self, kernels: Sequence[Kernel], arguments: Sequence[Sequence[int]], fixed: Set[int]) -> Places:
        return {}

    def place_linear(self, elements: int) -> Placement | None:
        return None

    def memory_order(self, shape: tuple[int, ...], place: Placement | None) -> tuple[Subdimension, ...] | None:
        return None

    def compile_kernel(
        self, naive: Kernel, placements: Sequence[Placement | None], choices: Choices = DEFAULT
    ) -> CompiledKernel:
        wide, halves = load_wide(naive)
        scheduled = schedule_by(lambda c: schedule_simt(wide, self.target, c), choices, naive.name)
        scheduled = store_halves(scheduled, {scheduled.params[i] for i in halves})
        lowered = self._lower(scheduled, WGSL_PASSES)
        check_limits(lowered, self.target)
        meet = any(isinstance(n, AllReduce) for n in walk(scheduled.body))
        by_subgroups = self._lower(scheduled, SUBGROUP_PASSES) if meet else lowered
        count = len(lowered.params) - lowered.outputs
        params = tuple(Param(b.dtype, "read" if i < count else "write") for i, b in enumerate(lowered.params))
        made = DeviceKernel(
            name=naive.name,
            source=render(lowered),
            params=params,
            grid=find_grid(lowered).workgroups,
            flops=count_work(naive),
            bytes=sum(prod(b.shape) * b.dtype.bytes for b in lowered.params),
            with_subgroups=render(by_subgroups) if _barriers(by_subgroups) < _barriers(lowered) else None,
            features=find_features(lowered),
        )
        return CompiledKernel(made, scheduled.params, (None,) * len(scheduled.params))

    def _lower(self, scheduled: Kernel, passes: tuple[Pass, ...]) -> Kernel:
        return fit_grid(lower(scheduled, passes), self.target.workgroups)


def _barriers(kernel: Kernel) -> int:
    return sum(isinstance(n, Barrier) for n in walk(kernel.body))
