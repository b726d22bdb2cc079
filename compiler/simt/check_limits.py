"""Checks a kernel against the device's limits: browsers report excess late, or not at all."""

from __future__ import annotations

from math import prod

from ..errors import CannotExpress
from ..ir.grid import find_grid
from ..ir.nodes import Kernel
from ..target import GpuTarget


def check_limits(kernel: Kernel, target: GpuTarget) -> None:
    """CannotExpress, with the node and the limit, where the kernel exceeds one."""
    grid = find_grid(kernel)
    shared = sum(b.size * b.dtype.bytes for b in grid.shared)
    largest = max(kernel.params, key=lambda b: b.size)
    for what, count, limit in (
        ("storage buffers", len(kernel.params), target.storage_buffers),
        (f"bytes in one buffer ({largest.name})", largest.size * largest.dtype.bytes, target.binding_bytes),
        ("bytes of workgroup memory", shared, target.workgroup_bytes),
        ("invocations in a workgroup", prod(grid.workgroup_size), target.invocations),
        ("dimensions of the grid", max(len(grid.blocks), len(grid.threads)), 3),
        ("workgroups in a dimension", max(grid.workgroups), target.workgroups),
    ):
        if count > limit:
            where = ", ".join(kernel.origin.nodes) or kernel.name
            raise CannotExpress(f"node {where} needs {count} {what}, {target.name} has {limit}")
