"""One lowered kernel on this machine's device for a target of compute kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from drivers import need_driver
from kernel_checks import Array, inputs_for, laid_out, poison, taken_out
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.ir.grid import find_grid
from webnn_compile.ir.nodes import Kernel
from webnn_compile.program.device_program import DeviceKernel, Param, Storage
from webnn_compile.simt.backend import ComputeBackend
from webnn_compile.simt.lower import TREE_PASSES, Pass, lower
from webnn_compile.system.run_passes import ignore


def run_lowered(target: str, kernel: Kernel, arrays: Sequence[Array]) -> list[Array]:
    """The outputs; `arrays` are one per parameter, outputs with what they hold before. Skips without a driver."""
    need_driver(target)
    row = TARGETS[target]
    assert isinstance(row, DeviceTarget)
    backend = row.backend(Options(), ignore)
    assert isinstance(backend, ComputeBackend)
    count = len(kernel.params) - kernel.outputs
    params = tuple(Param(b.dtype, "read" if i < count else "write") for i, b in enumerate(kernel.params))
    grid = find_grid(kernel)
    made = DeviceKernel(kernel.name, backend.render(kernel), params, grid.workgroups, workgroup=grid.workgroup_size)
    device = row.open_device((made,))
    device.allocate([Storage(-(-a.nbytes // 16) * 16, b.dtype) for a, b in zip(arrays, kernel.params, strict=True)])
    for i, a in enumerate(arrays):
        device.write(i, np.ascontiguousarray(a).reshape(-1))
    device.launch(0, range(len(arrays)))
    results = [device.read(i)[: arrays[i].size].reshape(arrays[i].shape) for i in range(count, len(arrays))]
    device.close()
    return results


def results_on(target: str, kernel: Kernel, passes: tuple[Pass, ...] = TREE_PASSES) -> list[Array]:
    """The outputs of a scheduled kernel for `inputs_for(kernel)`; its output buffers are poisoned before."""
    inputs = inputs_for(kernel)
    count = len(inputs)
    arrays = [laid_out(b, a) for b, a in zip(kernel.params, inputs, strict=False)]
    arrays += [np.full(b.shape, poison(b.dtype), b.dtype.numpy) for b in kernel.params[count:]]
    results = run_lowered(target, lower(kernel, passes), arrays)
    return [taken_out(b, a) for b, a in zip(kernel.params[count:], results, strict=True)]
