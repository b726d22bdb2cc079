"""The WebGPU backend: from a naive kernel to a compute shader."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import prod

from ..device_program import CompiledKernel, DeviceKernel, Param, Placement, Places
from ..dtypes import F32
from ..ir.all_reduce import AllReduce
from ..ir.grid import find_grid
from ..ir.layout import LayoutPolicy
from ..ir.nodes import Kernel
from ..ir.rewrite import walk
from ..passes.count_work import count_work
from ..passes.store_halves import load_wide, store_halves
from ..schedule.rules.simt_workgroup import INVOCATIONS
from ..schedule.schedule_simt import schedule_simt
from ..target import WEBGPU, WEBGPU_COSTS, GpuCosts, GpuTarget
from .check_limits import check_limits
from .fit_grid import fit_grid
from .lower import SUBGROUP_PASSES, lower
from .render import render

POLICY = LayoutPolicy(
    windows=(0, 1, 2, 3),
    few_channels=True,
    fill_borders=False,
    reads=WEBGPU.storage_buffers - 1,
    serial=WEBGPU.longest_reduction,
    reducers=WEBGPU.busy // INVOCATIONS,
    busy=WEBGPU.busy,
)


@dataclass(frozen=True, slots=True)
class WebGpu:
    """Values lie in buffers, in linear order; a border of zeros is there from the start and never written. Where fewer
    results are wanted than keep a GPU busy, workgroups reduce, and together."""

    target: GpuTarget = WEBGPU
    name: str = "webgpu"
    layouts: LayoutPolicy = POLICY
    costs: GpuCosts = WEBGPU_COSTS

    def fits(self, shape: tuple[int, ...]) -> bool:
        return prod(shape) * F32.bytes <= self.target.binding_bytes

    def place(self, kernels: Sequence[Kernel], arguments: Sequence[Sequence[int]], fixed: Set[int]) -> Places:
        return {}

    def compile_kernel(self, naive: Kernel, placements: Sequence[Placement | None]) -> CompiledKernel:
        wide, halves = load_wide(naive)
        scheduled = schedule_simt(wide, self.target)
        scheduled = store_halves(scheduled, {scheduled.params[i] for i in halves})
        lowered = fit_grid(lower(scheduled), self.target.workgroups)
        check_limits(lowered, self.target)
        together = any(isinstance(n, AllReduce) for n in walk(scheduled.body))
        with_subgroups = fit_grid(lower(scheduled, SUBGROUP_PASSES), self.target.workgroups) if together else None
        count = len(lowered.params) - lowered.outputs
        params = tuple(Param(b.dtype, "read" if i < count else "write") for i, b in enumerate(lowered.params))
        grid = find_grid(lowered).workgroups
        size = sum(prod(b.shape) * b.dtype.bytes for b in lowered.params)
        made = DeviceKernel(
            naive.name,
            render(lowered),
            params,
            grid,
            count_work(naive),
            size,
            None if with_subgroups is None else render(with_subgroups),
        )
        return CompiledKernel(made, scheduled.params, (None,) * len(scheduled.params))
