"""One lowered kernel on the machine's WebGPU adapter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from drivers import need_driver
from kernel_checks import Array
from webnn_compile.ir.grid import find_grid
from webnn_compile.ir.nodes import Kernel
from webnn_compile.program.device_program import DeviceKernel, Param, Storage
from webnn_compile.wgsl import render


def run_on_device(kernel: Kernel, arrays: Sequence[Array]) -> list[Array]:
    """The outputs; `arrays` are one per parameter, outputs with what they hold before. Skips without a driver."""
    need_driver("webgpu")
    from webnn_compile.wgsl.device import WgpuDevice

    count = len(kernel.params) - kernel.outputs
    params = tuple(Param(b.dtype, "read" if i < count else "write") for i, b in enumerate(kernel.params))
    made = DeviceKernel(kernel.name, render(kernel), params, find_grid(kernel).workgroups)
    device = WgpuDevice((made,))
    device.allocate([Storage(-(-a.nbytes // 16) * 16, b.dtype) for a, b in zip(arrays, kernel.params, strict=True)])
    for i, a in enumerate(arrays):
        device.write(i, np.ascontiguousarray(a).reshape(-1))
    device.launch(0, range(len(arrays)))
    return [device.read(i)[: arrays[i].size].reshape(arrays[i].shape) for i in range(count, len(arrays))]
