"""Facts of an OpenCL device that schedules depend on, by its driver."""

from __future__ import annotations

from typing import Any

from ..target import GpuTarget

CPU = 2
"""CL_DEVICE_TYPE_CPU."""
LARGEST_WORKGROUP = 256
"""Invocations: larger workgroups leave each too few registers."""
LANES, WAVES = 64, 8
"""Invocations that a GPU's compute unit runs at once, and how many of these groups hide the latency of memory."""
CHUNKS = 8
"""Workgroups for each core of a processor, so that waiting for the last of them costs little."""


def target_of(device: Any) -> GpuTarget:
    """`device` is one of pyopencl's, or has its attributes (OpenCL 1.2, table 4.3)."""
    units = device.max_compute_units
    # A processor runs one workgroup on a core at a time, in vectors along it.
    occupancy = units * CHUNKS if device.type & CPU else units * LANES * WAVES
    return GpuTarget(
        "opencl",
        storage_buffers=min(64, device.max_parameter_size // 8),
        workgroup_bytes=min(device.local_mem_size, 32768),
        invocations=min(device.max_work_group_size, *device.max_work_item_sizes[:1], LARGEST_WORKGROUP),
        binding_bytes=min(device.max_mem_alloc_size, 2**31 - 1),
        workgroups=2**31 - 1,
        minimum_occupancy=occupancy,
        subgroups="cl_khr_subgroups" in device.extensions.split(),
        signed_quads="cl_khr_integer_dot_product" in device.extensions.split(),
    )
