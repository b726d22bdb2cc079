"""What a CUDA device says of itself, as facts that schedules depend on."""

from __future__ import annotations

from ..target import GpuTarget

WARPS = 16
"""Of 32 invocations that hide the latency of memory on a multiprocessor."""


def target_for(multiprocessors: int) -> GpuTarget:
    """Limits are those of every compute capability from 5.0 on (CUDA C++ Programming Guide, Technical Specifications);
    grids have up to 65,535 workgroups in two of their dimensions."""
    return GpuTarget(
        "cuda",
        storage_buffers=64,
        workgroup_bytes=49152,
        binding_bytes=2**31 - 1,
        minimum_occupancy=multiprocessors * WARPS * 32,
    )
