"""A device that interprets kernels: device programs without a GPU, shader language or schedule."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from math import lcm
from typing import Any

import numpy as np
from webnn_compile.choices import DEFAULT, Choices
from webnn_compile.codegen.device_backend import CompiledKernel, Placements
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.layout import Layout
from webnn_compile.ir.nodes import Buffer, Kernel
from webnn_compile.program.device_program import DeviceKernel, Param, Placement, Storage, Subdimension
from webnn_compile.schedule.steps import pack
from webnn_compile.target import LayoutPolicy

Array = np.ndarray[Any, np.dtype[Any]]


class InterpretedBackend:
    """Stands for WebGPU: linear buffers, no halo ever filled. Like a schedule it wants weights in another layout:
    transposed, rounded up."""

    name = "webgpu"
    layouts = LayoutPolicy(few_channels=True, fill_halos=False)
    stores_whole = False

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []

    def place(self, kernels: Sequence[Kernel], arguments: Sequence[Sequence[int]], fixed: Set[int]) -> Placements:
        assert [len(k.params) for k in kernels] == [len(a) for a in arguments]
        return {}

    def place_linear(self, elements: int) -> Placement | None:
        return None

    def memory_order(self, shape: tuple[int, ...], place: Placement | None) -> tuple[Subdimension, ...] | None:
        return None

    def compile_kernel(
        self, naive: Kernel, placements: Sequence[Placement | None], choices: Choices = DEFAULT
    ) -> CompiledKernel:
        kernel = naive
        for b in naive.params:
            if b.constant and len(b.shape) > 1 and b.layout is not None:
                body, new = pack(kernel.body, b, _other_way_round(b.layout))
                params = tuple(new if p is b else p for p in kernel.params)
                kernel = replace(kernel, body=body, params=params)
        self.kernels.append(kernel)
        count = len(kernel.params) - kernel.outputs
        params = tuple(Param(b.dtype, "read" if i < count else "write") for i, b in enumerate(kernel.params))
        made = DeviceKernel(naive.name, str(len(self.kernels) - 1), params, (1, 1, 1))
        return CompiledKernel(made, kernel.params, (None,) * len(kernel.params))


def _other_way_round(layout: Layout) -> Layout:
    n = len(layout.shape)
    return replace(layout, order=tuple(reversed(range(n))), align=tuple(lcm(a, 3) for a in layout.align))


class InterpretedDevice:
    """Bytes per storage. What is written once only shows: all but halos is poisoned before the first launch."""

    def __init__(self, backend: InterpretedBackend, sources: Sequence[DeviceKernel]) -> None:
        self._kernels = [backend.kernels[int(k.source)] for k in sources]
        self._memory: list[Array] = []
        self._storages: Sequence[Storage] = ()

    def allocate(self, storages: Sequence[Storage]) -> None:
        self._memory = [np.zeros(s.bytes, np.uint8) for s in storages]
        self._storages = storages

    def release(self, storage: int) -> None:
        self._memory[storage] = np.zeros(0, np.uint8)

    def write(self, storage: int, data: Array) -> None:
        flat = data.view(np.uint8)
        self._memory[storage][: flat.size] = flat

    def read(self, storage: int) -> Array:
        return self._memory[storage].view(self._storages[storage].dtype.numpy)

    def finish(self) -> None:
        pass

    def launch(self, kernel: int, storages: Sequence[int], scalars: Sequence[int] = ()) -> None:
        assert not scalars, "kernels are interpreted without scalars"
        assert len(set(storages[-1:]) & set(storages[:-1])) == 0, "a storage is read and written in one launch"
        k = self._kernels[kernel]
        interpret(k, [_view(self._memory[s], b) for s, b in zip(storages, k.params, strict=True)])


def _view(memory: Array, b: Buffer) -> Array:
    return memory[: b.size * b.dtype.bytes].view(b.dtype.numpy).reshape(b.shape)
