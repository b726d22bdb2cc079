"""OpenCL in this process, through the package pyopencl."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
import pyopencl as cl

from ..dtypes import DType
from ..errors import InputError, InternalError
from ..program.device_program import DeviceKernel, Storage
from ..values.dlpack import OPENCL, Borrowed, DeviceArray
from .render import needs_newer

Array = np.ndarray

VARIABLE = "WEBNN_OPENCL_DEVICE"
"""The environment variable that names the device, by part of its name."""
ALIGNMENT = 16
"""Sizes are multiples of it, in bytes: vectors of four may be read to the end."""


def devices() -> list[Any]:
    """All of all platforms, GPUs first. Raises InputError where there is none."""
    try:
        all_devices = [d for platform in cl.get_platforms() for d in platform.get_devices()]
        reason = "no driver has one"
    except cl.Error as error:
        all_devices, reason = [], str(error)
    if not all_devices:
        raise InputError(
            f"target opencl: no OpenCL device ({reason}); install a GPU's driver, or for the processor Debian's "
            "pocl-opencl-icd"
        )
    return sorted(all_devices, key=lambda d: not d.type & cl.device_type.GPU)


@functools.cache
def open_device() -> Any:
    """The first GPU, else the first device, or the one that VARIABLE names. Raises InputError."""
    all_devices, wanted = devices(), os.environ.get(VARIABLE, "")
    named = [d for d in all_devices if wanted.casefold() in d.name.casefold()]
    if not named:
        names = ", ".join(d.name for d in all_devices)
        raise InputError(f"{VARIABLE}: no OpenCL device is called {wanted!r}; there are: {names}")
    return named[0]


@functools.cache
def _context(device: Any) -> Any:
    return cl.Context([device])


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """InputError where the device lacks memory, InternalError for what else the driver reports."""
    try:
        yield
    except cl.MemoryError as error:
        advice = "free some, or use another device"
        raise InputError(f"target opencl: too little memory is left for this model ({error}): {advice}") from None
    except cl.Error as error:
        raise InternalError(f"opencl: the driver reports {error}") from None


class OpenClDevice:
    """Buffers, programs and an in-order queue of one model."""

    kind = OPENCL
    stream = None

    @_reported()
    def __init__(self, kernels: Sequence[DeviceKernel]) -> None:
        self._device = open_device()
        self._context = _context(self._device)
        self._queue = cl.CommandQueue(self._context)
        self._kernels = kernels
        self._programs = [self._build(k.with_subgroups or k.source) for k in kernels]
        self._launches: dict[tuple[int, tuple[int, ...]], Any] = {}
        self._storages: Sequence[Storage] = ()
        self._buffers: list[Any] = []

    def _build(self, source: str) -> Any:
        """Without fast maths: NaN and infinities are kept. Products and sums may be fused, as everywhere."""
        newest = "CL3.0" if "3." in self._device.opencl_c_version else "CL2.0"
        options = [f"-cl-std={newest if needs_newer(source) else 'CL1.2'}"]
        return cl.Program(self._context, source).build(options, cache_dir=False)  # type: ignore[arg-type]

    @_reported()
    def allocate(self, storages: Sequence[Storage]) -> None:
        self._storages = storages
        for s in storages:
            size = max(ALIGNMENT, -(-s.bytes // ALIGNMENT) * ALIGNMENT)
            buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)
            cl.enqueue_fill_buffer(self._queue, buffer, np.zeros(1, np.uint32), 0, size)
            self._buffers.append(buffer)

    @_reported()
    def release(self, storage: int) -> None:
        self._queue.finish()
        self._buffers[storage].release()
        self._buffers[storage] = None

    def close(self) -> None:
        self._queue.finish()
        self._launches.clear()
        for buffer in self._buffers:
            if buffer is not None:
                buffer.release()
        self._buffers, self._programs = [], []

    @_reported()
    def finish(self) -> None:
        self._queue.finish()

    @_reported()
    def write(self, storage: int, data: Array) -> None:
        if data.size:
            cl.enqueue_copy(self._queue, self._buffers[storage], np.ascontiguousarray(data))

    @_reported()
    def read(self, storage: int) -> Array:
        s = self._storages[storage]
        array = np.empty(s.bytes // s.dtype.bytes, s.dtype.numpy)
        if array.size:
            cl.enqueue_copy(self._queue, array, self._buffers[storage])
        return array

    @_reported()
    def keep(self, storage: int, dtype: DType, shape: tuple[int, ...]) -> DeviceArray:
        """In a buffer of the context that all models share."""
        size = prod(shape) * dtype.bytes
        kept = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, max(size, 1))
        if size:
            cl.enqueue_copy(self._queue, kept, self._buffers[storage], byte_count=size)
            self._queue.finish()

        @_reported()
        def read() -> Array:
            array = np.empty(prod(shape), dtype.numpy)
            if array.size:
                with cl.CommandQueue(kept.context) as queue:
                    cl.enqueue_copy(queue, array, kept)
            return array

        return DeviceArray(kept.int_ptr, OPENCL, 0, dtype, shape, kept, read)

    @_reported()
    def copy_in(self, storage: int, borrowed: Borrowed) -> None:
        if borrowed.bytes:
            source: Any = cl.Buffer.from_int_ptr(borrowed.pointer)
            cl.enqueue_copy(
                self._queue, self._buffers[storage], source, byte_count=borrowed.bytes, src_offset=borrowed.offset
            )
            self._queue.finish()

    @_reported()
    def launch(self, kernel: int, storages: Sequence[int], scalars: Sequence[int] = ()) -> None:
        key = kernel, tuple(storages)
        if key not in self._launches:
            self._launches[key] = self._prepare(kernel, storages)
        prepared, launched = self._launches[key], self._kernels[kernel]
        for i, n in enumerate(scalars):
            prepared.set_arg(len(storages) + i, np.int32(n))
        invocations = tuple(g * s for g, s in zip(launched.grid_of(scalars), launched.workgroup, strict=True))
        cl.enqueue_nd_range_kernel(self._queue, prepared, invocations, launched.workgroup)

    def _prepare(self, kernel: int, storages: Sequence[int]) -> Any:
        """A kernel object with its buffers."""
        prepared = cl.Kernel(self._programs[kernel], "run")
        for i, s in enumerate(storages):
            prepared.set_arg(i, self._buffers[s])
        return prepared
