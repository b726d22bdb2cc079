"""WebGPU in this process, through the Python package wgpu: device programs without a browser."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import wgpu

from ..errors import InputError
from ..program.device_program import DeviceKernel, Storage
from ..target import WEBGPU
from .features import ENABLE

Array = np.ndarray


SUBGROUPS = "subgroup"
"""The name in wgpu of WebGPU's feature `subgroups`; its shaders use it without a line that enables it."""

MOST_UNIFORMS = 4096
"""Kept for later runs: models whose sizes vary have as many as there are sizes."""

FEATURES = ("shader-f16", SUBGROUPS)
"""Features that shaders may enable, requested from the adapter where it has them."""


@functools.cache
def open_device() -> wgpu.GPUDevice:
    """The machine's adapter, with the limits that every browser supports, and FEATURES. Raises InputError without an
    adapter."""
    try:
        with _runtime_folder():
            adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        limits = {
            "max-storage-buffers-per-shader-stage": WEBGPU.storage_buffers,
            "max-compute-workgroup-storage-size": WEBGPU.workgroup_bytes,
            "max-compute-invocations-per-workgroup": WEBGPU.invocations,
            "max-compute-workgroups-per-dimension": WEBGPU.workgroups,
        }
        features = [f for f in FEATURES if f in adapter.features]
        return adapter.request_device_sync(required_limits=limits, required_features=features)
    except RuntimeError as error:
        raise InputError(
            f"target webgpu: no WebGPU adapter ({error}); install a Vulkan driver (Debian: mesa-vulkan-drivers)"
        ) from error


@contextmanager
def _runtime_folder() -> Iterator[None]:
    """Sets XDG_RUNTIME_DIR: without it, as in containers, the libraries of window systems print an error."""
    name = "XDG_RUNTIME_DIR"
    if name in os.environ:
        yield
        return
    with TemporaryDirectory() as folder:
        os.environ[name] = folder
        try:
            yield
        finally:
            del os.environ[name]


class WgpuDevice:
    """Buffers and pipelines of one program. Launches of a run are collected and submitted when something is read."""

    def __init__(self, kernels: Sequence[DeviceKernel]) -> None:
        self._device = open_device()
        if missing := {f for k in kernels for f in k.features} - set(self._device.features):
            names = ", ".join(sorted(missing))
            raise InputError(f"target webgpu: the model needs {names}, which this machine's adapter lacks")
        self._kernels = kernels
        self._storages: Sequence[Storage] = ()
        self._buffers: list[Any] = []
        self._read_last = self._device.create_buffer(size=4, usage=wgpu.BufferUsage.COPY_SRC)
        self._pipelines = [self._pipeline(k) for k in kernels]
        self._groups: dict[tuple[int, tuple[int, ...]], Any] = {}
        self._uniforms: dict[tuple[int, tuple[int, ...]], Any] = {}
        self._encoder: Any = None
        self._pass: Any = None

    def _pipeline(self, kernel: DeviceKernel) -> Any:
        source = kernel.source
        if kernel.with_subgroups is not None and SUBGROUPS in self._device.features:
            source = kernel.with_subgroups.replace(ENABLE["subgroups"], "")
        module = self._device.create_shader_module(code=source)
        entries = [
            {
                "binding": i,
                "visibility": wgpu.ShaderStage.COMPUTE,
                "buffer": {"type": "read-only-storage" if p.access == "read" else "storage"},
            }
            for i, p in enumerate(kernel.params)
        ]
        layouts = [self._device.create_bind_group_layout(entries=entries)]
        if kernel.scalars:
            uniform = {"binding": 0, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": "uniform"}}
            layouts.append(self._device.create_bind_group_layout(entries=[uniform]))
        return self._device.create_compute_pipeline(
            layout=self._device.create_pipeline_layout(bind_group_layouts=layouts),
            compute={"module": module, "entry_point": "main"},
        )

    def allocate(self, storages: Sequence[Storage]) -> None:
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        self._storages = storages
        self._buffers = [self._device.create_buffer(size=s.bytes, usage=usage) for s in storages]

    def release(self, storage: int) -> None:
        self._flush()
        self._buffers[storage].destroy()

    def close(self) -> None:
        self._flush()
        for buffer in self._buffers:
            buffer.destroy()
        self._buffers, self._pipelines = [], []
        self._groups.clear()
        self._uniforms.clear()

    def finish(self) -> None:
        self._flush()
        self._device.queue.read_buffer(self._read_last)  # wgpu's on_submitted_work_done_sync raises TypeError (0.32)

    def write(self, storage: int, data: Array) -> None:
        self._flush()
        raw = data.tobytes()
        if raw:
            self._device.queue.write_buffer(self._buffers[storage], 0, raw + bytes(-len(raw) % 4))

    def read(self, storage: int) -> Array:
        self._flush()
        raw = self._device.queue.read_buffer(self._buffers[storage])
        return np.frombuffer(raw, self._storages[storage].dtype.numpy)

    def launch(self, kernel: int, storages: Sequence[int], scalars: Sequence[int] = ()) -> None:
        if self._pass is None:
            self._encoder = self._device.create_command_encoder()
            self._pass = self._encoder.begin_compute_pass()
        key = kernel, tuple(storages)
        if key not in self._groups:
            entries = [{"binding": i, "resource": {"buffer": self._buffers[s]}} for i, s in enumerate(storages)]
            layout = self._pipelines[kernel].get_bind_group_layout(0)
            self._groups[key] = self._device.create_bind_group(layout=layout, entries=entries)
        self._pass.set_pipeline(self._pipelines[kernel])
        self._pass.set_bind_group(0, self._groups[key])
        if scalars:
            self._pass.set_bind_group(1, self._uniform(kernel, tuple(scalars)))
        self._pass.dispatch_workgroups(*self._kernels[kernel].grid_of(scalars))

    def _uniform(self, kernel: int, scalars: tuple[int, ...]) -> Any:
        """A bind group with the values, in a buffer of their own: commands are carried out later."""
        key = kernel, scalars
        if key not in self._uniforms:
            room = np.zeros(-(-len(scalars) // 4) * 4, np.int32)
            room[: len(scalars)] = scalars
            buffer = self._device.create_buffer_with_data(data=room, usage=wgpu.BufferUsage.UNIFORM)
            layout = self._pipelines[kernel].get_bind_group_layout(1)
            entries = [{"binding": 0, "resource": {"buffer": buffer}}]
            self._uniforms[key] = self._device.create_bind_group(layout=layout, entries=entries)
        return self._uniforms[key]

    def _flush(self) -> None:
        if self._pass is not None:
            self._pass.end()
            self._device.queue.submit([self._encoder.finish()])
            self._pass = self._encoder = None
        if len(self._uniforms) > MOST_UNIFORMS:
            self._uniforms.clear()
