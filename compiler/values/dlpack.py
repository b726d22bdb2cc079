"""Arrays in a device's memory, as libraries exchange them: https://dmlc.github.io/dlpack/latest/

The structures are those of dlpack.h, version 0.8, which every library takes.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..dtypes import DTYPES, DType
from ..errors import InputError

Array = np.ndarray

CPU, CUDA, OPENCL = 1, 2, 4
"""Kinds of devices, DLDeviceType."""

FAULTS = (BufferError, RuntimeError, TypeError, ValueError, AttributeError)
"""Exceptions of libraries that cannot exchange an array."""

_CODES = {"int": 0, "uint": 1, "float": 2, "bool": 6}
_NAME = b"dltensor"


@runtime_checkable
class Exchanged(Protocol):
    """An array of any library."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("kind", c_int32),
        ("number", c_int32),
        ("rank", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("offset", c_uint64),
    )


class _Managed(ctypes.Structure):
    pass


_Deleter = CFUNCTYPE(None, POINTER(_Managed))
_Managed._fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter))

# Own handles of the functions: others in this process may declare theirs otherwise.
_python = ctypes.PyDLL(None, handle=ctypes.pythonapi._handle)
_python.PyCapsule_New.restype, _python.PyCapsule_New.argtypes = py_object, (c_void_p, c_char_p, c_void_p)
_python.PyCapsule_IsValid.argtypes = (c_void_p, c_char_p)
_python.PyCapsule_GetPointer.restype, _python.PyCapsule_GetPointer.argtypes = c_void_p, (c_void_p, c_char_p)

_exported: dict[int, tuple[Any, ...]] = {}
"""Objects that exported tensors need, by their address, until their consumer deletes them; first the capsule. Capsules
have no destructor, which would run in Python while an exception may be on its way: `_sweep` finds those
without a consumer."""


def _delete(managed: Any) -> None:
    _exported.pop(ctypes.addressof(managed.contents), None)


_DELETE = _Deleter(_delete)


def _sweep() -> None:
    """Releases tensors whose capsules have no reference left, and had no consumer."""
    for address in tuple(_exported):
        consumed = not _python.PyCapsule_IsValid(id(_exported[address][0]), _NAME)
        if not consumed and _references(_exported, address) == _NO_OTHERS:
            del _exported[address]


def _references(table: dict[int, tuple[Any, ...]], address: int) -> int:
    return sys.getrefcount(table[address][0])


_NO_OTHERS = _references({0: (object(),)}, 0)
"""The reference count of an object that only the table holds: versions of Python differ."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceArray:
    """A result that stays on the device, its elements in row-major order at `pointer`: an address, or OpenCL's cl_mem.
    `owner` keeps the memory; `read` copies it. `kind` and `number` identify the device."""

    pointer: int
    kind: int
    number: int
    dtype: DType
    shape: tuple[int, ...]
    owner: object
    read: Callable[[], Array]

    def numpy(self) -> Array:
        """A copy in the processor's memory."""
        return self.read().reshape(self.shape)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.number

    def __post_init__(self) -> None:
        _sweep()

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: object = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """The data is complete, so that no stream has to wait. The consumer shares the memory. BufferError where it
        requests a copy, or the data on another device."""
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("these elements stay where they are: `numpy()` copies them")
        _sweep()
        shape = (c_int64 * max(len(self.shape), 1))(*self.shape)
        tensor = _Tensor(
            self.pointer, self.kind, self.number, len(self.shape), _CODES[self.dtype.kind], self.dtype.bits, 1, shape
        )
        managed = _Managed(tensor, None, _DELETE)
        address = ctypes.addressof(managed)
        capsule = _python.PyCapsule_New(address, _NAME, None)
        _exported[address] = capsule, managed, shape, self
        return capsule


@dataclass(frozen=True, slots=True)
class Borrowed:
    """Another library's array, its elements in row-major order from `offset` bytes after `pointer`."""

    pointer: int
    offset: int
    dtype: DType | None
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return prod(self.shape) * (self.dtype.bytes if self.dtype is not None else 0)


@contextmanager
def borrow(owner: Exchanged, name: str, stream: int | None = None) -> Iterator[Borrowed]:
    """The array, which its library keeps until the end of the context. InputError where its elements are not in
    row-major order, or it is given by a library of another DLPack. On `stream` it is complete."""
    try:
        capsule = owner.__dlpack__() if stream is None else owner.__dlpack__(stream=stream)
    except FAULTS as error:
        raise InputError(f"input {name!r}: {type(owner).__name__} exports no data by DLPack: {error}") from None
    if not _python.PyCapsule_IsValid(id(capsule), _NAME):
        raise InputError(f"input {name!r}: {type(owner).__name__} exports no tensor of DLPack before version 1")
    # It stays valid as long as the capsule, which is not consumed.
    tensor = ctypes.cast(_python.PyCapsule_GetPointer(id(capsule), _NAME), POINTER(_Managed)).contents.tensor
    shape = tuple(tensor.shape[: tensor.rank])
    if tensor.strides and not _is_row_major(shape, tensor.strides[: tensor.rank]):
        raise InputError(f"input {name!r}: its elements are not in row-major order: make it contiguous first")
    codes = {(_CODES[d.kind], d.bits, 1): d for d in DTYPES.values()}
    dtype = codes.get((tensor.code, tensor.bits, tensor.lanes))
    yield Borrowed(tensor.data or 0, tensor.offset, dtype, shape)
    del capsule


def _is_row_major(shape: tuple[int, ...], strides: list[int]) -> bool:
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return 0 in shape
        expected *= extent
    return True
