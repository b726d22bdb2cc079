"""CUDA in this process, through the driver and the package cuda-bindings."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from cuda.bindings import driver

from ..dtypes import DType
from ..errors import InputError, InternalError
from ..program.device_program import DeviceKernel, Storage
from ..values.dlpack import CUDA, Borrowed, DeviceArray
from .nvrtc import compile_source

Array = np.ndarray

ALIGNMENT = 16
"""Sizes are multiples of it, in bytes: vectors of four may be read to the end."""
ENTRY = b"run"
_Attribute = driver.CUdevice_attribute
_Result = driver.CUresult
_TOO_NEW = (_Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, _Result.CUDA_ERROR_NO_BINARY_FOR_GPU)


@dataclass(frozen=True, slots=True)
class Opened:
    """A GPU with its primary context. `capability` is 90 for 9.0."""

    name: str
    context: Any
    capability: int
    multiprocessors: int


@functools.cache
def open_device() -> Opened:
    """The first GPU; CUDA_VISIBLE_DEVICES chooses another. Raises InputError where there is none."""
    try:
        _call(driver.cuInit(0))
        device = _call(driver.cuDeviceGet(0))
        context = _call(driver.cuDevicePrimaryCtxRetain(device))
        name = _call(driver.cuDeviceGetName(128, device)).rstrip(b"\0").decode()
        major, minor, units = (
            _call(driver.cuDeviceGetAttribute(attribute, device))
            for attribute in (
                _Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                _Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                _Attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            )
        )
    except (RuntimeError, InternalError) as error:
        reason = str(error) if isinstance(error, InternalError) else "the driver's library libcuda is not there"
        raise InputError(f"target cuda: no CUDA device ({reason}); install NVIDIA's driver for this GPU") from None
    return Opened(name, context, 10 * major + minor, units)


@dataclass(slots=True)
class _Held:
    """The driver's objects that a model owns."""

    context: Any
    stream: Any
    modules: list[Any] = field(default_factory=list)
    memory: list[Any] = field(default_factory=list)
    graphs: list[Any] = field(default_factory=list)

    def free(self) -> None:
        _call(driver.cuCtxSetCurrent(self.context))
        _call(driver.cuStreamSynchronize(self.stream))
        for graph in self.graphs:
            _call(driver.cuGraphExecDestroy(graph))
        for memory in self.memory:
            if memory is not None:
                _call(driver.cuMemFree(memory))
        for module in self.modules:
            _call(driver.cuModuleUnload(module))
        _call(driver.cuStreamDestroy(self.stream))


class _Kept:
    """Memory that outlives a model."""

    def __init__(self, context: Any, size: int) -> None:
        self.context, self.size = context, size
        self.address = _call(driver.cuMemAlloc(max(size, 1)))
        weakref.finalize(self, _free, context, self.address).atexit = False

    def read(self, dtype: DType) -> Array:
        """A copy of it all."""
        _call(driver.cuCtxSetCurrent(self.context))
        return _copied(self.address, self.size, dtype)


def _copied(address: Any, size: int, dtype: DType) -> Array:
    array = np.empty(size // dtype.bytes, dtype.numpy)
    if array.size:
        _call(driver.cuMemcpyDtoH(array.ctypes.data, address, array.nbytes))
    return array


def _free(context: Any, address: Any) -> None:
    _call(driver.cuCtxSetCurrent(context))
    _call(driver.cuMemFree(address))


class CudaDevice:
    """Memory, modules and a stream of one model, freed by `close` or with the last reference to it."""

    kind = CUDA

    def __init__(self, kernels: Sequence[DeviceKernel]) -> None:
        self._opened = open_device()
        self._use()
        self._stream = _call(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        held = self._held = _Held(self._opened.context, self._stream)
        self._free = weakref.finalize(self, held.free)
        self._free.atexit = False
        self._memory = held.memory
        self._kernels = kernels
        for k in kernels:
            held.modules.append(self._load(k))
        self._functions = [_call(driver.cuModuleGetFunction(m, ENTRY)) for m in held.modules]
        self._storages: Sequence[Storage] = ()

    def _use(self) -> None:
        """Makes the context that of the calling thread."""
        _call(driver.cuCtxSetCurrent(self._opened.context))

    def _load(self, kernel: DeviceKernel) -> Any:
        code = compile_source(kernel.with_subgroups or kernel.source, self._opened.capability)
        result, module = driver.cuModuleLoadData(code)
        if result in _TOO_NEW:
            raise InputError(
                f"target cuda: the driver of {self._opened.name} is older than NVRTC ({result.name}): update the "
                "driver, or install an older nvidia-cuda-nvrtc"
            )
        return _call((result, module))

    def allocate(self, storages: Sequence[Storage]) -> None:
        self._use()
        self._storages = storages
        for s in storages:
            size = max(ALIGNMENT, -(-s.bytes // ALIGNMENT) * ALIGNMENT)
            self._memory.append(_call(driver.cuMemAlloc(size)))
            _call(driver.cuMemsetD8Async(self._memory[-1], 0, size, self._stream))

    def release(self, storage: int) -> None:
        self.finish()
        _call(driver.cuMemFree(self._memory[storage]))
        self._memory[storage] = None

    def close(self) -> None:
        self._free()

    def finish(self) -> None:
        self._use()
        _call(driver.cuStreamSynchronize(self._stream))

    def write(self, storage: int, data: Array) -> None:
        self._use()
        if data.size:
            held = np.ascontiguousarray(data)
            _call(driver.cuMemcpyHtoDAsync(self._memory[storage], held.ctypes.data, held.nbytes, self._stream))
            self.finish()

    def read(self, storage: int) -> Array:
        self.finish()
        s = self._storages[storage]
        return _copied(self._memory[storage], s.bytes, s.dtype)

    @property
    def stream(self) -> int:
        return int(self._stream)

    def keep(self, storage: int, dtype: DType, shape: tuple[int, ...]) -> DeviceArray:
        self._use()
        size = prod(shape) * dtype.bytes
        kept = _Kept(self._opened.context, size)
        _call(driver.cuMemcpyDtoDAsync(kept.address, self._memory[storage], size, self._stream))
        self.finish()
        return DeviceArray(int(kept.address), CUDA, 0, dtype, shape, kept, lambda: kept.read(dtype))

    def copy_in(self, storage: int, borrowed: Borrowed) -> None:
        self._use()
        source = borrowed.pointer + borrowed.offset
        _call(driver.cuMemcpyDtoDAsync(self._memory[storage], source, borrowed.bytes, self._stream))
        self.finish()

    def launch(self, kernel: int, storages: Sequence[int], scalars: Sequence[int] = ()) -> None:
        self._use()
        launched = self._kernels[kernel]
        # Eight bytes for each, of which an int is the first four: the driver copies them.
        held = np.array([*(int(self._memory[s]) for s in storages), *scalars], np.int64)
        arguments = held.ctypes.data + 8 * np.arange(len(held), dtype=np.uint64)
        grid = launched.grid_of(scalars)
        _call(
            driver.cuLaunchKernel(
                self._functions[kernel], *grid, *launched.workgroup, 0, self._stream, arguments.ctypes.data, 0
            )
        )

    def record(self, launches: Sequence[tuple[int, Sequence[int]]]) -> Callable[[], None]:
        """As a CUDA graph, which is launched at once."""
        self._use()
        _call(driver.cuStreamBeginCapture(self._stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
        try:
            for kernel, storages in launches:
                self.launch(kernel, storages)
        except BaseException:
            driver.cuStreamEndCapture(self._stream)  # or the stream could do nothing else
            raise
        graph = _call(driver.cuStreamEndCapture(self._stream))
        instance = _call(driver.cuGraphInstantiate(graph, 0))
        _call(driver.cuGraphDestroy(graph))
        self._held.graphs.append(instance)

        def run() -> None:
            self._use()
            _call(driver.cuGraphLaunch(instance, self._stream))

        return run


def _call(results: tuple[Any, ...]) -> Any:
    """The values that a function of the driver returned besides its result, which must be success."""
    result, *values = results
    if result == _Result.CUDA_ERROR_OUT_OF_MEMORY:
        raise InputError(
            "target cuda: the GPU has too little memory left for this model: use a smaller one, or free some"
        )
    if result != _Result.CUDA_SUCCESS:
        raise InternalError(f"cuda: the driver reports {result.name}")
    return values[0] if values else None
